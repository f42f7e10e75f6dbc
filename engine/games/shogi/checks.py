"""Moves that give check: what an attacker may play in the search for a mate."""

from __future__ import annotations

import numpy as np

from ...jit import device
from .attacks import (
    BISHOP_LINES,
    GOLD_STEPS,
    KING_STEPS,
    KNIGHT_STEPS,
    LANCE_RAYS,
    LAST,
    LAST_TWO,
    PAWN_STEPS,
    ROOK_LINES,
    SILVER_STEPS,
    between,
    bishop_attacks,
    bit,
    files_without,
    first,
    lance_attacks,
    line_from,
    lookup,
    nothing,
    rook_attacks,
    side_lookup,
)
from .rules import DROPS, PROMOTES, attacked_squares, board_moves, emit, pawn_mates, pins_and_checks, set_of
from .state import (
    BISHOP,
    BISHOPS,
    BLACK_MEN,
    HELD,
    KNIGHT,
    LANCE,
    LANCES,
    PAWN,
    PAWNS,
    PROMOTED,
    ROOK,
    ROOKS,
    SILVER,
)


@device
def checks(s, moves, row):
    """Write the legal moves that give check to moves[row] and return their number (i64)."""
    us = np.int64(s.turn)
    own, enemy = set_of(s, BLACK_MEN + us), set_of(s, BLACK_MEN + 1 - us)
    king, target = np.int64(s.kings[us]), np.int64(s.kings[1 - us])
    occupied = own | enemy
    evasions, pinned, checkers = pins_and_checks(s, us, own, enemy, king)
    screens = _screens(s, us, own, occupied, target)

    n = np.int64(0)
    if screens & bit(king):
        danger = attacked_squares(s, 1 - us, occupied & ~bit(king), king)
        n = emit(moves, row, n, king, lookup(KING_STEPS, king) & ~(own | danger | line_from(target, king)))
    if checkers > 1:
        return n
    end = board_moves(s, moves, row, n, us, own, occupied, king, evasions, pinned)
    n = _keep_checks(s, moves, row, n, end, us, occupied, target, screens)
    empty = evasions & ~occupied
    if empty:
        n = _drops(s, moves, row, n, us, own, enemy, target, empty)
    return n


@device
def _screens(s, us, own, occupied, target):
    """Own men that stand alone between an own slider and the enemy king: moving off the line they give check."""
    found = nothing()
    sliders = (
        (lookup(ROOK_LINES, target) & set_of(s, ROOKS))
        | (lookup(BISHOP_LINES, target) & set_of(s, BISHOPS))
        | (side_lookup(LANCE_RAYS, 1 - us, target) & set_of(s, LANCES))
    ) & own
    while sliders:
        square, sliders = first(sliders)
        blockers = between(target, square) & occupied
        if blockers and not first(blockers)[1]:
            found |= blockers & own
    return found


@device
def _striking(man, us, target, occupied):
    """The squares from which a man of ``us`` attacks the square ``target``."""
    them = 1 - us
    if man == PAWN:
        return side_lookup(PAWN_STEPS, them, target)
    if man == LANCE:
        return lance_attacks(target, them, occupied)
    if man == KNIGHT:
        return side_lookup(KNIGHT_STEPS, them, target)
    if man == SILVER:
        return side_lookup(SILVER_STEPS, them, target)
    if man == BISHOP:
        return bishop_attacks(target, occupied)
    if man == ROOK:
        return rook_attacks(target, occupied)
    if man == PROMOTED + BISHOP:
        return bishop_attacks(target, occupied) | lookup(KING_STEPS, target)
    if man == PROMOTED + ROOK:
        return rook_attacks(target, occupied) | lookup(KING_STEPS, target)
    return side_lookup(GOLD_STEPS, them, target)


@device
def _keep_checks(s, moves, row, n, end, us, occupied, target, screens):
    """Keep those of moves[row, n:end] that give check, by the moved man or by one behind it; returns the new end."""
    source, man, wanted = np.int64(-1), np.int64(-1), nothing()
    for i in range(n, end):
        move = np.int64(moves[row, i])
        moved = np.int64(s.board[(move >> 7) & 127] & 15) + (PROMOTED if move & PROMOTES else 0)
        if moved != man or (move >> 7) & 127 != source:  # moves of one man follow each other
            source, man = (move >> 7) & 127, moved
            wanted = _striking(man, us, target, occupied)
            if screens & bit(source):
                wanted |= ~line_from(target, source)
        if wanted & bit(move & 127):
            moves[row, n] = move
            n += 1
    return n


@device
def _drops(s, moves, row, n, us, own, enemy, target, empty):
    """Append the drops on ``empty`` squares that give check."""
    occupied = own | enemy
    for man in range(PAWN, HELD + 1):
        if not s.hands[us, man - 1]:
            continue
        squares = empty & _striking(man, us, target, occupied)
        if man == PAWN:
            squares &= files_without(set_of(s, PAWNS) & own) & ~lookup(LAST, us)
            if squares and pawn_mates(s, us, own, enemy):
                continue
        elif man == LANCE:
            squares &= ~lookup(LAST, us)
        elif man == KNIGHT:
            squares &= ~lookup(LAST_TWO, us)
        n = emit(moves, row, n, DROPS + man - 1, squares)
    return n
