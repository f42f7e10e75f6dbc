"""A server in this process, and clients of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from az_engine.engine.params import EngineOptions
from az_engine.protocols.serve.access import AccessCheck
from az_engine.protocols.serve.admission import Admission
from az_engine.protocols.serve.events import EventLog
from az_engine.protocols.serve.listener import WebListener
from az_engine.protocols.serve.preparation import GameLoad
from az_engine.protocols.serve.server import Offer, Rules, Server
from az_engine.protocols.serve.web import Web

from ...fakes.engine import FakeEngine, FakeShogiEngine
from ..gtp.talk import PLAIN, make_engine
from ..talk import load_shogi

PATIENCE_S = 60.0  # only a failing test waits as long


class LineClient:
    """One connection. Context manager: closes."""

    def __init__(self, port: int, *first: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._stream = self.socket.makefile("rb")
        self.send(*first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self.socket.close()

    def send(self, *lines: str) -> None:
        """Send lines."""
        self.socket.sendall("".join(line + "\n" for line in lines).encode())

    def line(self) -> str | None:
        """The next line; None at the end."""
        raw = self._stream.readline()
        return raw.decode().rstrip("\n") if raw else None

    def until(self, start: str) -> list[str]:
        """Lines up to the first that begins so."""
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
            if line.startswith(start):
                return lines
        raise AssertionError(f"closed without {start}: {lines}")

    def rest(self) -> list[str]:
        """Everything up to the end."""
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        return lines


class RunningServer:
    """A server on a free port. Context manager: ends it."""

    def __init__(
        self,
        log: Path,
        *,
        chess: Callable[[EngineOptions], Any] = FakeEngine,
        most: int = 20,
        per_client: int = 20,
        tokens: tuple[str, ...] = (),
        rules: Rules | None = None,
        http: bool = False,
        origins: tuple[str, ...] = (),
        http_port: int = 0,
        host: str = "127.0.0.1",
        run: Path | None = None,
        net: str = "uniform",
        loading: Mapping[str, GameLoad] | None = None,
        games: Sequence[str] = ("chess", "shogi", "go"),
    ) -> None:
        """``loading``: by name, games that are not loaded yet. ``games``: those on offer."""
        load_shogi()
        offers = [
            Offer("chess", "uci", lambda options, _: chess(options)),
            Offer("shogi", "usi", lambda options, _: FakeShogiEngine(options)),
            Offer("go", "gtp", lambda options, _: make_engine(options), {**PLAIN, "weights_file": net}),
        ]
        offers = [replace(offer, loading=(loading or {}).get(offer.game)) for offer in offers if offer.game in games]
        caps = {"hash": 32, "threads": 2}
        self.log, self.events = log, EventLog(log)
        admission = Admission(most, per_client, tokens)
        self.server = Server((host, 0), offers, admission, rules or Rules(caps=caps), self.events)
        self.web: WebListener | None = None
        if http:
            app = Web(self.server, AccessCheck(admission, origins, not tokens), None, run).app
            self.web = WebListener((host, http_port), app, "", self.events)
            self.web.start()
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop, as SIGTERM does."""
        self.server.stop()
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        if self.web is not None:
            self.web.stop()
        self.events.close()

    def client(self, *first: str) -> LineClient:
        """Connect and send lines."""
        return LineClient(self.server.port, *first)
