"""The openings of a run's games: which are found, by whatever order, corner and colour, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from az_engine.cli import main
from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.report.corners import corner_sequences, name_of
from az_engine.models.report.openings import count_openings
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.store.replay import GameRecord, ShardWriter, title


def played(name: str, number: int, text: str, *, step: int = 0, result: int = 0) -> GameRecord:
    game = get_game(name)
    line, moves = game.initial(), []
    for word in text.split():
        moves.append(game.parse_move(line, word))
        line = game.play(line, moves[-1])
    n, empty = len(moves), np.zeros(0, np.uint16)
    values = np.zeros(n, np.float32)
    counts, shares = np.zeros(n, np.uint16), np.zeros(0, np.float32)
    return GameRecord(
        number,
        (step, step),
        np.array(moves, np.uint16),
        values,
        values,
        values,
        counts,
        empty,
        shares,
        result,
        "max moves",
    )


def test_named_openings_by_any_order_of_moves() -> None:
    games = [
        played("chess", 1, "d2d4 d7d5 c2c4 c7c6 g1f3", step=0, result=1),
        played("chess", 2, "c2c4 d7d5 d2d4 c7c6 b1c3", step=10, result=-1),
        played("chess", 3, "d2d4 d7d5 c2c4 c7c6 g1f3", step=30),
        played("chess", 4, "a2a3", step=30),
    ]
    openings = count_openings(get_game("chess"), games)
    assert set(openings.played) == set(get_game("chess").openings)
    gambit = openings.played["D06 Queen's Gambit"]
    assert (gambit.steps, gambit.results) == ([0, 10, 30], [1, -1, 0])
    assert gambit.continuation == "c7c6 g1f3"
    assert openings.played["A10 English Opening"].steps == [10]
    told = openings.to_json(2)
    first = told["openings"][0]
    assert (first["name"], first["share"], first["first_step"]) == ("D06 Queen's Gambit", 0.75, 0)
    assert (first["first_wins"], first["draws"], first["second_wins"]) == (1, 1, 1)
    assert (told["steps"], first["shares"]) == ([0.0, 15.5, 31.0], [1.0, 0.5])


@pytest.mark.slow
def test_every_named_opening_is_legal() -> None:
    for name in ("chess", "shogi"):
        lines = get_game(name).openings
        games = [played(name, i, text) for i, text in enumerate(lines.values())]
        found = count_openings(get_game(name), games).played
        assert all(entry.steps for entry in found.values()), name


def test_a_corner_sequence_is_the_same_in_every_corner_reflection_and_colour() -> None:
    same = (["D3", "C5"], ["C4", "E3"], ["R4", "P3"], ["Q17", "R15"], ["C16", "E17"], ["Q3", "R5"])
    for moves in same:
        assert corner_sequences(moves, 19) == [["4-3", "3-5"]], moves
        assert corner_sequences(["K10", *moves], 19) == [["4-3", "3-5"]], "the other colour; the centre counts for none"
    assert corner_sequences(["D4", "pass", "C3"], 19) == [["4-4", "3-3*"]]
    assert name_of(["4-4", "3-3"]) == "4-4 3-3 (star, 3-3 invasion)"


def test_other_games_are_counted_by_their_first_moves() -> None:
    with pytest.raises(DataError, match="no games yet"):
        count_openings(get_game("go7"), [])
    found = count_openings(get_game("go7"), [played("go7", 1, "C3 E5 D4"), played("go7", 2, "E3 C3")])
    assert [(name, len(entry.steps)) for name, entry in found.played.items()] == [("3-3 (3-3 point)", 2)], (
        "once a game, whatever corner"
    )


@pytest.mark.slow
def test_the_report_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunConfig("go7")
    (tmp_path / "config.json").write_text(json.dumps({"run": run.to_json()}))
    (tmp_path / "games").mkdir()
    writer = ShardWriter(tmp_path / "games", 1, title(run.get_game(), str(run.seed)))
    for i in range(6):
        writer.write(played("go7", (1 << 32) + i, "C3 E5 B2" if i % 2 else "B3 E5", step=100 * i, result=1))
    writer.close()
    assert main(["report", "openings", str(tmp_path), "--points", "3"]) == 0
    assert "3-3 (3-3 point): 6 games (100.0%), 6, 0, 0" in capsys.readouterr().out
    told = json.loads((tmp_path / "openings.json").read_text())
    shares = {row["name"]: row["shares"] for row in told["openings"]}
    assert shares["3-2"] == [0.5, 0.5, 0.5]
    assert (tmp_path / "openings.svg").read_text().count("<svg") == 1
    assert "<td>3-2</td><td>3</td><td>50.0%</td>" in (tmp_path / "openings.html").read_text()
    assert main(["report", "openings", str(tmp_path), "--points", "0"]) == 2
