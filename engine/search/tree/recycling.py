"""A tree that recycles itself: when its memory is full, the least visited subtrees make room, and the search goes on.

All that does not lie below the base goes first, and the edges that were never visited, but for one at each node: when
that is to be visited, the node gets all of its edges once more, so nothing is lost. From then on new nodes get few.
Then expanded nodes lose their edges and what lies below them, the least visited first, until enough is free. Such a
node is a leaf again, but one that keeps its visits, value and bound: a later visit expands it once more, and its new
children share out the visits that come from then on. A node counts as often visited as the most visited node below it,
for transpositions come to a node by other ways than its parent's. What stays in any case: the base with its edges and
children, the lines that are reported, and the nodes that simulations in flight pass through.

The tree stays as it is made: parents come before their children, and edges lie side by side. Passes go through memory
in its order; what they look up beside it is small, as a processor's cache holds it: a byte or some bits of each node.
Hardly a branch depends on what a node is, which a processor cannot foresee.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.bits import lowest_bit, popcount
from ...kernels.jit import borrow, device, kernel
from .biases import keep_biases
from .nodes import BELOW, EDGES, FULL, NODE, NODES, RECYCLED, SOFTENED, TAIL, UNITS, tree_of, twin_of
from .ownership import keep_ownerships
from .results import MAX_PV, best_children, best_of
from .transpositions import NONE_SHARED
from .tree import Tree

_SHARE = 0.6  # of the memory that stays in use, at most
_SPARE = 1  # edges that were never visited and stay, of each node
_ALL = 1 << 16  # edges of a node, and more
_STAYS = 255  # the rank of a node that is not to be dropped; 0: it is not below the base
_ONE_VISIT = 1023 << 3  # the first bits of 1.0
_FEW = 8  # edges of a node, most often

# a NODE as words: w, d, n; parent and first_edge; edges, children, in_flight and plies; V, bound, terminal and marks; s
_WORDS = NODE.itemsize // 8
_U2, _U4 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_MARKS_AT = np.uint64(48)  # their bits in the last word
_LOW = (1 << 32) - 1


class Kept(NamedTuple):
    """Which nodes stay, in their order, as sets of bits."""

    stays: NDArray[np.uint64]  # [W], of 32 nodes each; in the high half how many stay before them
    high: NDArray[np.uint32]  # [W], of 32 nodes each: which rank so high that they keep their edges

    def places(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """Where nodes are now, -1 for those that are gone."""
        words, bits = self.stays[nodes >> 5], np.uint64(1) << (nodes & 31).astype(np.uint64)
        below = np.bitwise_count(words & (bits - np.uint64(1)))
        return np.where(words & bits, (words >> np.uint64(32)).astype(np.int64) + below, -1)

    def place(self, node: int) -> int:
        """Where one node is now; -1 for none, too."""
        return -1 if node < 0 else int(self.places(np.array(node)))


class Space(NamedTuple):
    """What the kernels note of N nodes while a tree recycles itself."""

    ranks: NDArray[np.uint8]  # [N], by visits; of an expanded node at least that of its children
    notes: NDArray[np.int64]  # [N]: parent, children, and the edges that stay with it, in 32, 16 and 16 bits
    blocks: NDArray[np.int64]  # [N], of nodes that are expanded or aliases: first_edge times 2^32 plus the node


@device
def _rank(visits):
    """Where a number stands among others, 1..254: those that have the same first four bits are equal."""
    bits = np.float64(max(visits, 1)).view(np.uint64) >> np.uint64(49)
    return min(np.int64(bits) - (_ONE_VISIT - 1), np.int64(_STAYS - 1))


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
        if ranks[node] == 0:  # a twin that is not below the base
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
def _survey(tree, cells, base, spare, space):
    """Note of each node its rank by its visits alone, its parent, the edges that it keeps; returns how many blocks."""
    used, top = tree.counters[NODES], np.uint64(0)
    for k in range(used):
        i = np.uint64(k)  # else each access looks whether the number is negative
        row = np.uint64(_WORDS) * i + np.uint64(2)
        visits, links, sizes = cells[row], cells[row + np.uint64(1)], np.uint64(cells[row + np.uint64(2)])
        edges, children = np.int64(sizes & _U2), np.int64((sizes >> np.uint64(16)) & _U2)
        flies = (sizes >> np.uint64(32)) & _U2 != 0
        space.ranks[i] = np.int64(_STAYS) if flies else _rank(visits)
        space.notes[i] = (links << 32) | (children << 16) | min(edges, children + spare)
        space.blocks[top] = (links & ~_LOW) | k
        top += np.uint64(links >> 32 != -1)
    if base > 0:
        for k in range(used):
            parent = space.notes[k] >> 32
            if k != base and (k < base or parent < base or space.ranks[parent] == 0):
                space.ranks[k] = 0
    space.ranks[base] = _STAYS
    nd = tree.nodes[base]
    space.notes[base] = (np.int64(nd.parent) << 32) | (np.int64(nd.children) << 16) | np.int64(nd.edges)
    return np.int64(top)


@device
def _weigh(base, blocks, space):
    """Let nodes rank no lower than any node below them.

    Returns what the expanded nodes of each rank have, i8[ranks]: their children times 2^32 plus the edges that they
    keep.
    """
    ranks, notes, sums = space.ranks, space.notes, np.zeros(_STAYS + 1, np.int64)
    for k in range(ranks.shape[0] - 1, base, -1):
        i = np.uint64(k)
        parent = np.uint64(notes[i] >> 32)
        if ranks[parent] < ranks[i]:  # seldom
            ranks[parent] = ranks[i]
    for block in blocks:
        i = np.uint64(block & _LOW)
        rank = np.uint64(ranks[i]) if block >= 0 else np.uint64(0)
        sums[rank] += ((notes[i] & _LOW) >> 16 << 32) + (notes[i] & 0xFFFF)
    sums[0] = 0
    return sums


@device
def _least_rank(sums, units, most_nodes, most_edges):
    """The least rank such that all expanded nodes from there on have room for their children and edges."""
    nodes, edges, least = np.int64(1), np.int64(units), np.int64(_STAYS + 1)
    while least > 1:
        children = sums[least - 1] >> 32
        nodes, edges = nodes + children, edges + children * units + (sums[least - 1] & _LOW)
        if least <= _STAYS and (nodes > most_nodes or edges > most_edges):
            break
        least -= 1
    return least


@device
def _mark(base, least, space, kept):
    """Mark the nodes of the ``least`` rank and more, and the children of these."""
    ranks, notes, used = space.ranks, space.notes, space.ranks.shape[0]
    for word in range(kept.high.shape[0]):
        high = np.uint32(0)
        for k in range(32 * word, min(32 * word + 32, used)):
            high |= np.uint32(ranks[np.uint64(k)] >= least) << np.uint32(k & 31)
        kept.high[word] = high
    total = np.int64(0)
    for word in range(kept.stays.shape[0]):
        bits = np.uint64(0)
        for k in range(max(32 * word, base), min(32 * word + 32, used)):
            parent = np.uint64(max(notes[np.uint64(k)] >> 32, 0))
            bit = np.uint64(k == base) | _bit(kept.high, parent) & np.uint64(k > base)
            bits |= bit << np.uint64(k & 31)
        kept.stays[word] = np.uint64(total << 32) | bits
        total += popcount(bits)


@device
def _bit(words, i):
    """Bit ``i``, u8, of the low halves of words u4[W] or u8[W], as u8."""
    return (np.uint64(words[i >> np.uint64(5)]) >> (i & np.uint64(31))) & np.uint64(1)


@device
def _place(stays, i):
    """Where node ``i``, u8, is to go, -1 if it goes away."""
    word, bit = stays[i >> np.uint64(5)], np.uint64(1) << (i & np.uint64(31))
    place = np.int64(word >> np.uint64(32)) + popcount(word & (bit - np.uint64(1)))
    return place if word & bit else np.int64(-1)


@kernel
def choose_nodes(trees, cells, base, lines, limits, spare, space, kept):
    """Choose what stays of tree 0, which is only read: what lies below ``base``, and of that what was visited most.

    lines i4[K]: edges of the base whose principal variations stay; limits i8[2]: the most nodes, and the most edges
    with the memory of nodes; spare: unvisited edges of a node that stay; space: Space, kept: Kept, both out. Returns
    how many blocks are left: of expanded nodes that stay so, and of aliases that stay.
    """
    tree, lines, limits = tree_of(borrow(trees), 0), borrow(lines), borrow(limits)
    space, kept = borrow(space), borrow(kept)
    blocks, room, count = space.blocks[: _survey(tree, borrow(cells), base, spare, space)], limits[1] // 2, np.int64(0)
    for k in lines:
        room = _hold_line(tree.nodes, tree.edges, np.int64(k), space.ranks, room)
    sums = _weigh(base, blocks, space)
    _mark(base, _least_rank(sums, tree.counters[UNITS], limits[0], limits[1]), space, kept)
    for block in blocks:
        i = np.uint64(block & _LOW)
        blocks[count] = block
        count += np.int64(_bit(kept.stays, i) if block < 0 else _bit(kept.high, i))
    return count


@device
def _inherit(blocks, positions, stays):
    """Let the aliases among ``blocks``, the first ones, whose twins go take their positions over."""
    for block in blocks:
        if block >= 0:
            break
        twin = -2 - (block >> 32)
        if _place(stays, np.uint64(twin)) < 0:
            positions.keys[block & _LOW] = positions.keys[twin]


@device
def _slide_edges(tree, words, blocks, space, stays):
    """Let the edges of ``blocks`` slide down; words: of :func:`move_nodes`."""
    top = np.int64(0)
    for block in blocks:
        if block < 0:
            continue
        owner, at = np.uint64(block & _LOW), block >> 32
        count = space.notes[owner] & 0xFFFF
        space.notes[owner] = (top << 32) | count
        if count <= _FEW and top + _FEW <= at and at + _FEW <= words.shape[0]:
            for k in range(_FEW):  # some too many: the processor cannot foresee how many there are
                words[top + k] = words[at + k]
        else:
            for k in range(count):
                words[top + k] = words[at + k]
        top += count
    for k in range(top):
        i = np.uint64(k)
        child = np.int64(np.int32(words[i]))
        has_child = ~(child >> np.int64(63))  # all bits, or none
        words[i] += (_place(stays, np.uint64(child & has_child)) - child) & has_child
    tree.counters[EDGES] = top


@device
def _move_nodes(cells, positions, space, kept):
    """Write the nodes that stay to their places, one after another, and note where their positions are now.

    Of equal positions the last is found. Returns how many nodes stay.
    """
    stays, one, top, held_by_0 = kept.stays, np.uint64(1), np.uint64(0), np.int64(0)
    keys, others, places = positions.keys, positions.others, positions.places
    for s in range(places.shape[0]):
        places[s] = 0
    for word in range(stays.shape[0]):
        left, high = stays[word] & _U4, np.uint64(kept.high[word])
        while left:
            bit = np.uint64(lowest_bit(left))
            i = np.uint64(word << 5) | bit
            row, target = np.uint64(_WORDS) * i, np.uint64(_WORDS) * top
            cells[target], cells[target + one] = cells[row], cells[row + one]
            cells[target + np.uint64(2)] = cells[row + np.uint64(2)]
            links, sizes = cells[row + np.uint64(3)], np.uint64(cells[row + np.uint64(4)])
            state = np.uint64(cells[row + np.uint64(5)])
            first = links >> 32
            parent = np.int64(np.int32(links))
            parent = _place(stays, np.uint64(parent & ~(parent >> np.int64(63))))
            twin = _place(stays, np.uint64(max(-2 - first, 0)))
            alias, has_edges, is_high = np.uint64(first < -1), np.uint64(first >= 0), (high >> bit) & one
            keeps, loses = has_edges & is_high, has_edges & (is_high ^ one)
            if_keeps, if_loses = np.uint64(0) - keeps, np.uint64(0) - loses  # all bits, or none
            note = space.notes[i]
            count = np.uint64(note) & _U2
            tail = keeps & np.uint64(count < (sizes & _U2))
            below = loses & np.uint64((sizes & _U4) > _U2) | alias & np.uint64(twin < 0)  # had children, or a twin
            state &= ~(if_loses & (np.uint64(TAIL | SOFTENED) << _MARKS_AT))
            state |= (tail * np.uint64(TAIL) | below * np.uint64(BELOW)) << _MARKS_AT
            sizes = (sizes & ~(if_keeps & _U2) & ~(if_loses & _U4)) | (if_keeps & count)
            for_edges, for_twin = -np.int64(keeps), -np.int64(alias)
            first = (note >> 32 & for_edges) | ((-2 - twin) & for_twin) | ~(for_edges | for_twin)
            cells[target + np.uint64(3)] = (first << 32) | (parent & _LOW)
            cells[target + np.uint64(4)], cells[target + np.uint64(5)] = np.int64(sizes), np.int64(state)
            cells[target + np.uint64(6)] = cells[row + np.uint64(6)]
            if places.shape[0] > 0:
                key = keys[i]
                keys[top] = key
                chain = key & np.uint64(places.shape[0] - 1)
                others[top] = held_by_0 if chain == 0 else np.int64(places[chain])
                places[chain] = np.int64(top)
                held_by_0 = np.int64(top) if (chain == 0) & (key != 0) else held_by_0
            top += one
            left &= left - one
    if places.shape[0] > 0:
        places[0] = held_by_0
        for k in range(np.int64(top), space.ranks.shape[0]):
            keys[k] = 0
    return np.int64(top)


@kernel
def move_nodes(trees, words, cells, positions, space, kept, blocks):
    """Move the nodes of tree 0 to their places, see :func:`choose_nodes`, and their edges down.

    words i8[edges]: the edges, their children in the low half; cells i8[6 * nodes]: the nodes; positions: of the nodes,
    or NONE_SHARED; space: Space; kept: Kept; blocks: sorted. An alias whose twin goes takes its position over.
    """
    tree, words, cells, positions = tree_of(borrow(trees), 0), borrow(words), borrow(cells), borrow(positions)
    space, kept, blocks = borrow(space), borrow(kept), borrow(blocks)
    if positions.places.shape[0] > 0:
        _inherit(blocks, positions, kept.stays)
    _slide_edges(tree, words, blocks, space, kept.stays)
    tree.counters[NODES] = _move_nodes(cells, positions, space, kept)
    tree.nodes[0].parent = -1


def keep(tree: Tree, base: int) -> Kept:
    """Drop all that is not below ``base``, which becomes node 0; the root must lie below it."""
    kept = _recycle(tree, base, np.empty(0, np.int32), 1.0, _ALL, lambda: False)
    assert kept is not None
    return kept


def recycle(tree: Tree, lines: int, late: Callable[[], bool] = lambda: False) -> Kept | None:
    """Drop all that is not below the root, and of that what was visited least, until memory is free again.

    The ``lines`` best principal variations stay. Blocks for an eighth of a second in a tree of 256 MiB. late: called
    once it is known what goes, before anything is changed; where it is true, all stays and the result is None.
    """
    best = np.empty(lines, np.int32)
    best = best[: best_children(tree.arrays, tree.root, best)]
    return _recycle(tree, tree.root, best, _SHARE, _SPARE, late)


def _recycle(
    tree: Tree, base: int, lines: NDArray[np.int32], share: float, spare: int, late: Callable[[], bool]
) -> Kept | None:
    used, cells = int(tree.counters[NODES]), tree.nodes.view(np.int64)
    limits = np.array([share * len(tree.nodes), share * len(tree.edges)], np.int64)
    space = Space(np.empty(used, np.uint8), np.empty(used, np.int64), np.empty(used, np.int64))
    words = -(-used // 32)
    kept = Kept(np.empty(words, np.uint64), np.empty(words, np.uint32))
    count = choose_nodes(tree.arrays, cells, base, lines, limits, spare, space, kept)
    if late():
        return None
    blocks = space.blocks[:count]
    blocks.sort()
    edges = tree.edges.view(np.int64)
    move_nodes(tree.arrays, edges, cells, tree.positions or NONE_SHARED, space, kept, blocks)
    if tree.ownerships is not None or tree.biases is not None:
        bits = kept.stays.astype(np.uint32).view(np.uint8)
        left = np.flatnonzero(np.unpackbits(bits, count=used, bitorder="little"))
        if tree.ownerships is not None:
            keep_ownerships(tree.ownerships, left, used)
        if tree.biases is not None:
            keep_biases(tree.biases, left, used)
    tree.gathered, tree.measured, tree.root = map(kept.place, (tree.gathered, tree.measured, tree.root))
    proofs = {kept.place(node): moves for node, moves in tree.proofs.items()}
    tree.proofs = {node: moves for node, moves in proofs.items() if node >= 0}
    tree.counters[FULL] = RECYCLED if spare < _ALL else min(int(tree.counters[FULL]), 0)
    tree.give_back()
    return kept
