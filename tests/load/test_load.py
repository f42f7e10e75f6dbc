"""The loads on a small scale: what they print of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from . import endless, sessions

pytestmark = pytest.mark.slow


def figures(
    measure: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str], *words: str
) -> list[dict[str, Any]]:
    assert measure([*words, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="Linux only")
def test_endless(capsys: pytest.CaptureFixture[str]) -> None:
    for game in ("chess", "shogi", "go"):
        small = ("--game", game, "--net", "uniform", "--minutes", "0.1", "--hash", "4", "--flag=--threads=1")
        simulations, *speeds, silence, resident = figures(endless.main, capsys, *small)
        assert simulations["value"] > 1_000
        assert "it said nothing" in simulations["note"]
        assert len(speeds) == 2
        assert all(speed["value"] > 0 and speed["peer_value"] > 0 for speed in speeds)
        assert silence["value"] < 3
        assert resident["ratio"] < 1.5


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="Linux only")
def test_sessions_of_every_protocol_get_their_own_answers(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(sessions.main, capsys, "--sessions", "4", "--minutes", "0.05", "--searches", "1", "--pings", "4")
    value = {figure["what"]: figure["value"] for figure in found}
    assert [value[f"faults: {kind}"] for kind in ("protocol", "no answer", "wrong session")] == [0, 0, 0]
    assert value["the CPU is idle after"] < 60


def test_shares_of_visits_with_two_sizes_of_hash(capsys: pytest.CaptureFixture[str]) -> None:
    *positions, close, alike = figures(endless.main, capsys, "--hash", "1", "--against", "64", "--nodes", "1001")
    small, controls = positions[::2], positions[1::2]
    assert len(small) == len(controls) == close["peer_value"] == alike["peer_value"] == 10
    for count, searches in ((close, small), (alike, controls)):
        assert count["value"] == sum(abs(each["value"] - each["peer_value"]) <= 0.02 for each in searches)
    assert all("1,001 nodes" in each["note"] for each in small)


def test_the_plies_of_a_growing_tree(capsys: pytest.CaptureFixture[str]) -> None:
    simulations, plies = figures(endless.main, capsys, "--net", "uniform", "--plies", "--nodes", "2000")
    assert simulations["value"] < plies["value"]  # all but the first are deeper than one ply
    assert simulations["peer_value"] < plies["peer_value"]


def test_moves_while_the_tree_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    longest, fewest = figures(endless.main, capsys, "--hash", "1", "--moves", "2")
    assert longest["value"] > 0.9
    assert fewest["value"] > 0


def test_the_pauses_of_an_endless_search(capsys: pytest.CaptureFixture[str]) -> None:
    small, large = figures(endless.main, capsys, "--net", "uniform", "--pauses", "1,4")
    assert 0 < small["value"] < large["value"]
    assert "nodes" in large["note"]
