"""The states that a search looks at most (AlphaZero 2018, Figure 4)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ...games.base import Game, State
from .tree import Tree


@dataclass(frozen=True, slots=True)
class SeenState:
    """One state of a tree. The root has no move and parent -1."""

    move: str  # that leads to it
    parent: int  # its place among the snapshot's states
    depth: int  # plies below the root
    visits: int  # N
    share: float  # of the root's visits
    value: float  # expected points of the first player (white, black in shogi and Go), 0 to 100
    position: str  # in the game's own notation


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tree after so many simulations: the root, then its most visited states, most visited first."""

    simulations: int
    states: tuple[SeenState, ...]

    @property
    def line(self) -> tuple[str, ...]:
        """The moves to the most visited state without another shown below it, by always following visits."""
        moves, at = list[str](), 0
        while below := [i for i, state in enumerate(self.states) if state.parent == at]:
            at = below[0]
            moves.append(self.states[at].move)
        return tuple(moves)


def look(game: Game, tree: Tree, line: State, simulations: int, most: int) -> Snapshot:
    """The ``most`` most visited states below the root, as they are now. Call it under the search's lock.

    line: the game up to the root; simulations: what the snapshot tells of them.
    """
    nodes = tree.nodes
    root = nodes[tree.root]
    total = max(int(root["n"]), 1)
    first_to_move = game.side_to_move(line[-1]) == 0
    shown: list[SeenState] = []
    # entries: (-visits, order of discovery, node, parent's place, the line to the parent, move)
    waiting: list[tuple[int, int, int, int, State, int]] = [(-total, 0, tree.root, -1, line, -1)]
    result = 1
    while waiting and len(shown) <= most:
        _, _, node, parent, before, move = heapq.heappop(waiting)
        reached = before if move < 0 else game.play(before, move)
        depth = len(reached) - len(line)
        visits = int(nodes[node]["n"])
        mean = float(nodes[node]["w"]) / max(visits, 1)  # the view of the side to move there
        mean = min(max(mean, -1.0), 1.0)  # a correction may reach beyond
        ours = mean if first_to_move == (depth % 2 == 0) else -mean
        text = "" if move < 0 else game.format_move(before[-1], move)
        place = len(shown)
        shown.append(
            SeenState(text, parent, depth, visits, visits / total, 50 * (1 + ours), game.format_position(reached[-1]))
        )
        edges, children = tree.children_of(node)
        for edge, child in zip(edges, children, strict=False):  # the first edges have the children
            if child["n"]:
                entry = (-int(child["n"]), result, int(edge["child"]), place, reached, int(edge["move"]))
                heapq.heappush(waiting, entry)
                result += 1
    return Snapshot(simulations, tuple(shown))
