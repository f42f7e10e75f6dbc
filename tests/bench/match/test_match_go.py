"""Matches of Go between scripted engines: how games end and are counted, records, boards and openings."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from az_engine.bench.match.arbiter import new_arbiter
from az_engine.bench.match.openings import Opening, choose_openings, suite
from az_engine.bench.match.players import PlayerSpec
from az_engine.cli import main
from az_engine.engine.errors import IllegalMoveError, PositionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import read_games

from ...fakes.program import COMMAND
from .events import Match, go_start
from .test_players import scripted

START = go_start(5, 2.5)
WALL = ("C1", "D1", "C2", "D2", "C3", "D3", "C4", "D4", "C5", "D5")  # black has three columns of five, white two


def play(a: PlayerSpec, b: PlayerSpec, root: str = START, games: int = 1, directory: Path | None = None) -> Match:
    return Match("go5", (a, b), [Opening("test", root)] * games, games, directory)


def player(*more: str) -> PlayerSpec:
    return scripted("gtp", *WALL, "pass", "pass", *more)


def test_two_passes_are_counted_by_area() -> None:
    match = play(player(), player(), games=2)
    assert [(g.ending.result, g.ending.margin, g.ending.words) for g in match.finished] == [
        (1, 2.5, "counted by area")
    ] * 2
    assert match.score().wins == match.score().losses == 1


def test_what_both_players_count_is_the_result() -> None:
    match = play(player("--score=W+20.5"), player("--score=W+20.5"))
    assert [(g.ending.result, g.ending.margin) for g in match.finished] == [(-1, -20.5)]
    assert match.finished[0].ending.words == "both players count the same"
    for other in ("--score=B+2.5", "--score=0", "--score="):
        match = play(player("--score=W+20.5"), player(other))
        assert match.finished[0].ending.words == "counted by area"
    assert play(player("--score=0"), player("--score=draw")).score().draws == 1


def test_friendly_passes_end_a_game() -> None:
    """Players that agree on dead stones pass at once, without a line of analysis, and neither is to blame."""
    territory = get_game("go").territory
    assert territory is not None
    root = territory.start(5, 5, 2.5, "chinese-ogs")
    script = "C3", "A1", "pass", "pass", "--score=B+22.5"
    katago = scripted("gtp", *script, "--offers=kata-genmove_analyze", "--offers=kata-set-rules")
    match = play(katago, scripted("gtp", *script), root, games=2)
    assert not match.faults(0) + match.faults(1)
    assert [game.ending.margin for game in match.finished] == [22.5] * 2
    assert match.finished[0].ending.words == "both players count the same"


def test_resignation_and_faults() -> None:
    assert play(player(), scripted("gtp", "resign")).finished[0].ending.reason == "resignation"
    for move in ("Z9", "skip", "T19", "C1"):  # C1 is taken
        match = play(player(), scripted("gtp", move))
        assert dict(match.faults(1)) == {"illegal move": 1}
        assert match.score().wins == 1


def test_suicide_and_superko_are_illegal_here() -> None:
    arbiter = new_arbiter("go5", go_start(5))
    for move in ("A2", "C3", "B1", "pass"):
        arbiter.push(move)
    assert "A1" in arbiter.legal_moves()
    arbiter.push("pass")
    arbiter = new_arbiter("go5", go_start(5))
    for move in ("A2", "C3", "B1"):
        arbiter.push(move)
    with pytest.raises(IllegalMoveError, match="suicide"):
        arbiter.push("A1")
    with pytest.raises(IllegalMoveError, match="not a legal move"):
        arbiter.push("skip")


def test_a_game_that_is_too_long_is_counted() -> None:
    match = Match("go5", (player(), player()), [Opening("test", START)], 1, max_plies=4)
    ending = match.finished[0].ending
    assert (ending.result, ending.margin, ending.reason) == (-1, -2.5, "maximum moves")


def test_records_are_read_again(tmp_path: Path) -> None:
    match = play(player(), player(), games=2, directory=tmp_path)
    records = list(read_games(get_game("go").record_formats, tmp_path / "games.sgf"))
    assert [record.moves for record in records] == [game.moves for game in match.finished]
    assert [record.result for record in records] == [1, 1]
    text = (tmp_path / "games.sgf").read_text()
    assert text.count("RE[B+2.5]") == 2
    assert text.count(" s]") >= 20  # times
    assert "SZ[5]" in text
    assert "KM[2.5]" in text


def test_clocks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    quick = scripted("gtp", *WALL, "pass", options={"Log": str(log)}, base_ms=60_000, byoyomi_ms=1000)
    slow = scripted("gtp", f"slow={WALL[1]}", base_ms=100, byoyomi_ms=100)
    match = play(quick, slow)
    assert dict(match.faults(1)) == {"time loss": 1}
    heard = log.read_text().splitlines()
    assert heard[heard.index("time_settings 60 1 1") + 1] == "time_left b 60 0"
    log.unlink()
    play(scripted("gtp", *WALL, "pass", options={"Log": str(log)}, movetime_ms=5000), slow)
    assert "time_settings 0 5 1" in log.read_text().splitlines()
    assert "3600" not in log.read_text()  # the hour of a player without a clock is for the other protocols


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = shlex.quote(shlex.join([*COMMAND, "gtp", "pass"]))
    arguments = ["match", "--game", "go", "--size", "7", "-A", f"cmd={command}", "-B", f"cmd={command}"]
    options = ["--games", "4", "--openings", "random:2", "--json", "--out", str(tmp_path)]
    assert main([*arguments, *options, "--visits", "5"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert sum(result["endings"].values()) == 4
    assert result["A"]["limit"] == "its own limit"
    assert (tmp_path / "games.sgf").read_text().count("SZ[7]") == 4
    assert main([*arguments, "--komi", "7.3"]) == 2
    assert "half points" in capsys.readouterr().err
    assert main(["match", "--size", "9", "-A", "default", "-B", "uniform", "--visits", "1"]) == 2
    assert "--size is for Go" in capsys.readouterr().err


@pytest.mark.parametrize(("size", "komi"), [(9, 7), (19, 7.5)])
def test_the_book(size: int, komi: float) -> None:
    start = go_start(size)
    assert f" b - {komi} " in start
    seen = set()
    book = suite("book", f"go{size}", start)
    for opening in book:
        arbiter = new_arbiter(f"go{size}", start)
        for move in opening.moves:
            arbiter.push(move)
        assert arbiter.turn == 0, opening.name
        seen.add((frozenset(opening.moves[::2]), frozenset(opening.moves[1::2])))
    assert len(seen) == len(book) == 64
    assert (book[0].name, book[63].name) == ("book 1", "book 64")


def test_openings() -> None:
    openings = choose_openings("random:3", "go5", 4, 1, START)
    assert all(opening.root == START and "pass" not in opening.moves for opening in openings)
    with pytest.raises(PositionError):
        new_arbiter("go5", "3/3/3 x")
