"""Legal moves of chess and Chess960, and check.

A move is u16: from + 64 * to + 4096 * promotion (0 none, 1 knight, 2 bishop, 3 rook, 4 queen). Castling is the king
taking its own rook, in standard chess, too, so that both share this file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels.bits import lowest_bit, popcount
from ...kernels.jit import device
from .attacks import (
    ALL,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    NONE,
    NOT_A_FILE,
    NOT_H_FILE,
    between_diagonal,
    between_straight,
    bishop_attacks,
    bit,
    first,
    knight_attacks,
    pawn_attacks,
    rook_attacks,
    slider_attacks,
)
from .state import NO_SQUARE, WHITE

_1 = np.uint64(1)
_RANK_1, _RANK_3 = np.uint64(0xFF), np.uint64(0xFF0000)
_RANK_6, _RANK_8 = np.uint64(0xFF << 40), np.uint64(0xFF << 56)


class Aim(NamedTuple):
    """Which moves are wanted: those to squares that depend on the piece, and some others.

    Promotions, castling and taking en passant are always among them.
    """

    pawn: np.uint64  # squares that a pawn is to reach
    knight: np.uint64
    diagonal: np.uint64  # bishops and queens
    straight: np.uint64  # rooks and queens
    free: np.uint64  # pieces whose moves are wanted wherever they go


@device
def sides(s):
    """Own and enemy pieces of the side to move."""
    if s.turn == WHITE:
        return s.white, s.black
    return s.black, s.white


@device
def _attacked_by(s, square, enemy, colour, occupied):
    """Whether a piece in ``enemy`` attacks a square of ``colour``, the other side, given the occupied squares."""
    straight = (s.rooks | s.queens) & enemy
    diagonal = (s.bishops | s.queens) & enemy
    attackers = (
        (KNIGHT_ATTACKS[square] & s.knights)
        | (KING_ATTACKS[square] & s.kings)
        | (pawn_attacks(bit(square), colour) & s.pawns)
    ) & enemy
    attackers |= rook_attacks(square, occupied) & straight
    attackers |= bishop_attacks(square, occupied) & diagonal
    return attackers != NONE


@device
def in_check(s):
    ours, enemy = sides(s)
    return _attacked_by(s, lowest_bit(s.kings & ours), enemy, np.int64(s.turn), ours | enemy)


@device
def enemy_in_check(s):
    """Whether the side that is not to move is in check: such a position cannot arise in a game."""
    ours, enemy = sides(s)
    return _attacked_by(s, lowest_bit(s.kings & enemy), ours, 1 - np.int64(s.turn), ours | enemy)


@device
def _pins_and_checks(s, ours, enemy, king):
    """(squares that end a check, diagonal pins, straight pins, number of checkers).

    The first is ALL without a check and empty in double check. A pinned piece may move along its pin only: the pins are
    the squares from the king to the pinner, which is included.
    """
    checkers = ((KNIGHT_ATTACKS[king] & s.knights) | (pawn_attacks(bit(king), s.turn) & s.pawns)) & enemy
    evasions = checkers
    pinned_diagonal, pinned_straight = NONE, NONE

    sliders = rook_attacks(king, enemy) & (s.rooks | s.queens) & enemy
    while sliders:
        square, sliders = first(sliders)
        path = between_straight(king, square)
        blockers = path & ours
        if blockers == NONE:
            checkers |= bit(square)
            evasions |= path | bit(square)
        elif blockers & (blockers - _1) == NONE:
            pinned_straight |= path | bit(square)
    sliders = bishop_attacks(king, enemy) & (s.bishops | s.queens) & enemy
    while sliders:
        square, sliders = first(sliders)
        path = between_diagonal(king, square)
        blockers = path & ours
        if blockers == NONE:
            checkers |= bit(square)
            evasions |= path | bit(square)
        elif blockers & (blockers - _1) == NONE:
            pinned_diagonal |= path | bit(square)

    number = popcount(checkers)
    if number == 0:
        evasions = ALL
    elif number > 1:
        evasions = NONE
    return evasions, pinned_diagonal, pinned_straight, number


@device
def _king_danger(s, ours, enemy, king):
    """Squares that the enemy attacks with the king off the board."""
    occupied = (ours | enemy) & ~bit(king)
    return (
        slider_attacks((s.bishops | s.queens) & enemy, (s.rooks | s.queens) & enemy, occupied)
        | knight_attacks(s.knights & enemy)
        | pawn_attacks(s.pawns & enemy, 1 - s.turn)
        | KING_ATTACKS[lowest_bit(s.kings & enemy)]
    )


@device
def king_can_move(s):
    """Whether the king has a legal move other than castling."""
    ours, enemy = sides(s)
    king = lowest_bit(s.kings & ours)
    return KING_ATTACKS[king] & ~(ours | _king_danger(s, ours, enemy, king)) != NONE


@device
def _ep_is_safe(s, ours, enemy, king, capturer):
    """Whether taking en passant from ``capturer`` leaves the own king safe."""
    target = np.int64(s.ep)
    victim = target - 8 if s.turn == WHITE else target + 8
    occupied = ((ours | enemy) & ~(bit(capturer) | bit(victim))) | bit(target)
    return not _attacked_by(s, king, enemy & ~bit(victim), np.int64(s.turn), occupied)


@device
def ep_is_legal(s):
    """Whether some pawn of the side to move can legally take en passant on ``s.ep``."""
    ours, enemy = sides(s)
    capturers = pawn_attacks(bit(np.int64(s.ep)), 1 - s.turn) & s.pawns & ours
    while capturers:
        square, capturers = first(capturers)
        if _ep_is_safe(s, ours, enemy, lowest_bit(s.kings & ours), square):
            return True
    return False


@device
def _emit(moves, row, n, source, targets):
    """Append the moves of one piece to moves[row, n:]; with ``moves`` None only count."""
    if moves is None:
        return n + popcount(targets)
    while targets:
        to, targets = first(targets)
        moves[row, n] = source + (to << 6)
        n += 1
    return n


@device
def _emit_pawns(moves, row, n, targets, delta):
    """Append the moves of pawns that reach ``targets`` by a step of ``delta`` squares, promotions in all four kinds."""
    if moves is None:
        return n + popcount(targets) + 3 * popcount(targets & (_RANK_1 | _RANK_8))
    while targets:
        to, targets = first(targets)
        move = to - delta + (to << 6)
        if to < 8 or to >= 56:
            for promotion in range(4, 0, -1):
                moves[row, n] = move + (promotion << 12)
                n += 1
        else:
            moves[row, n] = move
            n += 1
    return n


@device
def _shift(bits, delta):
    return bits << np.uint64(delta) if delta > 0 else bits >> np.uint64(-delta)


@device
def _aimed(targets, aim, source, kind):
    """Of a piece's targets those that ``aim`` wants, all with None; kind: the squares that such pieces are to reach."""
    if aim is None or aim.free & bit(source):
        return targets
    return targets & kind


@device
def _aimed_pawns(targets, aim, delta):
    """Of the targets of pawns that move by ``delta`` squares those that ``aim`` wants, all of them with None."""
    if aim is None:
        return targets
    return targets & (aim.pawn | _RANK_1 | _RANK_8 | _shift(aim.free, delta))


@device
def _pawn_moves(s, moves, row, n, pieces, king, limits, aim):
    (ours, enemy), (evasions, pinned_diagonal, pinned_straight) = pieces, limits
    pawns = s.pawns & ours
    empty = ~(ours | enemy)
    up = 8 if s.turn == WHITE else -8
    third = _RANK_3 if s.turn == WHITE else _RANK_6

    free = pawns & ~pinned_diagonal
    steps = (_shift(free & ~pinned_straight, up) | (_shift(free & pinned_straight, up) & pinned_straight)) & empty
    double_steps = _shift(steps & third, up) & empty & evasions
    n = _emit_pawns(moves, row, n, _aimed_pawns(steps & evasions, aim, up), up)
    n = _emit_pawns(moves, row, n, _aimed_pawns(double_steps, aim, 2 * up), 2 * up)

    free = pawns & ~pinned_straight
    for side in range(2):
        delta = up - 1 if side == 0 else up + 1
        files = NOT_A_FILE if side == 0 else NOT_H_FILE
        loose, pinned = free & files & ~pinned_diagonal, free & files & pinned_diagonal
        targets = _shift(loose, delta) | (_shift(pinned, delta) & pinned_diagonal)
        n = _emit_pawns(moves, row, n, _aimed_pawns(targets & enemy & evasions, aim, delta), delta)

    if s.ep != NO_SQUARE:
        capturers = pawn_attacks(bit(np.int64(s.ep)), 1 - s.turn) & pawns
        while capturers:
            square, capturers = first(capturers)
            if _ep_is_safe(s, ours, enemy, king, square):
                n = _emit(moves, row, n, square, bit(np.int64(s.ep)))
    return n


@device
def _span(a, b):
    """Squares from a to b on one rank, both included."""
    low, high = min(a, b), max(a, b)
    return (bit(high) | (bit(high) - _1)) & ~(bit(low) - _1)


@device
def _castling_moves(s, moves, row, n, pieces, king, danger, pinned_straight):
    """danger: squares that the enemy attacks; None where they are not known yet."""
    ours, enemy = pieces
    rooks = s.castling & ours & ~pinned_straight
    while rooks:
        rook, rooks = first(rooks)
        rank = king & 56
        king_to = rank + (6 if rook > king else 2)
        rook_to = rank + (5 if rook > king else 3)
        king_path, rook_path = _span(king, king_to), _span(rook, rook_to)
        others = (ours | enemy) & ~(bit(king) | bit(rook))
        if (king_path | rook_path) & others == NONE:
            attacked = _king_danger(s, ours, enemy, king) if danger is None else danger
            if king_path & attacked == NONE:
                n = _emit(moves, row, n, king, bit(rook))
    return n


@device
def _king_moves(s, moves, row, pieces, king, danger, aim):
    ours, enemy = pieces
    if aim is None:
        return _emit(moves, row, 0, king, KING_ATTACKS[king] & ~(ours | danger))
    if aim.free & bit(king):
        return _emit(moves, row, 0, king, KING_ATTACKS[king] & ~(ours | _king_danger(s, ours, enemy, king)))
    return 0


@device
def generate(s, moves, row):
    """Write the legal moves to moves[row] and return their number (i64); with ``moves`` None only count them."""
    return generate_aimed(s, moves, row, None)


@device
def generate_aimed(s, moves, row, aim):
    """As :func:`generate`, but only the moves that ``aim`` wants: Aim, None for all."""
    ours, enemy = sides(s)
    king = lowest_bit(s.kings & ours)
    evasions, pinned_diagonal, pinned_straight, checkers = _pins_and_checks(s, ours, enemy, king)
    danger = _king_danger(s, ours, enemy, king) if aim is None else None
    n = _king_moves(s, moves, row, (ours, enemy), king, danger, aim)
    if checkers > 1:
        return n
    occupied = ours | enemy
    allowed = ~ours & evasions

    limits = evasions, pinned_diagonal, pinned_straight
    n = _pawn_moves(s, moves, row, n, (ours, enemy), king, limits, aim)
    pieces = s.knights & ours & ~(pinned_diagonal | pinned_straight)
    while pieces:
        square, pieces = first(pieces)
        requested = NONE if aim is None else aim.knight
        n = _emit(moves, row, n, square, _aimed(KNIGHT_ATTACKS[square] & allowed, aim, square, requested))
    pieces = (s.bishops | s.queens) & ours & ~pinned_straight
    while pieces:
        square, pieces = first(pieces)
        targets = bishop_attacks(square, occupied) & allowed
        if pinned_diagonal & bit(square):
            targets &= pinned_diagonal
        if aim is not None:
            requested = aim.diagonal | aim.straight if s.queens & bit(square) else aim.diagonal
            targets = _aimed(targets, aim, square, requested)
        n = _emit(moves, row, n, square, targets)
    pieces = (s.rooks | s.queens) & ours & ~pinned_diagonal
    while pieces:
        square, pieces = first(pieces)
        targets = rook_attacks(square, occupied) & allowed
        if pinned_straight & bit(square):
            targets &= pinned_straight
        if aim is not None:
            requested = aim.diagonal | aim.straight if s.queens & bit(square) else aim.straight
            targets = _aimed(targets, aim, square, requested)
        n = _emit(moves, row, n, square, targets)
    if checkers == 0 and s.castling & ours:
        n = _castling_moves(s, moves, row, n, (ours, enemy), king, danger, pinned_straight)
    return n
