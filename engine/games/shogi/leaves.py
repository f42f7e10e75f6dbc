"""One batch of leaves: replay each path from the root, judge the leaf, list its moves and encode it, in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.jit import borrow, device, kernel
from ...kernels.zobrist import chain
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
def replay(states, past, root, paths, lengths, b):
    """Play path ``b`` from states[root] on; returns where the leaf lies. past u8[N]: the states' keys, side by side."""
    at = root
    for k in range(lengths[b]):
        follow(states, past, at, np.int64(paths[b, k]))
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
def leaves(states, root, paths, lengths, count, history, planes, moves, actions, counts, outcomes, keys):
    """Replay ``count`` paths and describe the leaves they end in.

    states:   State[root + 1 + D], the game up to the root (states[root]) and working space behind it
    paths:    u2[B, D] moves from the root; lengths i4[B]
    history:  positions shown in the planes, 1..8
    planes:   u1[B, C * H * W] out (left alone where the game is over)
    moves:    u2[B, M] out; actions u2[B, M] out; counts i4[B] out: legal moves, their policy indices, how many
    outcomes: i1[B] out, outcome codes for the leaf's side to move
    keys:     u8[B] out, of all that the planes show
    """
    states, paths, moves, actions = borrow(states), borrow(paths), borrow(moves), borrow(actions)
    planes = borrow(planes)
    past = np.empty(states.shape[0], np.uint64)  # keys side by side: repetitions are looked for all the way back
    for i in range(root + 1):
        past[i] = states[i].key
    for b in range(count):
        at = replay(states, past, root, paths, lengths, b)
        n = generate(states[at], moves, b)
        outcomes[b] = judge(states[at], n, at == root)
        counts[b] = n
        keys[b] = _cache_key(states, at, 0, history)
        if outcomes[b] == RUNNING:
            for k in range(n):
                actions[b, k] = action_of(states[at], moves[b, k])
            encode_row(states, at, 0, history, planes, b)


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


def look(state: State) -> tuple[NDArray[np.uint16], int]:
    """(legal moves u2[n], outcome code by want of moves only) of one State[].

    Goes through the search's own kernel: compiling the move generator a second time would cost seconds at a cold start.
    """
    states = np.empty(2, STATE)
    states[0] = state
    planes = np.empty((1, NUM_PLANES * SQUARES), np.uint8)
    moves, actions = np.empty((1, MAX_MOVES), np.uint16), np.empty((1, MAX_MOVES), np.uint16)
    counts, outcomes, keys = np.empty(1, np.int32), np.empty(1, np.int8), np.empty(1, np.uint64)
    paths, lengths = np.empty((1, 1), np.uint16), np.zeros(1, np.int32)
    leaves(states, 0, paths, lengths, 1, 1, planes, moves, actions, counts, outcomes, keys)
    return moves[0, : counts[0]], int(outcomes[0])
