"""The rules of connect four as kernels. A move, and its action, is a column 0..6 from the left.

Bitboards u8: bit 7 * column + row, row 0 at the bottom; the seventh bit of a column stays empty, so that lines of four
never run over an edge.
"""

from __future__ import annotations

import numpy as np

from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING
from az_engine.engine.kernels.jit import borrow, device, kernel
from az_engine.engine.kernels.zobrist import chain

COLUMNS, ROWS = 7, 6
STATE = np.dtype([("men", "u8", (2,)), ("ply", "u2"), ("turn", "u1")], align=True)  # men: first player's, second's
_1 = np.uint64(1)


@device
def four(men):
    """Whether there are four in a line."""
    for shift in (1, 6, 7, 8):
        s = np.uint64(shift)
        pairs = men & (men >> s)
        if pairs & (pairs >> (s + s)):
            return True
    return False


@device
def height(s, column):
    """Men in a column."""
    both, n = (s.men[0] | s.men[1]) >> np.uint64(7 * column), 0
    while (both >> np.uint64(n)) & _1:
        n += 1
    return n


@device
def judge(s):
    """Outcome code for the side to move, who cannot have four."""
    if four(s.men[1 - s.turn]):
        return LOSS
    return DRAW if s.ply >= COLUMNS * ROWS else RUNNING


@device
def generate(s, moves, row):
    """Write the legal moves to moves[row]; how many."""
    n = 0
    if judge(s) == RUNNING:
        for column in range(COLUMNS):
            if height(s, column) < ROWS:
                moves[row, n] = column
                n += 1
    return n


@device
def make(s, d, move):
    """``d`` becomes the position after ``move`` in ``s``."""
    bit = _1 << np.uint64(7 * move + height(s, move))
    d.men[0], d.men[1] = s.men[0], s.men[1]
    d.men[s.turn] |= bit
    d.ply = s.ply + 1
    d.turn = 1 - s.turn


@device
def encode_row(s, planes, row):
    """The planes of ``s`` to planes[row]: the mover's men, the opponent's; the top row first."""
    for r in range(ROWS):
        for column in range(COLUMNS):
            at, shift = r * COLUMNS + column, np.uint64(7 * column + ROWS - 1 - r)
            planes[row, at] = (s.men[s.turn] >> shift) & _1
            planes[row, ROWS * COLUMNS + at] = (s.men[1 - s.turn] >> shift) & _1


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
        leaf.key = chain(line[at].men[0], line[at].men[1])
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
    """out u1[B, 84] = the planes of states[index[b]]."""
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
    """out i4[B, 7] and counts i4[B] = the legal actions of states[index[b]]."""
    for b in range(index.shape[0]):
        counts[b] = generate(states[index[b]], out, b)
