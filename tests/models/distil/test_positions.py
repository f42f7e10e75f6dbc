"""What networks learn from beside played games: fights, and records that were labelled before."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.games.go.encoders import katago
from az_engine.engine.games.go.state import EMPTY
from az_engine.models.data.games.go import read_shard
from az_engine.models.distil.config import HISTORY, OURS
from az_engine.models.distil.fights import fight, territories
from az_engine.models.distil.memory import Memory
from az_engine.models.distil.records import read_records, remember

SAMPLE = Path(__file__).parents[2] / "data" / "go9_train_sample.npz"
GO = get_game("go")


def chains(board: NDArray[np.uint8]) -> list[tuple[set[tuple[int, int]], set[tuple[int, int]]]]:
    """The stones and the liberties of every chain, by a plain flood fill."""
    results = []
    left = set(zip(*np.nonzero(board != EMPTY), strict=True))
    while left:
        stones, waiting, liberties = set(), [min(left)], set()
        while waiting:
            row, column = waiting.pop()
            if (row, column) in stones:
                continue
            stones.add((row, column))
            for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                if 0 <= r < len(board) and 0 <= c < len(board):
                    if board[r, c] == EMPTY:
                        liberties.add((r, c))
                    elif board[r, c] == board[row, column]:
                        waiting.append((r, c))
        left -= stones
        results.append((stones, liberties))
    return results


@pytest.mark.parametrize("lines", [5, 7, 9, 13, 19])
def test_fights_leave_some_chains_few_liberties(lines: int) -> None:
    random, tight, settled, boards = np.random.default_rng(lines), 0, 0, set()
    for _ in range(60):
        board = fight(lines, random)
        assert board.shape == (lines, lines)
        found = chains(board)
        settled += all(liberties for _, liberties in found)
        tight += any(len(stones) >= 4 and len(liberties) <= 3 for stones, liberties in found)
        boards.add(board.tobytes())
    assert tight > 15
    assert settled > 20  # of the others games draw again
    assert len(boards) > 55


@pytest.mark.parametrize("lines", [5, 7, 9, 13, 19])
def test_divided_boards_hold_ground_of_both_sides_and_stones_within_it(lines: int) -> None:
    random, settled, invaded, boards = np.random.default_rng(lines), 0, 0, set()
    for _ in range(60):
        board = territories(lines, random)
        assert board.shape == (lines, lines)
        assert {0, 1} <= set(board.ravel().tolist())
        found = chains(board)
        settled += all(liberties for _, liberties in found)
        invaded += any(len(stones) == 1 and len(liberties) >= 3 for stones, liberties in found)
        boards.add(board.tobytes())
    assert invaded > 15
    assert settled > 20  # of the others games draw again
    assert len(boards) > 55


def test_records_are_learned_from_as_they_were_labelled(tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path)
    positions = read_records(GO, tmp_path, OURS)
    memory = Memory(len(positions) + 10, positions.game.encoder, HISTORY, torch.device("cpu"))
    remember(memory, positions)
    assert memory.count == len(positions) > 100
    batch = memory.draw(64)
    assert batch.score is not None
    assert batch.ownership is not None
    by_lead: dict[float, list[np.void]] = {}
    assert torch.allclose(batch.wdl.sum(1), torch.ones(64))
    for row in read_shard(SAMPLE, 81)[0]:
        lead = row["lead"] / 100 + (7 if row["turn"] == 1 else -7)
        by_lead.setdefault(round(float(lead), 2), []).append(row)
    for i in range(64):
        same = [row for row in by_lead[round(float(batch.score[i]), 2)] if matches(row, batch.planes[i], i // 8)]
        assert same
        chance = float(batch.wdl[i, 0])
        if same[0]["dead"] == 0:
            assert any(abs(chance - row["w"] / 65535) < 1e-3 for row in same)


def matches(row: np.void, planes: torch.Tensor, symmetry: int) -> bool:
    """Whether planes under a symmetry show the stones of a record."""
    stones = torch.from_numpy(row["stones"].reshape(9, 9).astype(np.int64))
    own, turn = planes[1] + 2 * planes[2], int(row["turn"])
    shown = torch.where(stones == 0, 0, torch.where(stones == turn, 1, 2))
    for bit, axis in ((1, -2), (2, -1)):
        shown = shown.flip(axis) if symmetry & bit else shown
    return bool((own == (shown.transpose(-1, -2) if symmetry & 4 else shown)).all())


def test_folders_without_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no \.npz files"):
        read_records(GO, tmp_path, OURS)
    np.savez(tmp_path / "a.npz", d=np.zeros(3), g=np.zeros(3))
    with pytest.raises(DataError):
        read_records(GO, tmp_path, OURS)


def test_past_moves_are_those_that_nets_ask_for() -> None:
    """With one move shown, positions that differ in older moves alone are one to a search."""
    game = GO.sized(9).using(katago.RULES)
    keys = {}
    for history in (1, 5):
        found = []
        for moves in ((20, 60, 24, 56, 40), (24, 56, 20, 60, 40)):
            line = game.initial()
            for move in moves:
                line = game.play(line, move)
            states, leaves = game.encoder.leaf_after(line)
            game.encoder.describe(states, leaves, 1, history, 0)
            found.append(int(leaves.rows["key"][0]))
            assert leaves.planes[0].reshape(game.planes)[9:14].sum() == history
        keys[history] = found
    assert keys[1][0] == keys[1][1]
    assert keys[5][0] != keys[5][1]
