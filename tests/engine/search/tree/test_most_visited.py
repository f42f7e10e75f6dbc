"""The states inside a search against a brute-force count over the whole tree."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.most_visited import look
from az_engine.engine.search.tree.nodes import EDGES, NODES
from az_engine.engine.search.tree.tree import Tree

SEED = 1123
Path = tuple[str, ...]


def random_line(game: Game, plies: int, seed: int) -> State:
    """A game of random moves that is not over."""
    rng, line = random.Random(seed), game.initial()
    for _ in range(plies):
        line = game.play(line, rng.choice(game.legal_moves(line).tolist()))
    return line


def count_paths(game: Game, tree: Tree, line: State) -> dict[Path, tuple[int, float, str]]:
    """(visits, value of the first player 0 to 100, position) of every visited state, by the moves that lead to it.

    Each node of the array climbs to the root by its parents; no child is looked up from above.
    """
    nodes, edges = tree.nodes, tree.edges[: tree.counters[EDGES]]
    moves = {int(edge["child"]): int(edge["move"]) for edge in edges if edge["child"] >= 0}
    found: dict[Path, tuple[int, float, str]] = {}
    for node in range(int(tree.counters[NODES])):
        climbed, at = list[int](), node
        while at not in (tree.root, -1):
            climbed.append(moves[at])
            at = int(nodes[at]["parent"])
        if at < 0 or not nodes[node]["n"]:
            continue
        here, path = line, list[str]()
        for move in reversed(climbed):
            path.append(game.format_move(here[-1], move))
            here = game.play(here, move)
        visits, mean = int(nodes[node]["n"]), float(nodes[node]["w"] / nodes[node]["n"])
        own = mean if game.side_to_move(here[-1]) == 0 else -mean
        found[tuple(path)] = visits, 50 + 50 * own, game.format_position(here[-1])
    return found


@pytest.mark.parametrize("plies", [0, 7])
@pytest.mark.parametrize("name", ["chess", "shogi", "go5"])
def test_the_most_visited_states_are_those_of_a_count_over_the_tree(name: str, plies: int) -> None:
    game = get_game(name)
    line = random_line(game, plies, SEED)
    tree = Tree(16 << 20)
    for visits in (1, 60, 900):  # the last two go on in the same tree
        search = Search(game, tree, UniformEvaluator(game), SearchParams(), game.window(line), visits=visits)
        search.run(lambda: False)
        assert search.error is None
        counted = count_paths(game, tree, line)
        states = look(game, tree, line, visits, 10).states
        below = sorted((row[0] for path, row in counted.items() if path), reverse=True)
        assert [state.visits for state in states[1:]] == below[:10]
        assert (states[0].visits, states[0].move, states[0].parent) == (counted[()][0], "", -1)
        for state in states:
            path, at = list[str](), state
            while at.parent >= 0:
                path.insert(0, at.move)
                at = states[at.parent]
            seen, value, position = counted[tuple(path)]
            assert (state.visits, state.depth, state.position) == (seen, len(path), position)
            assert state.value == pytest.approx(value)
            assert state.share == pytest.approx(seen / counted[()][0])
        assert max(Counter(states).values()) == 1


def test_visits_of_a_node_are_one_more_than_those_below_it() -> None:
    """So the count is of simulations, none twice."""
    game = get_game("go5")
    line = game.initial()
    tree = Tree(16 << 20)
    Search(game, tree, UniformEvaluator(game), SearchParams(), game.window(line), visits=900).run(lambda: False)
    counted = count_paths(game, tree, line)
    inner = {path: row[0] for path, row in counted.items() if any(other[:-1] == path and other for other in counted)}
    for path, visits in list(inner.items())[:50]:
        below = sum(row[0] for other, row in counted.items() if other and other[:-1] == path)
        assert visits == below + 1
    assert np.sum([row[0] for path, row in counted.items() if len(path) == 1]) == counted[()][0] - 1


def test_values_stay_within_0_and_100_where_corrections_reach_beyond() -> None:
    """As ``SubtreeBias`` may have them."""
    game = get_game("go5")
    tree, line = Tree(1 << 22), game.initial()
    Search(game, tree, UniformEvaluator(game), SearchParams(), line, visits=60).run(lambda: False)
    tree.nodes["w"][:60] = 1.2 * tree.nodes["n"][:60]
    assert {state.value for state in look(game, tree, line, 60, 50).states} == {0.0, 100.0}
