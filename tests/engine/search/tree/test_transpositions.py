"""Transpositions: the search with aliases against the plain reference, and what is promised of them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.limits import Limits
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import EngineOptions, SearchParams, paper_params
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.nodes import FULL, NODES, RECYCLED, TAIL, follow
from az_engine.engine.search.tree.recycling import keep
from az_engine.engine.search.tree.results import RootView
from az_engine.engine.search.tree.tree import Tree

from ...games.chess.naive_mates import mates
from ..reference_graph import ReferenceGraph
from ..reference_search import Node

CHESS = get_game("chess").using("sparse")
NET = load_evaluator("", CHESS)
ROOKS = "8/5pk1/4p1p1/3pP2p/1p1P3P/1P3PP1/1rR3K1/8 w - - 0 40"
POSITIONS = {
    "rooks": ROOKS,
    "pawns": "8/2p2k2/3p2p1/1p1P1p2/pP3P2/P1P2K2/6P1/8 w - - 0 40",
    "middlegame": "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "almost drawn": "8/8/4k3/8/2R5/4K3/8/8 w - - 93 120",
}
PARAMS = {
    "playing": SearchParams(mate_plies=1, policy_temperature=1.35),
    "no solver": SearchParams(solver=False, mate_plies=0, fpu="zero"),
}


def line_of(fen: str) -> State:
    return CHESS.parse_position(fen)[0].reshape(1)


def key_of(line: State) -> int:
    """The key of a line's last position, as the search sees it."""
    states, leaves = CHESS.encoder.leaf_after(line)
    CHESS.encoder.describe(states, leaves, 1, 1, 0)
    return int(leaves.rows["key"][0])


def searched(
    line: State, params: SearchParams, visits: int, tree: Tree | None = None, *, workers: int = 1, batch_size: int = 0
) -> Search:
    search = Search(
        CHESS,
        tree or Tree(1 << 24),
        NET,
        params,
        CHESS.window(line),
        visits=visits,
        scope=Scope(workers=workers, batch_size=batch_size),
    )
    search.run(lambda: False)
    assert search.error is None
    return search


def check(tree: Tree, line: State, *, fresh: bool = True) -> tuple[int, int]:
    """Every node below the root against the rules; (nodes, aliases).

    fresh: no alias has lost its twin, and no leaf ended a line that repeats.
    """
    positions = tree.positions
    assert positions is not None
    waiting, below, aliases = [(tree.root, line)], set[int](), list[int]()
    while waiting:
        node, here = waiting.pop()
        below.add(node)
        nd = tree.nodes[node]
        assert nd["in_flight"] == 0
        assert not nd["terminal"] or CHESS.outcome(here) == nd["bound"]
        if positions.keys[node]:
            assert int(positions.keys[node]) == key_of(here)
        if nd["first_edge"] < -1:
            aliases.append(node)
            twin = follow(tree.nodes, node)
            assert tree.nodes[twin]["first_edge"] >= -1
            assert int(positions.keys[twin]) == key_of(here)
            assert nd["edges"] == nd["children"] == 0
            continue
        edges, children = tree.children_of(node)
        if not len(edges):
            continue
        moves, legal = set(edges["move"].tolist()), set(CHESS.legal_moves(here).tolist())
        assert len(moves) == len(edges)
        assert moves < legal if nd["marks"] & TAIL else moves == legal
        if nd["bound"] == RUNNING and fresh:
            assert children["n"].sum() + 1 >= nd["n"]  # a child may be a twin: it is visited on other ways, too
        for edge, child in zip(edges, children, strict=False):
            assert child["parent"] == node
            waiting.append((int(edge["child"]), CHESS.play(here, int(edge["move"]))))
    assert {follow(tree.nodes, alias) for alias in aliases} <= below
    return len(below), len(aliases)


def assert_same_graph(tree: Tree, reference: ReferenceGraph, *, recycled: bool = False) -> int:
    """Node by node: visits, values, proofs, children, and whose twin an alias is; returns the number of aliases.

    recycled: the tree has recycled itself; then the edges that it holds are looked at instead of draws and proofs.
    """
    assert tree.positions is not None
    pairs: list[tuple[int, Node]] = [(0, reference.root)]
    seen = aliases = 0
    while pairs:
        index, theirs = pairs.pop()
        ours, known = tree.nodes[index], reference.of(theirs)
        seen += 1
        assert int(ours["n"]) == theirs.n
        assert float(ours["w"]) == pytest.approx(theirs.w, abs=1e-3)
        if not recycled:
            assert float(ours["d"]) == pytest.approx(theirs.d, abs=1e-3)
            assert int(ours["bound"]) == (RUNNING if theirs.proven is None else theirs.proven)
        assert (ours["first_edge"] < -1) == (known.twin is not None)
        if known.twin is not None:
            aliases += 1
            assert int(tree.positions.keys[follow(tree.nodes, index)]) == known.key
        elif recycled or ours["first_edge"] >= 0:
            edges, children = tree.children_of(index)
            assert not recycled or len(edges) == theirs.held
            by_move = {edge.move: edge.child for edge in theirs.edges}
            assert len(children) == sum(child is not None for child in by_move.values())
            for edge in edges[: len(children)]:
                child = by_move[int(edge["move"])]
                assert child is not None
                pairs.append((int(edge["child"]), child))
    assert not recycled or seen == int(tree.counters[NODES])
    return aliases


@pytest.mark.slow
@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
@pytest.mark.parametrize("fen", POSITIONS.values(), ids=POSITIONS)
def test_same_graph_as_the_reference(fen: str, params: SearchParams) -> None:
    line = line_of(fen)
    search = searched(line, params, 1500)
    tree = search.tree
    reference = ReferenceGraph(CHESS, line, NET.evaluate, params, key_of, mates)
    reference.run(1500)
    aliases = assert_same_graph(tree, reference)
    assert aliases > 15
    assert check(tree, line)[1] == aliases


@pytest.mark.slow
def test_a_draw_by_repetition_ends_only_the_line_that_repeats() -> None:
    line = CHESS.parse_position("8/8/4k3/3p4/3P4/8/3QK3/7q w - - 0 1")[0]
    for move in ("e2f2", "e6d7", "f2e2", "d7e6"):
        line = CHESS.play(line, CHESS.parse_move(line, move))
    tree = searched(line, SearchParams(mate_plies=1), 20_000).tree
    assert check(tree, line, fresh=False)[1] > 500
    assert tree.nodes["terminal"][: int(tree.counters[NODES])].sum() > 5


@pytest.mark.slow
def test_more_positions_are_seen_with_as_many_simulations() -> None:
    line = line_of(POSITIONS["pawns"])
    seen = []
    for transpositions in (False, True):
        tree = searched(line, SearchParams(mate_plies=1, transpositions=transpositions), 4000).tree
        waiting, keys = [(0, line)], set[int]()
        while waiting:
            node, here = waiting.pop()
            keys.add(key_of(here))
            if tree.nodes[node]["first_edge"] >= 0:
                edges, children = tree.children_of(node)
                played = [(int(e["child"]), CHESS.play(here, int(e["move"]))) for e in edges[: len(children)]]
                waiting += played
        seen.append(len(keys))
    assert seen[1] > 1.5 * seen[0]


@pytest.mark.slow
def test_fines_position() -> None:
    """Fine, Basic Chess Endings, 70: 1 Kb1 alone wins. A tree does not see it in a million visits."""
    line = line_of("8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1")
    params = SearchParams(mate_plies=1, policy_temperature=1.35)
    search = searched(line, params, 600_000, Tree(1 << 28))
    best = RootView(CHESS, search.tree, line).lines(1)[0]
    assert best.pv[0] == "a1b1"
    assert best.wdl.value > 0.6


def test_a_tree_is_the_same_in_any_memory_that_holds_its_nodes() -> None:
    line = line_of(POSITIONS["middlegame"])
    trees = [searched(line, PARAMS["playing"], 6000, Tree(size)).tree for size in (1 << 20, 1 << 26)]
    assert trees[0].counters[FULL] == RECYCLED  # edges without a visit were dropped
    assert trees[0].counters[NODES] == trees[1].counters[NODES]
    for field in ("n", "w", "bound"):
        values = [tree.nodes[field][: tree.counters[NODES]] for tree in trees]
        assert (values[0] == values[1]).all()


@pytest.mark.slow
def test_threads_share_positions() -> None:
    line, tree = line_of(ROOKS), Tree(1 << 24)
    search = searched(line, SearchParams(mate_plies=1), 6000, tree, workers=3)
    assert search.simulations == tree.nodes[0]["n"] == 6000
    assert check(tree, line)[1] > 500


@pytest.mark.parametrize("kept", [False, True], ids=["moved", "compacted"])
def test_the_next_search_keeps_what_lies_below_its_root(kept: bool) -> None:
    params, line, tree = SearchParams(mate_plies=1), line_of(ROOKS), Tree(1 << 24)
    for _ in range(4):
        search = searched(line, params, 1000, tree)
        assert tree.nodes[tree.root]["n"] >= 1000
        check(tree, line, fresh=False)
        for _ in range(2):
            edge = RootView(CHESS, tree, line).choose(0.0, 0)
            assert edge is not None
            move = int(tree.edges[edge]["move"])
            node, line = tree.child(tree.root, move), CHESS.play(line, move)
            assert node >= 0
            tree.root = follow(tree.nodes, node)
        if kept:
            keep(tree, tree.root)
            assert int(tree.counters[NODES]) < search.simulations
    positions = tree.share_positions()
    assert check(tree, line, fresh=False)[0] > 100
    held = {int(place) for place in positions.places if place}
    below = {0} if kept else {tree.root}
    for node in range(tree.root + 1, int(tree.counters[NODES])):
        if int(tree.nodes[node]["parent"]) in below:
            below.add(node)
    assert held <= below
    tree.clear()
    assert not positions.places.any()
    assert not positions.keys.any()


def test_a_search_in_batches_goes_on_from_shared_positions() -> None:
    """As a net without kernels makes it: its nodes have no twins, and aliases are expanded."""
    line, tree = line_of(ROOKS), Tree(1 << 24)
    searched(line, SearchParams(mate_plies=1), 2000, tree)
    aliases = check(tree, line)[1]
    with mock.patch.object(NET, "compiled", None):
        search = Search(CHESS, tree, NET, SearchParams(mate_plies=1), line, visits=2000, scope=Scope(batch_size=8))
    before = int(tree.nodes[0]["n"])
    search.run(lambda: False)
    assert search.error is None
    assert before < tree.nodes[0]["n"] <= before + search.simulations
    assert not tree.nodes[: int(tree.counters[NODES])]["in_flight"].any()
    left = int((tree.nodes[: int(tree.counters[NODES])]["first_edge"] < -1).sum())
    assert left < aliases


def test_the_papers_settings_and_the_option_share_nothing() -> None:
    assert not paper_params("az").transpositions
    assert not paper_params("agz").transpositions
    tree = searched(line_of(ROOKS), SearchParams(transpositions=False), 2000).tree
    assert tree.positions is None
    assert tree.nodes[: int(tree.counters[NODES])]["first_edge"].min() == -1


def test_shogi_shares_nothing() -> None:
    """Its repetitions are no draws where one side gave check."""
    shogi = get_game("shogi")
    line, tree = shogi.initial(), Tree(1 << 24)
    net = load_evaluator("", shogi)
    search = Search(shogi, tree, net, SearchParams(), shogi.window(line), visits=500)
    search.run(lambda: False)
    assert search.error is None
    assert net.compiled is not None
    assert tree.positions is None


def test_lines_are_legal_and_games_go_on() -> None:
    engine = Engine("chess", EngineOptions(hash_mb=16, threads=2, multipv=3))
    moves: list[str] = []
    try:
        for _ in range(12):
            engine.set_position(ROOKS, moves)
            reports, answers = list[object](), list[object]()
            engine.go(Limits(nodes=4000), reports.append, answers.append)
            assert engine.wait(60.0)
            [answer] = answers
            assert answer.error is None  # type: ignore[attr-defined]
            for line in answer.lines:  # type: ignore[attr-defined]
                game, here = CHESS, line_of(ROOKS)
                for text in [*moves, *line.pv]:
                    here = game.play(here, game.parse_move(here, text))
            moves.append(answer.move)  # type: ignore[attr-defined]
    finally:
        engine.close()
    assert np.unique(moves).size > 4
