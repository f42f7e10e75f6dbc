"""The tree's storage: packed priors, memory, and subtrees that are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import LOSS, RUNNING, WIN
from az_engine.engine.kernels.jit import kernel
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import SearchParams
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.expansion import expand
from az_engine.engine.search.tree.nodes import (
    DEPTH_MAX,
    DEPTH_SUM,
    EDGE,
    EDGES,
    MOST_NODES,
    NODE,
    NODES,
    pack_prior,
    unpack_priors,
)
from az_engine.engine.search.tree.puct import puct_params, select
from az_engine.engine.search.tree.results import RootView
from az_engine.engine.search.tree.tree import Tree

from ..reference_search import round_prior

CHESS = get_game("chess")


@kernel
def pack_into(packed: NDArray[np.uint16], priors: NDArray[np.float32]) -> None:
    for i in range(len(priors)):
        packed[i] = pack_prior(priors[i])


def pack_all(priors: NDArray[np.float32]) -> NDArray[np.uint16]:
    packed = np.empty(len(priors), np.uint16)
    pack_into(packed, priors)
    return packed


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=50))
def test_packed_priors(priors: list[float]) -> None:
    values = np.array(priors, np.float32)
    unpacked = unpack_priors(pack_all(values))
    assert unpacked.tolist() == [round_prior(value) for value in values]


def test_packed_priors_are_close_and_in_order() -> None:
    values = np.sort(np.concatenate([10 ** np.linspace(-9, 0, 20_000), [1.0, 0.5, 0.25]])).astype(np.float32)
    packed = pack_all(values)
    assert packed.dtype == np.uint16
    unpacked = unpack_priors(packed)
    assert (np.diff(packed.astype(np.int64)) >= 0).all()
    assert (np.abs(unpacked - values) <= values * 2.0**-12).all()
    assert unpacked[-1] == 1.0


def grown(memory: int, visits: int) -> Tree:
    tree = Tree(memory)
    search = Search(CHESS, tree, UniformEvaluator(CHESS), SearchParams(), CHESS.initial(), visits=visits)
    search.run(lambda: False)
    assert search.error is None
    return tree


@pytest.mark.parametrize("megabytes", [1, 16])
def test_memory_is_bounded(megabytes: int) -> None:
    tree = Tree(megabytes << 20)
    search = Search(CHESS, tree, UniformEvaluator(CHESS), SearchParams(), CHESS.initial())
    search.run(lambda: tree.full)
    used = int(tree.counters[NODES]) * (NODE.itemsize + 16) + int(tree.counters[EDGES]) * EDGE.itemsize
    assert 0.98 < used / (megabytes << 20) <= 1.0
    assert tree.used > 0.98


def test_records_are_small() -> None:
    assert NODE.itemsize <= 56
    assert EDGE.itemsize == 8
    tree = grown(64 << 20, 20_000)
    used = int(tree.counters[NODES]) * NODE.itemsize + int(tree.counters[EDGES]) * EDGE.itemsize
    assert used / int(tree.counters[NODES]) < 370


def test_edges_lie_in_the_order_of_their_priors() -> None:
    tree = grown(16 << 20, 5000)
    for node in range(0, int(tree.counters[NODES]), 7):
        edges, children = tree.children_of(node)
        assert (np.diff(edges["prior"].astype(np.int64)) <= 0).all()
        assert (edges["child"][: len(children)] >= 0).all()
        assert (edges["child"][len(children) :] == -1).all()
        assert (children["parent"] == node).all()


def test_clear() -> None:
    tree = grown(16 << 20, 1000)
    tree.clear()
    assert tree.root == 0
    assert tree.counters[:MOST_NODES].tolist() == [1, 0, 0, 0, 0]
    assert tree.counters[MOST_NODES] > 900  # memory that stays committed
    assert tree.child(0, 1) == -1
    assert tree.used < 0.001


def test_a_win_by_declaration_at_a_leaf_is_a_loss_one_move_on() -> None:
    """The side to move at a terminal leaf may have won (shogi's declaration, Go's score): its parent has lost."""
    tree = Tree(1 << 20)
    params = puct_params(SearchParams())
    leaves = CHESS.encoder.make_leaves(1, 8)
    leaves.moves[0, 0], leaves.priors[0, 0] = CHESS.parse_move(CHESS.initial()[0], "e2e4"), 1.0
    for outcome in (RUNNING, WIN):
        assert select(tree.arrays, params, 0, leaves, 1, 1) == (1, 0)
        leaves.rows["count"], leaves.rows["outcome"] = 1, outcome
        expand(tree.arrays, leaves, 1, True, None)
    root, child = tree.nodes[0], tree.nodes[1]
    assert (child["bound"], child["plies"]) == (WIN, 1)
    assert (root["bound"], root["plies"]) == (LOSS, 2)
    assert root["w"] == -1.0
    (line,) = RootView(CHESS, tree, CHESS.initial()).lines(1)
    assert line.mate == -1


def test_a_temperature_draws_other_moves_each_time_or_as_the_seed_says() -> None:
    line, tree = CHESS.initial(), Tree(1 << 22)
    Search(CHESS, tree, UniformEvaluator(CHESS), SearchParams(mate_plies=0), line, visits=400).run(lambda: False)
    view, later = (
        RootView(CHESS, tree, states) for states in (line, CHESS.play(line, int(CHESS.legal_moves(line)[0])))
    )
    assert len({view.choose(1.0, 0) for _ in range(40)}) > 3
    assert len({view.choose(1.0, 7) for _ in range(5)}) == 1
    assert len({seen.choose(1.0, seed) for seed in range(1, 9) for seen in (view, later)}) > 3, "by ply, too"
    assert {view.choose(0.0, seed) for seed in range(5)} == {view.choose(0.0, 0)}


def test_visits_of_an_analysis_of_hours_are_told() -> None:
    """More than 2^31 simulations: a fast machine makes them within hours, in positions of few pieces within one."""
    tree = grown(1 << 22, 200)
    edges, _ = tree.children_of(0)
    many = 2**31 + 5
    tree.nodes["n"][[0, edges["child"][0]]] = many + 1, many
    (line,) = RootView(CHESS, tree, CHESS.initial()).lines(1)
    assert (line.visits, line.pv_visits[0]) == (many, many)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_greatest_depth_is_that_of_the_deepest_node(compiled: bool) -> None:
    """Also where a simulation stops at a leaf, which gets its moves then, and goes on from there."""
    tree, net = Tree(1 << 24), load_evaluator("", CHESS) if compiled else UniformEvaluator(CHESS, 4)
    search = Search(CHESS, tree, net, SearchParams(transpositions=False), CHESS.initial(), visits=1000)
    search.run(lambda: False)
    assert search.error is None
    depth, parents = np.zeros(int(tree.counters[NODES]), int), tree.nodes["parent"]
    for node in range(1, len(depth)):
        depth[node] = depth[parents[node]] + 1
    visits = tree.nodes["n"][: len(depth)]
    assert tree.counters[[DEPTH_SUM, DEPTH_MAX]].tolist() == [visits[1:].sum(), depth[visits > 0].max()]
