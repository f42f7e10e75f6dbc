"""Moves that give check: what an attacker plays in a search for a mate; and the short mates at the leaves."""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from ..tactics.mates import Attack, short_mates
from .attacks import (
    BISHOP_LINES,
    KING_STEPS,
    LANCE_RAYS,
    LAST,
    LAST_TWO,
    ROOK_LINES,
    between,
    bit,
    files_without,
    first,
    line_from,
    lookup,
    nothing,
    reach,
    set_of,
    side_lookup,
)
from .rules import (
    DROPS,
    MAX_MOVES,
    PROMOTES,
    attacked_squares,
    board_moves,
    emit,
    generate,
    make,
    pawn_mates,
    pins_and_checks,
)
from .state import BISHOPS, BLACK_PIECES, HELD, KNIGHT, LANCE, LANCES, PAWN, PAWNS, PROMOTED, ROOKS


@device
def checks(s, moves, row):
    """Write the legal moves that give check to moves[row] and return their number (i64)."""
    us = np.int64(s.turn)
    ours, enemy = set_of(s, BLACK_PIECES + us), set_of(s, BLACK_PIECES + 1 - us)
    king, target = np.int64(s.kings[us]), np.int64(s.kings[1 - us])
    occupied = ours | enemy
    evasions, pinned, checkers = pins_and_checks(s, us, ours, enemy, king)
    screens = screens_of(s, us, target, occupied) & ours

    n = np.int64(0)
    if screens & bit(king):
        danger = attacked_squares(s, 1 - us, occupied & ~bit(king), king)
        n = emit(moves, row, n, king, lookup(KING_STEPS, king) & ~(ours | danger | line_from(target, king)))
    if checkers > 1:
        return n
    end = board_moves(s, moves, row, n, occupied, evasions, pinned)
    n = _keep_checks(s, moves, row, n, end, screens)
    empty = evasions & ~occupied
    if empty:
        n = _drops(s, moves, row, n, empty)
    return n


@device
def screens_of(s, side, target, occupied):
    """Men, of either side, that stand alone between a slider of ``side`` and the square ``target``.

    One's own gives check by moving off the line when the enemy king is there; the enemy's is pinned.
    """
    result = nothing()
    sliders = (
        (lookup(ROOK_LINES, target) & set_of(s, ROOKS))
        | (lookup(BISHOP_LINES, target) & set_of(s, BISHOPS))
        | (side_lookup(LANCE_RAYS, 1 - side, target) & set_of(s, LANCES))
    ) & set_of(s, BLACK_PIECES + side)
    while sliders:
        square, sliders = first(sliders)
        blockers = between(target, square) & occupied
        if blockers and not first(blockers)[1]:
            result |= blockers
    return result


@device
def _keep_checks(s, moves, row, n, end, screens):
    """Keep those of moves[row, n:end] that give check, by the moved piece or by one behind it; returns the new end.

    screens: the own pieces that stand alone between an own slider and the enemy king.
    """
    us = np.int64(s.turn)
    occupied, target = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1), np.int64(s.kings[1 - us])
    source, piece, requested = np.int64(-1), np.int64(-1), nothing()
    for i in range(n, end):
        move = np.int64(moves[row, i])
        origin = (move >> 7) & 127
        if origin >= DROPS:
            moved = origin - DROPS + 1
        else:
            moved = np.int64(s.board[origin] & 15) + (PROMOTED if move & PROMOTES else 0)
        if moved != piece or origin != source:  # moves of one piece follow each other
            source, piece = origin, moved
            requested = reach(piece, 1 - us, target, occupied)
            if origin < DROPS and screens & bit(source):
                requested |= ~line_from(target, source)
        if requested & bit(move & 127):
            moves[row, n] = move
            n += 1
    return n


@device
def _drops(s, moves, row, n, empty):
    """Append the drops on ``empty`` squares that give check."""
    us = np.int64(s.turn)
    ours, enemy = set_of(s, BLACK_PIECES + us), set_of(s, BLACK_PIECES + 1 - us)
    occupied, target = ours | enemy, np.int64(s.kings[1 - us])
    for piece in range(PAWN, HELD + 1):
        if not s.hands[us, piece - 1]:
            continue
        squares = empty & reach(piece, 1 - us, target, occupied)
        if piece == PAWN:
            squares &= files_without(set_of(s, PAWNS) & ours) & ~lookup(LAST, us)
            if squares and pawn_mates(s, us, ours, enemy):
                continue
        elif piece == LANCE:
            squares &= ~lookup(LAST, us)
        elif piece == KNIGHT:
            squares &= ~lookup(LAST_TWO, us)
        n = emit(moves, row, n, DROPS + piece - 1, squares)
    return n


@device
def _keep_all_checks(s, moves, row, legal):
    us = np.int64(s.turn)
    ours, enemy = set_of(s, BLACK_PIECES + us), set_of(s, BLACK_PIECES + 1 - us)
    screens = screens_of(s, us, np.int64(s.kings[1 - us]), ours | enemy) & ours
    return _keep_checks(s, moves, row, np.int64(0), legal, screens)


@device
def _checked(s):
    return s.checked != 0


@device
def _longest(line, at, plies):
    """How long a mate may be: until the greatest number of plies, and 1 where a position may come a fourth time."""
    if line[at].limit:
        plies = min(plies, np.int64(line[at].limit) - np.int64(line[at].ply))
    if plies > 1:
        for i in range(at + 1):
            if line[i].repetitions >= 2:
                return np.int64(1)
    return plies


@device
def _can_move(s, moves, row):
    return generate(s, moves, row) > 0


MATES = short_mates(Attack(MAX_MOVES, generate, _can_move, checks, _keep_all_checks, True, make, _checked, _longest))
