"""A tree that recycles itself: when its memory is full, the least visited subtrees make room, and the search goes on.

All that does not lie below the base goes first, and the edges that were never visited, but for one at each node: when
that is to be visited, the node gets all of its edges once more, so nothing is lost. From then on new nodes get few.
Then expanded nodes lose their edges and what lies below them, the least visited first, until enough is free. Such a
node is a leaf again, but one that keeps its visits, value and bound: a later visit expands it once more, and its new
children share out the visits that come from then on. A node counts as often visited as the most visited node below it,
for transpositions come to a node by other ways than its parent's. What stays in any case: the base with its edges and
children, the lines that are reported, and the nodes that simulations in flight pass through.

The tree stays as it is made: parents come before their children, and edges lie side by side. One pass backward weighs
the nodes, one forward maps them; edges slide down in the order in which they lie.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import borrow, device, kernel
from .biases import keep_biases
from .ends import keep_ends
from .results import MAX_PV, best_children, best_of
from .transpositions import NONE_SHARED, slot_of, twin_of
from .tree import BELOW, EDGES, FULL, NODES, RECYCLED, TAIL, UNITS, Tree, tree_of

_SHARE = 0.6  # of the memory that stays in use, at most
_SPARE = 1  # edges that were never visited and stay, of each node
_ALL = 1 << 16  # edges of a node, and more
_STAYS = np.int32(2**31 - 1)  # the weight of a node that is not to be dropped
_RANKS = 512 * 23
_OWNER = (1 << 32) - 1


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
        room -= nd.children + _SPARE
        if room < 0:
            break
        weight[node] = _STAYS
        if best_of(nodes, edges, node, best) == 0:
            break
        k = np.int64(best[0])
    return room


@device
def _kept_edges(nd, spare):
    """How many edges of an expanded node are kept, if it stays expanded."""
    return min(np.int64(nd.edges), np.int64(nd.children) + spare)


@device
def _weigh(tree, base, lines, weight, most_edges, spare):
    """weight i4[nodes], 0, out: how often a node or any below it was visited, -1 where it is not below the base.

    Returns i8[2, ranks]: how many children the expanded nodes of each rank have, and how many edges with their memory.
    """
    nodes, used, units = tree.nodes, tree.counters[NODES], tree.counters[UNITS]
    if base > 0:
        for i in range(used):
            parent = np.int64(nodes[i].parent)
            if i != base and (i < base or parent < base or weight[parent] < 0):
                weight[i] = -1
    room = most_edges // 2
    for k in lines:
        room = _hold_line(nodes, tree.edges, np.int64(k), weight, room)
    weight[base] = _STAYS
    sums = np.zeros((2, _RANKS), np.int64)
    for i in range(used - 1, base - 1, -1):
        if weight[i] < 0:
            continue
        nd = nodes[i]
        own = max(np.int64(weight[i]), min(nd.n, np.int64(_STAYS) - 1))
        if nd.in_flight:
            own = np.int64(_STAYS)
        weight[i] = own
        if i > base:
            weight[nd.parent] = max(np.int64(weight[nd.parent]), own)
        if nd.first_edge >= 0:
            rank = _rank(own)
            sums[0, rank] += nd.children
            sums[1, rank] += nd.children * units + _kept_edges(nd, _ALL if i == base else spare)
    return sums


@device
def _least_weight(sums, units, most_nodes, most_edges):
    """The least weight such that all expanded nodes from there on have room for their children and edges."""
    highest = _rank(_STAYS)
    nodes, edges, least = 1 + sums[0, highest], units + sums[1, highest], highest
    while least > 0:
        nodes, edges = nodes + sums[0, least - 1], edges + sums[1, least - 1]
        if nodes > most_nodes or edges > most_edges:
            break
        least -= 1
    shift = max(least // 512 - 1, 0)
    return np.int64(least - 512 * shift) << shift


@device
def _slide_edges(tree, blocks, place):
    """Let the edges of ``blocks``, see :func:`choose_nodes`, slide down; returns how many there are."""
    nodes, edges, top = tree.nodes, tree.edges, np.int64(0)
    for block in blocks:
        nd, at = nodes[block & _OWNER], block >> 32
        count, children = np.int64(nd.edges), np.int64(nd.children)
        for k in range(count):
            edges[top + k] = edges[at + k]
        for k in range(top, top + children):
            edges[k].child = place[edges[k].child]
        nd.first_edge = top
        top += count
    return top


@kernel
def choose_nodes(trees, base, lines, limits, spare, weight, place, blocks):
    """Choose what stays of tree 0: what lies below ``base``, and of that what was visited most.

    lines i4[K]: edges of the base whose principal variations stay; limits i8[2]: the most nodes, and the most edges
    with the memory of nodes; spare: unvisited edges of a node that stay; weight i4[nodes]: 0, is used; place i4[nodes]
    out: where each node is to go, -1 for those that go away; blocks i8[nodes] out: where the edges that stay begin,
    times 2^32, plus the node that they belong to. Returns how many of these there are.
    """
    tree, lines, limits = tree_of(borrow(trees), 0), borrow(lines), borrow(limits)
    weight, place, blocks = borrow(weight), borrow(place), borrow(blocks)
    nodes, kept, count = tree.nodes, 0, 0
    sums = _weigh(tree, base, lines, weight, limits[1], spare)
    least = _least_weight(sums, tree.counters[UNITS], limits[0], limits[1])
    for i in range(tree.counters[NODES]):
        nd = nodes[i]
        if i != base and (weight[i] < 0 or weight[nd.parent] < least):
            place[i] = -1
            continue
        place[i] = kept
        kept += 1
        if nd.first_edge < 0:
            continue
        if weight[i] < least:
            if nd.children:
                nd.cut |= BELOW
            nd.cut &= BELOW
            nd.first_edge = -1
            nd.edges = nd.children = 0
        elif nd.edges > 0:
            blocks[count] = (np.int64(nd.first_edge) << 32) | i
            count += 1
            left = _kept_edges(nd, _ALL if i == base else spare)
            if left < nd.edges:
                nd.edges = left
                nd.cut |= TAIL
    return count


@kernel
def move_nodes(trees, base, positions, place, blocks):
    """Move the nodes of tree 0 to ``place`` i4[nodes], and slide down the edges of ``blocks`` i8[K], sorted.

    positions: of the nodes, or NONE_SHARED. An alias whose twin goes takes its position over.
    """
    tree, positions, place = tree_of(borrow(trees), 0), borrow(positions), borrow(place)
    nodes, counters, keys, places = tree.nodes, tree.counters, positions.keys, positions.places
    used, kept, shared = counters[NODES], 0, places.shape[0] > 0
    counters[EDGES] = _slide_edges(tree, borrow(blocks), place)
    for i in range(base + 1, used):
        twin = twin_of(nodes[i])
        if twin >= 0 and place[i] >= 0 and place[twin] < 0:
            nodes[i].first_edge = -1
            nodes[i].cut |= BELOW
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


def keep(tree: Tree, base: int) -> NDArray[np.int32]:
    """Drop all that is not below ``base``, which becomes node 0; the root must lie below it.

    Returns where each node is now, -1 for those that are gone.
    """
    return _recycle(tree, base, np.empty(0, np.int32), 1.0, _ALL)


def recycle(tree: Tree, lines: int) -> NDArray[np.int32]:
    """Drop all that is not below the root, and of that what was visited least, until memory is free again.

    The ``lines`` best principal variations stay. Blocks for about a tenth of a second in a tree of 256 MiB. Returns
    where each node is now, -1 for those that are gone.
    """
    best = np.empty(lines, np.int32)
    return _recycle(tree, tree.root, best[: best_children(tree.arrays, tree.root, best)], _SHARE, _SPARE)


def _recycle(tree: Tree, base: int, lines: NDArray[np.int32], share: float, spare: int) -> NDArray[np.int32]:
    used = int(tree.counters[NODES])
    limits = np.array([share * len(tree.nodes), share * len(tree.edges)], np.int64)
    weight, place, blocks = np.zeros(used, np.int32), np.empty(used, np.int32), np.empty(used, np.int64)
    blocks = blocks[: choose_nodes(tree.arrays, base, lines, limits, spare, weight, place, blocks)]
    blocks.sort()
    move_nodes(tree.arrays, base, tree.positions or NONE_SHARED, place, blocks)
    if tree.ends is not None or tree.biases is not None:
        kept = np.flatnonzero(place >= 0)  # in the order of their new places
        if tree.ends is not None:
            keep_ends(tree.ends, kept, used)
        if tree.biases is not None:
            keep_biases(tree.biases, kept, used)
    tree.gathered = tree.gathered if tree.gathered < 0 else int(place[tree.gathered])
    tree.measured = tree.measured if tree.measured < 0 else int(place[tree.measured])
    tree.root = int(place[tree.root])
    tree.proofs = {int(place[node]): moves for node, moves in tree.proofs.items() if place[node] >= 0}
    tree.counters[FULL] = RECYCLED if spare < _ALL else min(int(tree.counters[FULL]), 0)
    tree.give_back()
    return place
