"""The search with a sparse net: a simulation from selection to backup costs microseconds, so a kernel makes hundreds.

:func:`growth_kernel` makes one simulation after another by itself; where several threads share the tree, a batch of
leaves is selected and expanded as with any net and :func:`judge_leaves` judges it. The parts are those of every search.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..games.encoder import LeafFunctions
from ..games.outcome import RUNNING
from ..kernels.jit import borrow, device, keep, kernel
from ..nets.sparse import judge_moves, judge_space, judge_value
from .cache import recall, remember
from .policy import outcome_of, softmax_in_place, sort_row
from .puct import select_from
from .tree import expand_leaf, tree_of


class Growth(NamedTuple):
    """What a kernel that makes simulations by itself has to know."""

    root: int  # the expanded node below which it searches
    wanted: int  # simulations
    history: int  # see ``Evaluator.history``
    plies: int  # of the mates to look for
    solver: bool
    temperature: np.float32  # of the policy


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
    def grow(trees, params, states, leaves, net, known, growth):
        """Make up to ``growth.wanted`` simulations of tree 0; returns how many.

        params: PARAMS[1]; states State[1, T] and leaves as for ``describe``, leaf 0 is used; net: SparseNet; known:
        CacheArrays; growth: Growth.
        """
        trees, states, leaves, net, known = borrow(trees), borrow(states), borrow(leaves), borrow(net), borrow(known)
        tree, line, leaf = tree_of(trees, 0), states[0], leaves.rows[0]
        owner = workspace(line), make_space()
        work, mating = borrow(owner)
        space, wdl = judge_space(net), np.empty((1, 3), np.float32)
        sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
        begin(work, line, np.int64(leaf.root))
        done = 0
        while done < growth.wanted:
            chosen, finished = select_from(tree, params, growth.root, leaves, 0, 0, 1, growth.wanted - done)
            done += finished
            if chosen == 0:
                break
            describe_leaf(work, mating, line, leaves, 0, growth.history, growth.plies)
            if leaf.outcome == RUNNING and not recall(known.entries, known.ring, known.head, leaves, 0):
                _judge_leaf(net, leaves, 0, 0, space, wdl, sorting, growth.temperature)
                remember(known.entries, known.ring, known.head, leaves, 0)
            expand_leaf(tree, leaves, 0, growth.solver)
            done += 1
        keep(owner)
        return done

    return grow
