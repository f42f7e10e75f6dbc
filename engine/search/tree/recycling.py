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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.bits import popcount
from ...kernels.jit import borrow, device, kernel
from .biases import keep_biases
from .nodes import BELOW, EDGES, FULL, NODES, RECYCLED, TAIL, UNITS, tree_of
from .ownership import keep_ends
from .results import MAX_PV, best_children, best_of
from .transpositions import NONE_SHARED, slot_of, twin_of
from .tree import Tree

_SHARE = 0.6  # of the memory that stays in use, at most
_SPARE = 1  # edges that were never visited and stay, of each node
_ALL = 1 << 16  # edges of a node, and more
_STAYS = 512 * 23 - 1  # the rank of a node that is not to be dropped
_LOW = (1 << 32) - 1
_FEW = 8  # edges of a node, most often


class Kept(NamedTuple):
    """Which nodes stay, in their order, as sets of bits: few enough for a processor's cache."""

    stays: NDArray[np.uint64]  # [W]
    expanded: NDArray[np.uint64]  # [W], that stay and are no leaves
    before: NDArray[np.int64]  # [W], how many before each 64

    def places(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """Where nodes are now, -1 for those that are gone."""
        words, bits = self.stays[nodes >> 6], np.uint64(1) << (nodes & 63).astype(np.uint64)
        below = np.bitwise_count(words & (bits - np.uint64(1)))
        return np.where(words & bits, self.before[nodes >> 6] + below, -1)

    def place(self, node: int) -> int:
        """Where one node is now; -1 for none, too."""
        return -1 if node < 0 else int(self.places(np.array(node)))


@device
def _rank(visits):
    """Where a number stands among others: those below 1024 are told apart, greater ones by their ten first bits."""
    shift = 0
    while visits >= 1024 << shift:
        shift += 1
    return min((visits >> shift) + 512 * shift, np.int64(_STAYS))


@device
def _hold_line(nodes, edges, k, ranks, room):
    """Have the principal variation that begins with edge ``k`` stay, within ``room`` edges; the room that is left."""
    best = np.empty(1, np.int32)
    for _ in range(MAX_PV):
        node = np.int64(edges[k].child)
        twin = twin_of(nodes[node])
        if twin >= 0:
            ranks[node] = _STAYS
            node = twin
        if ranks[node] < 0:  # a twin that is not below the base
            break
        nd = nodes[node]
        room -= nd.children + _SPARE
        if room < 0:
            break
        ranks[node] = _STAYS
        if best_of(nodes, edges, node, best) == 0:
            break
        k = np.int64(best[0])
    return room


@device
def _kept_edges(nd, spare):
    """How many edges of an expanded node are kept, if it stays expanded."""
    return min(np.int64(nd.edges), np.int64(nd.children) + spare)


@device
def _weigh(tree, base, lines, ranks, apart, room, spare):
    """Rank all nodes by how often they, or any below them, were visited.

    ranks i2[nodes], 0, out: -1 where a node is not below the base; apart i8[1 + nodes] out: its last are the aliases,
    in their order; room: edges for the lines. Returns what the expanded nodes of each rank have, i8[ranks]: their
    children times 2^32 plus the edges that they keep; and how many aliases there are.
    """
    nodes, used = tree.nodes, tree.counters[NODES]
    if base > 0:
        for i in range(used):
            parent = np.int64(nodes[i].parent)
            if i != base and (i < base or parent < base or ranks[parent] < 0):
                ranks[i] = -1
    for k in lines:
        room = _hold_line(nodes, tree.edges, np.int64(k), ranks, room)
    ranks[base] = _STAYS
    sums, free = np.zeros(_STAYS + 1, np.int64), apart.shape[0]
    for i in range(used - 1, base - 1, -1):
        if ranks[i] < 0:
            continue
        nd = nodes[i]
        rank = max(np.int64(ranks[i]), np.int64(_STAYS) if nd.in_flight else _rank(nd.n))
        ranks[i] = rank
        sums[rank] += (np.int64(nd.children) << 32) + _kept_edges(nd, _ALL if i == base else spare)
        if i > base:
            ranks[nd.parent] = max(np.int64(ranks[nd.parent]), rank)
        apart[free - 1] = i
        free -= nd.first_edge < -1
    return sums, apart.shape[0] - free


@device
def _least_rank(sums, units, most_nodes, most_edges):
    """The least rank such that all expanded nodes from there on have room for their children and edges."""
    nodes, edges, least = np.int64(1), np.int64(units), np.int64(_STAYS + 1)
    while least > 0:
        children = sums[least - 1] >> 32
        nodes, edges = nodes + children, edges + children * units + (sums[least - 1] & _LOW)
        if least <= _STAYS and (nodes > most_nodes or edges > most_edges):
            break
        least -= 1
    return least


@device
def _bit(words, i):
    """Bit ``i`` of words u8[W], as i8."""
    return np.int64(words[i >> 6] >> np.uint64(i & 63)) & 1


@device
def _place(kept, i):
    """Where node ``i`` is to go, -1 if it goes away."""
    word = kept.stays[i >> 6]
    below = popcount(word & ((np.uint64(1) << np.uint64(i & 63)) - np.uint64(1)))
    return kept.before[i >> 6] + below if _bit(kept.stays, i) else np.int64(-1)


@kernel
def choose_nodes(trees, base, lines, limits, spare, ranks, kept, apart):
    """Choose what stays of tree 0, which is only read: what lies below ``base``, and of that what was visited most.

    lines i4[K]: edges of the base whose principal variations stay; limits i8[2]: the most nodes, and the most edges
    with the memory of nodes; spare: unvisited edges of a node that stay; ranks i2[nodes]: 0, is used; kept: Kept, out;
    apart i8[1 + nodes] out: first where the edges that stay begin, times 2^32, plus the node that they belong to, last
    the aliases. Returns how many of these and of those there are.
    """
    tree, lines, limits, ranks = tree_of(borrow(trees), 0), borrow(lines), borrow(limits), borrow(ranks)
    kept, apart = borrow(kept), borrow(apart)
    nodes, used, total, count = tree.nodes, tree.counters[NODES], np.int64(0), 0
    sums, aliases = _weigh(tree, base, lines, ranks, apart, limits[1] // 2, spare)
    least = _least_rank(sums, tree.counters[UNITS], limits[0], limits[1])
    stays = expanded = np.uint64(0)
    for i in range(used):
        word, at = i >> 6, np.uint64(i & 63)
        if at == 0:
            kept.before[word] = total
            stays = expanded = np.uint64(0)
        nd, rank = nodes[i], np.int64(ranks[i])
        stay = np.int64(i == base) | (np.int64(rank >= 0) & _bit(kept.expanded, max(np.int64(nd.parent), 0)))
        wide = stay & np.int64(nd.first_edge >= 0) & np.int64(rank >= least)
        stays |= np.uint64(stay) << at
        expanded |= np.uint64(wide) << at
        kept.stays[word], kept.expanded[word] = stays, expanded
        apart[count] = (np.int64(nd.first_edge) << 32) | i
        count += wide
        total += stay
    return count, aliases


@device
def _slide_edges(tree, words, base, spare, kept, blocks):
    """Let the edges of ``blocks``, see :func:`choose_nodes`, slide down; words: of :func:`move_nodes`."""
    nodes, top = tree.nodes, np.int64(0)
    for block in blocks:
        owner, at = block & _LOW, block >> 32
        nd = nodes[owner]
        count = _kept_edges(nd, _ALL if owner == base else spare)
        nd.cut |= TAIL * (count < nd.edges)
        nd.edges = count
        nd.first_edge = top
        if count <= _FEW and top + _FEW <= at and at + _FEW <= words.shape[0]:
            for k in range(_FEW):  # some too many: the processor cannot foresee how many there are
                words[top + k] = words[at + k]
        else:
            for k in range(count):
                words[top + k] = words[at + k]
        top += count
    for k in range(top):
        child = np.int64(np.int32(words[k]))
        words[k] += _place(kept, max(child, 0)) - child if child >= 0 else 0
    tree.counters[EDGES] = top


@kernel
def move_nodes(trees, words, base, positions, spare, kept, blocks, aliases):
    """Move the nodes of tree 0 to their places, see :func:`choose_nodes`, and their edges down.

    words i8[edges]: the edges, their children in the low half; positions: of the nodes, or NONE_SHARED; kept: Kept;
    blocks i8[K]: of edges, sorted; aliases i8[A]. An alias whose twin goes takes its position over.
    """
    tree, positions, kept = tree_of(borrow(trees), 0), borrow(positions), borrow(kept)
    nodes, counters, keys, places = tree.nodes, tree.counters, positions.keys, positions.places
    used, top, shared = counters[NODES], np.int64(0), places.shape[0] > 0
    _slide_edges(tree, borrow(words), base, spare, kept, borrow(blocks))
    for i in borrow(aliases):
        old = twin_of(nodes[i])
        twin = _place(kept, old)
        nodes[i].first_edge = -2 - twin
        if twin < 0:
            nodes[i].cut |= BELOW
            if shared:
                keys[i] = keys[old]
    for s in range(places.shape[0]):
        places[s] = max(_place(kept, np.int64(places[s])), np.int64(0))
    for i in range(base, used):
        nodes[top] = nodes[i]
        nd = nodes[top]
        nd.parent = _place(kept, max(np.int64(nd.parent), 0))
        loses = np.int64(nd.first_edge >= 0) & (1 - _bit(kept.expanded, i))
        nd.cut = (nd.cut & BELOW) | (BELOW if nd.children else 0) if loses else nd.cut
        nd.first_edge = -1 if loses else nd.first_edge
        nd.edges = 0 if loses else nd.edges
        nd.children = 0 if loses else nd.children
        stays = _bit(kept.stays, i)
        if shared:
            key = keys[i]
            keys[top] = key
            slot = slot_of(positions, key)
            held = places[slot]
            free = (stays != 0) & (top > 0) & (key != 0) & (nd.first_edge >= -1) & (held == 0)
            places[slot] = top if free else held
        top += stays
    nodes[0].parent = -1
    if shared:
        for i in range(top, used):
            keys[i] = 0
    counters[NODES] = top


def keep(tree: Tree, base: int) -> Kept:
    """Drop all that is not below ``base``, which becomes node 0; the root must lie below it."""
    kept = _recycle(tree, base, np.empty(0, np.int32), 1.0, _ALL, lambda: False)
    assert kept is not None
    return kept


def recycle(tree: Tree, lines: int, late: Callable[[], bool] = lambda: False) -> Kept | None:
    """Drop all that is not below the root, and of that what was visited least, until memory is free again.

    The ``lines`` best principal variations stay. Blocks for a fifth of a second in a tree of 256 MiB. late: asked
    once it is known what goes, before anything is changed; where it is true, all stays and the result is None.
    """
    best = np.empty(lines, np.int32)
    best = best[: best_children(tree.arrays, tree.root, best)]
    return _recycle(tree, tree.root, best, _SHARE, _SPARE, late)


def _recycle(
    tree: Tree, base: int, lines: NDArray[np.int32], share: float, spare: int, late: Callable[[], bool]
) -> Kept | None:
    used = int(tree.counters[NODES])
    limits = np.array([share * len(tree.nodes), share * len(tree.edges)], np.int64)
    words = -(-used // 64)
    kept = Kept(np.zeros(words, np.uint64), np.zeros(words, np.uint64), np.zeros(words, np.int64))
    ranks, apart = np.zeros(used, np.int16), np.empty(used + 1, np.int64)
    count, aliases = choose_nodes(tree.arrays, base, lines, limits, spare, ranks, kept, apart)
    if late():
        return None
    blocks, twins = apart[:count], apart[len(apart) - aliases :]
    blocks.sort()
    edges = tree.edges.view(np.int64)
    move_nodes(tree.arrays, edges, base, tree.positions or NONE_SHARED, spare, kept, blocks, twins)
    if tree.ends is not None or tree.biases is not None:
        left = np.flatnonzero(np.unpackbits(kept.stays.view(np.uint8), count=used, bitorder="little"))
        if tree.ends is not None:
            keep_ends(tree.ends, left, used)
        if tree.biases is not None:
            keep_biases(tree.biases, left, used)
    tree.gathered, tree.measured, tree.root = map(kept.place, (tree.gathered, tree.measured, tree.root))
    proofs = {kept.place(node): moves for node, moves in tree.proofs.items()}
    tree.proofs = {node: moves for node, moves in proofs.items() if node >= 0}
    tree.counters[FULL] = RECYCLED if spare < _ALL else min(int(tree.counters[FULL]), 0)
    tree.give_back()
    return kept
