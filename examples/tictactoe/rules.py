"""The rules as kernels. A move, and its action, is the cell 0..8 by rows from the top left."""

from __future__ import annotations

import numpy as np

from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING
from az_engine.engine.kernels.jit import borrow, device, kernel

STATE = np.dtype([("men", "u2", (2,)), ("ply", "u2"), ("turn", "u1")], align=True)  # men: crosses, noughts
FULL = 0b111_111_111
LINES = (0b111, 0b111_000, 0b111_000_000, 0b1_001_001, 0b10_010_010, 0b100_100_100, 0b100_010_001, 0b1_010_100)


@device
def judge(s):
    """Outcome code for the side to move, who cannot have three in a row."""
    theirs = s.men[1 - s.turn]
    for line in LINES:
        if theirs & line == line:
            return LOSS
    return DRAW if s.men[0] | s.men[1] == FULL else RUNNING


@device
def generate(s, moves, row):
    """Write the legal moves to moves[row]; how many."""
    n = 0
    if judge(s) == RUNNING:
        for cell in range(9):
            if not ((s.men[0] | s.men[1]) >> cell) & 1:
                moves[row, n] = cell
                n += 1
    return n


@device
def make(s, d, move):
    """``d`` becomes the position after ``move`` in ``s``."""
    d.men[0], d.men[1] = s.men[0], s.men[1]
    d.men[s.turn] |= np.uint16(1 << move)
    d.ply = s.ply + 1
    d.turn = 1 - s.turn


@device
def encode_row(s, planes, row):
    """The planes of ``s`` to planes[row]."""
    for cell in range(9):
        planes[row, cell] = (s.men[s.turn] >> cell) & 1
        planes[row, 9 + cell] = (s.men[1 - s.turn] >> cell) & 1


@kernel
def describe(states, leaves, count, history):
    """Replay the paths of ``count`` leaves in games State[G, T] and describe them; see games/leaves.py."""
    states, leaves = borrow(states), borrow(leaves)
    for b in range(count):
        leaf, line = leaves.rows[b], states[leaves.rows[b].slot]
        at = np.int64(leaf.root)
        for k in range(leaf.length):
            make(line[at], line[at + 1], np.int64(leaves.paths[b, k]))
            at += 1
        leaf.outcome = judge(line[at])
        leaf.count = generate(line[at], leaves.moves, b)
        leaf.key = 1 + line[at].men[0] + np.uint64(512) * line[at].men[1]
        for k in range(leaf.count):
            leaves.actions[b, k] = leaves.moves[b, k]
        if leaf.outcome == RUNNING:
            encode_row(line[at], leaves.planes, b)


@kernel
def play_in_line(line, i, move):
    """line[i + 1] becomes the position after ``move`` in line[i]."""
    make(line[i], line[i + 1], np.int64(move))


@kernel
def outcome_of(line, i):
    """Outcome code of line[i]."""
    return judge(line[i])


@kernel
def encode(states, index, first, history, out):
    """out u1[B, 18] = the planes of states[index[b]]."""
    for b in range(index.shape[0]):
        encode_row(states[index[b]], out, b)


@kernel
def actions(states, index, moves, out):
    """out i4[B, K] = the actions of moves u2[B, K]: the same numbers."""
    for b in range(index.shape[0]):
        for k in range(moves.shape[1]):
            out[b, k] = moves[b, k]


@kernel
def legal_actions(states, index, out, counts):
    """out i4[B, 9] and counts i4[B] = the legal actions of states[index[b]]."""
    for b in range(index.shape[0]):
        counts[b] = generate(states[index[b]], out, b)
