"""A tree that recycles itself: the same as the plain reference's, and sound whatever happens meanwhile."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.nets.evaluator import Evaluator, UniformEvaluator
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.params import SearchParams, paper_params
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.nodes import EDGES, MOST_EDGES, MOST_NODES, NODES, TAIL, UNITS, TreeArrays
from az_engine.engine.search.tree.ownership import Averages
from az_engine.engine.search.tree.recycling import recycle
from az_engine.engine.search.tree.results import RootView
from az_engine.engine.search.tree.tree import Tree

from ....fakes.evaluator import FunctionEvaluator
from ...games.chess.naive_mates import mates
from ..pure_net import pure_net
from ..reference_graph import ReferenceGraph
from ..reference_search import ReferenceSearch
from ..test_search import assert_same_tree
from ..tree_game import TreeGame
from .test_transpositions import CHESS, NET, POSITIONS, assert_same_graph, key_of, line_of, searched
from .test_transpositions import check as check_graph

OWN = get_game("chess")
FILED = SearchParams(mate_plies=0, policy_temperature=1.35)


def small_tree(nodes: int, edges: int) -> Tree:
    """A tree with less memory than is any use."""
    tree = Tree(1 << 20)
    tree.nodes, tree.edges = tree.nodes[:nodes], tree.edges[:edges]
    tree.counters[MOST_NODES:] = 0
    tree.arrays = TreeArrays(tree.nodes[None], tree.edges[None], tree.counters[None])
    return tree


def counted(search: Search) -> list[int]:
    """How many nodes each recycling of a search leaves, filled in as it runs."""
    left, make_room = list[int](), search._make_room

    def make_room_and_count() -> bool:
        full = search.tree.full
        made = make_room()
        if full:
            left.append(int(search.tree.counters[NODES]))
        return made

    search._make_room = make_room_and_count  # type: ignore[method-assign]
    return left


def check(tree: Tree) -> None:
    """The order of nodes, the tiling of edges, and that nothing is on its way."""
    nodes = tree.nodes[: int(tree.counters[NODES])]
    assert not nodes["in_flight"].any()
    assert (nodes["parent"][1:] < np.arange(1, len(nodes))).all()
    assert nodes["parent"][0] == -1
    owners = np.flatnonzero(nodes["first_edge"] >= 0)
    owners = owners[np.argsort(nodes["first_edge"][owners])]
    begins = nodes["first_edge"][owners].astype(np.int64)
    ends = begins + nodes["edges"][owners]
    assert (begins[1:] >= ends[:-1]).all()  # between them are those that their nodes left
    assert not len(ends) or int(tree.counters[EDGES]) >= ends[-1]
    seen = 1
    for owner in owners.tolist():
        edges, children = tree.children_of(owner)
        assert (children["parent"] == owner).all()
        assert len(edges) > len(children) or not nodes["marks"][owner] & TAIL
        assert (edges["child"][len(children) :] == -1).all()
        seen += len(children)
    assert seen == len(nodes)


@pytest.mark.parametrize("batch", [1, 4, 16])
@pytest.mark.parametrize("seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (6, 7))])
def test_same_tree_as_the_reference_on_made_up_games(seed: int, batch: int) -> None:
    game, rng = TreeGame(seed, depth=7, stop=0.02, width=5), random.Random(seed)
    function = pure_net(game.num_actions, wdl=True, seed=seed)
    params = [replace(paper_params("az"), solver=False), SearchParams(solver=False, mate_plies=0)][seed % 2]
    memory, lines = (rng.randint(60, 120), rng.randint(100, 400)), rng.choice([1, 2, 5])
    tree = small_tree(*memory)
    scope = Scope(lines=lines, batch_size=batch)
    search = Search(game, tree, FunctionEvaluator(function, batch, 1), params, game.initial(), visits=1500, scope=scope)
    left = counted(search)
    search.run(lambda: False)
    assert search.error is None
    reference = ReferenceSearch(game, game.initial(), function, params, batch, memory=memory, lines=lines)
    reference.run(1500)
    assert tree.nodes[0]["n"] == search.simulations == 1500
    assert len(left) == reference.recycled > 1
    assert max(left) < memory[0]
    assert_same_tree(search, reference)
    check(tree)


@pytest.mark.parametrize("batch", [1, 8])
def test_same_tree_as_the_reference_on_chess(batch: int) -> None:
    line, memory = OWN.parse_position(POSITIONS["middlegame"])[0], (120, 2500)
    function = pure_net(OWN.num_actions, wdl=True, seed=1)
    tree, params = small_tree(*memory), SearchParams(mate_plies=1)
    search = Search(
        OWN, tree, FunctionEvaluator(function, batch), params, line, visits=400, scope=Scope(batch_size=batch)
    )
    search.run(lambda: False)
    reference = ReferenceSearch(OWN, line, function, params, batch, mates, memory=memory)
    reference.run(400)
    assert reference.recycled > 1
    assert_same_tree(search, reference)
    check(tree)


@pytest.mark.slow
@pytest.mark.parametrize("fen", [POSITIONS["rooks"], POSITIONS["pawns"]], ids=["rooks", "pawns"])
def test_same_graph_as_the_reference(fen: str) -> None:
    """Many nodes are shared here: aliases lose their twins."""
    line, memory = line_of(fen), (400, 3000)
    tree = small_tree(*memory)
    params = replace(FILED, solver=False)
    search = searched(line, params, 2500, tree)
    reference = ReferenceGraph(CHESS, line, NET.evaluate, params, key_of, mates, memory)
    reference.run(2500)
    assert reference.recycled > 3
    assert search.simulations == tree.nodes[0]["n"] == 2500
    assert assert_same_graph(tree, reference, recycled=True) > 10
    check(tree)


@pytest.mark.slow
def test_a_graph_stays_sound() -> None:
    """Nine nodes of ten are shared; the least Hash there is."""
    line, tree = line_of(POSITIONS["pawns"]), Tree(1)
    search = searched(line, SearchParams(mate_plies=1), 60_000, tree, workers=2)
    assert search.simulations == tree.nodes[0]["n"] == 60_000
    check(tree)
    nodes, aliases = check_graph(tree, line, fresh=False)
    assert nodes == int(tree.counters[NODES])
    assert aliases > 5
    assert tree.positions is not None
    held = tree.positions.places[tree.positions.places > 0]
    assert (tree.nodes["first_edge"][held] >= -1).all()
    assert (tree.positions.keys[held] != 0).all()
    assert (held < int(tree.counters[NODES])).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_in_flight_follow_their_nodes(workers: int) -> None:
    tree = small_tree(1024, 30_000)
    search = Search(
        OWN, tree, UniformEvaluator(OWN), SearchParams(), OWN.initial(), visits=20_000, scope=Scope(workers=workers)
    )
    left = counted(search)
    search.run(lambda: False)
    assert search.error is None
    assert search.simulations == tree.nodes[tree.root]["n"] == 20_000
    assert not search.flying
    assert len(left) > 10
    check(tree)
    edges, children = tree.children_of(tree.root)
    assert len(edges) == 20
    assert children["n"].sum() == 20_000 - 1


def test_leaves_in_flight_are_kept_and_followed() -> None:
    """As when another worker recycles the tree while a batch is evaluated."""
    tree = Tree(1)
    search = Search(OWN, tree, UniformEvaluator(OWN), SearchParams(), OWN.initial(), visits=900)
    search.run(lambda: False)
    stepper: Any = search.stepper()
    search.visits, batch = 1_000, stepper._batch
    count, _ = batch.select(search.puct, tree.root, 8, 8)
    assert count > 1

    def paths() -> list[list[int]]:
        """The moves that lead to the leaves of the batch, read from the tree."""
        found = []
        for leaf in batch.leaves.rows["node"][:count].tolist():
            node, moves = leaf, list[int]()
            while node != tree.root:
                parent = int(tree.nodes[node]["parent"])
                edges, _ = tree.children_of(parent)
                moves.insert(0, int(edges["move"][int(np.flatnonzero(edges["child"] == node)[0])]))
                node = parent
            found.append(moves)
        return found

    before, size = paths(), int(tree.counters[NODES])
    kept = recycle(tree, 1)
    assert kept is not None
    batch.follow(kept)
    assert int(tree.counters[NODES]) < size
    assert paths() == before
    assert batch.evaluate(count, search.evaluator) is None
    made = batch.expand()
    assert tree.nodes[tree.root]["n"] == 900 + made
    check(tree)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["chess", "shogi"])
def test_the_search_makes_as_many_simulations_as_it_is_given(name: str, workers: int) -> None:
    game = get_game(name)
    net = load_evaluator("", game)
    line, tree = game.initial(), Tree(1)
    for visits in (10_001, 3_000):  # the second search begins with a full tree
        before = int(tree.nodes[tree.root]["n"])
        search = Search(game, tree, net, SearchParams(), line, visits=visits, scope=Scope(lines=5, workers=workers))
        search.run(lambda: False)
        assert search.error is None
        assert search.simulations == visits
        assert tree.nodes[tree.root]["n"] == before + visits
        check(tree)
        lines = RootView(game, tree, line).lines(5)
        assert len(lines) == 5
        assert all(len(shown.pv) > 1 for shown in lines)
        for shown in lines:
            here: State = line
            for text in shown.pv:
                here = game.play(here, game.parse_move(here, text))


@pytest.mark.parametrize(("game", "net", "visits"), [(CHESS, NET, 4_000), (OWN, UniformEvaluator(OWN), 1_500)])
def test_unvisited_edges_are_cut_off_without_loss(game: Game, net: Evaluator, visits: int) -> None:
    """Where that makes enough room, the tree is the one that unbounded memory gives."""
    trees, recycled = [small_tree(8_000, edges) for edges in (100_000, 4 * visits)], list[int]()
    for tree in trees:
        search = Search(
            game, tree, net, SearchParams(), game.initial(), visits=visits, scope=Scope(batch_size=1, lines=3)
        )
        recycled = counted(search)
        search.run(lambda: False)
        assert search.error is None
        check(tree)
    whole, bounded = trees
    assert len(recycled) > 1
    assert int(bounded.counters[NODES]) == int(whole.counters[NODES])
    fields = ["w", "d", "n", "parent", "children", "plies", "net_value", "bound", "terminal"]
    nodes = [tree.nodes[fields][: int(tree.counters[NODES])] for tree in trees]
    assert (nodes[0] == nodes[1]).all()
    cut = (bounded.nodes["marks"][: len(nodes[1])] & TAIL) > 0
    assert 0.2 < cut.mean() < 1
    assert not bounded.nodes["marks"][0]


def test_the_reported_lines_stay() -> None:
    tree = Tree(1 << 22)
    search = searched(CHESS.initial(), FILED, 8_000, tree)
    view = RootView(search.game, tree, CHESS.initial())
    before = view.lines(3)
    stats = view.move_stats(FILED)
    tree.nodes, tree.edges, tree.counters[UNITS:] = tree.nodes[:8_000], tree.edges[:100_000], 0
    tree.counters[MOST_EDGES] = 100_000
    recycle(tree, 3)
    assert int(tree.counters[NODES]) <= 4_800
    assert view.lines(3) == before
    assert view.move_stats(FILED) == stats
    assert min(len(line.pv) for line in before) > 3


def test_how_the_game_ends_follows() -> None:
    """Ownership, score and the errors of the net, of a Go tree too small for its search."""
    game = get_game("go9")
    net = load_evaluator("", game)
    line, tree = game.initial(), small_tree(500, 12_000)
    scope = Scope(ownership=True)
    search = Search(game, tree, net, SearchParams(subtree_bias=0.3), line, visits=400, scope=scope)
    search.run(lambda: False)
    assert search.error is None
    assert tree.ownerships is not None
    before = Averages(tree).root()
    known = {
        path: tree.ownerships.owners[node].copy()
        for path, node in paths_of(tree).items()
        if tree.ownerships.known[node]
    }
    notes = {path: tree.biases.notes[node].copy() for path, node in paths_of(tree).items()} if tree.biases else {}
    recycle(tree, 1)
    after = paths_of(tree)
    assert 10 < len(after) < len(known)
    for path, node in after.items():
        assert bool(tree.ownerships.known[node]) == (path in known)
        if path in known:
            assert (tree.ownerships.owners[node] == known[path]).all()
        if tree.biases:
            assert tree.biases.notes[node] == notes[path]
    assert not tree.ownerships.known[int(tree.counters[NODES]) :].any()
    estimate = Averages(tree).root()
    assert before is not None
    assert estimate is not None
    assert estimate.score == pytest.approx(before.score, abs=3.0)
    search = Search(game, tree, net, SearchParams(subtree_bias=0.3), line, visits=1_000, scope=scope)
    search.run(lambda: False)
    assert search.error is None
    assert tree.nodes[0]["n"] == 1_400
    check(tree)


def paths_of(tree: Tree) -> dict[tuple[int, ...], int]:
    """{moves from the root: node}."""
    found: dict[tuple[int, ...], int] = {(): tree.root}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        path = waiting.pop()
        edges, children = tree.children_of(found[path])
        for edge in edges[: len(children)]:
            found[(*path, int(edge["move"]))] = int(edge["child"])
            waiting.append((*path, int(edge["move"])))
    return found


def test_proofs_stay() -> None:
    line = OWN.parse_position("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1")[0]
    tree = Tree(1)
    search = Search(OWN, tree, UniformEvaluator(OWN), SearchParams(), line, visits=3_000)
    search.run(lambda: False)
    before = RootView(OWN, tree, line).lines(1)
    assert before[0].mate == 2
    proofs = {tuple(moves) for moves in tree.proofs.values()}
    recycle(tree, 1)
    assert tree.bound != RUNNING
    assert {tuple(moves) for moves in tree.proofs.values()} == proofs
    assert RootView(OWN, tree, line).lines(1) == before


def test_no_recycling_is_begun_that_would_be_late() -> None:
    tree = Tree(1)
    search = Search(CHESS, tree, NET, FILED, CHESS.initial())
    recycled, watched = counted(search), list[int]()
    search.left = lambda: 1e-5 if recycled else 1.0

    def watch() -> bool:
        watched.append(search.simulations)
        return len(watched) - watched.index(watched[-1]) > 3  # waits, and looks at the clock meanwhile

    search.run(watch)
    assert search.error is None
    assert search.simulations == tree.nodes[0]["n"] > 1_000
    assert tree.full
    again = Search(CHESS, tree, NET, FILED, CHESS.initial())
    again.left = lambda: 1e-5
    again.run(lambda: again.simulations > 0)
    assert again.simulations > 0
    check(tree)


def test_a_recycling_that_is_given_up_changes_nothing() -> None:
    tree = searched(CHESS.initial(), FILED, 5_000, Tree(1 << 22)).tree
    used = int(tree.counters[NODES]), int(tree.counters[EDGES])
    before = tree.nodes[: used[0]].copy(), tree.edges[: used[1]].copy(), tree.counters.copy()
    assert recycle(tree, 1, lambda: True) is None
    after = tree.nodes[: used[0]], tree.edges[: used[1]], tree.counters
    assert all((old == new).all() for old, new in zip(before, after, strict=True))


def test_a_damaged_net_in_the_middle_of_a_recycling_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker's evaluation fails while the other recycles the tree."""
    sound, recycled = pure_net(OWN.num_actions, wdl=True), list[int]()
    waiting, begun, failed = threading.Event(), threading.Event(), threading.Event()
    first, deciding = threading.Lock(), threading.Lock()  # the first: of the worker that fails; the other must not wait

    def damaged(planes: Any) -> Any:
        logits, values = sound(planes)
        if len(recycled) < 3 or not first.acquire(blocking=False):
            return logits, values
        waiting.set()
        begun.wait(1.0)
        with deciding:
            if not begun.is_set():  # the other worker finds no leaf but these: another batch may do
                waiting.clear()
                first.release()
                return logits, values
        failed.set()
        return logits, values * np.float32(np.nan)

    def recycle_meanwhile(*arguments: Any) -> Any:
        with deciding:
            if waiting.is_set():
                begun.set()
        if begun.is_set():
            assert failed.wait(60.0)
        return recycle(*arguments)

    monkeypatch.setattr("az_engine.engine.search.search.recycle", recycle_meanwhile)
    tree = small_tree(200, 10_000)
    search = Search(OWN, tree, FunctionEvaluator(damaged, 8), SearchParams(), OWN.initial(), scope=Scope(workers=2))
    recycled = counted(search)
    search.run(lambda: False)
    assert failed.is_set()
    assert isinstance(search.error, NetError)
    assert search.simulations == tree.nodes[0]["n"]
    check(tree)


def test_a_stop_beside_recyclings_ends_the_search() -> None:
    tree = Tree(1)
    search = Search(CHESS, tree, NET, FILED, CHESS.initial(), scope=Scope(workers=2))
    recycled = counted(search)
    search.run(lambda: len(recycled) > 20)
    assert search.error is None
    assert search.simulations == tree.nodes[0]["n"] > 5_000
    check(tree)
