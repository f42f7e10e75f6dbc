"""lichess.org and its broker for tests, on this machine: what the description of the API says of both."""

from __future__ import annotations

import json
import queue
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

TOKEN = "lip_0123456789abcdefgh"
POLL_S = 0.2  # a question for work is kept open so long
PATIENCE_S = 60.0  # only a failing test waits as long
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def work(name: str, **fields: object) -> dict[str, Any]:
    """Work as the broker sends it; without a limit it is endless."""
    usual = {"sessionId": "s", "threads": 1, "hash": 16, "multiPv": 1, "variant": "chess", "initialFen": START}
    return {"id": name, "engine": {"id": "eei_1"}, "work": {**usual, "moves": [], **fields}}


class Analysis:
    """The answer to one piece of work."""

    def __init__(self) -> None:
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # None: the end
        self.whole = False  # it ended by itself
        self.socket: socket.socket | None = None

    def line(self) -> str | None:
        return self.lines.get(timeout=PATIENCE_S)

    def rest(self) -> list[str]:
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        return lines

    def close(self) -> None:
        """Nobody listens any more."""
        assert self.socket is not None
        self.socket.shutdown(socket.SHUT_RDWR)


class Broker:
    """Site and broker on one port. Context manager: ends them, and all connections."""

    def __init__(self, port: int = 0) -> None:
        self.engines: dict[str, dict[str, Any]] = {}
        self.faults: queue.SimpleQueue[int | bytes] = (
            queue.SimpleQueue()
        )  # a status, or bytes, instead of the next answer
        self.work: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.analyses: dict[str, Analysis] = {}
        self.polls: list[dict[str, Any]] = []
        self._opened = threading.Condition()
        self._links: set[socket.socket] = set()
        broker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                broker._links.add(self.connection)

            def finish(self) -> None:
                broker._links.discard(self.connection)
                super().finish()

            def log_message(self, *_: object) -> None:
                pass

            def handle_one(self) -> None:
                broker._answer(self)

            do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass  # who goes away in the middle

        self._server = Server(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Be gone, with every connection."""
        self._server.shutdown()
        self._server.server_close()
        for link in list(self._links):
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def ask(self, given: dict[str, Any]) -> Analysis:
        """Ask for an analysis; returns when its first bytes have come."""
        self.work.put(given)
        return self.analysis(given["id"])

    def analysis(self, name: str) -> Analysis:
        with self._opened:
            assert self._opened.wait_for(lambda: name in self.analyses, PATIENCE_S), f"{name} is not answered"
            return self.analyses[name]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        if request.path.startswith("/api/external-engine/work/"):
            self._read_analysis(request)
            return
        body = json.loads(request.rfile.read(int(request.headers.get("Content-Length", 0))) or b"{}")
        if not self.faults.empty():
            fault = self.faults.get()
            if isinstance(fault, int):
                self._say(request, fault, {"error": f"no: {request.headers.get('Authorization')}"})
            else:
                request.wfile.write(fault)
                request.close_connection = True
        elif request.path == "/api/external-engine/work":
            self.polls.append(body)
            try:
                self._say(request, 200, self.work.get(timeout=POLL_S))
            except queue.Empty:
                self._say(request, 204)
        elif request.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._say(request, 401, {"error": "No such token"})
        else:
            self._keep_engines(request, body)

    def _keep_engines(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        name = request.path.rpartition("/")[2]
        match request.command:
            case "GET":
                self._say(request, 200, [{"id": key, **engine} for key, engine in self.engines.items()])
            case "POST":
                self.engines["eei_1"] = body
                self._say(request, 200, {"id": "eei_1", **body})
            case "PUT":
                self.engines[name] = body
                self._say(request, 200, {"id": name, **body})
            case "DELETE":
                del self.engines[name]
                self._say(request, 200, {"ok": True})

    def _read_analysis(self, request: BaseHTTPRequestHandler) -> None:
        analysis = Analysis()
        analysis.socket = request.connection
        with self._opened:
            self.analyses[request.path.rpartition("/")[2]] = analysis
            self._opened.notify_all()
        try:
            while length := int(request.rfile.readline(), 16):
                analysis.lines.put(request.rfile.read(length).decode().rstrip("\n"))
                request.rfile.readline()
            request.rfile.readline()
            analysis.whole = True
            self._say(request, 200)
        except (OSError, ValueError):
            request.close_connection = True
        finally:
            analysis.lines.put(None)

    def _say(self, request: BaseHTTPRequestHandler, status: int, content: object = None) -> None:
        data = b"" if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
        request.send_response(status)
        if status == 429:
            request.send_header("Retry-After", "7")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)
