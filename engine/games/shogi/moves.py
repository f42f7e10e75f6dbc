"""The 11,259 actions of shogi (Table S2): plane * 81 + square, seen by the mover (for white the board is turned round).

Planes 0..63 are queen moves, direction * 8 + distance - 1, directions N NE E SE S SW W NW with N forward and E to the
mover's right (towards file 1 for black); 64, 65 the knight's moves to the right and to the left; 66..131 the same 66
with promotion; 132..138 drops of pawn, lance, knight, silver, bishop, rook, gold. The square is the one the piece is
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
def seen_by_mover(s, move):
    """(source or drop, destination, direction) of a move, i64, on the board as the mover sees it.

    direction: 0 to 7 by :data:`attacks.COMPASS`, 8 a knight's jump to the left, 9 to the right, of a drop anything.
    """
    to, source, direction = np.int64(move & 127), np.int64((move >> 7) & 127), np.int64(8)
    if s.turn:
        to = SQUARES - 1 - to
    if source < DROPS:
        if s.turn:
            source = SQUARES - 1 - source
        direction = np.int64(DIRECTIONS[SQUARES * source + to])
        if direction < 0:
            direction = np.int64(9 if to < source else 8)
    return source, to, direction


@device
def action_of(s, move):
    """The policy index (i64) of a legal move in a position."""
    source, to, direction = seen_by_mover(s, move)
    if source >= DROPS:
        return (_DROP_PLANE + source - DROPS) * SQUARES + to
    if direction >= 8:
        plane = _KNIGHT_PLANE + 9 - direction
    else:
        files, ranks = abs(to // 9 - source // 9), abs(to % 9 - source % 9)
        plane = 8 * direction + max(files, ranks) - 1
    if move & PROMOTES:
        plane += _PROMOTION_PLANES
    return plane * SQUARES + source
