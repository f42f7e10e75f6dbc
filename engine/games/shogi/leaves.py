"""One batch of leaves: replay each path from the root, judge the leaf, list its moves and encode it, in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import borrow, device, kernel
from ...kernels.zobrist import chain
from ..leaves import make_leaves
from ..outcome import LOSS, RUNNING, WIN
from .moves import action_of
from .planes import NUM_PLANES, encode_row
from .rules import MAX_MOVES, can_declare, follow, generate, verdict
from .state import SQUARES, STATE, State


@device
def judge(s, legal, at_root):
    """Outcome code of a leaf with ``legal`` moves, for the side to move, which declares its king entered when it may.

    At the root only the want of moves ends the game: a move is asked for.
    """
    if at_root:
        return RUNNING if legal else LOSS
    code = verdict(s, legal)
    return WIN if code == RUNNING and can_declare(s) else code


@device
def remember(line, root, past):
    """Copy the keys of State[T] up to the root to past u8[T]: side by side, repetitions are found fast."""
    for i in range(root + 1):
        past[i] = line[i].key


@device
def replay(line, past, leaves, b):
    """Play leaf ``b``'s path from its root in State[T] on; returns where the leaf lies. past u8[T]: see remember."""
    at = np.int64(leaves.rows[b].root)
    for k in range(leaves.rows[b].length):
        follow(line, past, at, np.int64(leaves.paths[b, k]))
        at += 1
    return at


@device
def _cache_key(states, newest, oldest, history):
    """Everything the planes show, in 64 bits."""
    key = np.uint64(states[newest].ply)
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
    past, known = (
        np.empty(states.shape[1], np.uint64),
        -1,
    )
    for b in range(count):
        leaf, line = leaves.rows[b], states[leaves.rows[b].slot]
        if leaf.slot != known:
            known = leaf.slot
            remember(line, leaf.root, past)
        at = replay(line, past, leaves, b)
        n = generate(line[at], leaves.moves, b)
        leaf.outcome = judge(line[at], n, at == leaf.root)
        leaf.count = n
        leaf.key = _cache_key(line, at, 0, history)
        if leaf.outcome == RUNNING:
            for k in range(n):
                leaves.actions[b, k] = action_of(line[at], leaves.moves[b, k])
            encode_row(line, at, 0, history, leaves.planes, b)


def look(state: State) -> tuple[NDArray[np.uint16], int]:
    """(legal moves u2[n], outcome code by want of moves only) of one State[].

    Goes through the search's own kernel: compiling the move generator a second time would cost seconds at a cold start.
    """
    states, leaves = np.empty((1, 2), STATE), make_leaves(1, MAX_MOVES, NUM_PLANES * SQUARES)
    states[0, 0] = state
    describe(states, leaves, 1, 1)
    leaf = leaves.rows[0]
    return leaves.moves[0, : leaf["count"]], int(leaf["outcome"])
