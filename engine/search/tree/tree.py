"""One search tree: its memory, its root, and what is kept beside its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.atomics import make_spinlock
from ...os.system import discard
from . import transpositions
from .biases import Biases, forget_biases, make_biases
from .expansion import depths, offer, settle
from .nodes import (
    DEPTH_MAX,
    DEPTH_SUM,
    EDGE,
    EDGES,
    FULL,
    MOST_EDGES,
    MOST_NODES,
    NODE,
    NODES,
    SOFTENED,
    TAIL,
    UNITS,
    Ownerships,
    TreeArrays,
    add_base,
    find_child,
    follow,
    make_ownerships,
)
from .transpositions import Positions

_BESIDE = 16  # bytes kept for each node beside it: a position, or a note of its bias
_LEAST_EDGES = 1  # a node, on the average, where a full tree has cut them
_LEAST_NODES, _LEAST_ROOM = 1024, 64 * 1024  # nodes and edges for which a new tree has room in any case


class Tree:
    """One tree.

    Its memory is reserved when it is made, more than it may use; the operating system commits it as it is used. How it
    is divided is decided by what the first search needs.
    """

    def __init__(self, memory: int, points: int = 0) -> None:
        """``memory``: bytes for nodes and edges together, and for what is kept beside the nodes.

        points: of the board, for which :meth:`keep_ownerships` may want memory.
        """
        ours = NODE.itemsize + _BESIDE + (points + 5 if points else 0)
        self.counters = np.zeros(8, np.int64)
        self.counters[UNITS] = -(-ours // EDGE.itemsize)
        units = max(_LEAST_ROOM + _LEAST_NODES * int(self.counters[UNITS]), memory // EDGE.itemsize)
        self.edges = np.empty(min(units, 2**31 - 1), EDGE)  # they are numbered in i4
        self.nodes = np.empty(max(_LEAST_NODES, memory // (ours + _LEAST_EDGES * EDGE.itemsize)), NODE)
        self.counters[[MOST_NODES, MOST_EDGES]] = _LEAST_NODES, _LEAST_ROOM  # that nothing else takes
        self.arrays = TreeArrays(self.nodes[None], self.edges[None], self.counters[None])
        # quicker to read than records:
        self._bounds, self._first_edges, self._marks = (self.nodes[name] for name in ("bound", "first_edge", "marks"))
        self.spinlock = make_spinlock()  # of kernels that share it
        self.ownerships: Ownerships | None = None
        self.positions: Positions | None = None  # of its nodes, while searches share them
        self.biases: Biases | None = None  # of the net, while searches correct them
        self.known: dict[int, tuple[int, int]] | None = None  # by root move: outcome by endgame tables, and rank
        self.decided = -1  # the root's best move once a win is known, where others are searched on
        self.gathered = self.measured = -1  # roots below which the positions, and whose depths the counters hold
        self.proofs: dict[int, tuple[int, ...]] = {}  # moves that prove a node's outcome, found beside the tree
        self.clear()

    def clear(self) -> None:
        """Leave a single unexpanded node, the base, as root."""
        if self.ownerships is not None:
            self.ownerships.known[: int(self.counters[NODES])] = 0
        if self.positions is not None:
            transpositions.forget(self.positions, int(self.counters[NODES]))
        if self.biases is not None:
            forget_biases(self.biases, int(self.counters[NODES]))
        self.counters[:MOST_NODES] = 0
        self.gathered = self.measured = -1
        self.proofs.clear()
        add_base(self.arrays, 0)
        self.root = 0

    def keep_ownerships(self, points: int) -> Ownerships:
        """Have ``ownerships`` of all nodes from now on, on a board of so many points; those before have none."""
        if self.ownerships is None or self.ownerships.owners.shape[1] != points:
            self.ownerships = make_ownerships(len(self.nodes), points)
        return self.ownerships

    def share_positions(self) -> Positions:
        """The positions of the nodes below the root, for a search that shares them."""
        count = int(self.counters[NODES])
        if self.positions is None:
            self.positions = transpositions.make_positions(len(self.nodes))
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
        return bool(self._first_edges.item(self.root) >= 0 and not self._marks.item(self.root) & TAIL)

    @property
    def softened(self) -> bool:
        """Whether the root's own policy temperature is in its priors."""
        return bool(self._marks.item(self.root) & SOFTENED)

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
        beside: list[NDArray[Any]] = [self.nodes, *(self.ownerships or ())]
        if self.positions is not None:
            beside += [self.positions.keys, self.positions.others]
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
