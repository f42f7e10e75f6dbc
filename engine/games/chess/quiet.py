"""Chess's quiescence: captures and promotions to a queen."""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from ..tactics.quiescence import make_quiescence
from .attacks import bit
from .exchanges import LOSES, exchange
from .generation import generate, in_check, sides
from .rules import MAX_MOVES, make, piece_at

_QUEEN = 4  # a promotion to it, as moves write it


@device
def _gain(s, move, checked):
    """By the piece that a move takes, then by the taker."""
    target = np.int64((move >> 6) & 63)
    taker = piece_at(s, np.int64(move & 63))
    if sides(s)[1] & bit(target):
        return 16 * (piece_at(s, target) + 1) + 8 - taker
    if move >> 12 == _QUEEN:
        return 16 * (_QUEEN + 1)
    if taker == 0 and target == np.int64(s.ep):
        return 16
    return 0 if checked else -1


@device
def _loses(s, move):
    return exchange(s, move) == LOSES


QUIESCENCE = make_quiescence(generate, in_check, make, _gain, _loses, max_moves=MAX_MOVES)
