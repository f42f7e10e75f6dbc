"""Shogi's quiescence: captures, and promotions that make a piece worth more."""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from ..tactics.quiescence import make_quiescence
from .exchanges import LOSES, VALUES, exchange
from .rules import DROPS, MAX_MOVES, PROMOTES, generate, in_check, make
from .state import PROMOTED


@device
def _gain(s, move, checked):
    """By what a move gains in pawns, then by the piece that it risks."""
    source = np.int64((move >> 7) & 127)
    if source >= DROPS:
        return 0 if checked else -1
    piece = np.int64(s.board[source] & 15)
    gained = VALUES[s.board[move & 127] & 15]
    if move & PROMOTES:
        gained += VALUES[piece + PROMOTED] - VALUES[piece]
    if gained > 0:
        return 128 * gained + 127 - VALUES[piece]
    return 0 if checked else -1


@device
def _checked(s):
    return in_check(s, np.int64(s.turn))


@device
def _loses(s, move):
    return exchange(s, move) == LOSES


QUIESCENCE = make_quiescence(generate, _checked, make, _gain, _loses, max_moves=MAX_MOVES)
