"""miniosl's nets: what the converted one says, and what is refused."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from az_engine.cli import main
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.kernels import cache
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.engine.nets.weights import load_evaluator
from az_engine.models.foreign.families import convert_file

SHOGI = get_game("shogi")
PACKAGE = importlib.util.find_spec("miniosl")


def net() -> onnx.ModelProto:
    """A net of miniosl's shape with random weights: one convolution for the moves, one for the values, one for aux."""
    rng = np.random.default_rng(3)
    weights = {
        "w_move": rng.normal(0, 0.1, (27, 176, 3, 3)),
        "w_value": rng.normal(0, 0.1, (1, 176, 1, 1)),
        "w_last": rng.normal(0, 0.1, (4, 81)),
        "w_aux": rng.normal(0, 0.1, (22, 176, 1, 1)),
    }
    nodes = [
        helper.make_node("Conv", ["input", "w_move"], ["planes"], name="/head/conv/Conv", pads=[1, 1, 1, 1]),
        helper.make_node("Flatten", ["planes"], ["move"]),
        helper.make_node("Conv", ["input", "w_value"], ["board"], name="/value_head/head/head.0/conv/Conv"),
        helper.make_node("Flatten", ["board"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w_last"], ["sum"], transB=1),
        helper.make_node("Tanh", ["sum"], ["value"]),
        helper.make_node("Conv", ["input", "w_aux"], ["aux_planes"], name="/aux_head/conv/Conv"),
        helper.make_node("Flatten", ["aux_planes"], ["aux"]),
    ]
    sizes = {"input": [176, 9, 9], "move": [2187], "value": [4], "aux": [22 * 81]}
    infos = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch_size", *size])
        for name, size in sizes.items()
    }
    graph = helper.make_graph(
        nodes,
        "main_graph",
        [infos["input"]],
        [infos["move"], infos["value"], infos["aux"]],
        [numpy_helper.from_array(values.astype(np.float32), name) for name, values in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def compare(path: Path) -> onnx.ModelProto:
    """The converted net, after a look at what both say of the same planes."""
    converted = convert_file(path)
    game = SHOGI.using(converted.info.encoder)
    assert converted.info.planes == game.planes
    planes = (np.random.default_rng(1).random((4, *game.planes)) < 0.2).astype(np.uint8) * 36
    move, value = raw_session(str(path)).run(["move", "value"], {"input": planes.astype(np.float32) / 36})
    ours, outcome = raw_session(converted.model).run(["policy", "value"], {"planes": planes})
    np.testing.assert_allclose(ours, move, atol=1e-4)
    np.testing.assert_allclose(outcome, value[:, :1], atol=1e-4)
    return onnx.load_model_from_string(converted.model)


def test_it_says_the_same_and_leaves_out_what_is_for_training(tmp_path: Path) -> None:
    converted = compare(write(net(), tmp_path / "model.onnx"))
    onnx.checker.check_model(converted)
    assert "net/w_move" in {each.name for each in converted.graph.initializer}
    assert not any("aux" in each.name for each in (*converted.graph.initializer, *converted.graph.node))


@pytest.mark.skipif(PACKAGE is None, reason="miniosl is not installed")
@pytest.mark.parametrize("name", ["eval", "eval-aozora"])
def test_the_packages_own_nets(name: str) -> None:
    assert PACKAGE is not None
    assert PACKAGE.origin is not None
    compare(Path(PACKAGE.origin).parent / "pretrained" / f"{name}.onnx")


def other_planes(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 172


def other_moves(model: onnx.ModelProto) -> None:
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1496


def other_type(model: onnx.ModelProto) -> None:
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.FLOAT16


def old_operators(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 7


@pytest.mark.parametrize(
    ("spoil", "word"),
    [(other_planes, "input"), (other_moves, "move"), (other_type, "value"), (old_operators, "operator set 7")],
)
def test_nets_that_are_not_quite_miniosls(tmp_path: Path, spoil: Callable[[onnx.ModelProto], None], word: str) -> None:
    model = net()
    spoil(model)
    with pytest.raises(NetError, match=word) as caught:
        convert_file(write(model, tmp_path / "model.onnx"))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_as_weights_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")
    evaluator = load_evaluator(str(write(net(), tmp_path / "model.onnx")), SHOGI)
    assert (evaluator.encoder, evaluator.history) == ("miniosl", 8)
    policy, value = evaluator.evaluate(SHOGI.using("miniosl").start_planes())
    assert (policy.shape, value.shape) == ((1, 2187), (1, 1))


@pytest.mark.slow
def test_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write(net(), tmp_path / "model.onnx"), tmp_path / "out.onnx"
    assert main(["import", str(path), "-o", str(out), "--int8"]) == 0
    shown = capsys.readouterr().out
    for words in ("family: miniosl", "6 of 8 nodes", "parity:", "int8 on", "written:"):
        assert words in shown
