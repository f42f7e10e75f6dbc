"""The rules of chess and Chess960: making a move, keys, and draws that need no claim; see generation for the moves."""

from __future__ import annotations

import numpy as np

from ...kernels.bits import popcount
from ...kernels.jit import device, kernel
from ..factory import plain_play
from ..outcome import DRAW, LOSS, RUNNING
from .attacks import (
    NONE,
    bit,
    first,
    pawn_attacks,
)
from .generation import enemy_in_check, ep_is_legal, generate, in_check, sides
from .state import CASTLING_KEYS, EP_KEYS, NO_SQUARE, PIECE_KEYS, TURN_KEY, WHITE

MAX_MOVES = 256  # a legal position has at most 218; parse refuses positions that could have more

_1 = np.uint64(1)
_LIGHT = np.uint64(0x55AA55AA55AA55AA)


@device
def piece_at(s, square):
    """Which of the six kinds stands on a square (i64); meaningless on an empty one."""
    shift = np.uint64(square)
    return np.int64(
        ((s.knights >> shift) & _1)
        + ((s.bishops >> shift) & _1) * np.uint64(2)
        + ((s.rooks >> shift) & _1) * np.uint64(3)
        + ((s.queens >> shift) & _1) * np.uint64(4)
        + ((s.kings >> shift) & _1) * np.uint64(5)
    )


@device
def _piece_key(colour, piece, square):
    return PIECE_KEYS[(colour * 6 + piece) * 64 + square]


@device
def _moved(board, source, target):
    """A kind's bitboard after a piece moved from source to target and captured there."""
    present = (board >> np.uint64(source)) & _1
    return (board & ~(bit(source) | bit(target))) | (present << np.uint64(target))


@device
def make(s, d, move):
    """Play a legal move: ``d`` becomes the position after it. ``d.repetitions`` is left 0 for the caller to count."""
    source, target, promotion = np.int64(move & 63), np.int64((move >> 6) & 63), np.int64(move >> 12)
    us = np.int64(s.turn)
    ours, enemy = sides(s)
    up = 8 if us == WHITE else -8
    piece = piece_at(s, source)
    key = s.key ^ TURN_KEY
    if s.ep != NO_SQUARE:
        key ^= EP_KEYS[s.ep & 7]
    d.ep = NO_SQUARE
    d.ep_claim = 0
    d.turn = 1 - us
    d.repetitions = 0
    d.ply = s.ply + 1 if s.ply < 65535 else 65535
    d.rule50 = s.rule50 + 1 if s.rule50 < 65535 else 65535

    lost_rights = s.castling & (bit(source) | bit(target) | (ours if piece == 5 else NONE))
    d.castling = s.castling ^ lost_rights
    while lost_rights:
        square, lost_rights = first(lost_rights)
        key ^= CASTLING_KEYS[square]

    if ours & bit(target):  # castling
        rank = source & 56
        king_to = rank + (6 if target > source else 2)
        rook_to = rank + (5 if target > source else 3)
        d.pawns, d.knights, d.bishops, d.queens = s.pawns, s.knights, s.bishops, s.queens
        d.kings = (s.kings & ~bit(source)) | bit(king_to)
        d.rooks = (s.rooks & ~bit(target)) | bit(rook_to)
        ours = (ours & ~(bit(source) | bit(target))) | bit(king_to) | bit(rook_to)
        key ^= _piece_key(us, 5, source) ^ _piece_key(us, 5, king_to)
        key ^= _piece_key(us, 3, target) ^ _piece_key(us, 3, rook_to)
    else:
        d.pawns = _moved(s.pawns, source, target)
        d.knights = _moved(s.knights, source, target)
        d.bishops = _moved(s.bishops, source, target)
        d.rooks = _moved(s.rooks, source, target)
        d.queens = _moved(s.queens, source, target)
        d.kings = _moved(s.kings, source, target)
        key ^= _piece_key(us, piece, source) ^ _piece_key(us, piece, target)
        ours = _moved(ours, source, target)
        if enemy & bit(target):
            key ^= _piece_key(1 - us, piece_at(s, target), target)
            enemy &= ~bit(target)
            d.rule50 = 0
        if piece == 0:
            d.rule50 = 0
            if promotion:
                d.pawns &= ~bit(target)
                if promotion == 1:
                    d.knights |= bit(target)
                elif promotion == 2:
                    d.bishops |= bit(target)
                elif promotion == 3:
                    d.rooks |= bit(target)
                else:
                    d.queens |= bit(target)
                key ^= _piece_key(us, 0, target) ^ _piece_key(us, promotion, target)
            elif target == np.int64(s.ep):
                victim = target - up
                d.pawns &= ~bit(victim)
                enemy &= ~bit(victim)
                key ^= _piece_key(1 - us, 0, victim)
    d.white, d.black = (ours, enemy) if us == WHITE else (enemy, ours)
    if piece == 0 and target - source == 2 * up:
        d.ep = source + up
        if pawn_attacks(bit(source + up), us) & d.pawns & enemy:
            d.ep_claim = 1 + (source & 7)
        if ep_is_legal(d):
            key ^= EP_KEYS[source & 7]
        else:
            d.ep = NO_SQUARE
    d.key = key


@device
def settle(s):
    """Derive the dependent fields of a position: drop an unusable en-passant square, compute the key."""
    if s.ep != NO_SQUARE and not ep_is_legal(s):
        s.ep = NO_SQUARE
    key = NONE
    pieces = s.white | s.black
    while pieces:
        square, pieces = first(pieces)
        colour = 0 if s.white & bit(square) else 1
        key ^= _piece_key(colour, piece_at(s, square), square)
    rooks = s.castling
    while rooks:
        square, rooks = first(rooks)
        key ^= CASTLING_KEYS[square]
    if s.ep != NO_SQUARE:
        key ^= EP_KEYS[s.ep & 7]
    if s.turn != WHITE:
        key ^= TURN_KEY
    s.key = key


@device
def insufficient_material(s):
    """Whether neither side can mate by any sequence of moves.

    There is no pawn, rook or queen, and at most a knight, or bishops of one square colour.
    """
    if s.pawns | s.rooks | s.queens:
        return False
    pieces = popcount(s.white | s.black)
    if pieces <= 3:
        return True
    if s.knights:
        return False
    return (s.bishops & _LIGHT) == NONE or (s.bishops & ~_LIGHT) == NONE


@kernel
def settle_all(states):
    """Derive the dependent fields of State[N], in place: see :func:`settle`.

    Returns of the last one: whether the side to move is in check, whether the other side is, whether the material is
    insufficient.
    """
    for i in range(states.shape[0]):
        settle(states[i])
    s = states[states.shape[0] - 1]
    return in_check(s), enemy_in_check(s), insufficient_material(s)


@kernel
def count_repetitions(states, first_index):
    """Set ``repetitions`` of every state of whole games laid end to end, in place.

    states: State[N]; first_index: i8[N], index of the first state of the game that each belongs to.
    """
    for i in range(states.shape[0]):
        count_earlier(states, i, first_index[i])


@device
def count_earlier(states, i, oldest):
    """Set states[i].repetitions to the earlier occurrences of that position in states[oldest:i]."""
    s = states[i]
    reach = i - np.int64(s.rule50)
    stop = reach if reach > oldest else oldest
    count = 0
    j = i - 4
    while j >= stop:
        if states[j].key == s.key:
            count += 1 + states[j].repetitions
            break
        j -= 2
    s.repetitions = count if count < 255 else 255


@device
def judge(s, legal, at_root):
    """Outcome code of a position with ``legal`` moves, for the side to move. At the root no draw is called."""
    if legal == 0:
        return LOSS if in_check(s) else DRAW
    if not at_root and (s.repetitions >= 2 or s.rule50 >= 100 or insufficient_material(s)):
        return DRAW
    return RUNNING


@device
def _repeat(states, at):
    if states[at].rule50 >= 4:
        count_earlier(states, at, 0)


@device
def _count(s):
    return generate(s, None, 0)


PLAY = plain_play(make, generate, judge, _repeat, _count)
