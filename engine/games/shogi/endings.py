"""How a game of shogi ends: mate, repetition, declaration of an entered king, greatest length."""

from __future__ import annotations

import numpy as np

from ...kernels.bits import popcount
from ...kernels.jit import borrow, device, kernel
from ..outcome import DRAW, LOSS, RUNNING, WIN
from .attacks import ZONES, bit, lookup, set_of
from .state import (
    BISHOP,
    BISHOPS,
    BLACK_PIECES,
    HELD,
    NO_RULE,
    POINTS_24,
    POINTS_24_HANDICAP,
    POINTS_27_HANDICAP,
    ROOK,
    ROOKS,
    SQUARES,
    TRY,
    WHITE,
    WHITE_PIECES,
)

_PIECES_TO_DECLARE = 10
_POINTS = (28, 27)  # needed by black and white under the 27-point rule
_POINTS_OF_24 = 31  # needed to win under the 24-point rule
_ALL_POINTS = 54  # of both sides' pieces in a game without handicap
_GOALS = (36, 44)  # 5a and 5i, where the other king begins: squares of a try by black and white


@device
def count_checks(s, d):
    """Set ``d.checks``, which follows ``s``; ``d.checked`` is known."""
    us, them = np.int64(s.turn), np.int64(d.turn)
    d.checks[us] = min(np.int64(s.checks[us]) + 1, 65535) if d.checked else 0
    d.checks[them] = s.checks[them]


@device
def count_earlier(states, keys, i, oldest):
    """Set states[i].repetitions and .loop by its earlier occurrences in states[oldest:i]; keys u8[N] are the states'.

    All the way back: captured pieces return to the board in shogi, so no move makes what came before it unreachable.
    """
    s = states[i]
    s.repetitions = 0
    s.loop = 0
    j = i - 4
    while j >= oldest:
        if keys[j] == s.key:
            s.repetitions = min(np.int64(states[j].repetitions) + 1, 255)
            s.loop = min(i - j + np.int64(states[j].loop), 65535)
            return
        j -= 2


@kernel
def count_repetitions(states, first_index):
    """Count the checks and repetitions of whole games laid end to end, in place.

    states: State[N]; first_index: i8[N], index of the first state of the game that each belongs to.
    """
    states = borrow(states)
    keys = np.empty(states.shape[0], np.uint64)
    for i in range(states.shape[0]):
        keys[i] = states[i].key
        if first_index[i] == i:
            states[i].checks[0] = 0
            states[i].checks[1] = 0
        else:
            count_checks(states[i - 1], states[i])
        count_earlier(states, keys, i, first_index[i])


@device
def repetition_verdict(s):
    """Outcome code by fourfold repetition, for the side to move.

    A side all of whose moves since the first occurrence gave check has lost, unless both sides did so: else a draw.
    """
    if s.repetitions < 3:
        return RUNNING
    us = np.int64(s.turn)
    ours, theirs = 2 * np.int64(s.checks[us]) >= s.loop, 2 * np.int64(s.checks[1 - us]) >= s.loop
    if ours != theirs:
        return LOSS if ours else WIN
    return DRAW


@device
def _points(s, side, pieces):
    """Points of a side: of those of its pieces on the board that are in the bitboard ``pieces``, and of its hand."""
    points = popcount(pieces) + 4 * popcount(pieces & (set_of(s, BISHOPS) | set_of(s, ROOKS)))
    for kind in range(HELD):
        points += (5 if kind == BISHOP - 1 or kind == ROOK - 1 else 1) * np.int64(s.hands[side, kind])
    return points


@device
def _handicap(s):
    """Points of the pieces that white, as the giver of a handicap, plays without."""
    on_board = _points(s, 0, set_of(s, BLACK_PIECES)) + _points(s, 1, set_of(s, WHITE_PIECES))
    kings = (1 if s.kings[0] < SQUARES else 0) + (1 if s.kings[1] < SQUARES else 0)
    return _ALL_POINTS - (on_board - kings)


@device
def can_declare(s):
    """Whether the side to move may win by declaring its king entered, under the rule that the position carries.

    Its king stands in the enemy's camp and is not in check, with ten of its pieces or more; rooks, bishops and what
    they promote to count 5 points, other pieces 1, those in the camp and in hand: 28 for black and 27 for white, or 31
    under the 24-point rule (24 to 30 points are a draw by agreement there, not a win). The rules for handicap games
    credit white with the points of the pieces that are not there.
    """
    us = np.int64(s.turn)
    rule = s.declaration
    zone = lookup(ZONES, us)
    if rule in (NO_RULE, TRY) or s.checked or not zone & bit(np.int64(s.kings[us])):
        return False
    pieces = zone & set_of(s, BLACK_PIECES + us)
    needed = _POINTS_OF_24 if rule in (POINTS_24, POINTS_24_HANDICAP) else _POINTS[us]
    if us == WHITE and rule in (POINTS_24_HANDICAP, POINTS_27_HANDICAP):
        needed -= _handicap(s)
    return popcount(pieces) - 1 >= _PIECES_TO_DECLARE and _points(s, us, pieces) - 1 >= needed


@kernel
def can_declare_kernel(states):
    """Whether the side to move may declare in the last of State[N]: see :func:`can_declare`."""
    return can_declare(states[states.shape[0] - 1])


@device
def verdict(s, legal):
    """Outcome code of a position with ``legal`` moves for the side to move; a declaration, being a choice, is not seen.

    No legal move is a loss, in check or not; so is, under the rule of the try, the other king on the square where one's
    own king begins; then repetition; then the draw by the game's greatest number of plies.
    """
    them = 1 - np.int64(s.turn)
    if legal == 0 or (s.declaration == TRY and s.kings[them] == _GOALS[them]):
        return LOSS
    by_repetition = repetition_verdict(s)
    if by_repetition != RUNNING:
        return by_repetition
    return DRAW if s.limit and s.ply >= s.limit else RUNNING


@kernel
def verdict_kernel(states, legal):
    """Outcome code of the last of State[N], which has ``legal`` moves: see :func:`verdict`."""
    return verdict(states[states.shape[0] - 1], legal)


@device
def judge(s, legal, at_root):
    """Outcome code of a leaf with ``legal`` moves, for the side to move, which declares its king entered when it may.

    At the root only a lack of moves ends the game.
    """
    if at_root:
        return RUNNING if legal else LOSS
    code = verdict(s, legal)
    return WIN if code == RUNNING and can_declare(s) else code
