"""The search tree as two arrays, and the kernels that grow it. It knows no game: moves and actions are numbers.

Nodes are made on first visit, edges when a node is expanded. A node's edges lie side by side, sorted by falling prior,
and children are made in that order (but for a root's moves that end the game, see :func:`offer`): the visited edges are
a prefix, and the first unvisited edge is the best of the unvisited ones.

One step of the search is ``puct.select`` (B paths to leaves, kept apart by the visits in flight), the game's
``describe`` kernel, the evaluator, ``policy.digest`` (priors from logits) and ``expand`` (which also backs up). Values
W and outcome codes are from the view of the side to move at their node; the parent negates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...games.outcome import DRAW, LOSS, RUNNING, WIN
from ...kernels.atomics import adder, enter, fence, leave, make_spinlock
from ...kernels.jit import borrow, device, kernel
from ...os.system import discard
from . import transpositions
from .biases import Biases, correct, forget_biases, make_biases, note_pattern
from .transpositions import Positions, aliases_passed, copy_mean, step_up, twin_of

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
        ("cut", "u1"),  # what a full tree took away, see recycling: TAIL, BELOW or both
    ],
    align=True,
)
TAIL, BELOW = 1, 2  # the last of the unvisited edges; all edges with what lay below them, at some time
EDGE = np.dtype([("child", "i4"), ("move", "u2"), ("prior", "u2")], align=True)  # child -1: unvisited

# counters i8[8] of a tree; MOST_*: used so far, which keep their memory; UNITS: edges that a node takes the memory of
NODES, EDGES, FULL, DEPTH_SUM, DEPTH_MAX, MOST_NODES, MOST_EDGES, UNITS = range(8)
RECYCLED = -1  # FULL of a tree that was full before; 1: it is full

MAX_DEPTH = 512  # plies from the root; a longer path is backed up with its last node's mean value

_BESIDE = 16  # bytes kept for each node beside it: a position, or a note of its bias
_LEAST_EDGES = 1  # a node, on the average, where a full tree has cut them
_LEAST_NODES, _LEAST_ROOM = 1024, 64 * 1024  # nodes and edges for which a new tree has room in any case

_FIRST_EDGES = 6  # that a node gets in a tree that was full: few have more children

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


def pack_priors(priors: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Packed priors u2[n] of probabilities f4[n], rounded as the kernels do."""
    bits = priors.astype(np.float32).view(np.uint32) + _ROUND
    return np.where(bits >= np.uint32(96 << 23), (bits >> np.uint32(12)) - _EXPONENT_SHIFT, 0).astype(np.uint16)


class Ends(NamedTuple):
    """How the game ends, as far as it is known, from each of N nodes or leaves; for the side to move there."""

    owners: NDArray[np.int8]  # i1[N, P], 127 = surely its own, -127 = surely the opponent's
    scores: NDArray[np.float32]  # f4[N], its lead in points, komi counted; NaN where only the owners are known
    told: NDArray[np.uint8]  # u1[N], 1 where they are known


def make_ends(size: int, points: int) -> Ends:
    """Nothing known of ``size`` nodes. The memory is committed as it is used."""
    return Ends(np.empty((size, points), np.int8), np.empty(size, np.float32), np.zeros(size, np.uint8))


def copy_ends(source: Ends, rows: NDArray[np.intp], target: Ends, places: NDArray[Any] | slice) -> None:
    """Copy rows of one record to places in another."""
    target.owners[places] = source.owners[rows]
    target.scores[places] = source.scores[rows]
    target.told[places] = source.told[rows]


class TreeArrays(NamedTuple):
    """The arrays of one tree or, with an axis in front, of G trees."""

    nodes: NDArray[Any]  # NODE[N]
    edges: NDArray[Any]  # EDGE[E]
    counters: NDArray[np.int64]  # [8]


@device
def tree_of(trees, slot):
    """Tree number ``slot`` of several."""
    return TreeArrays(trees.nodes[slot], trees.edges[slot], trees.counters[slot])


class Pass(NamedTuple):
    """What one pass of simulations through a tree needs beside it; each None where it is not needed."""

    lock: NDArray[np.uint32] | None = None  # of the threads that share the tree, see atomics; None: there are no others
    way: transpositions.Way | None = None  # of the path, where nodes may be aliases
    biases: Biases | None = None  # of the tree


ALONE = Pass()  # one thread in a plain tree

_add_in_flight, _add_n, _add_w, _add_d = (adder(field) for field in ("in_flight", "n", "w", "d"))


@device
def fly(nd, step, lock):
    """Add to the simulations in flight through a node; returns how many there were. lock: see Pass."""
    if lock is None:
        before = nd.in_flight
        nd.in_flight += step
        return before
    return _add_in_flight(nd, np.uint16(step))


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
    nd.w = nd.d = 0.0
    nd.n = 0
    nd.parent = parent
    nd.first_edge = -1
    nd.edges = nd.children = nd.in_flight = nd.plies = 0
    nd.net_value = 0.0
    nd.bound = RUNNING
    nd.terminal = nd.cut = 0
    return i


@device
def _add_visit(nd, value, draw, lock):
    if lock is None:
        nd.n += 1
        nd.w += value
        nd.d += draw
    else:
        _add_n(nd, 1)
        _add_w(nd, value)
        _add_d(nd, draw)


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
def backup(nodes, node, root, value, draw, passing):
    """Add a value (of the side to move at ``node``) up to the base of the tree; the visit is in flight up to the root.

    passing: Pass; an alias on its way gets the mean of its twin.
    """
    lock, way, biases = passing
    below, node, left, twin = True, np.int64(node), aliases_passed(way), np.int64(-1)
    while node >= 0:
        nd = nodes[node]
        _add_visit(nd, value, draw, lock)
        if twin >= 0:
            copy_mean(nd, nodes[twin])
        value = correct(biases, nd, node, value)
        if below:
            fly(nd, -1, lock)
            below = node != root
        above, before = step_up(nodes, node, way, left)
        twin = node if before < left else np.int64(-1)
        if twin < 0:  # by a move, not from a twin to its alias
            value = -value
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
    value and draw. A count of -1 marks a leaf whose evaluation failed: it stays a leaf and its visit is taken back.
    Without room for the edges the FULL counter is set and the node stays a leaf, its value backed up. Returns how many
    simulations were made; the others went to leaves that had their values already.
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
    if leaf.outcome != RUNNING and nd.first_edge >= 0:  # over only by the way that led to it this time
        backup(nodes, node, top, np.float64(leaf.outcome), 1.0 if leaf.outcome == DRAW else 0.0, passing)
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
        backup(nodes, node, top, np.float64(leaf.outcome), 1.0 if leaf.outcome == DRAW else 0.0, passing)
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
            backup(nodes, node, top, np.float64(leaf.value), np.float64(leaf.draw), passing)
            return True
    return False


@device
def add_edges(tree, node, leaves, row, lock):
    """Give a node its edges, or those that were cut off, and say so; or set the FULL counter and leave it as it is."""
    nd, wanted = tree.nodes[node], np.int64(leaves.rows[row].count)
    enter(lock)
    again = nd.first_edge >= 0
    if again and not nd.cut & TAIL:  # another worker came first
        leave(lock)
        return True
    counters, start, count = tree.counters, tree.counters[EDGES], wanted
    if counters[FULL] == RECYCLED and not again and leaves.rows[row].length > 0:
        count = min(wanted, np.int64(_FIRST_EDGES))
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
    if count < wanted:
        nd.cut |= TAIL
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
    nd.cut &= BELOW


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
        backup(nodes, child, root, np.float64(outcome), 0.0, ALONE)
    prove(nodes, edges, child)


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


def follow(nodes: NDArray[Any], node: int) -> int:
    """The node that is searched in place of ``node``: its twin, if it is an alias, or itself."""
    first = int(nodes[node]["first_edge"])
    return -2 - first if first < -1 else node


class Tree:
    """One tree.

    Its memory is reserved when it is made, more than it may use; the operating system commits it as it is used. How it
    is divided is decided by what the first search needs.
    """

    def __init__(self, memory: int, moves_per_node: float = 32.0, points: int = 0) -> None:
        """``memory``: bytes for nodes and edges together, and for what is kept beside the nodes.

        moves_per_node: expected; points: of the board, for which :meth:`keep_ends` may want memory.
        """
        per_node = NODE.itemsize + moves_per_node * EDGE.itemsize + (points + 5 if points else 0)
        self._expected = min(max(1024, int(memory / per_node)), int((2**31 - 1) / moves_per_node))
        own = NODE.itemsize + _BESIDE + (points + 5 if points else 0)
        self.counters = np.zeros(8, np.int64)
        self.counters[UNITS] = -(-own // EDGE.itemsize)
        units = max(_LEAST_ROOM + _LEAST_NODES * int(self.counters[UNITS]), memory // EDGE.itemsize)
        self.edges = np.empty(min(units, 2**31 - 1), EDGE)  # they are numbered in i4
        self.nodes = np.empty(max(_LEAST_NODES, memory // (own + _LEAST_EDGES * EDGE.itemsize)), NODE)
        self.counters[[MOST_NODES, MOST_EDGES]] = _LEAST_NODES, _LEAST_ROOM  # that nothing else takes
        self.arrays = TreeArrays(self.nodes[None], self.edges[None], self.counters[None])
        # quicker to read than records:
        self._bounds, self._first_edges, self._cuts = (self.nodes[name] for name in ("bound", "first_edge", "cut"))
        self.spinlock = make_spinlock()  # of kernels that share it
        self.ends: Ends | None = None
        self.positions: Positions | None = None  # of its nodes, while searches share them
        self.biases: Biases | None = None  # of the net, while searches correct them
        self.known: dict[int, tuple[int, int]] | None = None  # by root move: outcome by endgame tables, and rank
        self.decided = -1  # the root's best move once a win is known, where others are searched on
        self.gathered = self.measured = -1  # roots below which the positions, and whose depths the counters hold
        self.proofs: dict[int, tuple[int, ...]] = {}  # moves that prove a node's outcome, found beside the tree
        self.clear()

    def clear(self) -> None:
        """Leave a single unexpanded node, the base, as root."""
        if self.ends is not None:
            self.ends.told[: int(self.counters[NODES])] = 0
        if self.positions is not None:
            transpositions.forget(self.positions, int(self.counters[NODES]))
        if self.biases is not None:
            forget_biases(self.biases, int(self.counters[NODES]))
        self.counters[:MOST_NODES] = 0
        self.gathered = self.measured = -1
        self.proofs.clear()
        add_base(self.arrays, 0)
        self.root = 0

    def keep_ends(self, points: int) -> Ends:
        """Have ``ends`` of all nodes from now on, on a board of that many points; nothing is known of those before."""
        if self.ends is None or self.ends.owners.shape[1] != points:
            self.ends = make_ends(len(self.nodes), points)
        return self.ends

    def share_positions(self) -> Positions:
        """The positions of the nodes below the root, for a search that shares them."""
        count = int(self.counters[NODES])
        if self.positions is None:
            self.positions = transpositions.make_positions(len(self.nodes), self._expected)
        if self.gathered != self.root:
            transpositions.gather(self.nodes, count, self.root, self.positions, np.empty(count, np.uint8))
            self.gathered = self.root
        return self.positions

    def correct_biases(self, factor: float) -> Biases:
        """What is known of the net's errors, for a search that corrects its values by so much of them."""
        if self.biases is None:
            self.biases = make_biases(len(self.nodes))
        self.biases.factor[0] = factor
        return self.biases

    def child(self, node: int, move: int) -> int:
        """Index of the visited child that ``move`` leads to, or -1."""
        node = follow(self.nodes, node)
        if int(self.nodes[node]["first_edge"]) < 0:
            return -1
        return int(find_child(self.arrays, node, move))

    def settle(self, moves: Sequence[int], outcome: int) -> None:
        """Prove the outcome after a root move, for the side to move there, by the line that begins with it."""
        edges = self.children_of(self.root)[0]
        if moves[0] not in edges["move"]:
            return
        offer(self.arrays, self.root, np.array(moves[:1], np.uint16))
        node = self.child(self.root, moves[0])
        if node < 0 or (self.nodes[node]["bound"] == outcome and self.nodes[node]["plies"] < len(moves)):
            return
        self.proofs[node] = tuple(moves[1:])
        settle(self.arrays, self.root, node, outcome, len(moves) - 1)

    def depths(self) -> tuple[int, int]:
        """Sum and greatest of the depths in plies, below the root, of all simulations through it.

        As the counters have them where the last search had the same root; else of the nodes that are left.
        """
        if self.measured == self.root:
            return int(self.counters[DEPTH_SUM]), int(self.counters[DEPTH_MAX])
        self.measured = self.root
        if int(self.nodes[self.root]["n"]) < 2:
            return 0, 0
        total, greatest = depths(self.arrays, self.root, np.empty(int(self.counters[NODES]), np.int32))
        return int(total), int(greatest)

    @property
    def bound(self) -> int:
        """The root's outcome code, of its side to move; RUNNING until it is proven."""
        return int(self._bounds.item(self.root))

    @property
    def expanded(self) -> bool:
        """Whether the root has its edges, all of them."""
        return bool(self._first_edges.item(self.root) >= 0 and not self._cuts.item(self.root) & TAIL)

    @property
    def full(self) -> bool:
        """Whether the tree has run out of memory, until it recycles itself."""
        return int(self.counters.item(FULL)) == 1

    @property
    def used(self) -> float:
        """Fraction of the memory in use, 0..1."""
        nodes, edges, units = (int(self.counters[i]) for i in (NODES, EDGES, UNITS))
        return min(max(nodes / len(self.nodes), (nodes * units + edges) / len(self.edges)), 1.0)

    def give_back(self) -> None:
        """Give the memory of what is not in use any more back to the system."""
        nodes, edges = int(self.counters[NODES]), int(self.counters[EDGES])
        beside: list[NDArray[Any]] = [self.nodes, *(self.ends or ())]
        if self.positions is not None:
            beside.append(self.positions.keys)
        if self.biases is not None:
            beside.append(self.biases.notes)
        for array in beside:
            discard(array, nodes)
        discard(self.edges, edges)
        self.counters[[MOST_NODES, MOST_EDGES]] = nodes, edges

    def children_of(self, node: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """(edges EDGE[n] of a node, visited ones first; nodes NODE[k] of its k visited children), copies."""
        nd = self.nodes[follow(self.nodes, node)]
        first, count, children = int(nd["first_edge"]), int(nd["edges"]), int(nd["children"])
        if first < 0:
            return np.zeros(0, EDGE), np.zeros(0, NODE)
        edges = self.edges[first : first + count].copy()
        return edges, self.nodes[edges["child"][:children]]


@kernel
def add_base(trees, slot):
    """Make the first node of tree number ``slot``, which is empty."""
    return new_node(tree_of(borrow(trees), slot), -1)
