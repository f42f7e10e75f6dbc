"""The Go position: one record of bitboards, the same for every board size.

Point p = columns * row + column; row 0 is the top edge, column 0 the A line: on 9x9 point 0 is A9, 80 is J1. Bit
p & 63 of word p >> 6 of ``stones[colour]`` says that a stone stands there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.splitmix import random_keys

BLACK, WHITE, EMPTY, EDGE = range(4)
MIN_SIZE, MAX_SIZE = 2, 25
MAX_POINTS = MAX_SIZE * MAX_SIZE
WORDS = (MAX_POINTS + 63) // 64

STATE = np.dtype(
    [
        ("stones", "u8", (2, WORDS)),
        ("key", "u8"),  # Zobrist key of the stones alone, as superko needs it
        ("komi", "i2"),  # in half points, added to white's score
        ("ko", "i2"),  # point that may not be retaken at once, -1 = none
        ("ply", "u2"),  # moves since the game's start, saturating
        ("handicap", "u2"),  # black's handicap stones: some rule sets give white points for them
        ("last", "u2"),  # 1 + the move that led here; 0 where none is known or the side to move just changed
        ("rules", "u2"),  # RuleSet.flags
        ("played", "i2"),  # by rules that count territory: black's stones less white's, those captured, too; else 0
        ("columns", "u1"),  # of the board, W
        ("rows", "u1"),  # of the board, H; most boards are square
        ("turn", "u1"),  # BLACK or WHITE to move
        ("passes", "u1"),  # passes in a row that led here, saturating
    ],
    align=True,
)

State = NDArray[np.void]  # State[N]: structured arrays of STATE


_KEYS = random_keys(2 * MAX_POINTS + 1)
STONE_KEYS = _KEYS[:-1]  # [colour * MAX_POINTS + point]
TURN_KEY = _KEYS[-1]


def points_of(state: State) -> int:
    """H * W of one State[]: its points, and the number of a pass."""
    return int(state["columns"]) * int(state["rows"])


def stones_to_array(state: State) -> NDArray[np.uint8]:
    """u1[H * W] of one State[]: BLACK, WHITE or EMPTY at each point."""
    points = points_of(state)
    bits = np.unpackbits(np.ascontiguousarray(state["stones"]).view(np.uint8), axis=1, bitorder="little")
    return np.where(bits[0, :points], BLACK, np.where(bits[1, :points], WHITE, EMPTY)).astype(np.uint8)


def stones_from_array(board: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """``stones`` u8[B, 2, WORDS] of boards u1[B, H * W] of BLACK, WHITE and EMPTY."""
    bits = np.zeros((len(board), 2, 64 * WORDS), np.uint8)
    for colour in (BLACK, WHITE):
        bits[:, colour, : board.shape[1]] = board == colour
    return np.packbits(bits, axis=2, bitorder="little").view(np.uint64)
