"""The 11,259 actions of shogi (Table S2): plane * 81 + square, seen by the mover (for white the board is turned round).

Planes 0..63 are queen moves, direction * 8 + distance - 1, directions N NE E SE S SW W NW with N forward and E to the
mover's right (towards file 1 for black); 64, 65 the knight's moves to the right and to the left; 66..131 the same 66
with promotion; 132..138 drops of pawn, lance, knight, silver, bishop, rook, gold. The square is the one the man is
picked up from, or where it is dropped, numbered as in :mod:`state`: 9 * (file - 1) + rank.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from .attacks import DIRECTIONS
from .rules import DROPS, PROMOTES
from .state import SQUARES

NUM_ACTIONS = 139 * SQUARES
_KNIGHT_PLANE, _PROMOTION_PLANES, _DROP_PLANE = 64, 66, 132


@device
def action_of(s, move):
    """The policy index (i64) of a legal move in a position."""
    to, source = np.int64(move & 127), np.int64((move >> 7) & 127)
    if s.turn:
        to = SQUARES - 1 - to
        if source < DROPS:
            source = SQUARES - 1 - source
    if source >= DROPS:
        return (_DROP_PLANE + source - DROPS) * SQUARES + to
    direction = np.int64(DIRECTIONS[SQUARES * source + to])
    if direction < 0:
        plane = np.int64(_KNIGHT_PLANE if to < source else _KNIGHT_PLANE + 1)
    else:
        files, ranks = abs(to // 9 - source // 9), abs(to % 9 - source % 9)
        plane = 8 * direction + max(files, ranks) - 1
    if move & PROMOTES:
        plane += _PROMOTION_PLANES
    return plane * SQUARES + source
