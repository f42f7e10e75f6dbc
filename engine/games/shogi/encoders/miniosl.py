"""Shogi as miniosl's nets see it: planes u1[176, 9, 9] and 2,187 actions; the position and the 7 moves before it.

A plane is indexed [rank, file - 1] and turned round when white is to move; "own" is the side to move now, in every
plane. A plane's numbers are 36 times those that the net wants.

0..29 the pieces, 30..43 both hands, 44..57 how far lances, bishops, rooks and kings see, the first three also behind
the first piece in their way; 58, 59 pawns in hand up to 4; 60 whether white is to move; 61 what gives check; 62, 63 how
the opponent would mate at once and what its piece attacks then. Then 16 planes for each of the last 7 moves, latest
first: where it went, its way, what the taken piece had attacked; of the position before it the mover's king, what gave
check, the threatened mate (2 planes) and where pieces stood (2); of the position after it the taking of the moved piece
by the only one that can, and the mate that follows upon it (3), whose pieces' attacks changed (2), and attacks on each
square (2). A piece's number says which of several is looked at first. Which squares and numbers there are follows from
miniosl 0.1.6 (https://github.com/tkaneko/miniosl), so that its nets can be used as they are.

An action is 81 * d + the destination (9 * rank + file - 1): d is the piece dropped, or the direction and the promotion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....kernels.bits import lowest_bit
from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...factory import fill_plane, make_encoder
from ..attacks import (
    BISHOP_LINES,
    DIRECTIONS,
    KING_STEPS,
    LAST,
    LAST_TWO,
    RAYS,
    ROOK_LINES,
    ZONES,
    between,
    bishop_attacks,
    bit,
    everything,
    first,
    lookup,
    nothing,
    reach,
    rook_attacks,
    set_of,
)
from ..checks import MATES
from ..moves import seen_by_mover
from ..notation import START
from ..rules import DROPS, MAX_MOVES, PLAY, PROMOTES, attackers, in_check, make
from ..state import (
    BISHOP,
    BISHOPS,
    BLACK_PIECES,
    GOLD,
    HELD,
    KING,
    KNIGHT,
    LANCE,
    LANCES,
    PAWN,
    PROMOTED,
    ROOK,
    ROOKS,
    SILVER,
    SQUARES,
    STATE,
)
from .onemove import ORDER, foremost, mate_in_one

HISTORY = 8  # this position and 7 before it
ONE = 36  # what stands for 1 in a plane
_BOARD_PLANES, _MOVE_PLANES = 64, 16
NUM_PLANES = _BOARD_PLANES + (HISTORY - 1) * _MOVE_PLANES
NUM_ACTIONS = 27 * SQUARES
_EMPTY, _ALL, _HANDS, _FAR, _PAWNS, _TURNED, _CHECK, _THREAT = 14, 15, 30, 44, 58, 60, 61, 62
_TO, _WAY, _TAKEN, _KING, _CHECKED, _THREATENED, _PIECES, _RETAKEN, _CHANGED, _COUNTS = 0, 1, 2, 3, 4, 5, 7, 9, 12, 14

# miniosl's order of pieces: two that are none, +P +L +N +S +B +R K G P L N S B R; by piece, 1 pawn .. 14 dragon
_RANK_OF_PIECE = np.array([0, 10, 11, 12, 13, 14, 15, 9, 8, 2, 3, 4, 5, 6, 7], np.int64)
_IN_HAND = np.array([ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN], np.int64)  # the order of the hands' planes
_UNIT = np.array([18, 18, 9, 9, 9, 9, 2], np.int64)  # ONE over all there are of it, in that order
_PAWN_UNIT, _COUNT_UNIT, _MOST = 9, 9, 4
_CELL = np.array([9 * (square % 9) + square // 9 for square in range(SQUARES)], np.int64)  # where a plane has it
_DIRECTION = np.append(np.argsort(ORDER), (8, 9))  # miniosl's, by the direction of moves.py
_PROMOTING, _MOVES = 10, 7
_DROPPED = np.array([1, 2, 3, 4, 5, 6, 0], np.int64)  # by kind of the piece in hand
_FIRST_NUMBER = np.array([0, 32, 18, 22, 36, 38, 26, 30], np.int64)  # of pawns, lances .. golds, kings


def _start_pieces() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Board and numbers u1[81] of the start position: each kind from file 1 on, black's first; pawns by turns."""
    board, numbers = np.zeros(SQUARES, np.uint8), np.zeros(SQUARES, np.uint8)
    cells = "".join("." * int(c) if c.isdigit() else c for c in START.split()[0].replace("/", ""))
    counts = _FIRST_NUMBER.copy()
    for side in range(2):
        for square in range(SQUARES):
            letter = cells[9 * (square % 9) + 8 - square // 9]
            kind = "plnsbrgk".find(letter.lower())
            if kind >= 0 and letter.islower() == side:
                board[square] = kind + 1 + 16 * side
                numbers[square] = counts[kind] if kind else 2 * (8 - square // 9) + side
                counts[kind] += 1
    return board, numbers


_START_BOARD, _START_NUMBERS = _start_pieces()


@device
def _kind_of(piece):
    """0 pawn .. 6 gold, 7 king: what a piece is in hand."""
    return (piece - PROMOTED if piece > KING else piece) - 1


@device
def _number_pieces(s, numbers, held):
    """Number the pieces of a game's first position: numbers u1[81], by square; held u8[2, HELD], a bit each by kind."""
    known = True
    for square in range(SQUARES):
        numbers[square] = _START_NUMBERS[square]
        known &= s.board[square] == _START_BOARD[square]
    held[:] = 0
    if known:
        return
    for kind in range(HELD):
        number = _FIRST_NUMBER[kind]
        for rank in range(9):
            for k in range(9):
                square = 9 * (8 - k) + rank
                piece = np.int64(s.board[square] & 15)
                if piece and _kind_of(piece) == kind:
                    numbers[square] = number
                    number += 1
        for side in range(2):
            for _ in range(np.int64(s.hands[side, kind])):
                held[side, kind] |= np.uint64(1) << np.uint64(number)
                number += 1


@device
def _moved(s, d):
    """(from or -1 for a drop, to) of the move between two positions."""
    us = np.int64(s.turn)
    before, after = set_of(s, BLACK_PIECES + us), set_of(d, BLACK_PIECES + us)
    left = before & ~after
    to, _ = first(after & ~before)
    source = np.int64(-1)
    if left:
        source, _ = first(left)
    return source, to


@device
def _renumber(s, d, numbers, held):
    """Follow the pieces from one position to the next: a dropped one is the first of its kind in hand."""
    source, to = _moved(s, d)
    us = np.int64(s.turn)
    if source < 0:
        kind = np.int64(d.board[to] & 15) - 1
        numbers[to] = lowest_bit(held[us, kind])
        held[us, kind] &= held[us, kind] - np.uint64(1)
        return
    taken = np.int64(s.board[to] & 15)
    if taken:
        held[us, _kind_of(taken)] |= np.uint64(1) << np.uint64(numbers[to])
    numbers[to] = numbers[source]


@device
def _mark(out, row, plane, squares, turned):
    while squares:
        square, squares = first(squares)
        cell = _CELL[square]
        out[row, plane * SQUARES + (SQUARES - 1 - cell if turned else cell)] = ONE


@device
def _way(piece, source, to):
    """The squares of a move on the board, a knight's first and last ones only, or of a drop (from -1)."""
    if source < 0:
        return bit(to)
    ends = bit(source) | bit(to)
    return ends if piece == KNIGHT else ends | between(source, to)


@device
def _free_reach(s, piece, side, square):
    """What a piece attacks, as miniosl shows it: own pieces stop no slider but one step away."""
    ours = set_of(s, BLACK_PIECES + side)
    occupied = ours | set_of(s, BLACK_PIECES + 1 - side)
    if piece in (LANCE, BISHOP, ROOK):
        return reach(piece, side, square, occupied) & ~ours
    if piece == PROMOTED + BISHOP:
        return (bishop_attacks(square, occupied) & ~ours) | (lookup(KING_STEPS, square) & lookup(ROOK_LINES, square))
    if piece == PROMOTED + ROOK:
        return (rook_attacks(square, occupied) & ~ours) | (lookup(KING_STEPS, square) & lookup(BISHOP_LINES, square))
    return reach(piece, side, square, occupied)


@device
def _show_mate(s, side, move, way, attacked, turned, out, row):
    """A mating move of a side on two planes: its squares, and what its piece attacks."""
    to, source = move & 127, (move >> 7) & 127
    if source >= DROPS:
        piece, source = source - DROPS + 1, np.int64(-1)
    else:
        piece = np.int64(s.board[source] & 15)
    _mark(out, row, way, _way(piece, source, to), turned)
    if move & PROMOTES:
        piece += PROMOTED
    _mark(out, row, attacked, _free_reach(s, piece, side, to), turned)


@device
def _encode_check(s, numbers, check, threat, turned, out, row):
    """What gives check, or else the mate that the opponent threatens, from planes ``check`` and ``threat`` on."""
    us = np.int64(s.turn)
    if s.checked:
        pieces = attackers(s, np.int64(s.kings[us]), 1 - us, set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1))
        for _ in range(2):
            if pieces:
                square, pieces = foremost(numbers, pieces)
                _mark(out, row, check, bit(square), turned)
        return
    move = mate_in_one(s, numbers, 1 - us)
    if move >= 0:
        _show_mate(s, 1 - us, move, threat, threat + 1, turned, out, row)


@device
def _encode_retaking(s, numbers, square, plane, turned, scratch, out, row):
    """The piece that just came to a square is taken by the only one that can, and a mate follows."""
    us = np.int64(s.turn)
    takers = attackers(s, square, us, set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1))
    if not takers:
        return
    source, others = first(takers)
    if others:
        return
    piece = np.int64(s.board[source] & 15)
    stuck = lookup(LAST_TWO if piece == KNIGHT else LAST, us) & bit(square)
    for promotion in (0, PROMOTES):
        if promotion == 0 and stuck and piece in (PAWN, LANCE, KNIGHT):
            continue
        if promotion and not (piece < GOLD and lookup(ZONES, us) & (bit(source) | bit(square))):
            continue
        d = scratch[0]
        make(s, d, square + (source << 7) + promotion)
        if in_check(d, 1 - us):
            continue
        move = mate_in_one(d, numbers, 1 - us)
        if move >= 0:
            _mark(out, row, plane, _way(piece, source, square), turned)
            _show_mate(d, 1 - us, move, plane + 1, plane + 2, turned, out, row)
            return


@device
def _encode_counts(s, us, plane, turned, out, row):
    """How often each square is attacked by own and by enemy pieces, at most 4."""
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    for k in range(2):
        side = us if k == 0 else 1 - us
        start = (plane + k) * SQUARES
        pieces = set_of(s, BLACK_PIECES + side)
        while pieces:
            square, pieces = first(pieces)
            attacked = reach(np.int64(s.board[square] & 15), side, square, occupied)
            while attacked:
                to, attacked = first(attacked)
                i = start + (SQUARES - 1 - _CELL[to] if turned else _CELL[to])
                out[row, i] = min(np.int64(out[row, i]) + _COUNT_UNIT, _MOST * _COUNT_UNIT)


@device
def _encode_move(s, d, space, us, plane, out, row):
    """The move from one position to the next, on 16 planes; the pieces' numbers follow it."""
    numbers, held, scratch = space
    turned = us == 1
    mover = np.int64(s.turn)
    source, to = _moved(s, d)
    _mark(out, row, plane + _TO, bit(to), turned)
    if source >= 0:
        _mark(out, row, plane + _WAY, _way(np.int64(s.board[source] & 15), source, to), turned)
    taken = np.int64(s.board[to] & 15)
    if taken:
        _mark(out, row, plane + _TAKEN, _free_reach(s, taken, 1 - mover, to), turned)
    _mark(out, row, plane + _KING, bit(np.int64(s.kings[mover])) & everything(), turned)
    _encode_check(s, numbers, plane + _CHECKED, plane + _THREATENED, turned, out, row)
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    changed = attackers(s, to, 0, occupied) | attackers(s, to, 1, occupied)
    if source >= 0:
        changed |= attackers(s, source, 0, occupied) | attackers(s, source, 1, occupied)
        changed &= ~bit(source)
    changed |= bit(to)
    for k in range(2):
        side = us if k == 0 else 1 - us
        _mark(out, row, plane + _PIECES + k, set_of(s, BLACK_PIECES + side), turned)
        _mark(out, row, plane + _CHANGED + k, changed & set_of(d, BLACK_PIECES + side), turned)
    _renumber(s, d, numbers, held)
    _encode_retaking(d, numbers, to, plane + _RETAKEN, turned, scratch, out, row)
    _encode_counts(d, us, plane + _COUNTS, turned, out, row)


@device
def _behind(square, seen, occupied, straight):
    """The empty squares behind the first pieces that a slider sees."""
    result = nothing()
    pieces = seen & occupied
    while pieces:
        piece, pieces = first(pieces)
        direction = np.int64(DIRECTIONS[SQUARES * square + piece])
        attacked = rook_attacks(piece, occupied) if straight else bishop_attacks(piece, occupied)
        result |= attacked & lookup(RAYS, SQUARES * direction + piece) & ~occupied
    return result


@device
def _encode_position(s, numbers, turned, out, row):
    us = np.int64(s.turn)
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    for k in range(2):
        side = us if k == 0 else 1 - us
        pieces = set_of(s, BLACK_PIECES + side)
        while pieces:
            square, pieces = first(pieces)
            rank = _RANK_OF_PIECE[np.int64(s.board[square] & 15)]
            _mark(out, row, rank + (_EMPTY if k == 0 else -2), bit(square), turned)
        for i in range(HELD):
            number = np.int64(s.hands[side, _IN_HAND[i] - 1])
            fill_plane(out, row, _HANDS + HELD * k + i, SQUARES, number * _UNIT[i])
        pawns = np.int64(s.hands[side, PAWN - 1])
        fill_plane(out, row, _PAWNS + k, SQUARES, (pawns if pawns < _MOST else _MOST) * _PAWN_UNIT)
        for i, which in enumerate((LANCES, BISHOPS, ROOKS)):
            seen, hidden = nothing(), nothing()
            pieces = set_of(s, which) & set_of(s, BLACK_PIECES + side)
            while pieces:
                square, pieces = first(pieces)
                piece = LANCE if i == 0 else (BISHOP if i == 1 else ROOK)
                attacked = reach(piece, side, square, occupied)
                seen |= attacked
                hidden |= _behind(square, attacked, occupied, i != 1)
            _mark(out, row, _FAR + 4 * i + k, seen, turned)
            _mark(out, row, _FAR + 4 * i + 2 + k, hidden, turned)
        king = np.int64(s.kings[side])
        seen = rook_attacks(king, occupied) | bishop_attacks(king, occupied)
        _mark(out, row, _FAR + 12 + k, seen & everything(), turned)
    _mark(out, row, _EMPTY, everything() & ~occupied, turned)
    fill_plane(out, row, _ALL, SQUARES, ONE)
    fill_plane(out, row, _TURNED, SQUARES, ONE * us)
    _encode_check(s, numbers, _CHECK, _THREAT, turned, out, row)


@device
def encode_row(states, newest, oldest, history, space, out, row):
    """Write the planes of states[newest], whose game begins at states[oldest], to out[row] (u1[176 * 81]).

    space: u1[81], the numbers of the pieces by square, u8[2, HELD], those in hand, and State[1].
    """
    numbers, held, _ = space
    for i in range(NUM_PLANES * SQUARES):
        out[row, i] = 0
    us = np.int64(states[newest].turn)
    _number_pieces(states[oldest], numbers, held)
    shown = max(oldest, newest - history + 1)
    for i in range(oldest, shown):
        _renumber(states[i], states[i + 1], numbers, held)
    for i in range(shown, newest):
        plane = _BOARD_PLANES + (newest - 1 - i) * _MOVE_PLANES
        _encode_move(states[i], states[i + 1], space, us, plane, out, row)
    _encode_position(states[newest], numbers, us == 1, out, row)


@device
def action_of(s, move):
    """The policy index (i64) of a legal move in a position."""
    source, to, direction = seen_by_mover(s, move)
    if source >= DROPS:
        return _DROPPED[source - DROPS] * SQUARES + _CELL[to]
    return (_MOVES + _DIRECTION[direction] + (_PROMOTING if move & PROMOTES else 0)) * SQUARES + _CELL[to]


@device
def _key(work, states, newest, history, out, row):
    """All that the planes show, in 64 bits, but for which of several pieces of a kind is looked at first."""
    key = np.uint64(0)
    for t in range(min(history, newest + 1)):
        key = chain(key, states[newest - t].key)
    return chain(key, np.uint64(0))


@device
def _encode_row(keys, states, newest, oldest, history, out, row):
    space = np.empty(SQUARES, np.uint8), np.empty((2, HELD), np.uint64), np.empty(1, STATE)
    encode_row(states, newest, oldest, history, space, out, row)


ENCODERS = {
    "miniosl": make_encoder(
        PLAY,
        _encode_row,
        action_of,
        _key,
        mates=MATES,
        name="miniosl",
        planes=(NUM_PLANES, 9, 9),
        num_actions=NUM_ACTIONS,
        max_moves=MAX_MOVES,
        history=HISTORY,
        plane_scale=np.full(NUM_PLANES, 1 / ONE, np.float32),
    )
}
