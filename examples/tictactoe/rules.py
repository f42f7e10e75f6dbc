"""The rules as kernels. A move, and its action, is the cell 0..8 by rows from the top left."""

from __future__ import annotations

import numpy as np

from az_engine.engine.games.factory import make_encoder, plain_play
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING
from az_engine.engine.kernels.jit import device

STATE = np.dtype([("pieces", "u2", (2,)), ("ply", "u2"), ("turn", "u1")], align=True)  # pieces: crosses, noughts
FULL = 0b111_111_111
LINES = (0b111, 0b111_000, 0b111_000_000, 0b1_001_001, 0b10_010_010, 0b100_100_100, 0b100_010_001, 0b1_010_100)


@device
def judge(s, legal, at_root):
    """Outcome code for the side to move, who cannot have three in a row."""
    theirs = s.pieces[1 - s.turn]
    for line in LINES:
        if theirs & line == line:
            return LOSS
    return DRAW if s.pieces[0] | s.pieces[1] == FULL else RUNNING


@device
def generate(s, moves, row):
    """Write the legal moves to moves[row]; how many."""
    n = 0
    if judge(s, 0, False) == RUNNING:
        for cell in range(9):
            if not ((s.pieces[0] | s.pieces[1]) >> cell) & 1:
                moves[row, n] = cell
                n += 1
    return n


@device
def make(s, d, move):
    """``d`` becomes the position after ``move`` in ``s``."""
    d.pieces[0], d.pieces[1] = s.pieces[0], s.pieces[1]
    d.pieces[s.turn] |= np.uint16(1 << move)
    d.ply = s.ply + 1
    d.turn = 1 - s.turn


@device
def encode_row(work, states, newest, oldest, history, out, row):
    """Write the planes of states[newest] to out[row]: the mover's pieces, the opponent's."""
    s = states[newest]
    for cell in range(9):
        out[row, cell] = (s.pieces[s.turn] >> cell) & 1
        out[row, 9 + cell] = (s.pieces[1 - s.turn] >> cell) & 1


@device
def action_of(s, move):
    return move


@device
def key(work, states, at, history, out, row):
    """A number (u64) for what the planes show."""
    return 1 + states[at].pieces[0] + np.uint64(512) * states[at].pieces[1]


PLAY = plain_play(make, generate, judge)
ENCODER = make_encoder(
    PLAY,
    encode_row,
    action_of,
    key,
    planes=(2, 3, 3),
    num_actions=9,
    max_moves=9,
    planes_per_position=2,
    plane_scale=np.ones(2, np.float32),
)
