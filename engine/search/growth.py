"""The search with a sparse net: a simulation from selection to backup costs microseconds, so a kernel makes hundreds.

:func:`growth_kernel` makes one simulation after another by itself. Threads that share the tree run it side by side.
The parts are those of every search. Where Python looks at the leaves, :func:`judge_leaves` judges a batch of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..games.encoder import LeafFunctions
from ..games.leaves import make_leaves
from ..games.outcome import RUNNING
from ..kernels.atomics import enter, leave, make_spinlock
from ..kernels.jit import borrow, device, entry, keep, kernel
from ..nets.sparse import blank_net, judge_moves, judge_space, judge_value
from .cache import ENTRY, MOVE, CacheArrays, recall, remember
from .policy import outcome_of, softmax_in_place, sort_row
from .puct import PARAMS, Wanted, select_from
from .tree import EDGE, FULL, NODE, TreeArrays, expand_leaf, tree_of

_PATIENCE = 2000  # selections of a leaf that another thread judges, one after another


class Growth(NamedTuple):
    """What a kernel that makes simulations by itself has to know."""

    root: int  # the node below which it searches
    judged: bool  # leaf 0 is judged and waits to be expanded
    wanted: int  # simulations
    history: int  # see ``Evaluator.history``
    plies: int  # of the mates to look for
    solver: bool
    temperature: np.float32  # of the policy
    halt: NDArray[np.uint8]  # [1]: once not 0, the turn ends


@device
def _judge_leaf(net, leaves, b, row, space, wdl, sorting, temperature):
    """Priors, value and draw of leaf ``b``, whose features planes[row] lists; its moves are sorted by falling prior."""
    leaf = leaves.rows[b]
    judge_value(net, leaves.planes, row, space, wdl[0])
    leaf.value, leaf.draw = outcome_of(wdl, 0)
    judge_moves(net, leaves.planes, row, space, leaves.actions, b, leaf.count, leaves.priors)
    softmax_in_place(leaves.priors, b, leaf.count, temperature)
    sort_row(leaves.priors, leaves.moves, b, leaf.count, sorting)


@kernel
def judge_leaves(net, leaves, count, temperature):
    """Judge those of ``count`` leaves that have a row, as ``policy.digest`` does with a net's answers."""
    net, leaves = borrow(net), borrow(leaves)
    space, wdl = judge_space(net), np.empty((1, 3), np.float32)
    sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
    for b in range(count):
        leaf = leaves.rows[b]
        if leaf.outcome == RUNNING and leaf.row >= 0:
            _judge_leaf(net, leaves, b, np.int64(leaf.row), space, wdl, sorting, temperature)


@cache
def growth_kernel(functions: LeafFunctions) -> Callable[..., Any]:
    """The kernel that makes simulations in one game."""
    workspace, make_space, begin, describe_leaf = functions

    @kernel
    def grow(trees, params, states, leaves, net, known, lock, growth):
        """Make up to ``growth.wanted`` simulations of tree 0; returns (how many, whether leaf 0 is judged and waits).

        params: PARAMS[1]; states State[1, T] and leaves as for ``describe``, leaf 0 is used; net: SparseNet; known:
        CacheArrays; lock: the tree's spinlock; growth: Growth. It ends early where the tree is full, after a simulation
        once growth.halt is set, and behind the root, whose moves the caller may arrange. A leaf that another thread
        judges is tried again for a while.
        """
        trees, states, leaves, net, known = borrow(trees), borrow(states), borrow(leaves), borrow(net), borrow(known)
        halt = borrow(growth.halt)
        tree, line, leaf, lock = tree_of(trees, 0), states[0], leaves.rows[0], borrow(lock)
        owner = workspace(line), make_space()
        work, mating = borrow(owner)
        space, wdl = judge_space(net), np.empty((1, 3), np.float32)
        sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
        begin(work, line, np.int64(leaf.root))
        done, judged, tried = 0, growth.judged, 0
        while True:
            if judged:
                expand_leaf(tree, leaves, 0, growth.solver, lock)
                done, judged = done + 1, False
            if halt[0] and done:
                break
            left = growth.wanted - done
            chosen, finished = select_from(tree, params, growth.root, leaves, Wanted(0, 0, 1, left), lock)
            done, judged = done + finished, chosen > 0
            if not judged:
                tried += 1
                if tree.counters[FULL] or done >= growth.wanted or tried == _PATIENCE:
                    break
                continue
            tried = 0
            describe_leaf(work, mating, line, leaves, 0, growth.history, growth.plies)
            if leaf.outcome == RUNNING:
                enter(known.lock)
                found = recall(known.entries, known.ring, known.head, leaves, 0)
                leave(known.lock)
                if not found:
                    _judge_leaf(net, leaves, 0, 0, space, wdl, sorting, growth.temperature)
                    enter(known.lock)
                    remember(known.entries, known.ring, known.head, leaves, 0)
                    leave(known.lock)
            if leaf.length == 0:
                break
        keep(owner)
        return done, judged

    return grow


@cache
def growth_entry(functions: LeafFunctions, state_dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The kernel's entry point; blocks for seconds where it must be compiled."""
    trees = TreeArrays(np.zeros((1, 1), NODE), np.zeros((1, 1), EDGE), np.zeros((1, 8), np.int64))
    known = CacheArrays(np.zeros(1, ENTRY), np.zeros(1, MOVE), np.zeros(1, np.int64), make_spinlock())
    growth = Growth(0, False, 0, 0, 0, True, np.float32(1), np.zeros(1, np.uint8))
    params, states, leaves = np.zeros(1, PARAMS), np.zeros((1, 1), state_dtype), make_leaves(1, 1, 1)
    return entry(growth_kernel(functions), trees, params, states, leaves, blank_net(), known, make_spinlock(), growth)
