"""The page of a training run over HTTP: as a part of the server, or alone, for the trainer itself.

The trainer writes the page into the run's folder, again and again; the browser loads it again and again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from ...engine.errors import OptionError
from ..page.site import GUARDS
from .access import AccessCheck, AccessError
from .admission import Admission

RUN_PAGE = "run.html"  # in the run's folder
PORT = 8767
RELOAD_S = 10
_PATIENCE_S = 30.0  # for a request, and for the client to take the answer
_MISSING = "The run has written no page yet. A trainer does when it begins; az-engine plot RUN does it now.\n"
_ELSEWHERE = "The trainer shows this page to localhost only; az-engine serve --run RUN shows it to others, too.\n"


def run_page(folder: Path) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body): the page of a run as it was last written. Blocks while it is read."""
    headers = {**GUARDS, "Refresh": str(RELOAD_S), "Cache-Control": "no-store"}
    try:
        body = (folder / RUN_PAGE).read_bytes()
    except OSError:
        return 404, {**headers, "Content-Type": "text/plain; charset=utf-8"}, _MISSING.encode()
    headers["Content-Security-Policy"] = "frame-ancestors 'none'"  # the page names its own script and style
    return 200, {**headers, "Content-Type": "text/html; charset=utf-8"}, body


class RunServer:
    """Shows a run's page at / to the browsers of this machine, from a thread. Context manager: ends it."""

    def __init__(self, folder: Path, port: int) -> None:
        """``port``: 0 takes a free one. Errors: OptionError when it is taken."""
        access = AccessCheck(Admission(1, 1, ()))

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE_S

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                try:
                    access.pass_through(headers, self.headers.get_all("host", []), self.client_address[0], "")
                except AccessError as error:
                    text = _ELSEWHERE if error.status == 421 else f"{error}\n"
                    self._answer(error.status, {"Content-Type": "text/plain"}, text.encode())
                    return
                result = run_page(folder) if self.path == "/" else (404, {"Content-Type": "text/plain"}, b"not here\n")
                self._answer(*result)

            def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in the base class)
                """Stay silent: the terminal is the trainer's."""

        class Listener(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Stay silent: the browser has gone."""

        try:
            self._server = Listener(("127.0.0.1", port), Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise OptionError(f"--web: port {port} cannot be listened on: {why}; give another one") from error
        self.address = f"http://localhost:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="run page", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def show_run(folder: Path, port: int | None, say: Callable[[str], None]) -> AbstractContextManager[object]:
    """A RunServer whose address ``say`` gets; nothing without a port. Errors: OptionError."""
    if port is None:
        return nullcontext()
    server = RunServer(folder, port)
    say(f"the run's page is {server.address}")
    return server
