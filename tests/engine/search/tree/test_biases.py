"""Subtree value bias correction: against the plain search, and what a tree that is kept remembers of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.params import SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.selfplay.games import SelfPlayConfig
from az_engine.engine.search.tree.recycling import keep
from az_engine.engine.search.tree.results import RootView

from ..pure_net import pure_net
from ..reference_search import ReferenceSearch
from ..test_search import assert_same_tree, search_of

GO = get_game("go5")
CORRECTING = SearchParams(subtree_bias=0.6, mate_plies=0)


def correcting_search(visits: int) -> Search:
    return search_of(GO, GO.initial(), pure_net(GO.num_actions), CORRECTING, 4, visits)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_that_were_corrected_beyond_their_bounds_are_shown_within(sign: float) -> None:
    search = correcting_search(50)
    nodes = search.tree.nodes
    nodes["w"] = sign * 1.0001 * nodes["n"]
    lines = RootView(GO, search.tree, GO.initial()).lines(30)
    assert {line.wdl.value for line in lines if line.visits} == {-sign}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("solver", [True, False])
def test_same_tree_as_the_reference(batch: int, solver: bool) -> None:
    params, function = replace(CORRECTING, solver=solver), pure_net(GO.num_actions)
    search = search_of(GO, GO.initial(), function, params, batch, 600)
    reference = ReferenceSearch(GO, GO.initial(), function, params, batch)
    reference.run(600)
    assert_same_tree(search, reference)
    biases = search.tree.biases
    assert biases is not None
    assert len(reference.errors) > 100
    for pattern, sums in reference.errors.items():
        assert biases.table[pattern] == pytest.approx(sums, abs=1e-4)
    assert np.abs(biases.notes["bias"]).max() > 0.3


def test_without_a_factor_nothing_is_corrected() -> None:
    plain = copy.copy(GO)
    vars(plain).update(encoder=replace(GO.encoder, knows_patterns=False))
    searches = [
        search_of(game, GO.initial(), pure_net(GO.num_actions), SearchParams(mate_plies=0), 4, 400)
        for game in (GO, plain)
    ]
    first, second = (search.tree.nodes[: search.tree.counters[0]] for search in searches)
    assert searches[0].tree.biases is not None
    assert not searches[0].tree.biases.table.any()
    assert searches[1].tree.biases is None
    assert (first == second).all()
    assert (correcting_search(400).tree.nodes[:400]["w"] != first[:400]["w"]).any()


def test_a_kept_tree_forgets_most_of_what_dropped_nodes_have_said() -> None:
    tree = correcting_search(600).tree
    assert tree.biases is not None
    biases, before, notes = tree.biases, tree.biases.table.copy(), tree.biases.notes.copy()
    nodes = tree.nodes[: tree.counters[0]].copy()
    base = int(tree.children_of(0)[0]["child"][0])
    below = [base]
    for i in range(base + 1, len(nodes)):
        if nodes["parent"][i] in below:
            below.append(i)
    assert 20 < len(below) < len(nodes) / 2
    tree.root = base
    keep(tree, base)
    assert np.array_equal(biases.notes[: len(below)], notes[below])
    assert not biases.notes[len(below) :]["pattern"].any()
    told = np.zeros_like(before)
    for note in notes[below]:
        told[note["pattern"]] += note["error"], note["weight"]
    assert biases.table == pytest.approx(told + 0.2 * (before - told), abs=1e-5)
    tree.clear()
    assert not biases.table.any()


def pattern_after(moves: Sequence[str]) -> int:
    game = get_game("go9")
    line = game.initial()
    for text in moves:
        line = game.play(line, game.parse_move(line, text))
    states, leaves = game.encoder.leaf_after(line)
    game.encoder.describe(states, leaves, 1, 1, 0)
    return int(leaves.rows["pattern"][0])


def test_patterns() -> None:
    assert pattern_after([]) == 0
    one = pattern_after(["A1", "J9", "C7", "D7"])
    assert one > 0
    assert pattern_after(["A2", "J8", "C7", "D7"]) == one  # far away
    assert pattern_after(["A1", "J9", "D7", "C7"]) != one  # the other move
    assert pattern_after(["A1", "J9", "C6", "D7"]) != one  # another move before
    assert pattern_after(["E8", "J9", "C7", "D7"]) != one  # two points away
    assert pattern_after(["J9", "E8", "C7", "D7"]) != pattern_after(["E8", "J9", "C7", "D7"])  # of the other colour
    assert pattern_after(["A1", "C7", "D7"]) != one  # the other side has moved
    taken, free = ["D8", "C8", "E7", "A1", "C7", "D7"], ["D8", "C8", "A2", "A1", "C7", "D7"]
    assert pattern_after(taken) != pattern_after(free)
    assert pattern_after(["A1", "pass"]) > 0


def test_self_play_does_not_correct() -> None:
    with pytest.raises(OptionError, match=r"leave search\.subtree_bias at 0"):
        SelfPlayConfig(search=CORRECTING)
