"""The 17 input planes of Go (Table S1), u1[17, N, N]: X_t, Y_t, X_t-1, Y_t-1, ..., X_t-7, Y_t-7, C.

X are the stones of the side to move, Y its opponent's, newest position first, zero before the game's start; C is 1
when black is to move. Row 0 is the top edge. A move's action is the move itself: the point, or N * N for a pass.
"""

from __future__ import annotations

import numpy as np

from ...kernels.bits import lowest_bit
from ...kernels.jit import device, kernel
from .board import BOARD, clear, set_up
from .rules import FILTER_WORDS, generate, remember, situation
from .rulesets import KO_MASK
from .state import BLACK, WORDS

HISTORY = 8
NUM_PLANES = 2 * HISTORY + 1
_1 = np.uint64(1)


@device
def encode_row(states, newest, oldest, history, out, row):
    """Write the planes of states[newest], whose game begins at states[oldest], to out[row] (u1[C * H * W])."""
    points = np.int64(states[newest].size) * np.int64(states[newest].size)
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
    if turn == BLACK:
        for i in range(2 * HISTORY * points, NUM_PLANES * points):
            out[row, i] = 1


@kernel
def encode(states, index, first_index, history, out):
    """out u1[B, C * H * W] = the planes of states[index[b]].

    states: State[N], games whole and in order; index i8[B]; first_index i8[B], where the game of states[index[b]]
    begins; history: positions shown, 1..8.
    """
    for b in range(index.shape[0]):
        encode_row(states, index[b], first_index[b], history, out, b)


@kernel
def actions(states, index, moves, out):
    """out i4[B, K] = the actions of moves u2[B, K]: the same numbers."""
    for b in range(index.shape[0]):
        for k in range(moves.shape[1]):
            out[b, k] = moves[b, k]


@kernel
def legal_actions(states, index, out, counts):
    """out i4[B, N * N + 1] and counts i4[B] = the legal actions of states[index[b]]; State[N], index i8[B].

    What the record alone forbids is left out (stones, suicide, the ko just taken); longer superko cycles are not.
    """
    boards = np.empty(1, BOARD)
    moves = np.empty((1, out.shape[1]), np.uint16)
    past, seen = np.empty(1, np.uint64), np.zeros(FILTER_WORDS, np.uint64)
    for b in range(index.shape[0]):
        s = states[index[b]]
        clear(boards[0], np.int64(s.size))
        set_up(boards[0], s)
        remember(past, seen, 0, situation(s.key, s.turn, s.rules & KO_MASK))
        n, _ = generate(boards[0], s, moves, 0, past, seen, 1)
        counts[b] = n
        for k in range(n):
            out[b, k] = moves[0, k]
