"""A search looked at while it grows: the most visited states after so many simulations (AlphaZero 2018, Figure 4)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...engine.errors import OptionError
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.nets.weights import load_evaluator
from ...engine.params import SearchParams
from ...engine.search.cache import PositionCache
from ...engine.search.search import Search
from ...engine.search.tree import Tree

_NODE, _EDGE, _SPARE = 64, 8, 2  # bytes; twice what a typical position needs


@dataclass(frozen=True, slots=True)
class SeenState:
    """One state of a tree. The root has no move and parent -1."""

    move: str  # that leads to it
    parent: int  # its place among the snapshot's states
    depth: int  # plies below the root
    visits: int  # N
    share: float  # of the root's visits
    value: float  # expected points of the first player (white, black in shogi and Go), 0 to 100


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


def grow(
    game: Game, line: State, net: str, params: SearchParams, simulations: Sequence[int], *, states: int = 10
) -> Iterator[Snapshot]:
    """Search on and on, and look at the tree after each number of ``simulations``, rising. BLOCKS.

    Ends early when the root's result is proven. net: as EngineOptions.weights_file. Errors: NetError; OptionError when
    the game is over.
    """
    if game.outcome(line) != RUNNING:
        raise OptionError("the game is over in this position; there is nothing to search")
    evaluator = load_evaluator(net, game)
    each = _SPARE * int(_NODE + _EDGE * game.branching)
    tree = Tree(each * max(simulations) + (1 << 20), game.branching)
    cache = PositionCache(64 << 20, game.branching) if evaluator.info is not None else None
    done = 0
    for wanted in simulations:
        search = Search(game, tree, evaluator, params, game.window(line), cache=cache, visits=wanted - done)
        search.run(lambda: False)
        if search.error is not None:
            raise search.error
        done += search.simulations
        yield look(game, tree, line, done, states)
        if tree.full or search.proven:
            return


def look(game: Game, tree: Tree, line: State, simulations: int, most: int) -> Snapshot:
    """The ``most`` most visited states below the root, as they are now."""
    nodes = tree.nodes
    root = nodes[tree.root]
    total = max(int(root["n"]), 1)
    first_to_move = game.side_to_move(line[-1]) == 0
    shown: list[SeenState] = []
    # entries: (-visits, order of discovery, node, parent's place, the line to the parent, move)
    waiting: list[tuple[int, int, int, int, State, int]] = [(-total, 0, tree.root, -1, line, -1)]
    found = 1
    while waiting and len(shown) <= most:
        _, _, node, parent, before, move = heapq.heappop(waiting)
        here = before if move < 0 else game.play(before, move)
        depth = len(here) - len(line)
        visits = int(nodes[node]["n"])
        mean = float(nodes[node]["w"]) / max(visits, 1)  # the view of the side to move there
        own = mean if first_to_move == (depth % 2 == 0) else -mean
        text = "" if move < 0 else game.format_move(before[-1], move)
        place = len(shown)
        shown.append(SeenState(text, parent, depth, visits, visits / total, 50 * (1 + own)))
        edges, children = tree.children_of(node)
        for edge, child in zip(edges, children, strict=False):  # the first edges have the children
            if child["n"]:
                entry = (-int(child["n"]), found, int(edge["child"]), place, here, int(edge["move"]))
                heapq.heappush(waiting, entry)
                found += 1
    return Snapshot(simulations, tuple(shown))
