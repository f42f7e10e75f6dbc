"""A session needs a pair of line ends and nothing else of its process: it is the same over a socket."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable

import pytest

from az_engine.engine.params import EngineOptions
from az_engine.protocols.gtp.session import GtpSession
from az_engine.protocols.lines import LineReader, LineWriter
from az_engine.protocols.options import OptionValues
from az_engine.protocols.session import Session
from az_engine.protocols.uci.uci import UciSession
from az_engine.protocols.uci.usi import UsiSession

from ..fakes.engine import FakeEngine, FakeShogiEngine
from .gtp.talk import PLAIN, make_engine
from .talk import Conversation, load_shogi

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
    load_shogi()
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
        thread.join(60)
    assert statuses == [0, 0]


class Early(Conversation):
    """A session of a program that greets and then says nothing."""

    def __init__(self, protocol: str, seconds: float = 0.0, gate: threading.Event | None = None) -> None:
        super().__init__(0)
        load_shogi()
        session = MAKERS[protocol](LineWriter(self.session_out))
        if protocol == "uci":
            session = UciSession(
                lambda options: _gated(options, gate), OptionValues("uci"), LineWriter(self.session_out)
            )
        session.load_early(seconds)
        self.session = session
        self.start(session.run)


def _gated(options: EngineOptions, gate: threading.Event | None) -> FakeEngine:
    engine = FakeEngine(options)
    engine.gate = gate
    return engine


def test_the_engine_is_loaded_while_a_program_starts_up() -> None:
    with Early("uci") as talk:
        assert talk.line() == "info string playing with the embedded net"
        talk.send("isready")
        assert talk.line() == "readyok"


def test_what_a_line_asks_for_comes_before_the_early_load() -> None:
    with Early("uci", 0.05) as talk:
        talk.send("isready")
        assert talk.line() == "info string playing with the embedded net"
        assert talk.line() == "readyok"
        time.sleep(0.2)  # nothing is left over at the end: it was loaded once


@pytest.mark.parametrize("end", ["quit", ""])
def test_nobody_waits_for_an_early_load_at_the_end(end: str) -> None:
    gate = threading.Event()  # were it waited for, no line would come
    with Early("uci", gate=gate) as talk:
        while not talk.session.unfinished():
            time.sleep(0.01)
        if end:
            talk.send(end)
        talk.close_input()
        assert talk.rest() == []
    gate.set()
