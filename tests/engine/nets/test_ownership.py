"""What a net says of the game's end: symmetries, komi, points of view, and its way into the reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove, Estimate, ThinkingInfo
from az_engine.engine.limits import Limits
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx import OnnxEvaluator
from az_engine.engine.nets.ownership import Outlook, estimate
from az_engine.engine.params import EngineOptions

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


def engine_with(net: Path, size: int = 9) -> Engine:
    return Engine(f"go{size}", EngineOptions(weights_file=str(net), threads=1, multipv=3, hash_mb=16))


def test_owners_stay_where_they_are_and_komi_counts(net: Path) -> None:
    engine = engine_with(net)
    engine.set_position("9/1X7/9/9/9/9/9/6XX1/8O b - 6.5", [])
    for mine in (1, -1):
        found = engine.estimate()
        assert found is not None
        assert found.ownership is not None
        expected = np.zeros((9, 9))
        expected[1, 1] = expected[7, 6] = expected[7, 7] = mine
        expected[8, 8] = -mine
        np.testing.assert_allclose(np.array(found.ownership).reshape(9, 9), expected, atol=1e-6)
        assert found.score == pytest.approx(mine * (3 - 1 - 6.5))
        engine.play("pass")


def test_reports_carry_the_estimate_and_each_lines_lead(net: Path) -> None:
    engine = engine_with(net, 5)
    engine.set_position("5/1X3/5/5/5 w - 0.5", [])
    reports: list[ThinkingInfo] = []
    answers: list[BestMove] = []
    engine.go(Limits(nodes=200, report_ms=1), reports.append, answers.append)
    assert engine.wait(60)
    assert answers[0].error is None
    for report in reports:
        assert report.estimate is not None
        assert report.estimate.score == pytest.approx(-0.5)
        for line in report.lines:
            if line.estimate is None:  # searched since the net was asked last
                continue
            # white's stone makes it one each; after a pass black still has one more
            assert line.estimate.score == pytest.approx(0.5 + (-1 if line.pv[0] == "pass" else 0))
            assert line.estimate.ownership is not None
            assert line.estimate.ownership[6] == -1, "black's stone, seen by white"
    assert reports
    assert any(report.lines[0].estimate is not None for report in reports)
    (best,) = (line for line in reports[-1].lines if line.pv[0] == answers[0].move)
    assert answers[0].lines == (best,)


def test_nobody_asks_unless_reports_come_at_an_interval(net: Path) -> None:
    engine = engine_with(net, 5)
    engine.set_position(None, [])
    reports: list[ThinkingInfo] = []
    engine.go(Limits(nodes=30), reports.append, lambda _: None)
    assert engine.wait(60)
    assert reports
    assert all(report.estimate is None for report in reports)
    assert all(line.estimate is None for report in reports for line in report.lines)


class Counted(OnnxEvaluator):
    """Notes how many positions it is asked about at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, get_game("go5"), batch_size=3)
        self.asked: list[int] = []

    def estimate(self, planes: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        self.asked.append(len(planes))
        return super().estimate(planes)


def test_the_net_is_asked_in_slices_and_about_nothing_twice(net: Path) -> None:
    game, evaluator = get_game("go5"), Counted(net)
    line = game.parse_position("5/1X3/5/5/5 w - 0.5")[0]
    outlook = Outlook(game, evaluator, line)
    outlook.ask(["C3", "D3"], lambda: True)
    assert evaluator.asked == []
    assert outlook.root() is None
    outlook.ask(["C3", "D3"], lambda: bool(evaluator.asked))
    assert evaluator.asked == [3]
    assert outlook.after("C3") is None
    partly = outlook.root()
    outlook.ask(["C3", "D3", "A1", "pass"], lambda: len(evaluator.asked) == 2)
    assert evaluator.asked == [3, 3]
    assert outlook.after("pass") is None
    outlook.ask(["C3", "D3", "A1", "pass"], lambda: False)
    assert evaluator.asked == [3, 3, 1, 3, 2]
    whole = outlook.root()
    assert partly is not None
    assert whole is not None
    assert partly.ownership == pytest.approx(whole.ownership)
    assert partly.score == whole.score == pytest.approx(-0.5)
    outlook.ask(["pass", "A1"], lambda: False)
    assert evaluator.asked == [3, 3, 1, 3, 2]
    passed = outlook.after("pass")
    assert passed is not None
    assert passed.score == pytest.approx(-0.5)
    assert estimate(game, evaluator, line) == whole


def test_stop_waits_for_one_slice_at_most(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(net, 5)
    engine.configure(batch_size=1)
    engine.set_position(None, [])
    asked: list[int] = []
    ask = OnnxEvaluator.estimate

    def stopping(evaluator: OnnxEvaluator, planes: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        asked.append(len(planes))
        if len(asked) == 3:
            engine.stop()
        return ask(evaluator, planes)

    monkeypatch.setattr(OnnxEvaluator, "estimate", stopping)
    reports: list[ThinkingInfo] = []
    engine.go(Limits(infinite=True, report_ms=100_000), reports.append, lambda _: None)
    assert engine.wait(60)
    assert asked == [1, 1, 1]
    assert all(report.estimate is not None for report in reports)


def test_spread_of_independent_points() -> None:
    assert Estimate(3.0).score_stdev is None
    assert Estimate(None, (1.0, -1.0)).score_stdev == 0.0
    assert Estimate(None, (0.0,) * 9).score_stdev == pytest.approx(3.0)
    chance = 0.8  # one point that is ours, +1, four times in five, else theirs, -1
    variance = chance * (1 - 0.6) ** 2 + (1 - chance) * (-1 - 0.6) ** 2
    assert Estimate(None, (0.6,)).score_stdev == pytest.approx(variance**0.5)


def test_boards_that_the_net_does_not_play(net: Path) -> None:
    assert engine_with(net, 13).sizes() == (5, 9, 13)
    with pytest.raises(NetError, match="this net plays on 5x5, 9x9, 13x13, not on 7x7"):
        engine_with(net, 7).ready()
    engine_with(net, 13).ready()


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
