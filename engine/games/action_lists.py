"""What the kernels that number moves for training have in common: only a game's functions differ.

Those are handed in from the kernel that is cached, as a name of its module: a kernel made by a function would be
compiled at every start, for what it encloses is part of its place in the cache.
"""

from __future__ import annotations

import numpy as np

from ..jit import borrow, device


@device
def fill_actions(action_of, states, index, moves, out):
    """out i4[B, K] = action_of(position, move) for moves u2[B, K] in states[index[b]]; State[N], index i8[B]."""
    states, moves = borrow(states), borrow(moves)
    for b in range(index.shape[0]):
        for k in range(moves.shape[1]):
            out[b, k] = action_of(states[index[b]], moves[b, k])


@device
def fill_legal_actions(generate, action_of, states, index, out, counts):
    """out i4[B, M] and counts i4[B] = the actions of the moves that ``generate`` lists in states[index[b]]."""
    states, moves = borrow(states), np.empty((1, out.shape[1]), np.uint16)
    for b in range(index.shape[0]):
        n = generate(states[index[b]], moves, 0)
        counts[b] = n
        for k in range(n):
            out[b, k] = action_of(states[index[b]], moves[0, k])
