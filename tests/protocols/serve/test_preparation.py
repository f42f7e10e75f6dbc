"""Games are loaded while clients are let in: sessions wait, hear what is done, and choose what comes next."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.errors import NetError
from az_engine.protocols.serve.preparation import GameLoad, Preparation, Tell

from .lines import PATIENCE_S, RunningServer
from .test_web import ask, web


class Loads:
    """Three games whose loading ends when the test says so."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.begun = {name: threading.Event() for name in ("chess", "shogi", "go")}
        self.go_on = {name: threading.Event() for name in self.begun}
        self.ended = threading.Event()
        self.games = {name: GameLoad(name, self._load_of(name)) for name in self.begun}
        self.preparation = Preparation(self.games.values(), self.ended.set)

    def _load_of(self, name: str) -> Callable[[Tell], None]:
        def load(tell: Tell) -> None:
            self.order.append(name)
            tell(f"compiling {name}")
            self.begun[name].set()
            assert self.go_on[name].wait(PATIENCE_S)

        return load

    def finish(self) -> None:
        for event in self.go_on.values():
            event.set()
        assert self.ended.wait(PATIENCE_S)


def test_sessions_wait_and_the_game_that_is_waited_for_comes_next(tmp_path: Path) -> None:
    loads = Loads()
    with RunningServer(tmp_path / "log", http=True, loading=loads.games) as server:
        loads.preparation.start()
        assert loads.begun["chess"].wait(PATIENCE_S)
        assert ask(server, "/healthz") == (503, b"the server loads its games\n")
        with server.client("boardsize 5") as line, web(server, "/page?game=go") as page:
            said = list[dict[str, Any]]()

            def hear_until(kind: str, text: str = "") -> None:
                while not any(each["is"] == kind and text in each.get("text", "") for each in said):
                    said.append(json.loads(page.recv(timeout=PATIENCE_S)))

            hear_until("hello")
            hear_until("loading", "compiling chess")
            page.send(json.dumps({"do": "search", "id": 1, "moves": [], "visits": 1}))
            page.send(json.dumps({"do": "game", "id": 2, "moves": ["E5"]}))
            hear_until("game")  # the board is there, and what needs the engine waits
            loads.go_on["chess"].set()
            hear_until("loading", "compiling go")
            assert "answer" not in [each["is"] for each in said]
            loads.go_on["go"].set()
            hear_until("answer")
            assert line.until("=")
        texts = [each["text"] for each in said if each["is"] == "loading"]
        assert texts == ["loading chess first: compiling chess", "loading go: compiling go"]
        loads.finish()
        assert ask(server, "/healthz") == (200, b"ok\n")
    assert loads.order == ["chess", "go", "shogi"]


def test_a_uci_client_hears_what_it_waits_for(tmp_path: Path) -> None:
    loads = Loads()
    with RunningServer(tmp_path / "log", loading=loads.games) as server:
        loads.preparation.start()
        with server.client("uci", "isready") as client:
            client.until("uciok")  # at once
            assert "info string loading chess: compiling chess" in client.until("info string loading")
            loads.finish()
            client.until("readyok")


def test_a_fault_ends_the_preparation_and_every_wait() -> None:
    def load(tell: Tell) -> None:
        raise NetError("the net is broken")

    ended = threading.Event()
    first, second = GameLoad("chess", load), GameLoad("go", load)
    preparation = Preparation([first, second], ended.set)
    preparation.start()
    assert ended.wait(PATIENCE_S)
    assert isinstance(preparation.fault, NetError)
    for each in (first, second):
        with pytest.raises(NetError, match="the net is broken"):
            each.wait(print)
        assert not each.done
