"""The search with a sparse net: a simulation from selection to backup costs microseconds, so a kernel makes hundreds.

:func:`growth_kernel` makes one simulation after another by itself. Threads that share the tree run it side by side.
The parts are those of every search, but that a leaf is only valued. Its moves and their priors wait for a second visit,
and more than a third of the nodes never has one. So the tree is that of every search, but for the edges of nodes that
were visited once and, where positions are shared, for aliases: see :mod:`transpositions`. Where Python looks at the
leaves, :func:`judge_leaves` judges a batch of them.
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
from ..kernels.atomics import make_spinlock
from ..kernels.jit import borrow, device, entry, keep, kernel
from ..nets.families.sparse.integers import blank_net, judge_moves, judge_space, judge_value
from .policy import outcome_of, softmax_in_place, sort_row
from .puct import PARAMS, Wanted, select_from
from .transpositions import NONE_SHARED, Positions, find_twin, make_alias, make_way, remember_node
from .tree import EDGE, FULL, NODE, TreeArrays, add_edges, expand_leaf, release, tree_of

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
    positions: Positions  # of the tree's nodes


@device
def _value_leaf(net, leaves, b, row, space, wdl):
    """Value and draw of leaf ``b``, whose features planes[row] lists."""
    judge_value(net, leaves.planes, row, space, wdl[0])
    leaves.rows[b].value, leaves.rows[b].draw = outcome_of(wdl, 0)


@device
def _rank_moves(net, leaves, b, row, space, sorting, temperature):
    """Priors of leaf ``b``, whose features planes[row] lists; its moves are sorted by falling prior."""
    count = leaves.rows[b].count
    judge_moves(net, leaves.planes, row, space, leaves.actions, b, count, leaves.priors)
    softmax_in_place(leaves.priors, b, count, temperature)
    sort_row(leaves.priors, leaves.moves, b, count, sorting)


@kernel
def judge_leaves(net, leaves, count, temperature):
    """Judge those of ``count`` leaves that have a row, as ``policy.digest`` does with a net's answers."""
    net, leaves = borrow(net), borrow(leaves)
    space, wdl = judge_space(net), np.empty((1, 3), np.float32)
    sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
    for b in range(count):
        leaf = leaves.rows[b]
        if leaf.outcome == RUNNING and leaf.row >= 0:
            row = np.int64(leaf.row)
            _value_leaf(net, leaves, b, row, space, wdl)
            _rank_moves(net, leaves, b, row, space, sorting, temperature)


@device
def _same_moves(leaves, b, trail, length):
    """How many moves of leaf ``b``'s path are the first of trail[:length] u2, too; the path becomes the trail."""
    same, moves = 0, leaves.rows[b].length
    while same < min(length, moves) and leaves.paths[b, same] == trail[same]:
        same += 1
    for k in range(same, moves):
        trail[k] = leaves.paths[b, k]
    return np.int64(same)


@cache
def growth_kernel(functions: LeafFunctions) -> Callable[..., Any]:
    """The kernel that makes simulations in one game."""
    workspace, make_space, begin, reach, look, name_moves = functions

    @kernel
    def grow(trees, params, states, leaves, net, lock, growth):
        """Make up to ``growth.wanted`` simulations of tree 0; returns (how many, whether leaf 0 is judged and waits).

        params: PARAMS[1]; states State[1, T] and leaves as for ``describe``, leaf 0 is used; net: SparseNet; lock: the
        tree's spinlock; growth: Growth. It ends early where the tree is full, after a simulation once growth.halt is
        set, and behind the root, whose moves the caller may arrange. A leaf that another thread judges is tried again
        for a while.
        """
        trees, states, leaves, net = borrow(trees), borrow(states), borrow(leaves), borrow(net)
        halt, positions = borrow(growth.halt), borrow(growth.positions)
        tree, line, leaf, lock = tree_of(trees, 0), states[0], leaves.rows[0], borrow(lock)
        owner = workspace(line), make_space()
        work, mating = borrow(owner)
        space, wdl = judge_space(net), np.empty((1, 3), np.float32)
        sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
        trail, length = np.empty(leaves.paths.shape[1], np.uint16), np.int64(0)
        passed = make_way(leaves.paths.shape[1] + 2)
        way = borrow(passed)
        begin(work, line, np.int64(leaf.root))
        done, tried, judged, resumed = 0, 0, growth.judged, False
        if judged:
            expand_leaf(tree, leaves, 0, growth.solver, judged, lock, way, None)
            done, judged = 1, False
        while resumed or done == 0 or not halt[0]:
            wanted = Wanted(0, 0, 1, growth.wanted - done, resumed)
            chosen, finished = select_from(tree, params, growth.root, leaves, wanted, lock, way)
            done, resumed = done + finished, False
            if not chosen:
                tried += 1
                if tree.counters[FULL] or done >= growth.wanted or tried == _PATIENCE:
                    break
                continue
            tried = 0
            at = reach(work, line, leaves, 0, _same_moves(leaves, 0, trail, length))
            length = np.int64(leaf.length)
            judged = length == 0
            valued = tree.nodes[leaf.node].n > 0 and not judged
            look(work, mating, line, at, leaves, 0, growth.history, 0 if valued else growth.plies)
            running = leaf.outcome == RUNNING
            if running and not valued:
                twin = find_twin(tree.nodes, positions, leaf, growth.root, way)
                if twin >= 0:
                    make_alias(tree.nodes, twin, leaf)
                else:
                    _value_leaf(net, leaves, 0, 0, space, wdl)
                    if not judged:
                        remember_node(positions, leaf.key, np.int64(leaf.node))
            if running and (valued or judged):
                name_moves(line, at, leaves, 0)
                _rank_moves(net, leaves, 0, 0, space, sorting, growth.temperature)
            if judged:
                break
            if running and valued:
                resumed = add_edges(tree, np.int64(leaf.node), leaves, 0, lock)
                if not resumed:
                    release(tree.nodes, np.int64(leaf.node), growth.root, lock, way)
                    break
            else:
                expand_leaf(tree, leaves, 0, growth.solver, judged, lock, way, None)
                done += 1
        keep(owner)
        keep(passed)
        return done, judged

    return grow


@cache
def growth_entry(functions: LeafFunctions, state_dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The kernel's entry point; blocks for seconds where it must be compiled."""
    trees = TreeArrays(np.zeros((1, 1), NODE), np.zeros((1, 1), EDGE), np.zeros((1, 8), np.int64))
    growth = Growth(0, False, 0, 0, 0, True, np.float32(1), np.zeros(1, np.uint8), NONE_SHARED)
    params, states, leaves = np.zeros(1, PARAMS), np.zeros((1, 1), state_dtype), make_leaves(1, 1, 1)
    return entry(growth_kernel(functions), trees, params, states, leaves, blank_net(), make_spinlock(), growth)
