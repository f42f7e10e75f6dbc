"""One batch of leaves: replay each path from the root, judge the leaf, list its moves and encode it, in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import borrow, device, kernel
from ...kernels.zobrist import chain
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
def begin(states, root, base, b, past, seen):
    """Put the root on ``base``, make ``b`` ready and remember the line's situations; see :func:`leaves`."""
    clear(base, np.int64(states[root].size))
    clear(b, np.int64(states[root].size))
    set_up(base, states[root])
    for i in range(root + 1):
        remember(past, seen, i, situation(states[i].key, states[i].turn, states[root].rules & KO_MASK))


@device
def reach(states, root, paths, row, length, base, b, past, seen_before, seen_here):
    """Replay a path on ``b``; the index of the state it ends in."""
    copy(base, b)
    for w in range(FILTER_WORDS):
        seen_here[w] = seen_before[w]
    at, ko = root, states[root].rules & KO_MASK
    for k in range(length):
        make(b, states[at], states[at + 1], np.int64(paths[row, k]))
        at += 1
        remember(past, seen_here, at, situation(states[at].key, states[at].turn, ko))
    return at


@device
def list_moves(states, root, at, b, past, seen, moves, actions, counts, outcomes, row):
    """Judge the leaf states[at] and list its moves; the xor of the points that ko forbids."""
    outcomes[row] = judge(b, states[at], at == root)
    counts[row] = 0
    if outcomes[row] != RUNNING:
        return np.uint64(0)
    n, forbidden = generate(b, states[at], moves, row, past, seen, at + 1)
    counts[row] = n
    for k in range(n):
        actions[row, k] = moves[row, k]
    return forbidden


@kernel
def leaves(states, root, paths, lengths, count, history, planes, moves, actions, counts, outcomes, keys):
    """Replay ``count`` paths and describe the leaves they end in.

    states:   State[root + 1 + D], the game up to the root (states[root]) and working space behind it
    paths:    u2[B, D] moves from the root; lengths i4[B]
    history:  positions shown in the planes, 1..8
    planes:   u1[B, C * H * W] out (left alone where the game is over)
    moves:    u2[B, M] out; actions u2[B, M] out; counts i4[B] out: legal moves, their policy indices, how many
    outcomes: i1[B] out, outcome codes for the leaf's side to move
    keys:     u8[B] out, of all that the planes show and of the legal moves
    """
    states, paths, moves, actions = borrow(states), borrow(paths), borrow(moves), borrow(actions)
    planes = borrow(planes)
    boards = np.empty(2, BOARD)
    past = np.empty(states.shape[0], np.uint64)
    seen_before, seen_here = np.zeros(FILTER_WORDS, np.uint64), np.empty(FILTER_WORDS, np.uint64)
    base, b = boards[0], boards[1]
    begin(states, root, base, b, past, seen_before)
    for row in range(count):
        at = reach(states, root, paths, row, lengths[row], base, b, past, seen_before, seen_here)
        forbidden = list_moves(states, root, at, b, past, seen_here, moves, actions, counts, outcomes, row)
        keys[row] = 0
        if outcomes[row] == RUNNING:
            keys[row] = _cache_key(states, at, history, forbidden)
            encode_row(states, at, 0, history, planes, row)


@kernel
def leaves_of_games(
    states, roots, slots, paths, lengths, count, history, planes, moves, actions, counts, outcomes, keys
):
    """One leaf each of several games: see Game.leaves_of_games."""
    for b in range(count):
        one, slot = slice(b, b + 1), slots[b]
        leaves(
            states[slot], np.int64(roots[slot]), paths[one], lengths[one], np.int64(1), history,
            planes[one], moves[one], actions[one], counts[one], outcomes[one], keys[one],
        )  # fmt: skip


def look(line: State) -> NDArray[np.uint16]:
    """Legal moves u2[n] of the last position of a line, by the search's own kernel."""
    size = int(line[-1]["size"])
    planes = np.empty((1, NUM_PLANES * size * size), np.uint8)
    moves, actions = (np.empty((1, size * size + 1), np.uint16) for _ in range(2))
    counts, outcomes, keys = np.empty(1, np.int32), np.empty(1, np.int8), np.empty(1, np.uint64)
    paths, lengths = np.empty((1, 1), np.uint16), np.zeros(1, np.int32)
    states = np.ascontiguousarray(line, STATE)
    leaves(states, len(line) - 1, paths, lengths, 1, 1, planes, moves, actions, counts, outcomes, keys)
    return moves[0, : counts[0]]
