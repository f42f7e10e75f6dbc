"""Simulations by a kernel alone, with a compiled net: one costs microseconds from selection to backup.

Threads that share the tree run :func:`simulation_kernel` side by side. The parts are those of every search, but that a
leaf is only valued: its moves and priors wait for a second visit, and more than a third of the nodes never has one.
So the tree is that of every search, but for the edges of nodes that were visited once and, where positions are shared,
for aliases: see :mod:`transpositions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.base import Game
from ...games.encoder import LeafFunctions
from ...games.leaves import Leaves, make_leaves
from ...games.outcome import RUNNING
from ...kernels.atomics import make_spinlock
from ...kernels.jit import borrow, device, entry, keep, kernel
from ...nets.evaluator import CompiledNet, NetFunctions
from ..tree.expansion import Pass, add_edges, expand_leaf, release
from ..tree.nodes import EDGE, FULL, NODE, TreeArrays, tree_of
from ..tree.puct import PARAMS, Selection, select_from
from ..tree.transpositions import NONE_SHARED, Positions, Way, find_twin, make_alias, remember_node
from .policy import outcome_of, softmax_in_place, sort_row

_PATIENCE = 2000  # selections of a leaf that another thread evaluates, one after another
NOTHING, ROOT, LOOK_UP = 0, 1, 2  # what waits in leaf 0: none, the evaluated root, a position for endgame tables


class Place(NamedTuple):
    """The working arrays of one thread."""

    states: NDArray[Any]  # State[1, T], the game up to the root
    leaves: Leaves  # of which leaf 0 is used
    way: Way  # of its path


def make_place(states: NDArray[Any], leaves: Leaves) -> Place:
    """The working arrays of a thread, with an empty way."""
    depth = leaves.paths.shape[1] + 2  # aliases
    return Place(states, leaves, Way(np.empty(depth, np.int32), np.empty(depth, np.int32), np.zeros(1, np.int64)))


class SimulationLoop(NamedTuple):
    """What a kernel that makes simulations by itself has to know."""

    root: int  # the node below which it searches
    waiting: int  # NOTHING, ROOT or LOOK_UP
    requested: int  # simulations
    history: int  # see ``Evaluator.history``
    plies: int  # of the mates to look for
    table_pieces: int  # on the boards that endgame tables know, at most; 0 = no tables
    solver: bool
    temperature: np.float32  # of the policy
    halt: NDArray[np.uint8]  # [1]: once not 0, the turn ends
    positions: Positions  # of the tree's nodes


@device
def _same_moves(leaves, b, trail, length):
    """How many moves of leaf ``b``'s path are the first of trail[:length] u2, too; the path becomes the trail."""
    same, moves = 0, leaves.rows[b].length
    while same < min(length, moves) and leaves.paths[b, same] == trail[same]:
        same += 1
    for k in range(same, moves):
        trail[k] = leaves.paths[b, k]
    return np.int64(same)


def _evaluation(net: NetFunctions) -> tuple[Callable[..., None], Callable[..., None]]:
    """The device functions that give leaf 0 its value and its moves their priors."""
    _, value_of, policy_of = net

    @device
    def give_value(leaves, weights, space, wdl):
        """Value and draw of leaf 0."""
        value_of(weights, leaves.planes, 0, space, wdl[0])
        leaves.rows[0].value, leaves.rows[0].draw = outcome_of(wdl, 0)
        leaves.rows[0].utility = 0.0

    @device
    def rank_moves(weights, leaves, space, sorting, temperature):
        """Priors of leaf 0, whose moves are sorted by them, falling."""
        count = leaves.rows[0].count
        policy_of(weights, leaves.planes, 0, space, leaves.actions, 0, count, leaves.priors)
        softmax_in_place(leaves.priors, 0, count, temperature)
        sort_row(leaves.priors, leaves.moves, 0, count, sorting)

    return give_value, rank_moves


@cache
def simulation_kernel(functions: LeafFunctions, net_functions: NetFunctions) -> Callable[..., Any]:
    """The kernel that makes simulations in one game with one family of nets."""
    workspace, make_space, begin, reach, look, name_moves, table_pieces = functions
    give_value, rank_moves = _evaluation(net_functions)
    make_net_space = net_functions.make_space

    @kernel
    def grow(trees, params, place, weights, lock, loop):
        """Make up to ``loop.requested`` simulations of tree 0; returns (how many, what waits in leaf 0).

        params: PARAMS[1]; place: Place; weights: the CompiledNet's; lock: the tree's spinlock; loop: SimulationLoop.
        It ends early where the tree is full, after a simulation once loop.halt is set, and where leaf 0 waits: at the
        root, whose moves the caller may arrange, and for endgame tables, which the caller asks. A leaf that another
        thread evaluates is tried again for a while.
        """
        trees, place, weights = borrow(trees), borrow(place), borrow(weights)
        halt, positions = borrow(loop.halt), borrow(loop.positions)
        leaves, line, way = place.leaves, place.states[0], place.way
        tree, leaf, passing = tree_of(trees, 0), leaves.rows[0], Pass(borrow(lock), way, None)
        owner = workspace(line), make_space()
        work, mating = borrow(owner)
        space, wdl = make_net_space(weights), np.empty((1, 3), np.float32)
        sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
        trail, length = np.empty(leaves.paths.shape[1], np.uint16), np.int64(0)
        begin(work, line, np.int64(leaf.root))
        done, tried, waiting, resumed, stuck = 0, 0, loop.waiting, False, False
        if waiting == ROOT:
            done += expand_leaf(tree, leaves, 0, loop.solver, True, passing)
            waiting, stuck = NOTHING, tree.counters[FULL] > 0
        while (waiting or resumed or done == 0 or not halt[0]) and not stuck:
            looked_up, waiting = waiting == LOOK_UP, NOTHING
            if not looked_up:
                requested = Selection(0, 0, 1, loop.requested - done, resumed)
                chosen, finished = select_from(tree, params, loop.root, leaves, requested, passing)
                done, resumed = done + finished, False
                if not chosen:
                    tried += 1
                    if tree.counters[FULL] > 0 or done >= loop.requested or tried == _PATIENCE:
                        break
                    continue
                tried = 0
            at = reach(work, line, leaves, 0, _same_moves(leaves, 0, trail, length))
            length = np.int64(leaf.length)
            at_root = length == 0
            valued = tree.nodes[leaf.node].n > 0 and not at_root
            if not looked_up:
                look(work, mating, line, at, leaves, 0, loop.history, 0 if valued else loop.plies)
            running = leaf.outcome == RUNNING
            if running and not (valued or at_root or looked_up) and table_pieces(line, at) <= loop.table_pieces:
                waiting = LOOK_UP
                break
            if running and not valued:
                twin = find_twin(tree.nodes, positions, leaf, loop.root, way)
                if twin >= 0:
                    make_alias(tree.nodes, twin, leaf)
                else:
                    give_value(leaves, weights, space, wdl)
                    remember_node(positions, leaf)
            if running and (valued or at_root):
                name_moves(line, at, leaves, 0)
                rank_moves(weights, leaves, space, sorting, loop.temperature)
            if at_root:
                waiting = ROOT
                break
            if running and valued:
                resumed = add_edges(tree, np.int64(leaf.node), leaves, 0, passing.lock)
                if not resumed:
                    release(tree.nodes, np.int64(leaf.node), loop.root, passing)
                    break
            else:
                done += expand_leaf(tree, leaves, 0, loop.solver, False, passing)
        keep(owner)
        return done, waiting

    return grow


_entries: dict[tuple[Any, ...], Callable[..., Any]] = {}


def simulation_entry(game: Game, net: CompiledNet) -> Callable[..., Any]:
    """The kernel's entry point in a game, as the net sees it; blocks for seconds where it must be compiled."""
    key = game.encoder.leaf, game.state_dtype, net.functions
    if key not in _entries:
        _entries[key] = _make_entry(game, net)
    return _entries[key]


def _make_entry(game: Game, net: CompiledNet) -> Callable[..., Any]:
    trees = TreeArrays(np.zeros((1, 1), NODE), np.zeros((1, 1), EDGE), np.zeros((1, 8), np.int64))
    loop = SimulationLoop(0, NOTHING, 0, 0, 0, 0, True, np.float32(1), np.zeros(1, np.uint8), NONE_SHARED)
    place = make_place(np.zeros((1, 1), game.state_dtype), make_leaves(1, 1, 1))
    compiled = simulation_kernel(game.encoder.leaf, net.functions)
    return entry(compiled, trees, np.zeros(1, PARAMS), place, net.weights, make_spinlock(), loop)
