"""The search with transpositions once more, in plain Python: the oracle of test_transpositions.py.

As :mod:`reference_search`, one simulation at a time, and

- a leaf three plies or more below the root whose position a visited node outside the path has already becomes an alias:
  it is worth that node's mean, and is never expanded;
- a simulation that comes to an alias goes on at its twin, unless that is on the path: then it is a draw;
- an alias that was passed gets its twin's mean;
- a leaf that is over although there are moves, in a line that passed an alias, is not terminal: others lead there, too;
- a leaf gets its edges on its second visit, and without room for them the simulation is not made;
- where the tree recycles itself, an alias whose twin goes becomes a leaf with a value, without visits of its children,
  and takes its position over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from az_engine.engine.games.base import Game, State
from az_engine.engine.params import SearchParams

from .reference_search import DRAW, LOSS, WIN, Mates, Node, Output, ReferenceSearch

LEAST_DEPTH = 3


@dataclass(eq=False)
class Known:
    """What is known of a node beside its visits."""

    key: int = 0
    twin: Node | None = None


class ReferenceGraph(ReferenceSearch):
    def __init__(
        self,
        game: Game,
        line: State,
        evaluate: Callable[[Any], Output],
        params: SearchParams,
        key: Callable[[State], int],
        mates: Mates | None,
        memory: tuple[int, int] | None = None,
    ) -> None:
        """``key``: of a game's last position."""
        super().__init__(game, line, evaluate, params, 1, mates, memory=memory)
        self.key = key
        self.known: dict[Node, Known] = {}
        self.table: dict[int, Node] = {}
        self.path: list[Node] = []

    def of(self, node: Node) -> Known:
        return self.known.setdefault(node, Known())

    def run(self, visits: int) -> None:
        while self.simulations < visits and not self.is_over():
            if self.root.expanded:
                self.prepare_root()
            self.simulations += self.simulate()
            if self.full:
                self.recycle()

    def simulate(self) -> bool:
        """Returns whether there was room for it."""
        self.path = [self.root]
        node, depth, line = self.root, 0, self.root.line
        while True:
            known = self.of(node)
            if node.proven is not None and (node.terminal or (self.params.solver and node is not self.root)):
                self.count(float(node.proven), float(node.proven == 0))
                return True
            if known.twin is not None:
                if known.twin in self.path:
                    self.count(0.0, 1.0)
                    return True
                if self.params.solver and known.twin.proven in (LOSS, WIN):
                    node.proven = known.twin.proven
                    self.prove(node)
                    continue
                node = known.twin
                self.path.append(node)
                continue
            if not node.expanded and node.n and self.game.outcome(line) not in (LOSS, DRAW, WIN):
                node.line = line
                self.add_edges(node, self.evaluation(node)[1])
                if self.full:
                    return False
            if not node.expanded:
                break
            for at in self.path:
                at.in_flight = 1  # what the formula expects of nodes on the path
            edge = max(node.edges, key=lambda e: self.score(node, e))
            for at in self.path:
                at.in_flight = 0
            if self.lacks(node, edge):
                node.line = line
                self.add_edges(node, self.evaluation(node)[1])
                if self.full:
                    return False
            line, depth = self.game.play(line, edge.move), depth + 1
            if edge.child is None and not self.follow(node, edge, line):
                return False
            assert edge.child is not None
            node = edge.child
            self.path.append(node)
        self.judge(node, line, depth)
        return True

    def judge(self, node: Node, line: State, depth: int) -> None:
        """Evaluate a leaf in the line that led to it this time."""
        node.line = line
        outcome, priors, value, draw = self.evaluation(node)
        if outcome is None:
            known = self.of(node)
            before, known.key = known.key, self.key(line)
            found = self.table.get(known.key)
            if found is not None and found not in self.path and depth >= LEAST_DEPTH and found.n > 0:
                known.twin = found
                value, draw = found.w / found.n, found.d / found.n
            else:
                if node is self.root:
                    self.add_edges(node, priors)
                elif not before:
                    self.table[known.key] = node
        elif not self.is_of_way(line):
            node.terminal, node.proven = True, outcome
        self.count(value, draw)
        if node.terminal and self.params.solver:
            self.prove(node)

    def is_of_way(self, line: State) -> bool:
        """Whether the game has ended because of what came before, in a line that passed an alias."""
        passed = any(self.of(node).twin is after for node, after in pairwise(self.path))
        return passed and self.game.outcome(line) in (LOSS, DRAW, WIN) and len(self.game.legal_moves(line)) > 0

    def count(self, value: float, draw: float) -> None:
        """Back a value up the path; from a twin to its alias the side to move is the same."""
        for place in range(len(self.path) - 1, -1, -1):
            node = self.path[place]
            node.n += 1
            node.w += value
            node.d += draw
            twin = self.of(node).twin
            if twin is not None and twin is self.path[-1 if place + 1 == len(self.path) else place + 1]:
                node.w, node.d = twin.w / twin.n * node.n, twin.d / twin.n * node.n
            if place and self.of(self.path[place - 1]).twin is not node:
                value = -value

    def searched(self, node: Node) -> Node:
        return self.of(node).twin or node

    def recycle(self) -> None:
        super().recycle()
        kept = set(self.nodes)
        self.table = {}
        for node in self.nodes:
            known = self.of(node)
            if known.twin is not None and known.twin not in kept:
                known.twin, node.anew = None, True
            if known.key and known.twin is None and node is not self.root:
                self.table[known.key] = node
