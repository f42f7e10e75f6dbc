"""What a net says of the game's end: symmetries, komi, points of view, and its way into the reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.go.state import BLACK, EMPTY, WHITE, stones_to_array
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.info import BestMove, Estimate, ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.tree.ownership import Averages
from az_engine.engine.search.tree.recycling import keep
from az_engine.engine.search.tree.tree import Tree

from ....fakes.evaluator import FunctionEvaluator
from ...games.go.naive import area, region
from ..pure_net import pure_net

INFO = NetInfo("go", (17, 9, 9), 82, 1, 1, "value", boards=(5, 9, 13), history=1)


def counting_net(path: Path, info: NetInfo = INFO, *, extra: bool = True) -> Path:
    """A net that owns what its stones stand on (half so on the first row) and leads by its stones."""
    node = helper.make_node
    constants: dict[str, np.ndarray] = {
        "mine": np.array([0], np.int64),
        "theirs": np.array([1], np.int64),
        "axis": np.array([1], np.int64),
        "zero": np.zeros(1, np.float32),
        "axes": np.array([1, 2, 3], np.int64),
    }
    nodes = [
        node("Cast", ["planes"], ["x"], to=TensorProto.FLOAT),
        node("Gather", ["x", "mine"], ["own"], axis=1),
        node("Gather", ["x", "theirs"], ["other"], axis=1),
        node("Sub", ["own", "other"], ["difference"]),
        node("Squeeze", ["difference", "axis"], ["ownership"]),
        node("ReduceSum", ["difference", "axes"], ["sum"], keepdims=0),
        node("Unsqueeze", ["sum", "axis"], ["score"]),
        node("Mul", ["score", "zero"], ["value"]),
        node("Flatten", ["difference"], ["points"], axis=1),
        node("Concat", ["points", "value"], ["policy"], axis=1),
    ]
    outputs: list[tuple[str, list[Any]]] = [("policy", ["a"]), ("value", [1])]
    if extra:
        outputs += [("ownership", ["h", "w"]), ("score", [1])]
    graph = helper.make_graph(
        nodes,
        "counting",
        [helper.make_tensor_value_info("planes", TensorProto.UINT8, ["batch", 17, "h", "w"])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape]) for name, shape in outputs],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, info.to_metadata())
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return counting_net(tmp_path_factory.mktemp("net") / "counting.onnx")


def engine_with(net: Path, size: int | str = 9) -> Engine:
    return Engine(f"go{size}", EngineOptions(weights_file=str(net), threads=1, multipv=3, hash_mb=16))


def naive_end(game: Game, line: State) -> tuple[np.ndarray, float]:
    """What the counting net says of a position, or the count of a finished one; black's view, komi counted."""
    stones = stones_to_array(line[-1])
    if game.outcome(line) != RUNNING:
        size = int(line[-1]["columns"])
        lead = area(size, tuple(stones.tolist()))
        owner = []
        for p in range(size * size):
            colours = {int(stones[p])} if stones[p] != EMPTY else region_colours(size, stones, p)
            owner.append(1 if colours == {BLACK} else -1 if colours == {WHITE} else 0)
        return np.array(owner, float), lead - int(line[-1]["komi"]) / 2
    owner = np.where(stones == BLACK, 1.0, np.where(stones == WHITE, -1.0, 0.0)).tolist()
    return np.array(owner), sum(owner) - int(line[-1]["komi"]) / 2


def region_colours(size: int, stones: np.ndarray, start: int) -> set[int]:
    """The colours around an empty region."""
    return {int(stones[q]) for q in region(size, tuple(stones.tolist()), start)[1]}


def naive_average(
    game: Game, tree: Tree, node: int, line: State, weight: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Sums of owners, their squares and leads over a subtree, black's view, with the weights of the definition."""
    nd = tree.nodes[node]
    owners, lead = naive_end(game, line)
    edges, children = tree.children_of(node)
    visits = int(children["n"].sum()) if len(children) and not nd["terminal"] else 0
    own = weight / (1 + visits) if visits else weight
    total = own * owners, own * owners**2, own * lead
    for edge, child in zip(edges[: len(children)], children, strict=True):
        if visits and child["n"]:
            more = naive_average(
                game, tree, int(edge["child"]), game.play(line, int(edge["move"])), own * int(child["n"])
            )
            total = total[0] + more[0], total[1] + more[1], total[2] + more[2]
    return total


@pytest.mark.parametrize("symmetries", [False, True])
@pytest.mark.parametrize("start", ["5/1X3/5/5/5 w - 0.5", "XXXXX/5/5/OOOOO/5 b - 0.5 tromp-taylor 0 1"])
def test_averages_are_those_of_a_slow_walk(net: Path, start: str, symmetries: bool) -> None:
    """Twice with one cache, the second time from a move on, with only what lies below it kept."""
    game, evaluator = get_game("go5"), OnnxEvaluator(net, get_game("go5"), batch_size=4)
    cache = PositionCache(1 << 20)
    cache_hits = Search(
        game, Tree(1 << 22), evaluator, SearchParams(), game.parse_position(start)[0], visits=50, cache=cache
    )
    cache_hits.run(lambda: False)  # what it stores has no ends
    line = game.parse_position(start)[0]
    tree = Tree(1 << 22)
    for round_ in range(2):
        search = Search(
            game,
            tree,
            evaluator,
            SearchParams(symmetries=symmetries, solver=False),
            line,
            visits=120,
            cache=cache,
            scope=Scope(ownership=True),
        )
        search.run(lambda: False)
        assert search.error is None
        averages, sign = Averages(tree, moves_ownership=True), 1 if line[-1]["turn"] == BLACK else -1
        n = int(tree.nodes[tree.root]["n"])
        owners, squares, lead = naive_average(game, tree, tree.root, line, n)
        found = averages.root()
        assert found is not None
        np.testing.assert_allclose(np.array(found.ownership), sign * owners / n, atol=1e-9)
        spread = np.sqrt(np.maximum(squares / n - (owners / n) ** 2, 0))
        np.testing.assert_allclose(np.array(found.ownership_stdev), spread, atol=1e-6)
        assert found.score == pytest.approx(sign * lead / n, abs=1e-6)
        edges, children = tree.children_of(tree.root)
        for k, child in enumerate(children):
            after = game.play(line, int(edges[k]["move"]))
            owners, squares, lead = naive_average(game, tree, int(edges[k]["child"]), after, int(child["n"]))
            move = averages.after(k)
            assert move is not None
            np.testing.assert_allclose(np.array(move.ownership), sign * owners / int(child["n"]), atol=1e-9)
            assert move.score == pytest.approx(sign * lead / int(child["n"]), abs=1e-6)
        assert averages.after(len(children)) is None
        assert not any(tree.ownerships.known[int(tree.counters[0]) :]) if tree.ownerships else False
        if round_ == 0:
            best = max(range(len(children)), key=lambda k: int(children[k]["n"]))
            line = game.play(line, int(edges[best]["move"]))
            tree.root = int(edges[best]["child"])
            if not tree.nodes[tree.root]["terminal"]:
                keep(tree, tree.root)
            else:
                break


def test_a_lower_bound_rises_with_the_visits(net: Path) -> None:
    """It is the mean less five standard errors of the evaluations below a move."""
    game, evaluator = get_game("go5"), FunctionEvaluator(pure_net(26), 8)
    tree, line = Tree(1 << 22), get_game("go5").initial()
    search = Search(game, tree, evaluator, SearchParams(solver=False), line, visits=400, scope=Scope(ownership=True))
    search.run(lambda: False)
    assert tree.ownerships is None, "this net says nothing of the end"
    averages = Averages(tree)
    assert averages.root() is None
    _, children = tree.children_of(tree.root)
    for k, child in enumerate(children):
        n, mean = int(child["n"]), -child["w"] / child["n"]
        bound = averages.bound(k, mean)
        assert bound is not None
        assert mean - 5.0 * (1.5 / n) ** 0.5 - 1e-6 <= bound < mean
    assert averages.bound(len(children), 0.0) is None


def test_seki_lives_and_the_score_is_the_search_s() -> None:
    """With ``go-stones``: one evaluation of the root takes white's stones in the corner for dead, B+4.

    It is W+11. An int8 net says not quite the same on all processors, so a hundred visits say 8.4 to 11 of them. The
    default expects W+5.5.
    """
    rows = [".OO.XXXX.", "OOOOXXXXX", "XXXXOOOOO", *["...XO...."] * 6]
    text = "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)
    engine = Engine("go9", EngineOptions(weights_file="go-stones", threads=1, hash_mb=16))
    for rules in ("chinese", "tromp-taylor"):
        engine.set_position(f"{text} b - 7 {rules}", [])
        found = engine.estimate()
        assert found is not None
        assert found.score == pytest.approx(-11, abs=3.0)
        assert found.ownership is not None
        territory, line = get_game("go9").territory, get_game("go9").parse_position(engine.position or "")[0]
        assert territory is not None
        assert territory.dead_chains(line[-1], found.ownership) == []


def test_owners_stay_where_they_are_and_komi_counts(net: Path) -> None:
    engine = engine_with(net)
    engine.set_position("9/1X7/9/9/9/9/9/6XX1/8O b - 6.5", [])
    for mine in (1, -1):
        found = engine.estimate()
        assert found is not None
        assert found.ownership is not None
        board = np.array(found.ownership).reshape(9, 9)
        assert board[[1, 7, 7, 8], [1, 6, 7, 8]] == pytest.approx(np.array([mine, mine, mine, -mine]), abs=0.01)
        assert found.score == pytest.approx(mine * (3 - 1 - 6.5), abs=1.0), "less than a stone is played on average"
        engine.play("pass")


def test_reports_carry_the_estimate_and_each_lines_lead(net: Path) -> None:
    engine = engine_with(net, 5)
    engine.set_position("5/1X3/5/5/5 w - 0.5", [])
    reports: list[ThinkingInfo] = []
    answers: list[BestMove] = []
    engine.go(Limits(nodes=200, report_ms=1, moves_ownership=True), reports.append, answers.append)
    assert engine.wait(60)
    assert answers[0].error is None
    for report in reports:
        assert report.estimate is not None
        for line in report.lines:
            if not line.visits:
                assert line.estimate is None
                continue
            assert line.estimate is not None
            assert line.estimate.ownership is not None
            assert line.estimate.ownership[6] == pytest.approx(-1, abs=0.2), "black's stone, seen by white"
            assert line.pv_visits[0] == line.visits
            assert line.bound is not None
    assert reports
    (best,) = (line for line in reports[-1].lines if line.pv[0] == answers[0].move)
    assert answers[0].lines == (best,)


@pytest.mark.parametrize("limits", [Limits(nodes=30), Limits(nodes=30, report_ms=1, estimates=False)], ids=str)
def test_nobody_asks_unless_reports_carry_estimates(net: Path, limits: Limits) -> None:
    engine = engine_with(net, 5)
    engine.set_position(None, [])
    reports: list[ThinkingInfo] = []
    engine.go(limits, reports.append, lambda _: None)
    assert engine.wait(60)
    assert reports
    assert engine._memory.tree is not None
    assert engine._memory.tree.ownerships is None, "it costs nothing when nobody asks"
    assert all(report.estimate is None for report in reports)
    assert all(line.estimate is None and line.bound is None for report in reports for line in report.lines)


def test_estimates_cost_no_evaluation_beside_the_search_s(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timed move with analysis has its whole time for the search."""
    asked: list[int] = []
    run = OnnxEvaluator._run

    def counting(evaluator: OnnxEvaluator, outputs: Sequence[str], planes: np.ndarray, slot: int) -> Any:
        asked.append(len(planes))
        return run(evaluator, outputs, planes, slot)

    engine = engine_with(net, 5)
    engine.configure(batch_size=1)
    engine.set_position(None, [])
    engine.ready()
    monkeypatch.setattr(OnnxEvaluator, "_run", counting)
    reports: list[ThinkingInfo] = []
    engine.go(Limits(nodes=100, report_ms=1), reports.append, lambda _: None)
    assert engine.wait(60)
    assert reports[-1].estimate is not None
    assert sum(asked) <= 100


def test_spread_of_independent_points() -> None:
    assert Estimate(3.0).score_stdev is None
    assert Estimate(None, (1.0, -1.0)).score_stdev == 0.0
    assert Estimate(None, (0.0,) * 9).score_stdev == pytest.approx(3.0)
    chance = 0.8  # one point that is ours, +1, four times in five, else theirs, -1
    variance = chance * (1 - 0.6) ** 2 + (1 - chance) * (-1 - 0.6) ** 2
    assert Estimate(None, (0.6,)).score_stdev == pytest.approx(variance**0.5)


def test_boards_that_the_net_does_not_play(net: Path) -> None:
    """Between sizes that it has learned it plays by analogy, and says so."""
    assert engine_with(net, 13).sizes() == tuple(range(5, 14))
    for size in (4, 15):
        with pytest.raises(NetError, match=f"this net plays on 5x5 to 13x13, not on {size}x{size}"):
            engine_with(net, size).ready()
    for lines, note in (
        ("13", []),
        ("7", ["this net has learned 5x5, 9x9, 13x13 and plays 7x7 by analogy"]),
        ("13x9", ["this net has learned 5x5, 9x9, 13x13 and plays 13x9 by analogy"]),
    ):
        engine = engine_with(net, lines)
        engine.ready()
        assert engine.notes == note


def test_nets_that_say_nothing(tmp_path: Path) -> None:
    plain = counting_net(tmp_path / "plain.onnx", extra=False)
    engine = engine_with(plain)
    engine.set_position(None, [])
    assert engine.estimate() is None
    evaluator = OnnxEvaluator(plain, get_game("go"))
    assert evaluator.estimate(np.zeros((2, 17 * 81), np.uint8)) == (None, None)
    uniform = Engine("go", EngineOptions(weights_file="uniform", threads=1, hash_mb=16))
    uniform.set_position(None, [])
    assert uniform.estimate() is None
    assert UniformEvaluator(get_game("go")).info is None


def test_a_fixed_input_is_for_one_board(tmp_path: Path) -> None:
    with pytest.raises(NetError, match="plays on 9x9, not on 13x13"):
        OnnxEvaluator(counting_net(tmp_path / "a.onnx", NetInfo("go", (17, 9, 9), 82, 1, 1, "value")), get_game("go13"))
    with pytest.raises(NetError, match="input must be 'planes'"):  # its metadata promise one board, its input is free
        OnnxEvaluator(counting_net(tmp_path / "b.onnx", NetInfo("go", (17, 9, 9), 82, 1, 1, "value")), get_game("go"))
