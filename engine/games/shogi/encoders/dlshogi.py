"""Shogi as dlshogi's nets see it: planes u1[119, 9, 9] (or u1[181, 9, 9]) and 2,187 actions; no history.

Squares are numbered as in :mod:`state`, and the board is turned round for white. The first 62 planes are dlshogi's
input1: for the side to move and then its opponent, its 14 kinds of pieces, what each kind attacks, and the squares that
it attacks at least once, twice, three times. The rest are its input2, planes all 0 or all 1: both hands as thermometers
and a check; "dlshogi-119" adds how near each side is to declaring that its king has entered.

An action is 81 * d + the destination: d is the direction of the move and whether it promotes, or the piece dropped.
Names and order follow dlshogi's own (https://github.com/TadaoYamaoka/DeepLearningShogi), so that its nets can be used
as is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....kernels.bits import popcount
from ....kernels.jit import device
from ...factory import fill_plane, make_encoder
from ..attacks import ZONES, bit, first, lookup, reach, set_of
from ..checks import MATES
from ..moves import seen_by_mover
from ..rules import DROPS, MAX_MOVES, PLAY, PROMOTES
from ..state import BISHOP, BISHOPS, BLACK_PIECES, HELD, KINDS, ROOK, ROOKS, SQUARES

DIRECTIONS_OF_MOVES = 27
NUM_ACTIONS = DIRECTIONS_OF_MOVES * SQUARES
_ATTACKERS = 3  # planes for squares attacked at least once, twice, three times
_SIDE = 2 * KINDS + _ATTACKERS
INPUT1 = 2 * _SIDE  # planes of input1
_HAND_ORDER = np.array([0, 1, 2, 3, 6, 4, 5], np.int64)  # pawn, lance, knight, silver, gold, bishop, rook
_HAND_MOST = np.array([8, 4, 4, 4, 4, 2, 2], np.int64)  # the planes of each, in that order
_HAND = 28
_CHECK = INPUT1 + 2 * _HAND
_ENTERING = _CHECK + 1
_PIECES, _POINTS = 10, 20  # planes for the pieces and points that are still wanted
_ENTERING_SIDE = 1 + _PIECES + _POINTS
PLANES, PLANES_ENTERING = _ENTERING, _ENTERING + 2 * _ENTERING_SIDE
_NEEDED = (28, 27)  # points to declare with, black and white
_DIRECTION = np.array([0, 2, 4, 7, 5, 6, 3, 1, 8, 9], np.int64)  # by the direction of moves.py
_PROMOTING, _DROP = 10, 20


@device
def _encode_pieces(s, side, base, turned, out, row):
    """The pieces of a side and what they attack, from plane ``base`` on."""
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    pieces = set_of(s, BLACK_PIECES + side)
    counts = (base + 2 * KINDS) * SQUARES
    while pieces:
        square, pieces = first(pieces)
        piece = np.int64(s.board[square] & 15)
        out[row, (base + piece - 1) * SQUARES + (SQUARES - 1 - square if turned else square)] = 1
        attacked = reach(piece, side, square, occupied)
        while attacked:
            to, attacked = first(attacked)
            if turned:
                to = SQUARES - 1 - to
            out[row, (base + KINDS + piece - 1) * SQUARES + to] = 1
            for i in range(_ATTACKERS):
                if out[row, counts + i * SQUARES + to] == 0:
                    out[row, counts + i * SQUARES + to] = 1
                    break


@device
def _encode_entering(s, side, base, out, row):
    """How near a side is to a declaration: its king in the camp, pieces and points wanted, if any."""
    zone = lookup(ZONES, side)
    pieces = zone & set_of(s, BLACK_PIECES + side)
    king = zone & bit(np.int64(s.kings[side]))
    number = popcount(pieces) - popcount(king)
    points = number + 4 * popcount(pieces & (set_of(s, BISHOPS) | set_of(s, ROOKS)))
    for kind in range(HELD):
        worth = 5 if kind == BISHOP - 1 or kind == ROOK - 1 else 1
        points += worth * np.int64(s.hands[side, kind])
    if popcount(king):
        fill_plane(out, row, base, SQUARES, 1)
    requested = _PIECES - number
    if 0 <= requested < _PIECES:
        fill_plane(out, row, base + 1 + requested, SQUARES, 1)
    requested = _NEEDED[side] - points
    if 0 <= requested < _POINTS:
        fill_plane(out, row, base + 1 + _PIECES + requested, SQUARES, 1)


@device
def encode_row(s, out, row):
    """Write the planes of a position to out[row], u1[119 * 81] or u1[181 * 81]."""
    for i in range(out.shape[1]):
        out[row, i] = 0
    us = np.int64(s.turn)
    for k in range(2):
        side = us if k == 0 else 1 - us
        _encode_pieces(s, side, k * _SIDE, us == 1, out, row)
        plane = INPUT1 + k * _HAND
        for kind in range(HELD):
            for i in range(min(np.int64(s.hands[side, _HAND_ORDER[kind]]), _HAND_MOST[kind])):
                fill_plane(out, row, plane + i, SQUARES, 1)
            plane += _HAND_MOST[kind]
        if out.shape[1] > PLANES * SQUARES:
            _encode_entering(s, side, _ENTERING + k * _ENTERING_SIDE, out, row)
    if s.checked:
        fill_plane(out, row, _CHECK, SQUARES, 1)


@device
def action_of(s, move):
    """The policy index (i64) of a legal move in a position."""
    source, to, direction = seen_by_mover(s, move)
    if source >= DROPS:
        return (_DROP + source - DROPS) * SQUARES + to
    return (_DIRECTION[direction] + (_PROMOTING if move & PROMOTES else 0)) * SQUARES + to


@device
def _encode_row(keys, states, newest, oldest, history, out, row):
    encode_row(states[newest], out, row)


@device
def _key(keys, states, newest, history, out, row):
    return states[newest].key


_ENCODER = make_encoder(
    PLAY,
    _encode_row,
    action_of,
    _key,
    mates=MATES,
    name="dlshogi",
    planes=(PLANES, 9, 9),
    num_actions=NUM_ACTIONS,
    max_moves=MAX_MOVES,
    plane_scale=np.ones(PLANES, np.float32),
)
_ENTERING_ENCODER = replace(
    _ENCODER, name="dlshogi-119", planes=(PLANES_ENTERING, 9, 9), plane_scale=np.ones(PLANES_ENTERING, np.float32)
)
ENCODERS = {encoder.name: encoder for encoder in (_ENCODER, _ENTERING_ENCODER)}
