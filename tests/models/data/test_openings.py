"""Openings of labelled games in front of their records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.data.games.shogi import FORMAT, record_of
from az_engine.models.data.shards import Records, TargetOptions, Teaching

SHOGI = get_game("shogi")
GAMES = np.dtype([("game", "<u4"), ("nopen", "u1"), ("open", "<u2", (4,))])


def made(count: int) -> tuple[Records, NDArray[np.void], NDArray[np.void]]:
    """(records, g, all states of all games): games of three opening moves, or none, and 12 records."""
    rng = np.random.default_rng(3)
    rows, lines, games = [], [], np.zeros(count, GAMES)
    for number in range(count):
        line, opening = SHOGI.initial(), 3 * (number % 3 > 0)
        games[number]["game"], games[number]["nopen"] = number, opening
        for ply in range(opening + 12):
            move = int(rng.choice(SHOGI.legal_moves(line)))
            if ply < opening:
                games[number]["open"][ply] = move
            else:
                row = record_of(SHOGI, line, Teaching(np.array([move], np.uint16), np.array([50]), None, 3))
                row["game"], row["played"], row["z"] = number, move, (-1) ** ply
                rows.append(row)
            lines.append(line[-1:])
            line = SHOGI.play(line, move)
    return np.concatenate(rows), games, np.concatenate(lines)


def write(path: Path, records: Records, games: NDArray[np.void]) -> Path:
    np.savez_compressed(path, d=records, g=games)
    return path


def test_early_records_have_their_whole_history(tmp_path: Path) -> None:
    records, games, states = made(9)
    training, heldout = FORMAT.read_folder(SHOGI, [write(tmp_path / "x.npz", records, games)], TargetOptions())
    for data, ids in ((training, [0, 1, 2, 3, 4, 5, 6, 8]), (heldout, [7])):
        whole = np.isin(np.repeat(np.arange(9), 12 + games["nopen"]), ids)
        assert data.states["board"].tolist() == states[whole]["board"].tolist()
        assert data.states["repetitions"].tolist() == states[whole]["repetitions"].tolist()
        assert len(data) == 12 * len(ids)
        batch = data.batch(np.arange(len(data)))
        chosen = records[np.isin(records["game"], ids)]
        np.testing.assert_array_equal(batch.z, chosen["z"])
        ends = np.cumsum(games["nopen"][ids].astype(np.int64) + 12)
        for at in range(0, len(data), 5):
            game, ply = divmod(at, 12)
            length = int(games["nopen"][ids[game]]) + 12
            line = states[whole][ends[game] - length : ends[game] - 12 + ply + 1]
            planes = np.zeros((1, *SHOGI.planes), np.uint8)
            SHOGI.encode(line.copy(), np.array([len(line) - 1]), np.array([0]), planes)
            np.testing.assert_array_equal(batch.planes[at], planes[0])


def test_without_openings_nothing_changes(tmp_path: Path) -> None:
    records, games, _ = made(9)
    games["nopen"] = 0
    training, _ = FORMAT.read_folder(SHOGI, [write(tmp_path / "x.npz", records, games)], TargetOptions())
    assert len(training.states) == len(training)


def test_openings_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    records, games, _ = made(9)
    wrong = games.copy()
    wrong["open"][1, 2] = 0
    with pytest.raises(DataError, match="move 3 of the opening of game 1 is not legal"):
        FORMAT.read_folder(SHOGI, [write(tmp_path / "x.npz", records, wrong)], TargetOptions())
    wrong = games.copy()
    wrong["open"][1] = games["open"][2]
    with pytest.raises(DataError, match="the opening of game 1 does not lead to its first record"):
        FORMAT.read_folder(SHOGI, [write(tmp_path / "x.npz", records, wrong)], TargetOptions())
    wrong = games.copy()
    wrong["nopen"] = 200
    with pytest.raises(DataError, match="openings in g are odd"):
        FORMAT.read_folder(SHOGI, [write(tmp_path / "x.npz", records, wrong)], TargetOptions())
    with pytest.raises(DataError, match="tells no openings"):
        FORMAT.read_folder(SHOGI, [write(tmp_path / "x.npz", records, np.zeros(3, [("x", "u1")]))], TargetOptions())
