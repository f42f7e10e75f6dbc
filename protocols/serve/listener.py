"""Runs the web application on a thread: uvicorn, with the patience and the limits that it lacks."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..lines import MAX_LINE
from .admission import least_needed, listen, plain
from .events import EventLog
from .hangup import CLIENT

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HELLO_S = 10.0  # for the head of a request
_LINGER_S = 0.5  # for a client to read why it is refused
_END_S = 3  # for responses when the server ends
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_BAD = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class PatientProtocol(H11Protocol):
    """HTTP/1.1; refuses a request whose head does not come in time, and in a crowd connections that ask nothing."""

    most_silent = 64  # connections that ask nothing
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.made = self.loop.time()
        self._timer = self.loop.call_later(HELLO_S, self.refuse, _SLOW)
        others = [each for each in self.connections if isinstance(each, PatientProtocol) and each.silent]
        if len(others) > self.most_silent:
            now = self.loop.time()
            least_needed((each.address, now - each.made, each) for each in others).refuse(_BUSY)

    @property
    def address(self) -> str:
        return plain(self.client[0]) if self.client else ""

    @property
    def silent(self) -> bool:
        """Whether no request waits for its response."""
        cycle: Any = self.cycle  # None before the first request
        return not self._refused and (cycle is None or cycle.response_complete)

    def data_received(self, data: bytes) -> None:
        if self._refused:  # read on, so that the refusal arrives
            return
        CLIENT.set(self.transport.get_extra_info("socket"))  # for the task that is begun now
        super().data_received(data)
        if self.transport.get_protocol() is not self or not self.silent:
            self._drop_timer()
        elif self._timer is None and not self.transport.is_closing():  # the beginning of another request
            self._timer = self.loop.call_later(HELLO_S, self.refuse, _SLOW)

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_timer()
        super().connection_lost(exc)

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def refuse(self, response: bytes) -> None:
        if not self.transport.is_closing():
            self._refused = True
            self.transport.write(response)
            self.loop.call_later(_LINGER_S, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        self.refuse(_BAD)


class _Events(logging.Handler):
    """Passes uvicorn's warnings on to the event log."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.write("web", text=record.getMessage()[:400])


class WebListener:
    """Listens for HTTP and WebSocket."""

    def __init__(self, address: tuple[str, int], app: ASGIApp, proxies: str, log: EventLog) -> None:
        """``proxies``: addresses whose X-Forwarded-For is believed. Port 0 takes a free one. Errors: OptionError."""
        self._listener = listen(*address)
        self.port = int(self._listener.getsockname()[1])
        logger = logging.getLogger("uvicorn")
        logger.handlers, logger.propagate = [_Events(log)], False
        options: dict[str, Any] = {
            "http": PatientProtocol,
            "ws": "websockets-sansio",
            "loop": "asyncio",
            "lifespan": "off",
            "log_config": None,
            "log_level": "warning",
            "access_log": False,
            "server_header": False,
            "proxy_headers": bool(proxies),
            "forwarded_allow_ips": proxies,
            "timeout_graceful_shutdown": _END_S,
            "ws_max_size": MAX_LINE,
            "ws_per_message_deflate": False,
        }
        self._server = uvicorn.Server(uvicorn.Config(app, **options))
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Let open responses end, then close. Blocks for some seconds at most."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(_END_S + 2.0)
        self._listener.close()
