"""One batch of leaves: replay each path from the root, judge the leaf, list its moves and encode it, in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import borrow, device, kernel
from ...kernels.zobrist import chain
from ..leaves import make_leaves
from ..outcome import RUNNING
from .board import BOARD, clear, copy, set_up
from .planes import NUM_PLANES, encode_row
from .rules import FILTER_WORDS, generate, judge, make, remember, situation
from .rulesets import KO_MASK, SUICIDE
from .state import STATE, TURN_KEY, State


@device
def _cache_key(states, newest, history, forbidden):
    """Everything the planes show and the legal moves, in 64 bits."""
    now = states[newest]
    key = forbidden ^ (TURN_KEY if now.turn else np.uint64(0))
    key += np.uint64(now.rules & SUICIDE)
    for t in range(history):
        if newest - t < 0:
            break
        key = chain(key, states[newest - t].key)
    return chain(key, np.uint64(0))


@device
def begin(line, root, base, b, past, seen):
    """Put the root on ``base``, make ``b`` ready and remember the line's situations; see :func:`describe`."""
    clear(base, np.int64(line[root].size))
    clear(b, np.int64(line[root].size))
    set_up(base, line[root])
    for w in range(FILTER_WORDS):
        seen[w] = 0
    for i in range(root + 1):
        remember(past, seen, i, situation(line[i].key, line[i].turn, line[root].rules & KO_MASK))


@device
def reach(line, leaves, row, base, b, past, seen_before, seen_here):
    """Replay a leaf's path on ``b``; the index in State[T] of the state it ends in."""
    copy(base, b)
    for w in range(FILTER_WORDS):
        seen_here[w] = seen_before[w]
    at = np.int64(leaves.rows[row].root)
    ko = line[at].rules & KO_MASK
    for k in range(leaves.rows[row].length):
        make(b, line[at], line[at + 1], np.int64(leaves.paths[row, k]))
        at += 1
        remember(past, seen_here, at, situation(line[at].key, line[at].turn, ko))
    return at


@device
def list_moves(line, at, b, past, seen, leaves, row):
    """Judge the leaf line[at] and list its moves; the xor of the points that ko forbids."""
    leaf = leaves.rows[row]
    leaf.outcome = judge(b, line[at], at == leaf.root)
    leaf.count = 0
    if leaf.outcome != RUNNING:
        return np.uint64(0)
    n, forbidden = generate(b, line[at], leaves.moves, row, past, seen, at + 1)
    leaf.count = n
    for k in range(n):
        leaves.actions[row, k] = leaves.moves[row, k]
    return forbidden


@kernel
def describe(states, leaves, count, history):
    """Replay ``count`` paths and describe the leaves they end in.

    states:  State[G, T], each game up to its root, which a leaf's ``root`` numbers, and working space behind it
    leaves:  in: slot, root, length and paths. Out: outcome, key (of the legal moves, too), count, moves, actions and,
             where the game goes on, planes
    history: positions shown in the planes, 1..8

    The board of a root is set up once for all of its leaves that follow one another.
    """
    states, leaves = borrow(states), borrow(leaves)
    boards = np.empty(2, BOARD)
    past, known = np.empty(states.shape[1], np.uint64), -1
    seen_before, seen_here = np.empty(FILTER_WORDS, np.uint64), np.empty(FILTER_WORDS, np.uint64)
    base, b = boards[0], boards[1]
    for row in range(count):
        leaf, line = leaves.rows[row], states[leaves.rows[row].slot]
        if leaf.slot != known:
            known = leaf.slot
            begin(line, leaf.root, base, b, past, seen_before)
        at = reach(line, leaves, row, base, b, past, seen_before, seen_here)
        forbidden = list_moves(line, at, b, past, seen_here, leaves, row)
        leaf.key = 0
        if leaf.outcome == RUNNING:
            leaf.key = _cache_key(line, at, history, forbidden)
            encode_row(line, at, 0, history, leaves.planes, row)


def look(line: State) -> NDArray[np.uint16]:
    """Legal moves u2[n] of the last position of a line, by the search's own kernel."""
    size = int(line[-1]["size"])
    leaves = make_leaves(1, size * size + 1, NUM_PLANES * size * size)
    leaves.rows["root"] = len(line) - 1
    describe(np.ascontiguousarray(line, STATE)[None], leaves, 1, 1)
    return leaves.moves[0, : leaves.rows[0]["count"]]
