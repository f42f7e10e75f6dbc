"""The rules of connect four as kernels. A move, and its action, is a column 0..6 from the left.

Bitboards u8: bit 7 * column + row, row 0 at the bottom; the seventh bit of a column stays empty, so that lines of four
never run over an edge.
"""

from __future__ import annotations

import numpy as np

from az_engine.engine.games.factory import make_encoder, plain_play
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING
from az_engine.engine.kernels.jit import device
from az_engine.engine.kernels.splitmix import chain

COLUMNS, ROWS = 7, 6
STATE = np.dtype(
    [("pieces", "u8", (2,)), ("ply", "u2"), ("turn", "u1")], align=True
)  # pieces: first player's, second's
_1 = np.uint64(1)


@device
def four(pieces):
    """Whether there are four in a line."""
    for shift in (1, 6, 7, 8):
        s = np.uint64(shift)
        pairs = pieces & (pieces >> s)
        if pairs & (pairs >> (s + s)):
            return True
    return False


@device
def height(s, column):
    """Men in a column."""
    both, n = (s.pieces[0] | s.pieces[1]) >> np.uint64(7 * column), 0
    while (both >> np.uint64(n)) & _1:
        n += 1
    return n


@device
def judge(s, legal, at_root):
    """Outcome code for the side to move, who cannot have four."""
    if four(s.pieces[1 - s.turn]):
        return LOSS
    return DRAW if s.ply >= COLUMNS * ROWS else RUNNING


@device
def generate(s, moves, row):
    """Write the legal moves to moves[row]; how many."""
    n = 0
    if judge(s, 0, False) == RUNNING:
        for column in range(COLUMNS):
            if height(s, column) < ROWS:
                moves[row, n] = column
                n += 1
    return n


@device
def make(s, d, move):
    """``d`` becomes the position after ``move`` in ``s``."""
    bit = _1 << np.uint64(7 * move + height(s, move))
    d.pieces[0], d.pieces[1] = s.pieces[0], s.pieces[1]
    d.pieces[s.turn] |= bit
    d.ply = s.ply + 1
    d.turn = 1 - s.turn


@device
def encode_row(work, states, newest, oldest, history, out, row):
    """Write the planes of states[newest] to out[row]: the mover's pieces, the opponent's; the top row first."""
    s = states[newest]
    for r in range(ROWS):
        for column in range(COLUMNS):
            at, shift = r * COLUMNS + column, np.uint64(7 * column + ROWS - 1 - r)
            out[row, at] = (s.pieces[s.turn] >> shift) & _1
            out[row, ROWS * COLUMNS + at] = (s.pieces[1 - s.turn] >> shift) & _1


@device
def action_of(s, move):
    return move


@device
def key(work, states, at, history, out, row):
    """A number (u64) for what the planes show."""
    return chain(states[at].pieces[0], states[at].pieces[1])


PLAY = plain_play(make, generate, judge)
ENCODER = make_encoder(
    PLAY,
    encode_row,
    action_of,
    key,
    planes=(2, ROWS, COLUMNS),
    num_actions=COLUMNS,
    max_moves=COLUMNS,
    planes_per_position=2,
    plane_scale=np.ones(2, np.float32),
)
