"""Score utility: against the plain search; it changes what is searched, not how chances are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.nets.evaluator import Extra, Output, Planes
from az_engine.engine.params import SearchParams
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.selfplay.games import SelfPlayConfig
from az_engine.engine.search.tree.recycling import keep, recycle
from az_engine.engine.search.tree.results import RootView
from az_engine.engine.search.tree.tree import Tree

from ....fakes.evaluator import FunctionEvaluator
from ..pure_net import pure_net
from ..reference_search import ReferenceSearch
from ..test_search import assert_same_tree

GO = get_game("go5")
LEADING = SearchParams(score_utility=0.4, mate_plies=0)
FUNCTION = pure_net(GO.num_actions)


def leads_of(planes: Planes) -> NDArray[np.float32]:
    """A lead on the board between -12 and 12 for each position, as good as random."""
    return 12 * np.asarray(FUNCTION(np.ascontiguousarray(planes[:, ::-1]))[1][:, 0], np.float32)


class TellingEvaluator(FunctionEvaluator):
    """Tells leads, too."""

    extra = ("score",)

    def evaluate_all(self, planes: Planes, slot: int = 0) -> tuple[*Output, *Extra]:
        return *self.evaluate(planes, slot), None, leads_of(planes)


def search_of(
    params: SearchParams, batch: int, visits: int, cache: PositionCache | None = None, memory: int = 1 << 24
) -> Search:
    tree, net = Tree(memory), TellingEvaluator(FUNCTION, batch, GO.history)
    window, scope = GO.window(GO.initial()), Scope(batch_size=batch)
    search = Search(GO, tree, net, params, window, visits=visits, cache=cache, scope=scope)
    search.run(lambda: False)
    assert search.error is None
    return search


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("solver", [True, False])
def test_same_tree_as_the_reference(batch: int, solver: bool) -> None:
    params = replace(LEADING, solver=solver)

    def told(planes: Planes) -> tuple[NDArray[np.float32], ...]:
        return *FUNCTION(planes), leads_of(planes)

    reference = ReferenceSearch(GO, GO.initial(), told, params, batch)
    reference.run(600)
    cache = PositionCache(1 << 22)
    for _ in range(2):  # the second time everything comes from the cache
        search = search_of(params, batch, 600, cache)
        assert_same_tree(search, reference)
        assert float(search.tree.nodes[0]["s"]) == pytest.approx(reference.root.s, abs=1e-3)
        assert abs(reference.root.s) > 1


def test_chances_are_those_of_the_values_alone() -> None:
    search = search_of(LEADING, 4, 600)
    tree = search.tree
    view, nodes = RootView(GO, tree, GO.initial()), tree.nodes
    shown = {line.pv[0]: line.wdl.value for line in view.lines(26)}
    edges, children = tree.children_of(0)
    assert len(children) > 5
    for edge, child in zip(edges, children, strict=False):
        told = shown[GO.format_moves(GO.initial()[-1], [int(edge["move"])])[0]]
        assert told == pytest.approx(-child["w"] / child["n"], abs=1e-6)
    for i in range(int(tree.counters[0])):  # each node's W is what its subtree's values come to
        edges, children = tree.children_of(i)
        if nodes[i]["bound"] == -2 or not len(children):
            continue
        if not children["n"].sum() or nodes[i]["n"] != children["n"].sum() + 1:
            continue
        assert nodes[i]["w"] == pytest.approx(nodes[i]["net_value"] - children["w"].sum(), abs=1e-4)
        assert nodes[i]["s"] + children["s"].sum() == pytest.approx(
            LEADING.score_utility * (np.tanh(lead_at(tree, i) / 8) - nodes[i]["net_value"]), abs=1e-4
        )


def lead_at(tree: Tree, node: int) -> float:
    assert tree.ownerships is not None
    return float(tree.ownerships.scores[node])


def test_without_it_leads_count_for_nothing() -> None:
    plain, telling = (search_of(SearchParams(mate_plies=0, score_utility=share), 4, 400) for share in (0.0, 0.4))
    assert not plain.tree.nodes["s"][: plain.tree.counters[0]].any()
    visits = [search.tree.children_of(0)[1]["n"].tolist() for search in (plain, telling)]
    assert visits[0] != visits[1]


def test_a_kept_tree_keeps_it() -> None:
    tree = search_of(LEADING, 4, 600).tree
    base = int(tree.children_of(0)[0]["child"][0])
    before = float(tree.nodes[base]["s"])
    tree.root = base
    keep(tree, base)
    assert tree.nodes[0]["s"] == before != 0


def test_a_full_tree_keeps_it() -> None:
    tree = search_of(LEADING, 4, 1_000, memory=1 << 16).tree
    before, nodes = int(tree.counters[0]), tree.nodes.copy()
    assert before > 990, "it has not been full before"
    kept = recycle(tree, 1)
    assert kept is not None
    assert 20 < int(tree.counters[0]) < before
    places = kept.places(np.arange(before))
    stay = places >= 0
    assert stay.sum() == tree.counters[0]
    for field in ("w", "n", "s", "net_value"):
        assert np.array_equal(tree.nodes[field][places[stay]], nodes[field][:before][stay]), field


def test_self_play_learns_from_results() -> None:
    with pytest.raises(OptionError, match=r"leave search\.score_utility at 0"):
        SelfPlayConfig(search=LEADING)
