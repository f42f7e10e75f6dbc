"""KaTrain's own engine and game tree (PyPI ``katrain`` 1.20, without its GUI) as a client: review, ponder, restart."""

from __future__ import annotations

import gc
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ...fakes.waiting import wait_for
from .lines import RunningServer
from .test_web import port_of

GAME = "E5 C5 E3 C3 G6 C7 F7 E7 F8 D2 G4 E2".split()
VISITS = 12


class Program:
    """What KaTrain's engine needs of KaTrain: a log."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.faults: list[str] = []

    def log(self, text: object, level: int = 0) -> None:
        (self.faults if level == -1 else self.said).append(str(text))

    def __call__(self, *message: object) -> None:
        self.faults.append(str(message))


@pytest.fixture
def engine_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Makes KaTrain's engine of an address; shuts it down at the end."""
    for name in ("websocket", "pysgf"):
        pytest.importorskip(name, reason=f"KaTrain needs {name}, which is not installed")
    stubs: dict[str, dict[str, Any]] = {
        "kivy": {}, "kivy.utils": {"platform": "linux"}, "kivy._event": {"Observable": object},
    }  # fmt: skip
    for name, content in stubs.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    remote = pytest.importorskip("katrain.core.remote_engine", reason="katrain is not installed")
    monkeypatch.setattr(remote.RemoteKataGoEngine, "RECONNECT_ATTEMPTS", 1000)
    monkeypatch.setattr(remote.RemoteKataGoEngine, "RECONNECT_BACKOFF_S", 0.05)
    monkeypatch.setattr(remote.RemoteKataGoEngine, "RECONNECT_MAX_BACKOFF_S", 0.2)
    made: list[Any] = []

    def make(address: str) -> Any:
        config = {
            "backend": "remote", "remote_url": address, "max_visits": VISITS, "fast_visits": 5, "max_time": 600.0,
            "wide_root_noise": 0.04, "_enable_ownership": True,
        }  # fmt: skip
        made.append(remote.make_engine(Program(), config))
        return made[-1]

    yield make
    for engine in made:
        engine.shutdown(finish=False)
    made.clear()
    gc.collect()  # KaTrain drops a socket that the server closed


def game() -> list[Any]:
    """The nodes of a short game on 9x9."""
    node = importlib.import_module("katrain.core.game_node").GameNode
    point = importlib.import_module("pysgf").Move.from_gtp
    nodes = [node(properties={"SZ": ["9"], "KM": ["7"], "RU": ["chinese"]})]
    for number, word in enumerate(GAME):
        nodes.append(nodes[-1].play(point(word, player="BW"[number % 2])))
    return nodes


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_katrain_reviews_ponders_and_survives_a_restart(tmp_path: Path, engine_at: Callable[[str], Any]) -> None:
    nodes = game()
    with RunningServer(tmp_path / "log", http=True, net="") as server:
        port = port_of(server)
        engine = engine_at(f"ws://127.0.0.1:{port}/katago")
        for node in nodes:
            node.analyze(engine)
        wait_for(lambda: all(node.analysis_complete for node in nodes), "the review does not end")
        assert all(node.root_visits >= VISITS for node in nodes)
        assert len({node.score for node in nodes}) > len(nodes) // 2
        assert all(isinstance(node.points_lost, float) for node in nodes[1:])
        assert all((len(node.policy), len(node.ownership)) == (82, 81) for node in nodes)
        engine.override_settings["antiMirror"] = True  # gets a warning
        nodes[0].clear_analysis()
        nodes[0].analyze(engine)
        wait_for(lambda: nodes[0].analysis_complete, "a warning costs the answer")
        nodes[-1].analyze(engine, ponder=True)
        wait_for(lambda: nodes[-1].root_visits > 5 * VISITS, "no report of a pondering search")
        engine.stop_pondering()
        wait_for(lambda: not engine.queries, "the pondering search has no last answer")
        nodes[2].analyze(engine, visits=10**7, time_limit=False)
        wait_for(lambda: nodes[2].root_visits > VISITS, "no report")
        before = nodes[2].root_visits
        engine.terminate_queries(nodes[2])
        nodes[3].analyze(engine, visits=10**7, time_limit=False)
        wait_for(lambda: nodes[3].root_visits > VISITS, "a terminated search holds others up")
        assert before > VISITS
    again = game()
    again[4].analyze(engine, visits=2 * VISITS)
    with RunningServer(tmp_path / "log", http=True, http_port=port, net=""):
        wait_for(lambda: again[4].analysis_complete, "the restart lost the queries")
        assert again[4].root_visits >= 2 * VISITS
        engine.terminate_queries()
        wait_for(lambda: not engine.queries, "queries are left over")
    said_to_all = "Error without ID {'warning': "  # KaTrain only logs what is about no query
    assert [fault for fault in engine.katrain.faults if not fault.startswith(said_to_all)] == []
