"""Fights that played games show seldom: enclosed groups at an edge, and stones within the other side's territory.

Some of them live, some die, and some are in seki: what becomes of them is for the teacher to say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLACK, WHITE, EMPTY = range(3)
_WHOLE_WIDTH = 9  # a fight is as wide as a board of up to so many lines
_WIDTH, _HEIGHT = (5, 10), (1, 3)  # of the enclosed stones, both ends included
_ALONE = 0.35  # chance that one group is enclosed, not two of different colours
_HOLES, _STRANGERS, _GAPS = (0.08, 0.4), (0.0, 0.2), (0.0, 0.1)  # shares of the enclosed points and of the walls
_STONES = 0.08  # of the board's points: mean number of stones elsewhere

_AREA, _AREAS = 20, (3.0, 30.0)  # points for each centre of a territory; squared widths of these, twice
_QUANTILES = (0.3, 0.7)  # white's share of a divided board
_BEHIND, _DEEP = (0.2, 0.6), (0.0, 0.3)  # shares of stones next to a wall, and farther from it
_INVADERS = (0.0, 0.1)  # share of the other side's stones; but for a place where it is that of strangers ...
_NEAR = 4  # ... within so many rows and columns


def fight(lines: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """u1[H, W] of BLACK, WHITE and EMPTY; a chain may be without a liberty, then draw again."""
    return _turned(_enclosed(lines, random), random)


def territories(lines: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """A board divided between both sides by walls, with stones of each within the other's ground; as :func:`fight`."""
    y, x = np.mgrid[:lines, :lines]
    field = np.zeros((lines, lines))
    for _ in range(int(random.integers(2, 3 + lines * lines // _AREA))):
        row, column = random.uniform(0, lines, 2)
        field += random.choice((-1, 1)) * np.exp(-((y - row) ** 2 + (x - column) ** 2) / random.uniform(*_AREAS))
    owner = np.where(field > np.quantile(field, random.uniform(*_QUANTILES)), BLACK, WHITE)

    wall = _borders(owner)
    gaps, behind, deep = (random.uniform(*shares) for shares in (_GAPS, _BEHIND, _DEEP))
    shares = np.where(wall, 1 - gaps, np.where(_borders(wall), behind, deep))
    strangers = np.full((lines, lines), random.uniform(*_INVADERS))
    row, column = random.integers(0, lines, 2)  # most of them are near here
    strangers[(abs(y - row) < _NEAR) & (abs(x - column) < _NEAR)] = random.uniform(*_STRANGERS)
    board = np.where(random.random(owner.shape) < shares, owner, EMPTY)
    return np.where((random.random(owner.shape) < strangers) & ~wall, 1 - owner, board).astype(np.uint8)


def _borders(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a point [H, W] has a neighbour of another value."""
    result = np.zeros(values.shape, bool)
    for axis in (0, 1):
        differs = np.diff(values.astype(np.int8), axis=axis) != 0
        before, after = (np.s_[:-1], np.s_[1:]) if axis == 0 else (np.s_[:, :-1], np.s_[:, 1:])
        result[before] |= differs
        result[after] |= differs
    return result


def _turned(board: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """A board under one of its symmetries, its colours as they are or exchanged."""
    board = np.rot90(board, int(random.integers(4)))
    if random.random() < 0.5:
        board = board.T
    if random.random() < 0.5:
        board = np.where(board == EMPTY, EMPTY, 1 - board)
    return np.ascontiguousarray(board, np.uint8)


def _enclosed(lines: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """A fight at the upper edge: to the left of ``split`` white is enclosed, to the right black."""
    height = min(int(random.integers(_HEIGHT[0], _HEIGHT[1] + 1)), lines // 3)
    width = lines if lines <= _WHOLE_WIDTH else int(random.integers(_WIDTH[0], _WIDTH[1] + 1))
    left = 0 if random.random() < 0.5 else int(random.integers(lines - width + 1))
    right = left + width
    split = right if random.random() < _ALONE else left + int(random.integers(2, width - 1))
    board = np.full((lines, lines), EMPTY, np.uint8)

    last = BLACK if split == right else WHITE  # encloses what lies at the right end
    walls = np.zeros((lines, lines), bool)
    board[height, left:split], board[height, split:right] = BLACK, WHITE
    walls[height, left:right] = True
    for column, colour in ((left - 1, BLACK), (right, last)):
        if 0 <= column < lines:
            board[: height + 1, column] = colour
            walls[: height + 1, column] = True
    if width == lines and split < right:
        board[height:, split - 1], board[height:, split] = BLACK, WHITE
        walls[height:, split - 1 : split + 1] = True
    board[walls & (random.random(board.shape) < random.uniform(*_GAPS))] = EMPTY

    inside = np.s_[:height, left:right]
    theirs = np.where(np.arange(left, right) < split, WHITE, BLACK)
    drawn, holes, strangers = random.random((height, width)), random.uniform(*_HOLES), random.uniform(*_STRANGERS)
    stones = np.where(drawn < holes, EMPTY, np.where(drawn > 1 - strangers, 1 - theirs, theirs))
    board[inside] = stones

    elsewhere = np.flatnonzero((board == EMPTY).ravel() & (np.arange(board.size) >= (height + 1) * lines))
    count = min(int(random.exponential(_STONES * board.size)), len(elsewhere) // 2)
    board.ravel()[random.choice(elsewhere, count, replace=False)] = random.integers(0, 2, count)
    return board
