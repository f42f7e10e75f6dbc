"""Searches side by side: each is what the production search makes of its root alone."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import SearchParams, paper_params
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.selfplay.lockstep import Lockstep
from az_engine.engine.search.tree.recycling import keep
from az_engine.engine.search.tree.tree import Tree

from ....fakes.evaluator import FunctionEvaluator
from ..pure_net import pure_net
from ..reference_search import ReferenceSearch
from ..tree_game import TreeGame

VISITS = 120
PARAMS = {
    "az": paper_params("az"),
    "agz": replace(paper_params("agz"), c_puct=2.0, symmetries=False),  # which are drawn otherwise than in a search
    "playing": SearchParams(mate_plies=0, ladders=False),
    "hot root": SearchParams(mate_plies=0, ladders=False, root_policy_temperature=1.7),
}


def random_lines(game: Game, count: int, seed: int = 0) -> list[State]:
    """Games of random moves that go on, of different lengths."""
    rng = random.Random(seed)
    lines: list[State] = []
    while len(lines) < count:
        line = game.initial()
        for _ in range(3 * len(lines)):
            line = game.play(line, int(rng.choice(game.legal_moves(line).tolist())))
            if game.outcome(line) != RUNNING:
                break
        else:
            lines.append(line)
    return lines


def lockstep_of(
    game: Game, lines: list[State], function: Any, params: SearchParams, visits: int, **more: Any
) -> Lockstep:
    """Finished searches of the last position of each line."""
    lockstep = Lockstep(
        game, FunctionEvaluator(function, history=game.history), params,
        slots=len(lines), visits=visits, plies=max(map(len, lines)) + 40, **more,
    )  # fmt: skip
    for slot, line in enumerate(lines):
        lockstep.place(slot, line)
        lockstep.roots[slot]["requested"] = visits
    lockstep.begin(np.arange(len(lines), dtype=np.int32))
    finish(lockstep)
    return lockstep


def finish(lockstep: Lockstep) -> None:
    """Step until no search goes on."""
    for _ in range(10_000):
        if len(lockstep.finished()) == np.count_nonzero(lockstep.roots["busy"]):
            return
        lockstep.step()
    raise AssertionError("the searches do not end")


def visits_of(lockstep: Lockstep, slot: int) -> dict[int, int]:
    """{move: N} of the root's edges."""
    root = lockstep.nodes[slot, lockstep.roots[slot]["node"]]
    edges = lockstep.edges[slot, root["first_edge"] : root["first_edge"] + root["edges"]]
    counts = [int(lockstep.nodes[slot, e["child"]]["n"]) if e["child"] >= 0 else 0 for e in edges]
    return dict(zip(edges["move"].tolist(), counts, strict=True))


def search_visits(game: Game, line: State, function: Any, params: SearchParams, visits: int) -> dict[int, int]:
    """The same of the production search with batches of one."""
    evaluator = FunctionEvaluator(function, 1, game.history)
    search = Search(game, Tree(2**24), evaluator, params, game.window(line), visits=visits, scope=Scope(batch_size=1))
    search.run(lambda: False)
    assert search.error is None
    edges, nodes = search.tree.children_of(search.tree.root)
    return dict(zip(edges["move"].tolist(), [*nodes["n"].tolist(), *[0] * (len(edges) - len(nodes))], strict=True))


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS.keys())
@pytest.mark.parametrize("name", ["chess", "go5", "shogi", "go9"])
def test_same_visits_as_the_search(name: str, params: SearchParams) -> None:
    game = get_game(name)
    lines = random_lines(game, 5)
    function = pure_net(game.num_actions, wdl=True)
    lockstep = lockstep_of(game, lines, function, params, VISITS)
    for slot, line in enumerate(lines):
        assert visits_of(lockstep, slot) == search_visits(game, line, function, params, VISITS)
    assert (lockstep.nodes["in_flight"][0, : lockstep.counters[0, 0]] == 0).all()


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS.keys())
def test_same_visits_as_the_reference_where_games_end(params: SearchParams) -> None:
    """A game without kernels of its own, through the seam's default."""
    for seed in range(5):
        game = TreeGame(seed, depth=4)
        function = pure_net(game.num_actions, seed=seed)
        lockstep = lockstep_of(game, [game.initial()] * 3, function, params, 200)
        reference = ReferenceSearch(game, game.initial(), function, params, 1)
        reference.offered = True  # self-play lets the priors decide, as in the papers
        reference.run(200)
        for slot in range(3):
            assert visits_of(lockstep, slot) == reference.visits()


def test_the_position_cache_changes_nothing_but_the_number_of_evaluations() -> None:
    game = get_game("go5")
    lines = random_lines(game, 4)
    function = pure_net(game.num_actions)
    bare = lockstep_of(game, lines * 2, function, PARAMS["az"], VISITS)
    cached = lockstep_of(game, lines * 2, function, PARAMS["az"], VISITS, cache=2**22)
    assert [visits_of(bare, s) for s in range(8)] == [visits_of(cached, s) for s in range(8)]
    assert cached.evaluations < bare.evaluations


def test_a_kept_tree_is_what_compacting_the_tree_alone_leaves() -> None:
    game = get_game("chess")
    lines = random_lines(game, 3)
    function = pure_net(game.num_actions, seed=3)
    lockstep = lockstep_of(game, lines, function, PARAMS["az"], VISITS, nodes=4 * VISITS)
    alone = Tree(2**24)
    search = Search(
        game, alone, FunctionEvaluator(function, 1, 8), PARAMS["az"], lines[1], visits=VISITS, scope=Scope(batch_size=1)
    )
    search.run(lambda: False)
    slots = np.arange(3, dtype=np.int32)
    _, _, _, chosen = lockstep.conclude(slots)
    lockstep.play(slots, chosen[:, 0], chosen[:, 1])
    alone.root = alone.child(alone.root, int(chosen[1, 0]))
    keep(alone, alone.root)
    nodes, edges = (int(n) for n in alone.counters[:2])
    assert nodes > 1
    assert lockstep.counters[1, :2].tolist() == [nodes, edges]
    assert (lockstep.nodes[1, :nodes] == alone.nodes[:nodes]).all()
    assert (lockstep.edges[1, :edges] == alone.edges[:edges]).all()
    assert (lockstep.line(1) == game.play(lines[1], int(chosen[1, 0]))).all()
    before = visits_of(lockstep, 1)
    lockstep.roots["requested"] = VISITS
    lockstep.begin(slots)
    finish(lockstep)
    assert sum(visits_of(lockstep, 1).values()) == sum(before.values()) + VISITS  # added to what was kept


def test_a_full_tree_ends_the_search() -> None:
    game = get_game("go5")
    lockstep = lockstep_of(game, [game.initial()], pure_net(game.num_actions), PARAMS["az"], VISITS, nodes=50)
    assert lockstep.roots[0]["done"] == 50
    assert len(lockstep.conclude(lockstep.finished())[3]) == 1


def test_random_symmetries_are_undone() -> None:
    """A net that treats all symmetries alike gives the same search, though every leaf is turned."""
    game = get_game("go5")
    lines = random_lines(game, 4)

    def fair(planes: Any) -> Any:
        """What it says of a point depends on what stands there and how far it is from the middle."""
        boards = planes.reshape(len(planes), -1, 25)[:, :2].astype(np.float32)
        rows, columns = np.divmod(np.arange(25), 5)
        far = (np.abs(rows - 2) ** 2.3 + np.abs(columns - 2) ** 2.3).astype(np.float32)
        logits = np.full((len(planes), 26), -5, np.float32)
        logits[:, :25] = (boards[:, :1] * far).sum(2) * 0.07 * far - far
        return logits, np.tanh(((boards[:, 0] - boards[:, 1]) * (1 + far)).sum(1, keepdims=True) / 40)

    assert game.symmetries is not None
    by_points = game.symmetries.points
    shown = np.random.default_rng(0).integers(0, 2, (1, *game.planes)).astype(np.uint8)
    for k in range(8):
        turned_board = game.symmetries.turn(shown, np.array([k]))
        assert fair(turned_board)[0][0, by_points[k]] == pytest.approx(fair(shown)[0][0, :25], abs=1e-5)
    plain = lockstep_of(game, lines, fair, PARAMS["az"], VISITS)
    turned = lockstep_of(game, lines, fair, replace(PARAMS["az"], symmetries=True), VISITS)
    assert [visits_of(plain, s) for s in range(4)] == [visits_of(turned, s) for s in range(4)]


def test_a_failing_net_is_said_and_the_trees_stay_sound() -> None:
    game = get_game("go5")
    function = pure_net(game.num_actions)
    broken = [False]

    def evaluate(planes: Any) -> Any:
        logits, values = function(planes)
        if broken[0]:
            logits[len(planes) // 2] = np.nan
        return logits, values

    lines = random_lines(game, 3)
    lockstep = Lockstep(game, FunctionEvaluator(evaluate), PARAMS["az"], slots=3, visits=VISITS, plies=60)
    for slot, line in enumerate(lines):
        lockstep.place(slot, line)
        lockstep.roots[slot]["requested"] = VISITS
    lockstep.begin(np.arange(3, dtype=np.int32))
    for step in range(60):
        broken[0] = step % 5 == 3
        if broken[0]:
            with pytest.raises(NetError, match="NaN"):
                lockstep.step()
        else:
            lockstep.step()
    broken[0] = False
    finish(lockstep)
    for slot in range(3):
        assert sum(visits_of(lockstep, slot).values()) == VISITS - 1
        assert (lockstep.nodes[slot, : lockstep.counters[slot, 0]]["in_flight"] == 0).all()


def test_one_visit_is_the_net_alone() -> None:
    game = get_game("go5")
    lockstep = lockstep_of(game, [game.initial()], pure_net(game.num_actions), PARAMS["az"], 1, kept_moves=30)
    moves, target, _, chosen = lockstep.conclude(lockstep.finished())
    assert chosen[0, 0] == moves[0, 0]
    assert chosen[0, 1] == -1
    assert target[0].sum() == pytest.approx(1)
    assert (np.diff(target[0]) <= 0).all()


def test_a_raw_uniform_player_moves_at_random() -> None:
    game = get_game("go5")
    lockstep = Lockstep(game, UniformEvaluator(game), PARAMS["az"], slots=400, visits=1, plies=5)
    for slot in range(400):
        lockstep.place(slot, game.initial())
        lockstep.roots[slot]["requested"], lockstep.roots[slot]["key"] = 1, slot
    lockstep.begin(np.arange(400, dtype=np.int32))
    lockstep.step()
    counts = np.bincount(lockstep.conclude(lockstep.finished())[3][:, 0], minlength=26)
    assert counts.min() > 0
    assert counts.max() < 40
