"""A session needs a pair of line ends and nothing else of its process: it is the same over a socket."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable

import pytest

from az_engine.protocols.gtp.session import GtpSession
from az_engine.protocols.lines import LineReader, LineWriter
from az_engine.protocols.options import OptionValues
from az_engine.protocols.session import Session
from az_engine.protocols.uci import UciSession
from az_engine.protocols.usi import UsiSession

from ..fakes.engine import FakeEngine, FakeShogiEngine
from .gtp.talk import PLAIN, make_engine
from .usi_talk import load_rules

MAKERS: dict[str, Callable[[LineWriter], Session]] = {  # type: ignore[type-arg]
    "uci": lambda writer: UciSession(FakeEngine, OptionValues("uci"), writer),
    "usi": lambda writer: UsiSession(FakeShogiEngine, OptionValues("usi"), writer),
    "gtp": lambda writer: GtpSession(make_engine, OptionValues("gtp", PLAIN), writer),
}
TALKS = {
    "uci": ("uci\nisready\ngo nodes 1\n", "bestmove"),
    "usi": ("usi\nisready\ngo nodes 1\n", "bestmove"),
    "gtp": ("name\nprotocol_version\n", "= 2"),
}


@pytest.mark.parametrize("protocol", MAKERS)
def test_two_clients_over_sockets(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load_rules()
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    text, answer = TALKS[protocol]
    statuses: list[int] = []

    def serve(end: socket.socket) -> None:
        with end:
            statuses.append(MAKERS[protocol](LineWriter(end.fileno())).run(LineReader(end.fileno())))
            end.shutdown(socket.SHUT_RDWR)  # the reader still waits for a line

    pairs = [socket.socketpair() for _ in range(2)]
    threads = [threading.Thread(target=serve, args=(theirs,), daemon=True) for _, theirs in pairs]
    for thread in threads:
        thread.start()
    for ours, _ in pairs:
        ours.settimeout(60)
        ours.sendall(text.encode())
    for ours, _ in pairs:
        with ours, ours.makefile(encoding="utf-8") as stream:
            for line in stream:
                if line.startswith(answer):
                    break
            else:
                raise AssertionError(f"no {answer}")
            ours.sendall(b"quit\n")
            stream.read()
    for thread in threads:
        thread.join(20)
    assert statuses == [0, 0]
