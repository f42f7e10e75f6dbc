"""The search against the plain reference, against exact solutions, and its promises about limits and faults."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import LOSS, RUNNING, WIN
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import SearchParams, paper_params
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.puct import puct_params, select
from az_engine.engine.search.tree.recycling import keep
from az_engine.engine.search.tree.tree import Tree

from ...fakes.evaluator import FunctionEvaluator
from ..games.chess.naive_mates import mates
from .pure_net import pure_net
from .reference_search import ReferenceSearch
from .tree_game import TreeGame

CHESS = get_game("chess")
MEBIBYTE = 2**20

PLAYING = SearchParams()
PARAMS = {
    "az": paper_params("az"),
    "agz": replace(paper_params("agz"), c_puct=2.0),
    "playing": replace(PLAYING, mate_plies=3),  # the reference has no bound on what it looks at for one leaf
    "fast growing c": SearchParams(c_base=50.0, c_factor=2.5, c_puct=0.8, mate_plies=0),
    "no virtual loss": SearchParams(virtual_loss=0.0, mate_plies=0),
    "half a virtual loss": SearchParams(virtual_loss=0.5, fpu="zero", mate_plies=0),
    "hopeful": SearchParams(fpu="zero", solver=True, c_puct=3.0, mate_plies=3),
    "loss first": SearchParams(fpu="loss", solver=False),
    "hot policy": SearchParams(policy_temperature=1.8, fpu_value=0.1, fpu_root_value=0.0, mate_plies=0),
    "hot root": SearchParams(root_policy_temperature=1.7, mate_plies=0),
    "cool root": SearchParams(root_policy_temperature=0.6, solver=False),
    "mates in two": SearchParams(mate_plies=2),
}
BATCHES = [(1, 0), (3, 8), (8, 8), (16, 0), (200, 0)]  # size of the minibatch, and the ramp if not the search's own
SHORT_OF_A_GOLD = "lnsgk1snl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b G 1"
POSITIONS = {
    "start": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "mate in two": "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1",
    "mates all over": "2kr3r/ppp2ppp/2n5/2b1p3/6bq/2NP1N2/PPPQ2P1/R1B2R1K w - - 0 1",
    "promotions": "8/PPPk4/8/8/8/8/4Kppp/8 b - - 0 1",
    "almost drawn": "8/8/4k3/8/2R5/4K3/8/8 w - - 93 120",
    "middlegame": "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
}


def search_of(
    game: Game,
    line: State,
    function: Any,
    params: SearchParams,
    batch: int,
    visits: int,
    ramp: int = 0,
    cache: PositionCache | None = None,
    **scope: Any,
) -> Search:
    """A finished search of the line's last position with one worker; ramp: in place of the search's own, if not 0."""
    tree = Tree(16 * MEBIBYTE)
    search = Search(
        game,
        tree,
        FunctionEvaluator(function, batch, game.history),
        params,
        game.window(line),
        visits=visits,
        cache=cache,
        scope=Scope(batch_size=batch, **scope),
    )
    search.ramp = ramp or search.ramp
    search.run(lambda: False)
    if search.error is not None:
        raise search.error
    return search


def root_visits(search: Search) -> dict[int, int]:
    """{move: N} of the root's edges."""
    edges, nodes = search.tree.children_of(search.tree.root)
    counts = [*nodes["n"].tolist(), *[0] * (len(edges) - len(nodes))]
    return dict(zip(edges["move"].tolist(), counts, strict=True))


def assert_same_tree(search: Search, reference: ReferenceSearch) -> None:
    """Node by node: visits, values, proven outcomes, and no virtual loss left."""
    tree = search.tree
    pairs = [(tree.root, reference.root)]
    seen = 0
    while pairs:
        index, theirs = pairs.pop()
        ours = tree.nodes[index]
        seen += 1
        assert int(ours["n"]) == theirs.n
        assert float(ours["w"]) == pytest.approx(theirs.w, abs=1e-4)
        assert float(ours["d"]) == pytest.approx(theirs.d, abs=1e-4)
        assert int(ours["in_flight"]) == theirs.in_flight == 0
        assert int(ours["bound"]) == (RUNNING if theirs.proven is None else theirs.proven)
        edges, nodes = tree.children_of(index)
        assert len(nodes) == sum(edge.child is not None for edge in theirs.edges)
        by_move = {edge.move: edge for edge in theirs.edges}
        assert set(edges["move"].tolist()) == {edge.move for edge in theirs.edges[: theirs.held]}
        for edge in edges[: len(nodes)]:
            child = by_move[int(edge["move"])].child
            assert child is not None
            pairs.append((int(edge["child"]), child))
    assert seen == int(tree.counters[0])


def check_like_reference(game: Game, line: State, seed: int, setting: int, visits: int, find_mates: Any = None) -> None:
    """Of settings, seeds and minibatches every pair is tried: setting i meets seed k with minibatch i + k."""
    params, (batch, ramp) = list(PARAMS.values())[setting], BATCHES[(setting + seed) % len(BATCHES)]
    function = pure_net(game.num_actions, wdl=seed % 2 == 1, seed=seed)
    search = search_of(game, line, function, params, batch, visits, ramp)
    reference = ReferenceSearch(game, line, function, params, batch, find_mates)
    reference.ramp = ramp or reference.ramp
    reference.run(visits)
    assert root_visits(search) == reference.visits()
    assert_same_tree(search, reference)


@pytest.mark.slow
@pytest.mark.parametrize("setting", range(len(PARAMS)), ids=PARAMS.keys())
def test_same_tree_as_the_reference_on_chess(setting: int) -> None:
    for seed, fen in enumerate(POSITIONS.values()):
        check_like_reference(CHESS, CHESS.parse_position(fen)[0], seed, setting, 150, mates)


@pytest.mark.parametrize("setting", range(len(PARAMS)), ids=PARAMS.keys())
def test_same_tree_as_the_reference_on_made_up_games(setting: int) -> None:
    for seed in range(6):
        game = TreeGame(seed, depth=5)
        check_like_reference(game, game.initial(), seed, setting, 400)


@pytest.mark.parametrize("batch", [1, 4])
def test_with_several_lines_the_visits_go_on_when_the_best_move_is_proven(batch: int) -> None:
    """As the reference does; the root's outcome is known early in most of these positions."""
    beyond = 0
    for seed in range(12):
        game = TreeGame(seed, depth=5)
        function = pure_net(game.num_actions, wdl=seed % 2 == 1, seed=seed)
        search = search_of(game, game.initial(), function, PARAMS["playing"], batch, 400, lines=3)
        reference = ReferenceSearch(game, game.initial(), function, PARAMS["playing"], batch, several=True)
        reference.run(400)
        assert_same_tree(search, reference)
        children = search.tree.children_of(search.tree.root)[1]
        assert search.simulations == 400 or (children["bound"] != RUNNING).all()
        beyond += search.simulations > search_of(
            game, game.initial(), function, PARAMS["playing"], batch, 400
        ).simulations  # fmt: skip
    assert beyond >= 3


def test_with_several_lines_a_win_that_waits_for_its_value_is_the_one_that_is_kept() -> None:
    """A mate search beside the tree may prove the first move while another worker evaluates it: nothing was visited."""
    tree, params, line = Tree(MEBIBYTE), SearchParams(mate_plies=0), CHESS.initial()
    Search(CHESS, tree, UniformEvaluator(CHESS), params, line, visits=2).run(lambda: False)
    move = int(tree.children_of(0)[0]["move"][0])
    tree.root, line = tree.child(0, move), CHESS.play(line, move)
    leaves = CHESS.encoder.make_leaves(1, 1)
    assert select(tree.arrays, puct_params(params), tree.root, leaves, 1, 1) == (1, 0)
    winning = int(leaves.paths[0, 0])
    tree.settle([winning], LOSS)
    assert tree.bound == WIN
    search = Search(CHESS, tree, UniformEvaluator(CHESS), params, line, visits=20, scope=Scope(lines=2))
    search.run(lambda: False)
    assert search.error is None
    assert tree.decided == winning


def test_same_tree_with_game_history() -> None:
    """Repetitions and planes reach back before the root."""
    line = CHESS.initial()
    for text in "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1".split():
        line = CHESS.play(line, CHESS.parse_move(line[-1], text))
    function = pure_net(CHESS.num_actions, wdl=True)
    search = search_of(CHESS, line, function, PLAYING, 4, 300)
    reference = ReferenceSearch(CHESS, line, function, PLAYING, 4)
    reference.run(300)
    assert_same_tree(search, reference)
    draw = CHESS.parse_move(line[-1], "f6g8")  # the start position for the third time
    edges, nodes = search.tree.children_of(search.tree.root)
    after = nodes[edges["move"].tolist().index(draw)]
    assert (int(after["terminal"]), int(after["bound"])) == (1, 0)


def test_the_cache_changes_nothing() -> None:
    line = CHESS.parse_position(POSITIONS["middlegame"])[0]
    calls = []

    def counting(planes: Any) -> Any:
        calls.append(len(planes))
        return pure_net(CHESS.num_actions)(planes)

    plain = search_of(CHESS, line, counting, PLAYING, 8, 600)
    evaluated = sum(calls)
    cache = PositionCache(8 * MEBIBYTE)
    for share in (1.0, 0.02):  # the second time nearly all is known; one position can push another out
        calls.clear()
        cached = search_of(CHESS, line, counting, PLAYING, 8, 600, cache=cache)
        assert (cached.tree.nodes[: cached.tree.counters[0]] == plain.tree.nodes[: plain.tree.counters[0]]).all()
        assert sum(calls) <= share * evaluated


@pytest.mark.parametrize("batch", [1, 7])
def test_proven_outcomes_are_exact(batch: int) -> None:
    """Searched to the end, made-up games come out as minimax says; every bound on the way is right."""
    for seed in range(40):
        game = TreeGame(seed, depth=4, width=4, stop=0.25)
        search = search_of(game, game.initial(), pure_net(game.num_actions, seed=seed), PLAYING, batch, 100_000)
        tree = search.tree
        assert int(tree.nodes[tree.root]["bound"]) == game.solve()
        positions = [(tree.root, 0)]
        while positions:
            index, position = positions.pop()
            bound = int(tree.nodes[index]["bound"])
            assert bound in (RUNNING, game.solve(position))
            edges, nodes = tree.children_of(index)
            positions += [(int(e["child"]), game.children[position][int(e["move"])]) for e in edges[: len(nodes)]]


@pytest.mark.parametrize(
    ("fen", "moves", "plies"),
    [
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", {"a1a8"}, 1),
        ("8/8/8/8/8/5k2/3q4/7K b - - 0 1", {"d2d1", "d2e1", "d2g2", "d2h2", "d2h6"}, 1),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", {"a1a6"}, 3),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", {"f6a6"}, 5),
    ],
)
def test_mates_are_proven(fen: str, moves: set[str], plies: int) -> None:
    line = CHESS.parse_position(fen)[0]
    tree = Tree(64 * MEBIBYTE)
    search = Search(CHESS, tree, UniformEvaluator(CHESS, 8), PLAYING, line, visits=500_000)
    search.run(lambda: False)
    assert search.error is None
    assert int(tree.nodes[tree.root]["bound"]) == WIN
    assert int(tree.nodes[tree.root]["plies"]) == plies
    assert search.simulations < 500_000
    edges, nodes = tree.children_of(tree.root)
    winning = {
        CHESS.format_move(line[-1], int(e["move"])) for e, n in zip(edges, nodes, strict=False) if n["bound"] == LOSS
    }
    assert winning
    assert winning <= moves


@pytest.mark.parametrize(("plies", "seen"), [(5, True), (3, False), (0, False)])
def test_a_mate_at_the_root_is_the_first_move_tried(plies: int, seen: bool) -> None:
    line = CHESS.parse_position("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1")[0]
    search = search_of(CHESS, line, pure_net(CHESS.num_actions), SearchParams(mate_plies=plies), 8, 2)
    root = search.tree.nodes[search.tree.root]
    edges, nodes = search.tree.children_of(search.tree.root)
    assert (int(root["bound"]) == WIN) == seen
    assert (CHESS.format_move(line[-1], int(edges["move"][0])) == "f6a6") == seen
    if seen:
        assert (int(root["plies"]), int(nodes["plies"][0]), int(nodes["terminal"][0])) == (5, 4, 0)


@pytest.mark.parametrize("visits", [1, 2, 7, 100, 333])
@pytest.mark.parametrize("batch", [1, 8, 64])
def test_exactly_as_many_visits_as_asked_for(visits: int, batch: int) -> None:
    search = search_of(CHESS, CHESS.initial(), pure_net(CHESS.num_actions), PLAYING, batch, visits)
    assert search.simulations == visits
    assert int(search.tree.nodes[search.tree.root]["n"]) == visits
    assert sum(root_visits(search).values()) == visits - 1


@pytest.mark.parametrize("workers", [2, 4])
def test_several_workers(workers: int) -> None:
    """No virtual loss is left and every visit is accounted for, whatever the workers did to each other."""
    tree = Tree(16 * MEBIBYTE)
    evaluator = FunctionEvaluator(pure_net(CHESS.num_actions), 4)
    search = Search(
        CHESS,
        tree,
        evaluator,
        PLAYING,
        CHESS.initial(),
        scope=Scope(batch_size=4, workers=workers),
        visits=2000,
        cache=PositionCache(MEBIBYTE),
    )
    search.run(lambda: False)
    assert search.error is None
    assert search.simulations == 2000
    nodes = tree.nodes[: tree.counters[0]]
    assert not nodes["in_flight"].any()
    assert int(nodes[tree.root]["n"]) == 2000
    for index in range(len(nodes)):
        _, children = tree.children_of(index)
        if len(children):
            assert int(nodes[index]["n"]) >= 1 + int(children["n"].sum())


def test_searchmoves() -> None:
    line = CHESS.initial()
    only = np.array([CHESS.parse_move(line[-1], text) for text in ("a2a3", "h2h4")], np.uint16)
    search = search_of(CHESS, line, pure_net(CHESS.num_actions), PLAYING, 4, 200, only=only)
    visits = root_visits(search)
    assert set(visits) == set(only.tolist())
    assert sum(visits.values()) == 199


def test_reuse_of_the_subtree() -> None:
    """After a move its subtree is the tree, with all its statistics."""
    line = CHESS.parse_position(POSITIONS["middlegame"])[0]
    search = search_of(CHESS, line, pure_net(CHESS.num_actions), PLAYING, 8, 3000)
    tree = search.tree
    root = tree.root
    edges, nodes = tree.children_of(root)
    favourite = int(np.argmax(nodes["n"]))
    child = tree.child(root, int(edges[favourite]["move"]))

    def outline(node: int) -> Any:
        edges, nodes = tree.children_of(node)
        below = [outline(int(e["child"])) for e in edges[: len(nodes)]]
        record = tree.nodes[node]
        return (
            [record[name].item() for name in ("w", "d", "n", "net_value", "bound", "terminal", "plies")],
            edges["move"].tolist(),
            edges["prior"].tolist(),
            below,
        )

    before = outline(child)
    tree.root = child
    keep(tree, child)
    assert tree.root == 0
    assert outline(0) == before
    assert int(tree.nodes[0]["parent"]) == -1
    count = int(tree.counters[0])
    assert count == size(before)
    assert (tree.nodes["parent"][1:count] < np.arange(1, count)).all()
    expanded = tree.nodes[:count][tree.nodes["first_edge"][:count] >= 0]
    assert int(expanded["edges"].sum()) == int(tree.counters[1])
    # and it grows on
    line = CHESS.play(line, int(edges[favourite]["move"]))
    again = Search(CHESS, tree, FunctionEvaluator(pure_net(CHESS.num_actions)), PLAYING, CHESS.window(line), visits=500)
    again.run(lambda: False)
    assert again.error is None
    assert int(tree.nodes[0]["n"]) == before[0][2] + 500


def size(outline: Any) -> int:
    return 1 + sum(size(child) for child in outline[3])


def test_stop_from_another_thread() -> None:
    tree = Tree(64 * MEBIBYTE)
    search = Search(CHESS, tree, UniformEvaluator(CHESS), PLAYING, CHESS.initial())
    stop = threading.Event()

    def stop_when_it_has_searched() -> None:
        while search.simulations <= 1000:
            stop.wait(0.01)
        stop.set()

    thread = threading.Thread(target=stop_when_it_has_searched)
    thread.start()
    search.run(stop.is_set)
    thread.join()
    assert search.error is None
    assert not tree.nodes[: tree.counters[0]]["in_flight"].any()


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["policy", "value"])
def test_a_net_that_gives_nonsense(poison: float, where: str) -> None:
    """The search ends with a NetError, the tree stays sound and can be searched on with a good net."""
    good = pure_net(CHESS.num_actions)

    def sometimes_bad(planes: Any) -> Any:
        logits, values = good(planes)
        if tree.counters[0] > 100:
            (logits if where == "policy" else values)[0] = poison
        return logits, values

    tree = Tree(16 * MEBIBYTE)
    search = Search(CHESS, tree, FunctionEvaluator(sometimes_bad), PLAYING, CHESS.initial(), visits=1000)
    search.run(lambda: False)
    assert isinstance(search.error, NetError)
    assert search.simulations < 1000
    nodes = tree.nodes[: tree.counters[0]]
    assert not nodes["in_flight"].any()
    assert np.isfinite(nodes["w"]).all()
    search = Search(CHESS, tree, FunctionEvaluator(good), PLAYING, CHESS.initial(), visits=200)
    search.run(lambda: False)
    assert search.error is None
    assert search.simulations == 200


def test_step_by_step() -> None:
    """What a lockstep self-play does: steps without threads; each reports what it did."""
    search = Search(
        CHESS, Tree(MEBIBYTE), FunctionEvaluator(pure_net(CHESS.num_actions), 8), PLAYING, CHESS.initial(), visits=64
    )
    stepper = search.stepper()
    done = 0
    while done < 64:
        done += stepper.step()
        assert done == search.simulations
    assert done == 64


@pytest.mark.parametrize(
    ("game", "position", "shuffle", "move"),
    [
        # a rook behind, with threefold repetition within reach
        ("chess", "r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", ("a8b8", "g1f1", "b8a8", "f1g1"), "f1g1"),
        ("shogi", SHORT_OF_A_GOLD, ("2h3h", "5a5b", "3h2h", "5b5a"), "5b5a"),
        ("go9", "start", ("pass",), "pass"),  # area 0 to 0 and komi 7.5: White wins by passing
    ],
)  # fmt: skip
def test_a_move_that_ends_the_game_is_searched_however_small_its_prior(
    game: str, position: str, shuffle: tuple[str, ...], move: str
) -> None:
    rules = get_game(game)
    line = rules.initial() if position == "start" else rules.parse_position(position)[0]
    played = shuffle if len(shuffle) == 1 else (*shuffle, *shuffle, *shuffle)[:-1]
    for text in played:
        line = rules.play(line, rules.parse_move(line, text))
    ending = rules.parse_move(line, move)
    action = np.empty((1, 1), np.int32)
    rules.actions(line, np.array([len(line) - 1]), np.array([[ending]], np.uint16), action)

    def blind(planes: Any) -> tuple[Any, Any]:
        """Sees no move but the others, and the side to move at the root lost."""
        logits = np.zeros((len(planes), rules.num_actions), np.float32)
        logits[:, action[0, 0]] = -20.0
        return logits, np.full((len(planes), 1), -0.9 if len(planes) == 1 else 0.0, np.float32)

    params = SearchParams(mate_plies=0)
    search = search_of(rules, line, blind, params, 1, 30)
    assert root_visits(search)[ending] > 0
