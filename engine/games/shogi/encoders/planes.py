"""The 362 input planes of shogi (Table S1), u1[362, 9, 9], seen by the side to move.

A plane is indexed [file - 1, rank] as squares are numbered in :mod:`state`; when white is to move the board is turned
by 180 degrees (square 80 - s), so that the mover always plays towards rank a.

For each of the last 8 positions, newest first, 45 planes: the 14 kinds of pieces of the side to move in the order P L N
S B R G K +P +L +N +S +B +R, the same 14 of its opponent, "occurred at least once, twice, three times before", the
numbers of P L N S B R G in the hand of the side to move, and in its opponent's. Positions before the game's start are
zero. Then plane 360, the colour (1 when black, the first player, is to move), and 361, the plies played.

Numbers in hand and plies are plain numbers (plies stop at 255); the network scales them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...factory import fill_plane, make_encoder
from ..attacks import first, set_of
from ..checks import MATES
from ..moves import NUM_ACTIONS, action_of
from ..rules import MAX_MOVES, PLAY
from ..state import BLACK_PIECES, HELD, KINDS, SQUARES

HISTORY = 8
REPETITIONS = 3
STEP_PLANES = 2 * KINDS + REPETITIONS + 2 * HELD
NUM_PLANES = HISTORY * STEP_PLANES + 2
COLOUR_PLANE, PLY_PLANE = HISTORY * STEP_PLANES, HISTORY * STEP_PLANES + 1
_REPETITION_PLANE, _HAND_PLANE = 2 * KINDS, 2 * KINDS + REPETITIONS  # within a step
_HAND_SCALE = (1 / 9, 1 / 2, 1 / 2, 1 / 2, 1, 1, 1 / 2)  # by kind: at most 18, 4, 4, 4, 2, 2, 4 in hand


def plane_scale() -> NDArray[np.float32]:
    """f4[C]: what a network multiplies each plane by, so that counts are about as large as pieces, and 2 at most."""
    scale = np.ones(NUM_PLANES, np.float32)
    for t in range(HISTORY):
        hands = t * STEP_PLANES + _HAND_PLANE
        scale[hands : hands + 2 * HELD] = 2 * _HAND_SCALE
    scale[PLY_PLANE] = 1 / 128
    return scale


@device
def encode_row(keys, states, newest, oldest, history, out, row):
    """Write the planes of states[newest], whose game begins at states[oldest], to out[row] (u1[C * H * W])."""
    for i in range(NUM_PLANES * SQUARES):
        out[row, i] = 0
    now = states[newest]
    us = np.int64(now.turn)
    for t in range(history):
        if newest - t < oldest:
            break
        s, base = states[newest - t], t * STEP_PLANES
        for side in range(2):
            pieces = set_of(s, BLACK_PIECES + side)
            plane = base - 1 if side == us else base + KINDS - 1
            while pieces:
                square, pieces = first(pieces)
                seen = SQUARES - 1 - square if us else square
                out[row, (plane + np.int64(s.board[square] & 15)) * SQUARES + seen] = 1
            plane = base + _HAND_PLANE if side == us else base + _HAND_PLANE + HELD
            for kind in range(HELD):
                fill_plane(out, row, plane + kind, SQUARES, np.int64(s.hands[side, kind]))
        for number in range(REPETITIONS):
            fill_plane(out, row, base + _REPETITION_PLANE + number, SQUARES, np.int64(s.repetitions > number))
    fill_plane(out, row, COLOUR_PLANE, SQUARES, 1 - us)
    fill_plane(out, row, PLY_PLANE, SQUARES, np.int64(min(now.ply, 255)))


@device
def _key(keys, states, newest, history, out, row):
    key = np.uint64(states[newest].ply)
    for t in range(min(history, newest + 1)):
        key = chain(key, states[newest - t].key + np.uint64(states[newest - t].repetitions))
    return chain(key, np.uint64(0))


ENCODER = make_encoder(
    PLAY,
    encode_row,
    action_of,
    _key,
    mates=MATES,
    planes=(NUM_PLANES, 9, 9),
    num_actions=NUM_ACTIONS,
    max_moves=MAX_MOVES,
    history=HISTORY,
    planes_per_position=STEP_PLANES,
    plane_scale=plane_scale(),
)
