"""HTTP and WebSocket: the web page, the protocols' conversations, one query by POST, the state of the server.

A conversation over a WebSocket is a session over a pair of sockets, as one over TCP: only its lines travel in messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ..lines import MAX_LINE
from ..page.site import FRONT, read_site
from .access import AccessCheck, AccessError
from .admission import NotPlayedError, RefusedError, plain
from .connection import Hello
from .hangup import CLIENT
from .metrics import metrics
from .runpage import run_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ...engine.nets.shared import Batcher
    from .connection import Connection
    from .server import Server

_REQUESTS = 64  # beyond the sessions, that are answered at a time
PATIENCE_S = 30.0  # for the client to take what is sent, and for the next part of a body
_MOST_PENITENTS = 32  # of the requests, that wait because of a wrong token
_GOING_AWAY = 1001
_CHUNK = 1 << 16


class Unhurried:
    """Ends a response whose client does not take it in time; refuses requests while too many are being answered."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        """``most``: requests at a time, but for those of health checks."""
        self._app, self._most, self._now = app, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/healthz":
            if self._now >= self._most:
                busy = PlainTextResponse("too many requests, try again later\n", 503, {"Retry-After": "10"})
                await busy(scope, receive, send)
                return
            self._now += 1
            try:
                await self._answer(scope, receive, send)
            finally:
                self._now -= 1
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), PATIENCE_S)

        with contextlib.suppress(TimeoutError):
            await self._app(scope, receive, send_in_time)


class Web:
    """The application; ``app`` is what an ASGI server runs."""

    def __init__(self, server: Server, access: AccessCheck, batcher: Batcher | None, run: Path | None = None) -> None:
        """``batcher``: whose figures /metrics tells; ``run``: the folder of a training run, whose page /run shows."""
        self._server, self._access, self._batcher, self._run = server, access, batcher, run
        self._site = read_site(server.games, run=run is not None)
        self._penitents = 0  # clients that wait because of a wrong token
        conversations = [
            WebSocketRoute(f"/{protocol}{token}", self._converse, name=protocol)
            for protocol in ("uci", "usi", "gtp", "katago", "page")
            for token in ("", "/{token}")
        ]
        routes = [
            Route("/healthz", self._health),
            Route("/metrics", self._metrics),
            Route("/api/analyse", self._analyse, methods=["POST"]),
            Route("/", self._file, methods=["GET"]),
            Route("/web/{name:path}", self._file, methods=["GET"]),
            *([Route("/run", self._run_page, methods=["GET"])] if run else []),
            *conversations,
        ]
        handlers = {RefusedError: self._refused, HTTPException: _plain}
        self.app = Unhurried(Starlette(routes=routes, exception_handlers=handlers), server.most + _REQUESTS)

    # ------------------------------------------------------------------ the door

    def _enter(self, request: HTTPConnection) -> tuple[str, str]:
        """The client's identity and address. Errors: AccessError."""
        token = request.path_params.get("token") or request.query_params.get("token", "")
        address = plain(request.client.host) if request.client else ""
        return self._access.pass_through(request.headers, request.headers.getlist("host"), address, token), address

    def _open(self, client: str, address: str, hello: Hello) -> tuple[Connection, socket.socket]:
        """A session for a client, and our end of its line. Errors: RefusedError."""
        connection, link = self._server.converse(client, address, hello)
        link.setblocking(False)
        return connection, link

    async def _refused(self, request: HTTPConnection, error: Exception) -> Response:
        status = error.status if isinstance(error, AccessError) else 404 if isinstance(error, NotPlayedError) else 503
        port = (request.scope.get("server") or ("", 0))[1]
        self._server.log_refusal(request.client.host if request.client else "", str(error), port)
        if isinstance(error, AccessError) and error.seconds and self._penitents < _MOST_PENITENTS:
            self._penitents += 1
            try:
                await asyncio.sleep(error.seconds)
            finally:
                self._penitents -= 1
        headers = {503: {"Retry-After": "10"}, 401: {"WWW-Authenticate": "Bearer"}}.get(status, {})
        response = JSONResponse({"error": str(error)}, status, headers={**headers, "Connection": "close"})
        if isinstance(request, WebSocket):
            await request.send_denial_response(response)
        return response

    # ------------------------------------------------------------------ plain HTTP

    async def _health(self, _: Request) -> Response:
        """For load balancers; anybody may ask."""
        if self._server.ending:
            return PlainTextResponse("the server ends\n", 503)
        if self._server.loading:
            return PlainTextResponse("the server loads its games\n", 503)
        return PlainTextResponse("ok\n")

    async def _file(self, request: Request) -> Response:
        """A file of the page; anybody may have it, but none of its conversations."""
        result = self._site.get(request.path_params.get("name", FRONT))
        if result is None:
            raise HTTPException(404)
        if request.headers.get("if-none-match") == result.tag:
            return Response(status_code=304, headers=result.headers)
        return Response(result.body, headers=result.headers)

    async def _run_page(self, request: Request) -> Response:
        """The training run's page as the trainer has last written it."""
        self._enter(request)
        assert self._run is not None
        status, headers, body = await asyncio.to_thread(run_page, self._run)
        return Response(body, status, headers)

    async def _metrics(self, request: Request) -> Response:
        self._enter(request)
        body, kind = metrics(self._server, self._batcher)
        return Response(body, media_type=kind)

    async def _analyse(self, request: Request) -> Response:
        """One query of KataGo's analysis protocol, or several, one a line; the answers come as lines, too."""
        client, address = self._enter(request)
        body = await _body(request)
        hello = Hello("katago", "", request.query_params.get("game", ""), waits=True)
        connection, link = self._open(client, address, hello)
        answers = self._answers(connection, link, body)
        return StreamingResponse(answers, media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})

    async def _answers(self, connection: Connection, link: socket.socket, body: bytes) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        try:
            with self._server.hangups.over(CLIENT.get(), connection.hang_up):
                await loop.sock_sendall(link, body)
                link.shutdown(socket.SHUT_WR)
                while chunk := await loop.sock_recv(link, _CHUNK):
                    yield chunk
        finally:  # also when the client has gone
            connection.hang_up()
            link.close()

    # ------------------------------------------------------------------ conversations

    async def _converse(self, web: WebSocket) -> None:
        protocol = web.url.path.split("/")[1]
        client, address = self._enter(web)
        hello = Hello(protocol, "", web.query_params.get("game", ""))
        connection, link = self._open(client, address, hello)
        await web.accept()
        into = asyncio.create_task(_pass_in(web, link))
        try:
            with self._server.hangups.over(CLIENT.get(), connection.hang_up):
                await _pass_out(link, web)
            if web.application_state is WebSocketState.CONNECTED:
                await web.close(_GOING_AWAY if self._server.ending else 1000)
        except (OSError, RuntimeError, WebSocketDisconnect):
            pass
        finally:
            into.cancel()
            connection.hang_up()
            link.close()


async def _pass_in(web: WebSocket, link: socket.socket) -> None:
    """Messages of the client, text or bytes, become lines; its end ends the session's input."""
    loop = asyncio.get_running_loop()
    try:
        while (message := await web.receive())["type"] == "websocket.receive":
            content = message.get("bytes")
            if content is None:
                content = message["text"].encode("utf-8", "surrogatepass")
            await loop.sock_sendall(link, content if content.endswith(b"\n") else content + b"\n")
        link.shutdown(socket.SHUT_RDWR)
    except OSError:  # the session is over
        return


async def _pass_out(link: socket.socket, web: WebSocket) -> None:
    """Each line of the session becomes a text message."""
    loop = asyncio.get_running_loop()
    pending = bytearray()
    while chunk := await loop.sock_recv(link, _CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            pending += line
            await web.send_text(pending.decode("utf-8", "replace"))
            pending.clear()
        pending += rest


async def _body(request: Request) -> bytes:
    """Errors: AccessError for a body that is too long, or too slow."""
    announced = request.headers.get("content-length", "0")
    body = bytearray()
    try:
        if int(announced) > MAX_LINE:
            raise AccessError(413, f"a body has at most {MAX_LINE} bytes")
        async with asyncio.timeout(PATIENCE_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_LINE:
                    raise AccessError(413, f"a body has at most {MAX_LINE} bytes")
    except ValueError:
        raise AccessError(400, "Content-Length is no number") from None
    except TimeoutError:
        raise AccessError(408, f"the body did not come within {PATIENCE_S:.0f} s") from None
    if not body.strip():
        raise AccessError(400, "send a query as JSON")
    return bytes(body) + b"\n"


async def _plain(request: HTTPConnection, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = Response(json.dumps({"error": error.detail}), error.status_code, error.headers, "application/json")
    if isinstance(request, WebSocket):
        await request.send_denial_response(response)
    return response
