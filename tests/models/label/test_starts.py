"""Labelled games that begin elsewhere: at shogi's handicaps, or at the positions of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.models.data.games.shogi import FORMAT
from az_engine.models.data.shards import TargetOptions
from az_engine.models.label.starts import read_starts

from ..data.test_shogi import sfen_of
from .test_games_shogi import check_with_cshogi, make

SHOGI, CHESS = get_game("shogi"), get_game("chess")
FOUR_PIECES = "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


def test_the_handicaps_of_shogi_are_positions_where_the_giver_moves() -> None:
    starts = read_starts(SHOGI, "handicap")
    assert len(starts) == len(set(starts)) == 15
    assert FOUR_PIECES in starts
    for start in starts:
        line, notes = SHOGI.parse_position(start)
        assert not notes
        assert SHOGI.side_to_move(line[-1]) == 1
        assert SHOGI.format_position(line[-1]) == start


@pytest.mark.slow
def test_games_of_handicaps_are_labelled(tmp_path: Path) -> None:
    words = ("--starts", "handicap", "--openings", "0", "--max-plies", "6")
    records = make(tmp_path, *words, games=30)
    check_with_cshogi(records)
    first = records[records["ply"] == 0]
    assert len(first) == 30
    assert (first["turn"] == 1).all()
    met = {sfen_of(record) for record in first}
    assert met <= set(read_starts(SHOGI, "handicap"))
    assert len(met) > 6
    assert make(tmp_path, *words, games=30).tobytes() == records.tobytes(), "the same command goes on"
    states = FORMAT.to_states(SHOGI, records, np.arange(len(records)))
    assert SHOGI.format_position(states[0]).split()[:3] == sfen_of(records[0]).split()[:3]
    assert FORMAT.chances(records, TargetOptions()).shape == (len(records), 3)


@pytest.mark.slow
def test_positions_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "starts.txt"
    path.write_text(f"# starts\n\nsfen {FOUR_PIECES}  # four pieces\n")
    assert read_starts(SHOGI, str(path)) == (FOUR_PIECES,)
    records = make(tmp_path / "out", "--starts", str(path), "--openings", "0", "--max-plies", "4", games=2)
    assert {sfen_of(record) for record in records[records["ply"] == 0]} == {FOUR_PIECES}


def test_faults_of_starts(tmp_path: Path) -> None:
    path = tmp_path / "starts.txt"
    for text, said in (
        ("8/8/8", "line 1: "),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "the game is over there"),
        ("# nothing", "holds no positions"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=said):
            read_starts(CHESS, str(path))
    with pytest.raises(DataError, match="cannot be read"):
        read_starts(CHESS, str(tmp_path / "none"))
    with pytest.raises(OptionError, match="chess has no handicaps"):
        read_starts(CHESS, "handicap")
    with pytest.raises(OptionError, match="--starts means nothing in go"):
        read_starts(get_game("go9"), "handicap")
