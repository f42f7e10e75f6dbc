"""A tree that recycles itself: when its memory is full, the least visited subtrees make room, and the search goes on.

All that does not lie below the base goes first. Then expanded nodes lose their edges and what lies below them, the
least visited first, until enough is free. Such a node is a leaf again, but one that keeps its visits, value and bound:
a later visit expands it once more. A node counts as often visited as the most visited node below it, for transpositions
come to a node by other ways than its parent's. What stays in any case: the base with its children, the lines that are
reported, and the nodes that simulations in flight pass through.

The tree stays as it is made: parents come before their children, and edges lie side by side. One pass forward maps the
nodes; edges slide down in the order in which they lie, found by marks that are put into them meanwhile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import borrow, device, kernel
from .biases import keep_biases
from .ends import keep_ends
from .results import MAX_PV, best_children, best_of
from .transpositions import NONE_SHARED, slot_of, twin_of
from .tree import EDGES, FULL, NODES, Tree, tree_of

_SHARE = 0.6  # of the nodes and of the edges that stay, at most
_STAYS = np.int32(2**31 - 1)  # the weight of a node that is not to be dropped
_RANKS = 512 * 23


@device
def _rank(weight):
    """Where a weight stands among others: weights below 1024 are told apart, greater ones by their ten first bits."""
    shift = 0
    while weight >= 1024 << shift:
        shift += 1
    return (weight >> shift) + 512 * shift


@device
def _hold_line(nodes, edges, k, weight, room):
    """Have the principal variation that begins with edge ``k`` stay, within ``room`` edges; the room that is left."""
    best = np.empty(1, np.int32)
    for _ in range(MAX_PV):
        node = np.int64(edges[k].child)
        twin = twin_of(nodes[node])
        if twin >= 0:
            weight[node] = _STAYS
            node = twin
        if weight[node] < 0:  # a twin that is not below the base
            break
        nd = nodes[node]
        room -= nd.edges
        if room < 0:
            break
        weight[node] = _STAYS
        if best_of(nodes, edges, node, best) == 0:
            break
        k = np.int64(best[0])
    return room


@device
def _weigh(tree, base, lines, weight, most_edges):
    """weight i4[nodes] out: how often a node or any below it was visited, -1 where it is not below the base.

    Returns i8[2, ranks]: how many children and edges the expanded nodes of each rank have.
    """
    nodes, used = tree.nodes, tree.counters[NODES]
    for i in range(used):
        nd = nodes[i]
        if i == base:
            weight[i] = _STAYS
        elif i > base and nd.parent >= base and weight[nd.parent] >= 0:
            weight[i] = _STAYS if nd.in_flight else min(nd.n, np.int64(_STAYS) - 1)
        else:
            weight[i] = -1
    room = most_edges // 2
    for k in lines:
        room = _hold_line(nodes, tree.edges, np.int64(k), weight, room)
    sums = np.zeros((2, _RANKS), np.int64)
    for i in range(used - 1, base - 1, -1):
        if weight[i] < 0:
            continue
        nd = nodes[i]
        if i > base:
            weight[nd.parent] = max(weight[nd.parent], weight[i])
        if nd.first_edge >= 0:
            rank = _rank(weight[i])
            sums[0, rank] += nd.children
            sums[1, rank] += nd.edges
    return sums


@device
def _least_rank(sums, most_nodes, most_edges):
    """The least rank such that all expanded nodes from there on have room for their children and edges."""
    highest = _rank(_STAYS)
    nodes, edges, least = 1 + sums[0, highest], sums[1, highest], highest
    while least > 0:
        nodes, edges = nodes + sums[0, least - 1], edges + sums[1, least - 1]
        if nodes > most_nodes or edges > most_edges:
            break
        least -= 1
    return least


@device
def _slide_edges(tree, starts, place):
    """Let the edges that begin at ``starts`` slide down, whose owners they name; returns how many there are."""
    nodes, edges, top = tree.nodes, tree.edges, np.int64(0)
    for at in starts:
        nd = nodes[-2 - np.int64(edges[at].child)]
        count, children = np.int64(nd.edges), np.int64(nd.children)
        edges[at].child = nd.first_edge
        for k in range(count):
            edges[top + k] = edges[at + k]
        for k in range(top, top + children):
            edges[k].child = place[edges[k].child]
        nd.first_edge = top
        top += count
    return top


@kernel
def choose_nodes(trees, base, lines, limits, place, starts):
    """Choose what stays of tree 0: what lies below ``base``, and of that what was visited most.

    lines i4[K]: edges of the base whose principal variations stay; limits i8[2]: the most nodes and edges; place
    i4[nodes] out: where each node is to go, -1 for those that go away; starts i4[nodes] out: where the edges that stay
    begin. Returns how many of these there are. Until :func:`move_nodes`, the first of such edges names their owner by
    -2 - its number in the child's place, and the owner keeps what stood there as its first edge.
    """
    tree, lines, limits = tree_of(borrow(trees), 0), borrow(lines), borrow(limits)
    place, weight = borrow(place), borrow(starts)  # the weights are not needed any more where the starts are written
    nodes, edges = tree.nodes, tree.edges
    least = _least_rank(_weigh(tree, base, lines, weight, limits[1]), limits[0], limits[1])
    kept = 0
    for i in range(tree.counters[NODES]):
        nd = nodes[i]
        stays = i == base
        if not stays and weight[i] >= 0:
            stays = place[nd.parent] >= 0 and nodes[nd.parent].first_edge >= 0
        place[i] = kept if stays else -1
        kept += stays
        if stays and nd.first_edge >= 0 and _rank(weight[i]) < least:
            nd.first_edge = -1
            nd.edges = nd.children = 0
    count = 0
    for i in range(base, tree.counters[NODES]):
        nd = nodes[i]
        if place[i] >= 0 and nd.first_edge >= 0 and nd.edges > 0:
            start = nd.first_edge
            nd.first_edge, edges[start].child = edges[start].child, -2 - i
            weight[count] = start
            count += 1
    return count


@kernel
def move_nodes(trees, base, positions, place, starts):
    """Move the nodes of tree 0 to ``place`` i4[nodes], and slide down the edges that begin at ``starts`` i4[K], sorted.

    positions: of the nodes, or NONE_SHARED. An alias whose twin goes takes its position over.
    """
    tree, positions, place = tree_of(borrow(trees), 0), borrow(positions), borrow(place)
    nodes, counters, keys, places = tree.nodes, tree.counters, positions.keys, positions.places
    used, kept, shared = counters[NODES], 0, places.shape[0] > 0
    counters[EDGES] = _slide_edges(tree, borrow(starts), place)
    for i in range(base + 1, used):
        twin = twin_of(nodes[i])
        if twin >= 0 and place[i] >= 0 and place[twin] < 0:
            nodes[i].first_edge = -1
            if shared:
                keys[i] = keys[twin]
    for s in range(places.shape[0]):
        if places[s]:
            places[s] = max(place[places[s]], 0)
    for i in range(base, used):
        at = place[i]
        if at < 0:
            continue
        kept += 1
        nodes[at] = nodes[i]
        nd = nodes[at]
        nd.parent = place[nd.parent] if at > 0 else -1
        twin = twin_of(nd)
        if twin >= 0:
            nd.first_edge = -2 - place[twin]
        if shared:
            key = keys[i]
            keys[at] = key
            if key and at > 0 and twin < 0 and places[slot_of(positions, key)] == 0:
                places[slot_of(positions, key)] = at
    if shared:
        for i in range(kept, used):
            keys[i] = 0
    counters[NODES] = kept
    counters[FULL] = 0


def keep(tree: Tree, base: int) -> NDArray[np.int32]:
    """Drop all that is not below ``base``, which becomes node 0; the root must lie below it.

    Returns where each node is now, -1 for those that are gone.
    """
    return _recycle(tree, base, np.empty(0, np.int32), 1.0)


def recycle(tree: Tree, lines: int) -> NDArray[np.int32]:
    """Drop all that is not below the root, and of that what was visited least, until memory is free again.

    The ``lines`` best principal variations stay. Blocks for about a tenth of a second in a tree of 256 MiB. Returns
    where each node is now, -1 for those that are gone.
    """
    best = np.empty(lines, np.int32)
    return _recycle(tree, tree.root, best[: best_children(tree.arrays, tree.root, best)], _SHARE)


def _recycle(tree: Tree, base: int, lines: NDArray[np.int32], share: float) -> NDArray[np.int32]:
    used = int(tree.counters[NODES])
    limits = np.array([share * most for most in tree.capacity], np.int64)
    place, starts = np.empty((2, used), np.int32)
    starts = starts[: choose_nodes(tree.arrays, base, lines, limits, place, starts)]
    starts.sort()
    move_nodes(tree.arrays, base, tree.positions or NONE_SHARED, place, starts)
    kept = np.flatnonzero(place >= 0)  # in the order of their new places
    if tree.ends is not None:
        keep_ends(tree.ends, kept, used)
    if tree.biases is not None:
        keep_biases(tree.biases, kept, used)
    tree.gathered = tree.gathered if tree.gathered < 0 else int(place[tree.gathered])
    tree.measured = tree.measured if tree.measured < 0 else int(place[tree.measured])
    tree.root = int(place[tree.root])
    tree.proofs = {int(place[node]): moves for node, moves in tree.proofs.items() if place[node] >= 0}
    return place
