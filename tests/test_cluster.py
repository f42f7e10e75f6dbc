"""Matches and labels on a real Ray cluster are those made here, also when a node is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.bench.match import command as match
from az_engine.bench.match.tournament import JOURNAL, parse_journal
from az_engine.cluster import Crew, connected
from az_engine.engine.errors import EngineProcessError

from .fakes.arguments import parsed
from .models.label.labelling import SHORT, UCI, by_game, label, labelled
from .ray_cluster import kill_raylet, three_nodes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with three_nodes() as cluster:
        yield cluster


@pytest.fixture
def losing(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A node is killed with the third result; the places that had an actor lost."""
    original, results, lost = Crew._collect, [0], list[str]()  # noqa: SLF001

    def collect(self: Crew, member: Any, ref: Any, done: list[Any]) -> None:
        original(self, member, ref, done)
        results[0] += len(done)
        if results[0] >= 3 and not lost:
            lost.append("")
            kill_raylet(min(cluster.worker_nodes, key=str))

    monkeypatch.setattr(Crew, "_collect", collect)
    yield lost
    cluster.add_node(num_cpus=1, object_store_memory=80 << 20)


def played(folder: Path, *words: str) -> dict[int, tuple[tuple[str, ...], int]]:
    net = str(Path(__file__).parents[1] / "models/nets/chess.onnx")
    given = ["-A", f"net={net} option.Threads=1", "-B", "uniform option.Threads=1", "--visits", "12", "--games", "8"]
    given += ["--openings", "random:4", "--seed", "3", "--max-plies", "40", "--out", str(folder), *words]
    assert match.main(parsed(match, *given)) == 0
    games = parse_journal((folder / JOURNAL).read_text(), "")
    assert len(games) == 8
    return {game.pairing.number: (game.moves, game.ending.result) for game in games}


def test_a_match_is_the_same_and_a_lost_node_loses_nothing(cluster: Any, tmp_path: Path, losing: list[str]) -> None:
    assert played(tmp_path / "here") == played(tmp_path / "there", "--ray", cluster.address)
    assert losing


def test_labels_are_the_same_and_a_lost_node_loses_nothing(cluster: Any, tmp_path: Path, losing: list[str]) -> None:
    words = ("--engine", UCI, *SHORT, "--games", 12)
    here, there = labelled(tmp_path / "here", *words), labelled(tmp_path / "there", *words, "--ray", cluster.address)
    assert by_game(here) == by_game(there)
    assert len(here) == len(there)
    assert len(np.unique(here["game"])) == 12
    assert losing


def test_an_engine_that_does_not_start_is_the_same_sentence(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(EngineProcessError, match="no-such-engine"):
        label(tmp_path, "--ray", cluster.address, "--engine", "no-such-engine", *SHORT)


def test_the_driver_keeps_its_own_signals(cluster: Any) -> None:
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with connected(cluster.address):
        assert signal.getsignal(signal.SIGTERM) is before
