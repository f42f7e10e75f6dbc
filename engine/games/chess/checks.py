"""Moves that give check, and the mates that are looked for: short ones by checks alone, others within some plies."""

from __future__ import annotations

import numpy as np

from ...kernels.bits import lowest_bit
from ...kernels.jit import device
from ..tactics.mates import Attack, short_mates
from ..tactics.proofs import Hunt, ProofSearch
from .attacks import (
    KNIGHT_ATTACKS,
    NONE,
    between_diagonal,
    between_straight,
    bishop_attacks,
    bit,
    first,
    pawn_attacks,
    rook_attacks,
)
from .generation import Aim, generate, generate_aimed, in_check, king_can_move, sides
from .rules import MAX_MOVES, PLAY, make


@device
def _checks(s, moves, row):
    """Write the legal moves that may give check to moves[row], all that do and few others; returns their number."""
    ours, enemy = sides(s)
    king, occupied = lowest_bit(s.kings & enemy), ours | enemy
    straight, diagonal = rook_attacks(king, occupied), bishop_attacks(king, occupied)
    near = pawn_attacks(bit(king), 1 - s.turn)
    aim = Aim(near, KNIGHT_ATTACKS[king], diagonal, straight, _screens(s, ours, enemy, king))
    return generate_aimed(s, moves, row, aim)


@device
def _list_checks(s, moves, row, legal):
    """As :func:`_checks`, where the legal moves are in moves[row]."""
    return _checks(s, moves, row)


@device
def _screens(s, ours, enemy, king):
    """Own pieces that stand alone between an own slider and the enemy king."""
    result = NONE
    occupied = ours | enemy
    sliders = rook_attacks(king, NONE) & (s.rooks | s.queens) & ours
    while sliders:
        square, sliders = first(sliders)
        blockers = between_straight(king, square) & occupied
        if blockers & (blockers - np.uint64(1)) == NONE:
            result |= blockers
    sliders = bishop_attacks(king, NONE) & (s.bishops | s.queens) & ours
    while sliders:
        square, sliders = first(sliders)
        blockers = between_diagonal(king, square) & occupied
        if blockers & (blockers - np.uint64(1)) == NONE:
            result |= blockers
    return result & ours


@device
def _longest(line, at, plies):
    """1 where a draw may come before a mate in ``plies``, by the fifty moves or a third occurrence, else ``plies``."""
    quiet = np.int64(line[at].rule50)
    most = np.int64(0)
    for i in range(max(0, at - quiet), at + 1):
        most = max(most, np.int64(line[i].repetitions))
    return min(plies, 1) if quiet + plies > 100 or most >= 1 else plies


@device
def _can_move(s, moves, row):
    """Whether there is a legal move; mostly the king has one."""
    return king_can_move(s) or generate(s, None, 0) > 0


MATES = short_mates(Attack(MAX_MOVES, generate, _can_move, _checks, _list_checks, False, make, in_check, _longest))


@device
def _attack(s, moves, row, room):
    """Every legal move, but for the last one, which has to give check."""
    return _checks(s, moves, row) if room == 1 else generate(s, moves, row)


@device
def _drawn(s):
    return s.rule50 >= 100


@device
def _dropped(move):
    return False


@device
def _key_within(s, room):
    """A key of the position, the plies that are left and, where the fifty moves may end the game, how many are over."""
    late = np.uint64(s.rule50) if np.int64(s.rule50) + room >= 100 else np.uint64(0)
    return s.key ^ np.uint64(room + 1) * np.uint64(0x9E3779B97F4A7C15) ^ late * np.uint64(0xC2B2AE3D27D4EB4F)


class ChessMate(ProofSearch):
    """A search for a mate within some plies, quiet moves included."""

    hunt = Hunt(MAX_MOVES, _attack, generate, make, in_check, _drawn, _dropped, _key_within, True)
    play = PLAY
    seen = 1
