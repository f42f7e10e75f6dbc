"""Static exchange evaluation: what a move wins or loses once everybody has taken back on its target square."""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from .attacks import bit, first, set_of
from .rules import DROPS, PROMOTES, attackers
from .state import BLACK_PIECES, KING, PROMOTED

LOSES, EVEN, WINS = 0, 1, 2
# In pawns, by piece on the board (of an empty square nothing); nobody takes the king.
VALUES = np.array([0, 1, 3, 4, 5, 8, 10, 6, 100, 5, 5, 5, 6, 11, 13], np.int64)


@device
def exchange_beside(s, move, attacked):
    """:func:`exchange` for one who knows all squares that the other side attacks: most moves are safe at a glance."""
    target, source = np.int64(move & 127), np.int64((move >> 7) & 127)
    touched = bit(target)
    if source < DROPS:
        touched |= bit(source)
    if attacked & touched:
        return exchange(s, move)
    gain = np.int64(0)
    if source < DROPS:
        piece = np.int64(s.board[source] & 15)
        gain += VALUES[s.board[target] & 15]
        if move & PROMOTES:
            gain += VALUES[piece + PROMOTED] - VALUES[piece]
    return WINS if gain else EVEN


@device
def exchange(s, move):
    """LOSES, EVEN or WINS (i64): the sign of what a legal move gains in pawns. Pins are not looked at.

    Who takes back does not promote.
    """
    target, source, us = np.int64(move & 127), np.int64((move >> 7) & 127), np.int64(s.turn)
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    gain = np.int64(0)
    if source >= DROPS:
        moved = VALUES[source - DROPS + 1]
    else:
        piece = np.int64(s.board[source] & 15)
        gain += VALUES[s.board[target] & 15]
        moved = VALUES[piece]
        if move & PROMOTES:
            gain += VALUES[piece + PROMOTED] - moved
            moved = VALUES[piece + PROMOTED]
        occupied &= ~bit(source)
    occupied |= bit(target)
    if not _takers(s, target, 1 - us, occupied):
        return WINS if gain else EVEN
    if gain and _reaches(s, target, occupied, gain - 1, moved):
        return WINS
    return EVEN if _reaches(s, target, occupied, gain, moved) else LOSES


@device
def _takers(s, target, side, occupied):
    """The pieces of a side that may take on the target; pieces that have taken already are no longer ``occupied``."""
    return attackers(s, target, side, occupied) & occupied & ~bit(target)


@device
def _reaches(s, target, occupied, ahead, moved):
    """Whether the mover, ``ahead`` by so much with a piece worth ``moved`` on the target, is not behind at the end."""
    side = 1 - np.int64(s.turn)  # to take
    stake = moved - ahead  # what it gains if nobody takes back
    if stake <= 0:
        return True
    good = True
    while True:
        mine = _takers(s, target, side, occupied)
        if not mine:
            return good
        good = not good
        taker, piece = _least(s, mine)
        if piece == KING:  # it takes only where nobody takes back
            return not good if _takers(s, target, 1 - side, occupied) else good
        stake = VALUES[piece] - stake
        if stake < (1 if good else 0):
            return good
        occupied &= ~bit(taker)
        side = 1 - side


@device
def _least(s, pieces):
    """(square, piece) of the least valuable of some pieces."""
    square, best = np.int64(0), np.int64(KING)
    while pieces:
        other, pieces = first(pieces)
        piece = np.int64(s.board[other] & 15)
        if VALUES[piece] <= VALUES[best]:
            square, best = other, piece
    return square, best
