"""Fights: enclosed groups of few liberties at an edge, of which some live, some die, and some are in seki.

Played games show few of them, and hardly a seki. What becomes of a group is for the teacher to say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLACK, WHITE, EMPTY = range(3)
_WHOLE_WIDTH = 9  # a fight is as wide as a board of up to so many lines
_WIDTH, _HEIGHT = (5, 10), (1, 3)  # of the enclosed stones, both ends included
_ALONE = 0.35  # chance that one group is enclosed, not two of different colours
_HOLES, _STRANGERS, _GAPS = (0.08, 0.4), (0.0, 0.2), (0.0, 0.1)  # shares of the enclosed points and of the walls
_STONES = 0.08  # of the board's points: mean number of stones elsewhere


def fight(lines: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """u1[H, W] of BLACK, WHITE and EMPTY; a chain may be without a liberty, then draw again."""
    board = np.rot90(_drawn(lines, random), int(random.integers(4)))
    if random.random() < 0.5:
        board = board.T
    if random.random() < 0.5:
        board = np.where(board == EMPTY, EMPTY, 1 - board)
    return np.ascontiguousarray(board, np.uint8)


def _drawn(lines: int, random: np.random.Generator) -> NDArray[np.uint8]:
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
