"""Shogi as sparse nets see it: 20,352 features and 11,547 rows of moves, from the mover's side of the board.

For white the board is turned round, and where the mover's king then stands on the files 6 to 9 it is mirrored, so that
this king is always on 1 to 5. A piece is one feature. On the board it is
(defended * 2 + attacked) * 2,344 + (enemy's * 14 + kind) * 81 + square, kinds as of pieces in :mod:`state`, "attacked"
by the other side; the n-th of a kind in a hand has one of the 76 numbers behind these 2 * 14 * 81. The policy sees
these 9,376. For the value a piece within three files and ranks of a king, its own or the enemy's, is a feature once
more: 9,376 + (defended * 2 + attacked) * 2,744 + ((enemy's king * 2 + enemy's) * 14 + kind) * 49 + its place beside
that king. Features beyond 81 are left out.

A move's row is its number (pairs of squares that a move joins, the same with promotion, then drops) times three, plus
what it loses or wins in the exchange that follows, see :mod:`exchanges`.
"""

from __future__ import annotations

import numpy as np

from ....kernels.bits import popcount
from ....kernels.jit import device
from ...sparse import make_sparse_encoder, put
from ..attacks import DIRECTIONS, bit, first, nothing, reach, set_of
from ..checks import MATES
from ..exchanges import exchange_beside
from ..rules import DROPS, MAX_MOVES, PLAY, PROMOTES
from ..state import BLACK_PIECES, HELD, KINDS, NOWHERE, SQUARES

_MOST_HELD = np.array([18, 4, 4, 4, 2, 2, 4], np.int64)  # by kind
_HELD_AT = np.concatenate([[0], np.cumsum(_MOST_HELD)])[:-1] + 2 * KINDS * SQUARES
_HELD = int(_MOST_HELD.sum())
_ALIKE = 2 * KINDS * SQUARES + 2 * _HELD  # features that differ in their safety only lie so far apart
POLICY_FEATURES = 4 * _ALIKE

_NEAR = 3  # files and ranks from a king
_WIDE = 2 * _NEAR + 1
_ALIKE_NEAR = 2 * 2 * KINDS * _WIDE**2
FEATURES = POLICY_FEATURES + 4 * _ALIKE_NEAR


def _beside():
    """[king, square] the place of a square beside a king, -1 where it is too far away or the king's own."""
    king, square = np.arange(SQUARES)[:, None], np.arange(SQUARES)
    files, ranks = square // 9 - king // 9 + _NEAR, square % 9 - king % 9 + _NEAR
    near = (files >= 0) & (files < _WIDE) & (ranks >= 0) & (ranks < _WIDE) & (king != square)
    return np.where(near, files * _WIDE + ranks, -1).astype(np.int8)


_BESIDE = np.concatenate([_beside(), np.full((1, SQUARES), -1, np.int8)])  # a missing king is beside nothing


def _numbers():
    """(number of [promotes, from * 81 + to], of a drop [0], their count)."""
    pairs, number = np.full((2, SQUARES * SQUARES), -1, np.int16), 0
    for promotes in range(2):
        for source in range(SQUARES):
            for target in range(SQUARES):
                jump = abs(source // 9 - target // 9) == 1 and source % 9 - target % 9 == 2
                zone = min(source % 9, target % 9) < 3
                if (jump or DIRECTIONS[SQUARES * source + target] >= 0) and (zone or not promotes):
                    pairs[promotes, SQUARES * source + target] = number
                    number += 1
    return pairs, number, number + HELD * SQUARES


_PAIRS, _FIRST_DROP, _NUMBER = _numbers()
ROWS = 3 * _NUMBER


def _all_seen():
    """[turned, mirrored, square] as it is seen; a missing king stays where it is."""
    turned = np.stack([np.arange(SQUARES), SQUARES - 1 - np.arange(SQUARES)])
    both = np.stack([turned, 9 * (8 - turned // 9) + turned % 9], axis=1)
    return np.concatenate([both, np.full((2, 2, 1), NOWHERE)], axis=2).astype(np.uint8)


_SEEN = _all_seen()


@device
def _seen(square, us, mirrored):
    """A square from the mover's side of the board."""
    return np.int64(_SEEN[us, np.int64(mirrored), square])


@device
def _mirrored(s):
    """Whether the board, turned, is mirrored."""
    us = np.int64(s.turn)
    king = np.int64(s.kings[us])
    return king != NOWHERE and _seen(king, us, False) // 9 > 4


@device
def _attacked(s, side, occupied):
    """All squares that a side attacks."""
    result, pieces = nothing(), set_of(s, BLACK_PIECES + side)
    while pieces:
        square, pieces = first(pieces)
        result |= reach(np.int64(s.board[square] & 15), side, square, occupied)
    return result


@device
def list_features(s, out, row):
    us, mirrored, places = np.int64(s.turn), _mirrored(s), np.int64(out.shape[1] >> 1)
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    by_ours, by_enemy = _attacked(s, us, occupied), _attacked(s, 1 - us, occupied)
    kings = _seen(np.int64(s.kings[us]), us, mirrored), _seen(np.int64(s.kings[1 - us]), us, mirrored)
    n, near = np.int64(0), popcount(occupied)  # the next of either kind
    for side in range(2):
        for held in range(HELD):
            near += s.hands[side, held]
    for side in range(2):
        enemys = np.int64(side != us)
        pieces = set_of(s, BLACK_PIECES + side)
        while pieces:
            square, pieces = first(pieces)
            mask = bit(square)
            attacked, defended = (by_ours, by_enemy) if enemys else (by_enemy, by_ours)
            safety = (2 if defended & mask else 0) + (1 if attacked & mask else 0)
            kind = enemys * KINDS + np.int64(s.board[square] & 15) - 1
            seen = _seen(square, us, mirrored)
            put(out, row, n, safety * _ALIKE + kind * SQUARES + seen)
            n += 1
            for k in range(2):
                place = np.int64(_BESIDE[kings[k], seen])
                if place >= 0 and near < places:
                    beside = (2 * KINDS * k + kind) * _WIDE**2 + place
                    put(out, row, near, POLICY_FEATURES + safety * _ALIKE_NEAR + beside)
                    near += 1
        for held in range(HELD):
            for number in range(s.hands[side, held]):
                put(out, row, n, _HELD_AT[held] + enemys * _HELD + number)
                n += 1
    return near


@device
def survey(s):
    """What the moves of a position share: how squares are seen, and the squares that the other side attacks."""
    us = np.int64(s.turn)
    occupied = set_of(s, BLACK_PIECES) | set_of(s, BLACK_PIECES + 1)
    return us, _mirrored(s), _attacked(s, 1 - us, occupied)


@device
def action_of(s, move, seen):
    """The policy row (i64) of a legal move in a position; seen: what :func:`survey` says of it."""
    us, mirrored, attacked = seen
    target, source = _seen(np.int64(move & 127), us, mirrored), np.int64((move >> 7) & 127)
    if source >= DROPS:
        number = _FIRST_DROP + (source - DROPS) * SQUARES + target
    else:
        number = np.int64(_PAIRS[1 if move & PROMOTES else 0, SQUARES * _seen(source, us, mirrored) + target])
    return 3 * number + exchange_beside(s, move, attacked)


@device
def _key(s):
    return s.key


ENCODER = make_sparse_encoder(
    PLAY,
    list_features,
    action_of,
    _key,
    survey=survey,
    mates=MATES,
    features=FEATURES,
    policy_features=POLICY_FEATURES,
    alike=(4, 3),
    board=(9, 9),
    num_actions=ROWS,
    max_moves=MAX_MOVES,
)
