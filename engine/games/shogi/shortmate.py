"""Mates of a few plies at the leaves of the search: checks and every evasion, looked through to the end.

A net sees no combination; a mate in one or three is found in microseconds, where its evaluation takes hundreds.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import borrow, device, kernel
from ..factory import replay
from ..outcome import LOSS, RUNNING, WIN
from .checks import checks
from .rules import MAX_MOVES, PLAY, generate, make
from .state import STATE

_begin, _replay = PLAY.begin, replay(PLAY)
NO_MOVE = 0xFFFF
LONGEST = 7  # plies of a mate that is looked for at most
_MOST = 400  # positions that are made for one leaf at most


@device
def _forced(line, moves, size, at, plies, left):
    """Whether a mate is forced within ``plies`` plies of line[0]: by its side to move when odd, of it when even.

    The one side plays checks, the other every evasion. line State[plies + 2], moves u2[plies + 1, M], size and at
    i8[plies + 1]: working space; afterwards at[0] - 1 is the place in moves[0] of the move that leads to the mate.
    left i8[1]: positions that may still be made; with none left nothing is forced.
    """
    depth, entering = np.int64(0), True  # a literal 0 would compile every callee twice
    while True:
        attacking = (plies - depth) % 2 == 1
        if entering:
            size[depth] = checks(line[depth], moves, depth) if attacking else generate(line[depth], moves, depth)
            at[depth] = 0
        if at[depth] < size[depth] and depth < plies:
            if left[0] == 0:
                return False
            left[0] -= 1
            make(line[depth], line[depth + 1], np.int64(moves[depth, at[depth]]))
            at[depth] += 1
            depth, entering = depth + 1, True
            continue
        won = not attacking and at[depth] == size[depth]
        while depth > 0 and won == ((plies - depth) % 2 == 0):  # it settles the node before, too
            depth -= 1
        if depth == 0:
            return won
        depth, entering = depth - 1, False


@device
def _may_repeat(states, newest):
    """Whether a position may come for the fourth time, which would end the game before the mate."""
    most = np.int64(0)
    for i in range(newest + 1):
        most = max(most, np.int64(states[i].repetitions))
    return most >= 2


@kernel
def mates(states, leaves, count, plies):
    """Look for forced mates of up to ``plies`` plies, at most LONGEST, at the leaves where the game goes on.

    states, leaves, count: as for ``describe``, which has been called. With an odd number of plies the side to move
    mates, with two it is in check and is mated. Of each leaf:
    outcome in and out: WIN or LOSS where there is such a mate, but not at the root itself
    end     out: its plies, -1 where there is none
    begin   out: the mating side's first move, NO_MOVE where there is none
    """
    states, leaves = borrow(states), borrow(leaves)
    mate, moves = np.empty(LONGEST + 2, STATE), np.empty((LONGEST + 1, MAX_MOVES), np.uint16)
    size, at, left = np.empty(LONGEST + 1, np.int64), np.empty(LONGEST + 1, np.int64), np.empty(1, np.int64)
    past, known = np.empty(states.shape[1], np.uint64), -1
    for b in range(count):
        leaf, line = leaves.rows[b], states[leaves.rows[b].slot]
        leaf.end, leaf.begin = -1, NO_MOVE
        if leaf.outcome != RUNNING:
            continue
        if leaf.slot != known:
            known = leaf.slot
            _begin(past, line, np.int64(leaf.root))
        newest = _replay(past, line, leaves, b)
        mate[0] = line[newest]
        left[0] = _MOST
        checked, longest = mate[0].checked, min(plies, LONGEST)
        if mate[0].limit:
            longest = min(longest, np.int64(mate[0].limit) - np.int64(mate[0].ply))
        if longest > 1 and _may_repeat(line, newest):
            longest = 1
        for n in range(1, longest + 1):
            if (n % 2 or checked) and _forced(mate, moves, size, at, n, left):
                if n % 2:
                    leaf.begin = moves[0, at[0] - 1]
                if newest != leaf.root:
                    leaf.outcome, leaf.end = WIN if n % 2 else LOSS, n
                break
