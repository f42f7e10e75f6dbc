"""Matches of a game that only its own folder knows: the arbiter, openings and records that every game has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from az_engine.bench.match.arbiter import Arbiter, new_arbiter
from az_engine.bench.match.openings import choose_openings
from az_engine.cli import main
from az_engine.engine.errors import IllegalMoveError, OptionError, PositionError

from ...games import DIRECTORY

GAME = "tictactoe"
assert (DIRECTORY / GAME).is_dir()  # found by its directory


def after(*moves: str) -> Arbiter:
    arbiter = new_arbiter(GAME)
    for move in moves:
        assert arbiter.ending() is None
        arbiter.push(move)
    return arbiter


def test_the_rules_judge() -> None:
    won = after("a1", "b1", "a2", "b2", "a3")
    ending = won.ending()
    assert ending is not None
    assert (ending.result, ending.words) == (1, "won by the rules")
    lost = after("a1", "b1", "a2", "b2", "c3", "b3")
    assert (ending := lost.ending()) is not None
    assert ending.result == -1
    drawn = after("a1", "b2", "c3", "a2", "c2", "c1", "a3", "b3", "b1")
    assert (ending := drawn.ending()) is not None
    assert (ending.result, ending.words) == (0, "drawn by the rules")
    assert after("a1", "b1").turn == 0
    assert sorted(after("a1").legal_moves()) == ["a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]
    assert not after().can_declare()
    assert after().agreed((1.0, 1.0)) is None
    with pytest.raises(IllegalMoveError):
        after("a1").push("a1")
    with pytest.raises(PositionError):
        new_arbiter(GAME, "xx")
    with pytest.raises(OptionError, match="no tablebases"):
        after().known_result("somewhere")


def test_a_game_without_a_book_begins_with_random_moves() -> None:
    openings = choose_openings("book", GAME, 10, 3)
    assert all(len(opening.moves) == 4 for opening in openings)
    assert len(set(openings)) > 5
    with pytest.raises(OptionError, match="no 'paper' of openings for tictactoe"):
        choose_openings("paper", GAME, 1, 0)


def test_a_match_runs_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZ_ENGINE_GAMES", str(DIRECTORY))  # for the process that helps to compile
    command = ["match", "--game", GAME, "-A", "uniform", "-B", "uniform", "--visits", "30", "--out", str(tmp_path)]
    assert main([*command, "--games", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["wins"] + result["draws"] + result["losses"] == 4
    assert result["judge"] == "az-engine's own rules"
    assert set(result["endings"]) <= {"won by the rules", "drawn by the rules"}
    assert main([*command, "--games", "6"]) == 0  # goes on
    assert "First" in capsys.readouterr().out
    assert len((tmp_path / "games.jsonl").read_text().splitlines()) == 6
    assert main(["rate", str(tmp_path)]) == 0
    assert main(["match", "--game", GAME, "-B", "uniform", "--visits", "1", "--size", "3"]) == 2
    assert "--size is for Go" in capsys.readouterr().err
