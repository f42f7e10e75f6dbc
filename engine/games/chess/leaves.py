"""One batch of leaves: replay each path from the root, judge the leaf, list its moves and encode it, in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import borrow, device, kernel
from ...kernels.zobrist import chain
from ..leaves import make_leaves
from ..outcome import DRAW, LOSS, RUNNING
from .moves import action_of
from .planes import NUM_PLANES, encode_row
from .rules import MAX_MOVES, count_earlier, generate, in_check, insufficient_material, make
from .state import STATE, State


@device
def judge(s, legal, at_root):
    """Outcome code of a position with ``legal`` moves, for the side to move. At the root no draw is called."""
    if legal == 0:
        return LOSS if in_check(s) else DRAW
    if not at_root and (s.repetitions >= 2 or s.rule50 >= 100 or insufficient_material(s)):
        return DRAW
    return RUNNING


@device
def replay(line, leaves, b):
    """Play leaf ``b``'s path from its root in State[T] on, repetitions counted; returns where the leaf lies."""
    at = np.int64(leaves.rows[b].root)
    for k in range(leaves.rows[b].length):
        make(line[at], line[at + 1], leaves.paths[b, k])
        at += 1
        if line[at].rule50 >= 4:
            count_earlier(line, at, 0)
    return at


@device
def _cache_key(states, newest, oldest, history):
    """Everything the planes show, in 64 bits."""
    now = states[newest]
    key = np.uint64(now.rule50) | (np.uint64(now.ply) << np.uint64(16))
    for t in range(history):
        if newest - t < oldest:
            break
        key = chain(key, states[newest - t].key + np.uint64(states[newest - t].repetitions))
    return chain(key, np.uint64(0))


@kernel
def describe(states, leaves, count, history):
    """Replay ``count`` paths and describe the leaves they end in.

    states:  State[G, T], each game up to its root, which a leaf's ``root`` numbers, and working space behind it
    leaves:  in: slot, root, length and paths. Out: outcome, key, count, moves, actions and, where the game goes on,
             planes
    history: positions shown in the planes, 1..8
    """
    states, leaves = borrow(states), borrow(leaves)
    for b in range(count):
        leaf, line = leaves.rows[b], states[leaves.rows[b].slot]
        at = replay(line, leaves, b)
        n = generate(line[at], leaves.moves, b)
        leaf.outcome = judge(line[at], n, at == leaf.root)
        leaf.count = n
        leaf.key = _cache_key(line, at, 0, history)
        if leaf.outcome == RUNNING:
            for k in range(n):
                leaves.actions[b, k] = action_of(line[at], leaves.moves[b, k])
            encode_row(line, at, 0, history, leaves.planes, b)


def look(state: State) -> tuple[NDArray[np.uint16], int]:
    """(legal moves u2[n], outcome code by mate and stalemate only) of one State[].

    Goes through the search's own kernel: compiling the move generator a second time would cost seconds at a cold start.
    """
    states, leaves = np.empty((1, 2), STATE), make_leaves(1, MAX_MOVES, NUM_PLANES * 64)
    states[0, 0] = state
    describe(states, leaves, 1, 1)
    leaf = leaves.rows[0]
    return leaves.moves[0, : leaf["count"]], int(leaf["outcome"])
