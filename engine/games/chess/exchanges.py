"""Static exchange evaluation: what a move wins or loses once everybody has taken back on its target square."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.jit import device
from .attacks import KING_ATTACKS, KNIGHT_ATTACKS, NONE, bishop_attacks, bit, pawn_attacks, rook_attacks
from .generation import sides
from .rules import piece_at
from .state import BLACK, WHITE

LOSES, EVEN, WINS = 0, 1, 2
_VALUES = np.array([1, 3, 3, 5, 9, 100], np.int64)  # pawns, by kind of piece; nobody takes the king


@device
def exchange_beside(s, move, attacked):
    """:func:`exchange` for one who knows all squares that the other side attacks: most moves are safe at a glance."""
    source, target = np.int64(move & 63), np.int64((move >> 6) & 63)
    if attacked & (bit(source) | bit(target)) or (s.pawns & bit(source) and target == np.int64(s.ep)):
        return exchange(s, move)
    _, enemy = sides(s)
    return WINS if enemy & bit(target) or move >> 12 else EVEN


@device
def exchange(s, move):
    """LOSES, EVEN or WINS (i64): the sign of what a legal move gains in pawns. Pins are not looked at."""
    source, target, promotion = np.int64(move & 63), np.int64((move >> 6) & 63), np.int64(move >> 12)
    ours, enemy = sides(s)
    target_mask = bit(target)
    if ours & target_mask:  # castling
        return EVEN
    gain: Any = np.int64(0)
    moved = _VALUES[piece_at(s, source)]
    occupied = (ours | enemy) & ~bit(source)
    if enemy & target_mask:
        gain = _VALUES[piece_at(s, target)]
    elif moved == 1 and target == np.int64(s.ep):
        gain = 1
        occupied &= ~bit(target - 8 if s.turn == WHITE else target + 8)
    if promotion:
        moved = _VALUES[promotion]
        gain += moved - 1
    if gain > moved:
        return WINS
    attackers = _attackers(s, target, occupied)
    if attackers & enemy == NONE:
        return WINS if gain else EVEN
    if gain and _reaches(s, target, occupied | target_mask, attackers, gain - 1, moved):
        return WINS
    return EVEN if gain == moved or _reaches(s, target, occupied | target_mask, attackers, gain, moved) else LOSES


@device
def _attackers(s, square, occupied):
    """Men of both sides that attack a square, given the occupied squares."""
    mask = bit(square)
    pieces = (KNIGHT_ATTACKS[square] & s.knights) | (KING_ATTACKS[square] & s.kings)
    pieces |= pawn_attacks(mask, WHITE) & s.pawns & s.black
    pieces |= pawn_attacks(mask, BLACK) & s.pawns & s.white
    pieces |= rook_attacks(square, occupied) & (s.rooks | s.queens)
    pieces |= bishop_attacks(square, occupied) & (s.bishops | s.queens)
    return pieces & occupied


@device
def _reaches(s, target, occupied, attackers, ahead, moved):
    """Whether a side that is ``ahead`` by so much, with ``moved`` at stake on the target, is not behind at the end.

    attackers: of the target, both sides'; the other side is to take first.
    """
    ours, enemy = sides(s)
    stake = moved - ahead  # what the side to take gains if nobody takes back
    if stake <= 0:
        return True
    theirs, good = True, True
    while True:
        attackers &= occupied
        mine = attackers & (enemy if theirs else ours)
        theirs = not theirs
        if mine == NONE:
            return good
        good = not good
        if mine & s.pawns:
            taker, kind = mine & s.pawns, 0
        elif mine & s.knights:
            taker, kind = mine & s.knights, 1
        elif mine & s.bishops:
            taker, kind = mine & s.bishops, 2
        elif mine & s.rooks:
            taker, kind = mine & s.rooks, 3
        elif mine & s.queens:
            taker, kind = mine & s.queens, 4
        else:  # the king takes only where nobody takes back
            other = attackers & (enemy if theirs else ours)
            return not good if other else good
        stake = _VALUES[kind] - stake
        if stake < (1 if good else 0):
            return good
        occupied ^= taker & (~taker + np.uint64(1))
        if kind == 0 or kind == 2 or kind == 4:
            attackers |= bishop_attacks(target, occupied) & (s.bishops | s.queens)
        if kind >= 3:
            attackers |= rook_attacks(target, occupied) & (s.rooks | s.queens)
