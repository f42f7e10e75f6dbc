"""The kernels that grow a tree: leaves get edges, values are backed up, outcomes proven.

One step of the search is ``puct.select`` (B paths to leaves, kept apart by the visits in flight), the game's
``describe`` kernel, the evaluator, ``policy.digest`` (priors from logits) and ``expand`` (which also backs up).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.outcome import DRAW, LOSS, RUNNING, WIN
from ...kernels.atomics import adder, enter, fence, leave
from ...kernels.jit import borrow, device, kernel
from .biases import Biases, correct, note_pattern
from .nodes import (
    EDGES,
    FULL,
    MOST_EDGES,
    MOST_NODES,
    NODES,
    RECYCLED,
    SOFTENED,
    TAIL,
    UNITS,
    new_node,
    pack_prior,
    tree_of,
    unpack_prior,
)
from .transpositions import Way, aliases_passed, copy_mean, step_up

_FIRST_EDGES = 6  # that a node gets in a tree that was full: few have more children


class Pass(NamedTuple):
    """What one pass of simulations through a tree needs beside it; each None where it is not needed."""

    lock: NDArray[np.uint32] | None = None  # of the threads that share the tree, see atomics; None: there are no others
    way: Way | None = None  # of the path, where nodes may be aliases
    biases: Biases | None = None  # of the tree


ALONE = Pass()  # one thread in a plain tree

_add_in_flight, _add_n, _add_w, _add_d, _add_s = (adder(field) for field in ("in_flight", "n", "w", "d", "s"))


@device
def fly(nd, step, lock):
    """Add to the simulations in flight through a node; returns how many there were. lock: see Pass."""
    if lock is None:
        before = nd.in_flight
        nd.in_flight += step
        return before
    return _add_in_flight(nd, np.uint16(step))


@device
def _add_visit(nd, value, draw, utility, lock):
    if lock is None:
        nd.n += 1
        nd.w += value
        nd.d += draw
        nd.s += utility
    else:
        _add_n(nd, 1)
        _add_w(nd, value)
        _add_d(nd, draw)
        if utility != 0.0:
            _add_s(nd, utility)


@device
def release(nodes, node, root, passing):
    """Take back the visits in flight from ``node`` up to the root; passing: Pass."""
    lock, way, _ = passing  # once: each costs two counts of references
    node, left = np.int64(node), aliases_passed(way)
    while True:
        fly(nodes[node], -1, lock)
        if node == root:
            return
        node, left = step_up(nodes, node, way, left)


@device
def backup(nodes, node, root, value, draw, utility, passing):
    """Add a value (of the side to move at ``node``) up to the base of the tree; the visit is in flight up to the root.

    utility: of the score, see LEAF; passing: Pass; an alias on its way gets the mean of its twin.
    """
    lock, way, biases = passing
    below, node, left, twin = True, np.int64(node), aliases_passed(way), np.int64(-1)
    while node >= 0:
        nd = nodes[node]
        _add_visit(nd, value, draw, utility, lock)
        if twin >= 0:
            copy_mean(nd, nodes[twin])
        value = correct(biases, nd, node, value)
        if below:
            fly(nd, -1, lock)
            below = node != root
        above, before = step_up(nodes, node, way, left)
        twin = node if before < left else np.int64(-1)
        if twin < 0:  # by a move, not from a twin to its alias
            value, utility = -value, -utility
        node, left = above, before


@device
def prove(nodes, edges, node):
    """Prove what follows, towards the base, from the new proven outcome of ``node``."""
    while nodes[node].parent >= 0:
        child = nodes[node]
        parent = nodes[child.parent]
        if child.bound == LOSS:
            if parent.bound == WIN and parent.plies <= child.plies + 1:
                return
            parent.bound = WIN
            parent.plies = child.plies + 1
        else:
            if parent.bound != RUNNING or parent.children < parent.edges:
                return
            outcome, plies = LOSS, 0
            for k in range(parent.first_edge, parent.first_edge + parent.edges):
                other = nodes[edges[k].child]
                if other.bound == RUNNING:
                    return
                if other.bound == DRAW:
                    outcome = DRAW
                plies = max(plies, other.plies + 1)
            parent.bound = outcome
            parent.plies = plies
        node = child.parent


@kernel
def expand(trees, leaves, count, solver, biases):
    """Expand ``count`` evaluated leaves of trees TreeArrays[G] and back their values up; biases: of tree 0, or None.

    leaves: slot, node, top, outcome, end, and where the game goes on: count, moves and priors sorted by falling prior,
    value, draw and utility. A count of -1 marks a leaf whose evaluation failed: it stays a leaf and its visit is taken
    back. Without room for the edges the FULL counter is set and the node stays a leaf, its value backed up. Returns how
    many simulations were made; the others went to leaves that had their values already.
    """
    trees, leaves = borrow(trees), borrow(leaves)
    made = 0
    for b in range(count):
        made += expand_leaf(tree_of(trees, leaves.rows[b].slot), leaves, b, solver, True, Pass(None, None, biases))
    return made


@device
def expand_leaf(tree, leaves, b, solver, now, passing):
    """Back the value of evaluated leaf ``b`` of a tree up, and expand it if ``now``; see :func:`expand`.

    passing: Pass. A leaf that was evaluated before and not expanded has its value in the tree already. Returns whether
    a simulation was made.
    """
    leaf, lock = leaves.rows[b], passing.lock
    nodes, node, top = tree.nodes, np.int64(leaf.node), np.int64(leaf.top)
    nd = nodes[node]
    of_way = leaf.end < 0 and leaf.count > 0  # a repetition, perhaps, or the end of the fifty moves
    if leaf.outcome != RUNNING and (nd.first_edge >= 0 or (of_way and aliases_passed(passing.way) > 0)):
        backup(nodes, node, top, np.float64(leaf.outcome), 1.0 if leaf.outcome == DRAW else 0.0, 0.0, passing)
        return True
    if leaf.outcome != RUNNING:
        enter(lock)
        nd.terminal = leaf.end < 0
        if leaf.end >= 0:
            nd.plies = leaf.end
        else:
            nd.plies = 1 if leaf.outcome == WIN else 0  # a win by declaration takes the ply of declaring it
        nd.net_value = np.float32(leaf.outcome)
        nd.bound = leaf.outcome
        leave(lock)
        backup(nodes, node, top, np.float64(leaf.outcome), 1.0 if leaf.outcome == DRAW else 0.0, 0.0, passing)
        if solver:
            enter(lock)
            prove(nodes, tree.edges, node)
            leave(lock)
        return True
    if leaf.count < 0:
        release(nodes, node, top, passing)
    else:
        if now:
            add_edges(tree, node, leaves, b, lock)
        nd.net_value = leaf.value
        if nd.n > 0:
            release(nodes, node, top, passing)
        else:
            note_pattern(passing.biases, node, leaf.pattern)
            value, draw, utility = np.float64(leaf.value), np.float64(leaf.draw), np.float64(leaf.utility)
            backup(nodes, node, top, value, draw, utility, passing)
            return True
    return False


@device
def add_edges(tree, node, leaves, row, lock):
    """Give a node its edges, or those that were cut off, and say so; or set the FULL counter and leave it as it is."""
    nd, requested = tree.nodes[node], np.int64(leaves.rows[row].count)
    enter(lock)
    again = nd.first_edge >= 0
    if again and not nd.marks & TAIL:  # another worker came first
        leave(lock)
        return True
    counters, start, count = tree.counters, tree.counters[EDGES], requested
    if counters[FULL] == RECYCLED and not again and leaves.rows[row].length > 0:
        count = min(requested, np.int64(_FIRST_EDGES))
    end = start + count
    room = end <= counters[MOST_EDGES] or counters[MOST_NODES] * counters[UNITS] + end <= tree.edges.shape[0]
    if room:
        counters[EDGES] = end
        counters[MOST_EDGES] = max(counters[MOST_EDGES], end)
        if again:
            _lengthen(tree, nd, start, leaves, row, lock)
    else:
        counters[FULL] = 1
    leave(lock)
    if again or not room:
        return room
    for k in range(count):
        _write_edge(tree.edges[start + k], leaves, row, k)
    nd.edges = count
    if count < requested:
        nd.marks |= TAIL
    if lock is not None:
        fence()
    nd.first_edge = start
    return True


@device
def _write_edge(edge, leaves, row, k):
    edge.child = -1
    edge.move = leaves.moves[row, k]
    edge.prior = pack_prior(leaves.priors[row, k])


@device
def _lengthen(tree, nd, start, leaves, row, lock):
    """Have the edges of a node begin at ``start``: its visited ones, then all others.

    Other workers may read it meanwhile: what they may have read of the old edges stands at the same places.
    """
    edges, old, count = tree.edges, np.int64(nd.first_edge), np.int64(leaves.rows[row].count)
    visited, end, at = old + np.int64(nd.children), start + count, start
    for k in range(old, visited):
        edges[at] = edges[k]
        at += 1
    for k in range(count):
        place = old
        while place < visited and edges[place].move != leaves.moves[row, k]:
            place += 1
        if place == visited and at < end:
            _write_edge(edges[at], leaves, row, k)
            at += 1
    if lock is not None:
        fence()
    nd.first_edge = start
    if lock is not None:
        fence()
    nd.edges = at - start
    nd.marks &= ~TAIL


@device
def soften_priors(nodes, edges, node, exponent):
    """Raise the priors of an expanded node to a power, once, so that they add up to 1 again; their order stays."""
    nd = nodes[node]
    if exponent == 1.0 or nd.marks & SOFTENED:
        return
    first, last, total = np.int64(nd.first_edge), np.int64(nd.first_edge) + np.int64(nd.edges), 0.0
    for k in range(first, last):
        total += unpack_prior(edges[k].prior) ** exponent
    for k in range(first, last):
        edges[k].prior = pack_prior(unpack_prior(edges[k].prior) ** exponent / total)
    nd.marks |= SOFTENED


@kernel
def soften(trees, node, exponent):
    """See :func:`soften_priors`, in tree 0."""
    tree = tree_of(borrow(trees), 0)
    soften_priors(tree.nodes, tree.edges, node, exponent)


@kernel
def offer(trees, node, moves):
    """Give the unvisited edges of ``moves`` u2[K] at an expanded node of tree 0 a child without visits.

    Selection visits such children before all others.
    """
    tree, moves = tree_of(borrow(trees), 0), borrow(moves)
    nd, edges = tree.nodes[node], tree.edges
    first = np.int64(nd.first_edge)
    for move in moves:
        k, place = first + np.int64(nd.children), first + np.int64(nd.children)
        while k < first + nd.edges and edges[k].move != move:
            k += 1
        if k == first + nd.edges:  # visited, or not to be searched
            continue
        child = new_node(tree, node)
        if child < 0:
            return
        prior = edges[k].prior
        for j in range(k, place, -1):
            edges[j].move, edges[j].prior = edges[j - 1].move, edges[j - 1].prior
        edges[place].move, edges[place].prior, edges[place].child = move, prior, child
        nd.children += 1


@kernel
def settle(trees, root, child, outcome, plies):
    """Prove that ``child`` of ``root``, in tree 0, ends in ``outcome`` in so many plies; it gets a first visit."""
    nodes, edges, _ = tree_of(borrow(trees), 0)
    nd = nodes[child]
    nd.bound, nd.plies = outcome, plies
    if nd.n == 0 and nd.in_flight == 0:
        nd.net_value = np.float32(outcome)
        nd.in_flight += 1
        nodes[root].in_flight += 1
        backup(nodes, child, root, np.float64(outcome), 0.0, 0.0, ALONE)
    prove(nodes, edges, child)


@kernel
def depths(trees, root, place):
    """(sum, greatest) of the depths below ``root`` of all simulations through it in tree 0; place i4[nodes] is used."""
    nodes, _, counters = tree_of(borrow(trees), 0)
    place = borrow(place)
    total, greatest = 0, 0
    place[root] = 0
    for i in range(root + 1, counters[NODES]):
        parent = nodes[i].parent
        place[i] = place[parent] + 1 if parent >= root and place[parent] >= 0 else -1
        if place[i] > 0:
            total += nodes[i].n
            greatest = max(greatest, place[i])
    return total, greatest
