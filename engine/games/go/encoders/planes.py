"""The 17 input planes of Go (Table S1), u1[17, H, W]: X_t, Y_t, X_t-1, Y_t-1, ..., X_t-7, Y_t-7, C.

X are the stones of the side to move, Y its opponent's, newest position first, zero before the game's start; C is 1
when black is to move. Row 0 is the top edge. A move's action is the move itself: the point, or H * W for a pass.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from ....kernels.bits import lowest_bit
from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...encoder import Encoder
from ...factory import fill_plane, make_encoder
from ..advice import LADDERS
from ..patterns import pattern
from ..rules import PLAY
from ..rulesets import SUICIDE
from ..state import BLACK, MAX_POINTS, MAX_SIZE, TURN_KEY, WORDS

HISTORY = 8
NUM_PLANES = 2 * HISTORY + 1
_1 = np.uint64(1)


@device
def encode_row(work, states, newest, oldest, history, out, row):
    """Write the planes of states[newest], whose game begins at states[oldest], to out[row] (u1[C * H * W])."""
    points = np.int64(states[newest].columns) * np.int64(states[newest].rows)
    for i in range(NUM_PLANES * points):
        out[row, i] = 0
    turn = np.int64(states[newest].turn)
    for t in range(history):
        if newest - t < oldest:
            break
        for side in range(2):
            start = (2 * t + side) * points
            colour = turn if side == 0 else 1 - turn
            for w in range(WORDS):
                bits = states[newest - t].stones[colour, w]
                while bits:
                    out[row, start + 64 * w + lowest_bit(bits)] = 1
                    bits &= bits - _1
    fill_plane(out, row, 2 * HISTORY, points, turn == BLACK)


@device
def action_of(s, move):
    """The policy index (i64) of a move: the same number."""
    return move


@device
def _key(work, states, newest, history, out, row):
    now = states[newest]
    key = work[0][0].forbidden ^ (TURN_KEY if now.turn else np.uint64(0))
    key += np.uint64(now.rules & SUICIDE)
    for t in range(min(history, newest + 1)):
        key = chain(key, states[newest - t].key)
    return chain(key, np.uint64(0))


_ENCODER = make_encoder(
    PLAY,
    encode_row,
    action_of,
    _key,
    pattern=pattern,
    advise=LADDERS,
    planes=(NUM_PLANES, MAX_SIZE, MAX_SIZE),
    num_actions=MAX_POINTS + 1,
    max_moves=MAX_POINTS + 1,
    history=HISTORY,
    planes_per_position=2,
    plane_scale=np.ones(NUM_PLANES, np.float32),
)


@cache
def encoder(columns: int, rows: int) -> Encoder:
    """The planes of a board of that size; one compilation of the kernels serves every size."""
    moves = columns * rows + 1
    return replace(_ENCODER, planes=(NUM_PLANES, rows, columns), num_actions=moves, max_moves=moves)
