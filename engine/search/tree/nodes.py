"""The arrays of a search tree, which know no game: moves and actions are numbers.

Nodes are made on first visit, edges when a node is expanded. A node's edges lie side by side, sorted by falling prior,
and children are made in that order (but for a root's moves that end the game, see ``expansion.offer``): the visited
edges are a prefix, and the first unvisited edge is the best of the unvisited ones. Parents come before their children.
Values W and outcome codes are from the view of the side to move at their node; the parent negates them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.outcome import RUNNING
from ...kernels.jit import borrow, device, kernel

NODE = np.dtype(
    [
        ("w", "f8"),  # W: sum of the values backed up
        ("d", "f8"),  # sum of the draw chances backed up
        ("n", "i8"),  # N: visits
        ("parent", "i4"),  # -1 for the base of the tree
        ("first_edge", "i4"),  # -1 until expanded; below -1: an alias, see transpositions
        ("edges", "u2"),  # number of edges
        ("children", "u2"),  # number of edges that have a child: the first ones
        ("in_flight", "u2"),  # simulations passing through that are not backed up yet
        ("plies", "u2"),  # plies to the proven end of the game
        ("net_value", "f4"),  # V: the net's value of this position alone
        ("bound", "i1"),  # RUNNING, or the proven outcome
        ("terminal", "i1"),  # 1 where the rules end the game
        ("marks", "u1"),  # what a full tree took away, see recycling: TAIL, BELOW; what its priors are: SOFTENED
        ("s", "f8"),  # sum of the score utilities backed up: what selection adds to W
    ],
    align=True,
)
TAIL, BELOW = 1, 2  # the last of the unvisited edges; all edges with what lay below them, at some time
SOFTENED = 4  # by the root's own policy temperature
EDGE = np.dtype([("child", "i4"), ("move", "u2"), ("prior", "u2")], align=True)  # child -1: unvisited

# counters i8[8] of a tree; MOST_*: used so far, which keep their memory; UNITS: edges that a node takes the memory of
NODES, EDGES, FULL, DEPTH_SUM, DEPTH_MAX, MOST_NODES, MOST_EDGES, UNITS = range(8)
RECYCLED = -1  # FULL of a tree that was full before; 1: it is full

MAX_DEPTH = 512  # plies from the root; a longer path is backed up with its last node's mean value

_EXPONENT_SHIFT = np.uint32(96 << 11)
_ROUND = np.uint32(1 << 11)


@device
def pack_prior(p):
    """A probability (f4) as u2: a float with 5 bits of exponent and 11 of mantissa, from 2**-31 to 1."""
    bits = np.uint32(np.float32(p).view(np.uint32) + _ROUND)
    packed = (bits >> np.uint32(12)) - _EXPONENT_SHIFT
    return np.uint16(packed) if bits >= np.uint32(96 << 23) else np.uint16(0)


@device
def unpack_prior(packed):
    """The probability (f8) of a packed prior."""
    bits = np.uint32((np.uint32(packed) + _EXPONENT_SHIFT) << np.uint32(12))
    return np.float64(bits.view(np.float32))


def unpack_priors(packed: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Probabilities f8[n] of packed priors u2[n]."""
    bits = (packed.astype(np.uint32) + _EXPONENT_SHIFT) << np.uint32(12)
    return bits.view(np.float32).astype(np.float64)


class Ownerships(NamedTuple):
    """How the game ends, as far as it is known, from each of N nodes or leaves; for the side to move there."""

    owners: NDArray[np.int8]  # i1[N, P], 127 = surely its own, -127 = surely the opponent's
    scores: NDArray[np.float32]  # f4[N], its lead in points, komi counted; NaN where only the owners are known
    known: NDArray[np.uint8]  # u1[N], 1 where they are known


def make_ownerships(size: int, points: int) -> Ownerships:
    """Nothing known of ``size`` nodes. The memory is committed as it is used."""
    return Ownerships(np.empty((size, points), np.int8), np.empty(size, np.float32), np.zeros(size, np.uint8))


def copy_ownerships(source: Ownerships, rows: NDArray[np.intp], target: Ownerships, at: NDArray[Any] | slice) -> None:
    """Copy rows of one record to places in another."""
    target.owners[at] = source.owners[rows]
    target.scores[at] = source.scores[rows]
    target.known[at] = source.known[rows]


class TreeArrays(NamedTuple):
    """The arrays of one tree or, with an axis in front, of G trees."""

    nodes: NDArray[Any]  # NODE[N]
    edges: NDArray[Any]  # EDGE[E]
    counters: NDArray[np.int64]  # [8]


@device
def tree_of(trees, slot):
    """Tree number ``slot`` of several."""
    return TreeArrays(trees.nodes[slot], trees.edges[slot], trees.counters[slot])


@device
def twin_of(nd):
    """The twin of a node, -1 if it is no alias."""
    return -2 - np.int64(nd.first_edge) if nd.first_edge < -1 else np.int64(-1)


@device
def new_node(tree, parent):
    """Index of a fresh node, or -1 and the FULL counter set when there is no room."""
    counters, i = tree.counters, tree.counters[NODES]
    if i >= counters[MOST_NODES]:
        if i >= tree.nodes.shape[0] or (i + 1) * counters[UNITS] + counters[MOST_EDGES] > tree.edges.shape[0]:
            counters[FULL] = 1
            return -1
        counters[MOST_NODES] = i + 1
    counters[NODES] = i + 1
    nd = tree.nodes[i]
    nd.w = nd.d = nd.s = 0.0
    nd.n = 0
    nd.parent = parent
    nd.first_edge = -1
    nd.edges = nd.children = nd.in_flight = nd.plies = 0
    nd.net_value = 0.0
    nd.bound = RUNNING
    nd.terminal = nd.marks = 0
    return i


@kernel
def add_base(trees, slot):
    """Make the first node of tree number ``slot``, which is empty."""
    return new_node(tree_of(borrow(trees), slot), -1)


def follow(nodes: NDArray[Any], node: int) -> int:
    """The node that is searched in place of ``node``: its twin, if it is an alias, or itself."""
    first = int(nodes[node]["first_edge"])
    return -2 - first if first < -1 else node


@kernel
def find_child(trees, node, move):
    """Index of the child that ``move`` leads to in tree 0; -1 when it was never visited."""
    nodes, edges, _ = tree_of(borrow(trees), 0)
    nd = nodes[node]
    for k in range(nd.first_edge, nd.first_edge + nd.children):
        if edges[k].move == move:
            return np.int64(edges[k].child)
    return np.int64(-1)


@kernel
def compact(trees, slot, base, place, order):
    """Make ``base`` the base of tree number ``slot`` and drop everything that is not below it, in place.

    place i4[nodes] and order i4[nodes] are working space. Parents come before their children, so one pass forward finds
    what stays; edges slide down in the order in which they lie. Afterwards ``base`` is node 0.
    """
    place, order = borrow(place), borrow(order)
    nodes, edges, counters = tree_of(borrow(trees), slot)
    used = counters[NODES]
    kept = 0
    for i in range(used):
        parent = nodes[i].parent
        if i == base or (i > base and parent >= base and place[parent] >= 0):
            place[i] = kept
            kept += 1
        else:
            place[i] = -1
    top = 0
    for j in range(used):  # ``order`` lists the owners of edge blocks as they lie in memory
        i = order[j]
        if place[i] < 0 or nodes[i].first_edge < 0:
            continue
        nd = nodes[i]
        start = np.int64(nd.first_edge)
        for k in range(nd.edges):
            child = edges[start + k].child
            edges[top + k].move = edges[start + k].move
            edges[top + k].prior = edges[start + k].prior
            edges[top + k].child = place[child] if child >= 0 else -1
        nd.first_edge = top
        top += nd.edges
    for i in range(base, used):
        at = place[i]
        if at >= 0:
            parent, twin = nodes[i].parent, twin_of(nodes[i])
            nodes[at] = nodes[i]
            nodes[at].parent = place[parent] if i != base else -1
            if twin >= 0:
                nodes[at].first_edge = -2 - place[twin] if place[twin] >= 0 else -1
    counters[NODES] = kept
    counters[EDGES] = top
    counters[FULL] = 0
