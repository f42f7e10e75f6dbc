"""The 119 input planes of chess (Table S1), u1[119, 8, 8], seen by the side to move: its own first rank is row 0.

For each of the last 8 positions, newest first: P N B R Q K of the side to move, P N B R Q K of its opponent, "occurred
once before", "occurred twice before" (14 planes); positions before the game's start are zero. Then the colour (1 when
white, the first player, is to move), the plies played, castling king-side and queen-side of the side to move and of its
opponent, and the plies without progress. The two counts are plain numbers that stop at 255; the network scales them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....kernels.bits import byte_swap, lowest_bit
from ....kernels.jit import device
from ....kernels.splitmix import chain
from ...factory import make_encoder
from ..attacks import ALL, NONE, bit, first
from ..checks import MATES
from ..moves import NUM_ACTIONS, action_of
from ..rules import MAX_MOVES, PLAY
from ..state import WHITE

HISTORY = 8
STEP_PLANES = 14
NUM_PLANES = HISTORY * STEP_PLANES + 7
PLY_PLANE, NO_PROGRESS_PLANE = 113, 118


def plane_scale() -> NDArray[np.float32]:
    """f4[C]: what a network multiplies each plane by, so that counts are about as large as pieces."""
    scale = np.ones(NUM_PLANES, np.float32)
    scale[[PLY_PLANE, NO_PROGRESS_PLANE]] = 1 / 128
    return scale


@device
def set_squares(out, row, plane, bits, flip):
    """Ones on the squares of a bitboard, mirrored by rank if ``flip``, in a plane that is zero."""
    if flip:
        bits = byte_swap(bits)
    while bits:
        square, bits = first(bits)
        out[row, plane * 64 + square] = 1


@device
def fill_plane(out, row, plane, value):
    """One value in a whole plane that is zero."""
    if value:
        for square in range(64):
            out[row, plane * 64 + square] = value


@device
def encode_row(work, states, newest, oldest, history, out, row):
    """Write the planes of states[newest], whose game begins at states[oldest], to out[row] (u1[C * H * W])."""
    for i in range(NUM_PLANES * 64):
        out[row, i] = 0
    now = states[newest]
    flip = now.turn != WHITE
    for t in range(history):
        if newest - t < oldest:
            break
        s = states[newest - t]
        ours, enemy = (s.black, s.white) if flip else (s.white, s.black)
        for side in range(2):
            pieces = ours if side == 0 else enemy
            plane = t * STEP_PLANES + 6 * side
            set_squares(out, row, plane, s.pawns & pieces, flip)
            set_squares(out, row, plane + 1, s.knights & pieces, flip)
            set_squares(out, row, plane + 2, s.bishops & pieces, flip)
            set_squares(out, row, plane + 3, s.rooks & pieces, flip)
            set_squares(out, row, plane + 4, s.queens & pieces, flip)
            set_squares(out, row, plane + 5, s.kings & pieces, flip)
        if s.repetitions:
            fill_plane(out, row, t * STEP_PLANES + 12, 1)
        if s.repetitions >= 2:
            fill_plane(out, row, t * STEP_PLANES + 13, 1)
    constant = HISTORY * STEP_PLANES
    fill_plane(out, row, constant, 0 if flip else 1)
    fill_plane(out, row, PLY_PLANE, min(np.int64(now.ply), 255))
    ours, enemy = (now.black, now.white) if flip else (now.white, now.black)
    for side in range(2):
        pieces = ours if side == 0 else enemy
        king = lowest_bit(now.kings & pieces)
        rooks = now.castling & pieces
        above = ALL << np.uint64(king)
        fill_plane(out, row, constant + 2 + 2 * side, 1 if rooks & above != NONE else 0)
        fill_plane(out, row, constant + 3 + 2 * side, 1 if rooks & (bit(king) - np.uint64(1)) != NONE else 0)
    fill_plane(out, row, NO_PROGRESS_PLANE, min(np.int64(now.rule50), 255))


@device
def _key(work, states, newest, history, out, row):
    now = states[newest]
    key = np.uint64(now.rule50) | (np.uint64(now.ply) << np.uint64(16))
    for t in range(min(history, newest + 1)):
        key = chain(key, states[newest - t].key + np.uint64(states[newest - t].repetitions))
    return chain(key, np.uint64(0))


ENCODER = make_encoder(
    PLAY,
    encode_row,
    action_of,
    _key,
    mates=MATES,
    planes=(NUM_PLANES, 8, 8),
    num_actions=NUM_ACTIONS,
    max_moves=MAX_MOVES,
    history=HISTORY,
    planes_per_position=STEP_PLANES,
    plane_scale=plane_scale(),
)
