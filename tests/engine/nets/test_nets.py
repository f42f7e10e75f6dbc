"""Broken, hostile and foreign net files: each gets one sentence, none is run unchecked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.kernels import cache
from az_engine.engine.limits import Limits
from az_engine.engine.nets.file.netfile import MAX_NODES, read_outline_bytes
from az_engine.engine.nets.file.protobuf import write_field
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx import trial
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.weights import encoder_of, load_evaluator, net_path, sha256_of
from az_engine.engine.params import EngineOptions, SearchParams

GAME = get_game("chess")
INFO = NetInfo("chess", GAME.planes, GAME.num_actions, GAME.encoder.planes_version, GAME.encoder.moves_version, "wdl")


def tiny_net(info: NetInfo = INFO, weight: float = 0.001) -> onnx.ModelProto:
    """A net of one matrix: planes, flattened, times constant weights."""
    width = int(np.prod(GAME.planes))
    nodes = [
        helper.make_node("Cast", ["planes"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["floats"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Reshape", ["mean", "column"], ["means"]),
        helper.make_node("MatMul", ["means", "policy_weights"], ["policy"]),
        helper.make_node("MatMul", ["means", "wdl_weights"], ["wdl"]),
    ]
    weights = [
        numpy_helper.from_array(np.array([-1, 1], np.int64), "column"),
        numpy_helper.from_array(np.full((1, GAME.num_actions), weight, np.float32), "policy_weights"),
        numpy_helper.from_array(np.full((1, 3), weight, np.float32), "wdl_weights"),
    ]
    assert width == 119 * 64
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("planes", TensorProto.UINT8, ["batch", *GAME.planes])],
        [
            helper.make_tensor_value_info("policy", TensorProto.FLOAT, ["batch", GAME.num_actions]),
            helper.make_tensor_value_info("wdl", TensorProto.FLOAT, ["batch", 3]),
        ],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, info.to_metadata())
    return model


def write(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def refusal(path: Path | str) -> str:
    with pytest.raises(NetError) as caught:
        load_evaluator(str(path), GAME)
    text = str(caught.value)
    assert "\n" not in text
    assert 20 < len(text) < 400
    return text


def test_a_good_net_of_a_user_is_tried_once_and_runs(tmp_path: Path) -> None:
    evaluator = OnnxEvaluator(write(tiny_net(), tmp_path / "good.onnx"), GAME)
    policy, wdl = evaluator.evaluate(np.zeros((3, *GAME.planes), np.uint8))
    assert policy.shape == (3, GAME.num_actions)
    assert wdl.shape == (3, 3)
    assert evaluator.info == INFO


@pytest.mark.parametrize("path", ["/dev/zero", "/etc/passwd", "no/such/net.onnx", "/", "x\0y", "~nobody-here/net"])
def test_paths_that_are_no_nets(path: str) -> None:
    assert "root:" not in refusal(path)


@pytest.mark.parametrize("keep", [0, 1, 100, 5000, -1])
def test_truncated(tmp_path: Path, keep: int) -> None:
    content = tiny_net().SerializeToString()
    (tmp_path / "cut.onnx").write_bytes(content[:keep])
    refusal(tmp_path / "cut.onnx")


def test_random_bytes_never_crash(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for size in (1, 10, 1000, 100_000):
        (tmp_path / "noise.onnx").write_bytes(rng.bytes(size))
        refusal(tmp_path / "noise.onnx")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"game": "go"}, "plays go"),
        ({"planes": (18, 8, 8)}, "planes"),
        ({"actions": 1858}, "actions"),
        ({"planes_version": 2}, "version"),
        ({"moves_version": 9}, "version"),
        ({"value_head": "magic"}, "value head"),
        ({"value_head": "value"}, "output 'value'"),
        ({"history": 99}, "history"),
    ],
)
def test_metadata_of_another_net(tmp_path: Path, change: dict[str, object], word: str) -> None:
    info = NetInfo(**{**{f: getattr(INFO, f) for f in INFO.__dataclass_fields__}, **change})
    assert word in refusal(write(tiny_net(info), tmp_path / "other.onnx"))


def test_without_metadata(tmp_path: Path) -> None:
    model = tiny_net()
    del model.metadata_props[:]
    assert "metadata" in refusal(write(model, tmp_path / "bare.onnx"))


def loop(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node.append(helper.make_node("Loop", ["", ""], ["x"], body=body))


def custom_operator(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Shell", ["planes"], ["x"], domain="evil"))


def outside_data(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[1]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"


def own_function(model: onnx.ModelProto) -> None:
    model.functions.add().name = "f"


def sparse_weights(model: onnx.ModelProto) -> None:
    model.graph.sparse_initializer.add().dims.append(1)


def list_of_tensors(model: onnx.ModelProto) -> None:
    attribute = model.graph.node[0].attribute.add(name="many", type=onnx.AttributeProto.TENSORS)
    attribute.tensors.append(numpy_helper.from_array(np.zeros(1, np.float32)))


def training(model: onnx.ModelProto) -> None:
    model.training_info.add()


def unknown_field(model: onnx.ModelProto) -> None:
    model.graph.MergeFromString(write_field(99, b"x"))


def too_many_nodes(model: onnx.ModelProto) -> None:
    for i in range(MAX_NODES + 1):
        model.graph.node.append(helper.make_node("Identity", ["planes"], [f"x{i}"]))


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (loop, "graph inside"),
        (custom_operator, "'Shell'"),
        (outside_data, "another file"),
        (own_function, "functions"),
        (sparse_weights, "by their places"),
        (list_of_tensors, "list of tensors"),
        (training, "training"),
        (unknown_field, "field 99"),
        (too_many_nodes, "nodes"),
    ],
)
def test_hostile_graphs(tmp_path: Path, spoil: Callable[[onnx.ModelProto], None], word: str) -> None:
    model = tiny_net()
    spoil(model)
    assert word in refusal(write(model, tmp_path / "hostile.onnx"))


def test_a_graph_in_two_parts_is_refused(tmp_path: Path) -> None:
    """Protobuf merges a single field that occurs twice: onnxruntime would run the nodes of both graphs."""
    hidden = onnx.ModelProto()
    loop(hidden)
    content = hidden.SerializeToString() + tiny_net().SerializeToString()
    assert onnx.ModelProto.FromString(content).graph.node[0].op_type == "Loop"
    (tmp_path / "two.onnx").write_bytes(content)
    assert "'graph' of a model twice" in refusal(tmp_path / "two.onnx")


@pytest.mark.parametrize(
    ("message", "field"),
    [("node", write_field(4, "Loop")), ("node", write_field(7, "evil")), ("tensor", write_field(14, 0) * 2)],
)
def test_a_single_field_that_occurs_twice_is_refused(tmp_path: Path, message: str, field: bytes) -> None:
    model = tiny_net()
    graph = model.graph.SerializeToString()
    body = model.graph.node[0] if message == "node" else model.graph.initializer[0]
    whole = body.SerializeToString()
    number = 1 if message == "node" else 5
    extra = write_field(7, "") if field == write_field(7, "evil") else b""
    graph = graph.replace(write_field(number, whole), write_field(number, whole + extra + field), 1)
    del model.graph.node[:], model.graph.initializer[:], model.graph.input[:], model.graph.output[:]
    model.ClearField("graph")
    (tmp_path / "twice.onnx").write_bytes(model.SerializeToString() + write_field(7, graph))
    assert f"of a {message} twice" in refusal(tmp_path / "twice.onnx")


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [bytes(100 << 20), write_field(14, b"") * (30 << 20), write_field(7, write_field(1, b"") * (30 << 20))],
    ids=["zeros", "entries", "nodes"],
)
def test_much_of_nothing_is_read_in_bounds(content: bytes) -> None:
    """Each would take minutes to walk whole: the walk ends at its bound on fields."""
    with pytest.raises(NetError):
        read_outline_bytes(content)


def test_memory_bomb_is_refused_by_the_trial(tmp_path: Path) -> None:
    model = tiny_net()
    model.graph.initializer.append(numpy_helper.from_array(np.array([1 << 20, 1 << 20], np.int64), "huge"))
    model.graph.node.insert(0, helper.make_node("ConstantOfShape", ["huge"], ["bomb"]))
    model.graph.node.append(helper.make_node("ReduceMean", ["bomb"], ["crumb"], keepdims=0))
    model.graph.output.append(helper.make_tensor_value_info("crumb", TensorProto.FLOAT, []))
    refusal(write(model, tmp_path / "bomb.onnx"))


@pytest.mark.slow
def test_a_net_that_computes_without_end_is_refused_by_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 2)
    model = tiny_net()
    model.graph.initializer.append(numpy_helper.from_array(np.array([4096, 4096], np.int64), "shape"))
    model.graph.node.insert(0, helper.make_node("ConstantOfShape", ["shape"], ["product0"]))
    for i in range(100):
        model.graph.node.append(helper.make_node("MatMul", [f"product{i}", "product0"], [f"product{i + 1}"]))
    model.graph.node.append(helper.make_node("ReduceMean", ["product100"], ["crumb"], keepdims=0))
    model.graph.output.append(helper.make_tensor_value_info("crumb", TensorProto.FLOAT, []))
    assert "within 2 s of computing" in refusal(write(model, tmp_path / "endless.onnx"))


@pytest.mark.parametrize(("weight", "said"), [(np.nan, "NaN"), (np.inf, "NaN"), (1e30, "beyond 1e+06")])
def test_answers_that_are_no_numbers_or_beyond_all_bounds(tmp_path: Path, weight: float, said: str) -> None:
    assert said in refusal(write(tiny_net(weight=weight), tmp_path / "wild.onnx"))


def test_a_net_that_answers_nonsense_to_some_positions_only(tmp_path: Path) -> None:
    """The start position and an empty board look well: it is tried on positions of games."""
    model = tiny_net(weight=1e12)
    start = np.array([GAME.start_planes().mean(dtype=np.float64)], np.float32)
    model.graph.initializer.append(numpy_helper.from_array(start, "start"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1e-4], np.float32), "little"))
    nodes = [
        helper.make_node("Sub", ["mean", "start"], ["from_start"]),
        helper.make_node("Abs", ["from_start"], ["distance"]),
        helper.make_node("Sub", ["distance", "little"], ["more"]),
        helper.make_node("Relu", ["more"], ["beyond"]),
        helper.make_node("Mul", ["beyond", "mean"], ["wild"]),
    ]
    model.graph.node[2].input[0] = "wild"
    for node in reversed(nodes):
        model.graph.node.insert(2, node)
    assert "beyond 1e+06" in refusal(write(model, tmp_path / "sometimes.onnx"))


def test_a_trial_is_told_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "cache_directory", lambda: tmp_path)
    path, said = write(tiny_net(weight=0.0007), tmp_path / "new.onnx"), list[str]()
    for _ in range(2):
        OnnxEvaluator(path, GAME, tell=said.append)
    assert said == ["trying this net in a process of its own, once, for 60 s at most"]


def test_wrong_output_shape(tmp_path: Path) -> None:
    model = tiny_net()
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("wdl", TensorProto.FLOAT, None))
    model.graph.node[4].input[1] = "policy_weights"
    assert "shapes" in refusal(write(model, tmp_path / "shape.onnx"))


def test_metadata_round_trip() -> None:
    assert NetInfo.from_metadata(INFO.to_metadata()) == INFO
    with pytest.raises(NetError):
        NetInfo.from_metadata({**INFO.to_metadata(), "az_engine.planes": "119x8"})
    with pytest.raises(NetError):
        NetInfo.from_metadata({**INFO.to_metadata(), "az_engine.format": "7"})


def test_a_net_brings_search_settings_and_the_user_has_the_last_word(tmp_path: Path) -> None:
    info = replace(INFO, search=(("c_puct", 1.745), ("policy_temperature", 1.359), ("mate_plies", 3)))
    assert NetInfo.from_metadata(info.to_metadata()) == info
    path = str(write(tiny_net(info), tmp_path / "net.onnx"))

    def searched_with(**options: Any) -> SearchParams:
        engine = Engine("chess", EngineOptions(weights_file=path, hash_mb=8, threads=1, **options))
        engine.set_position(None, ["e2e4"])
        engine.go(Limits(nodes=2), lambda lines: None, lambda answer: None)
        engine.wait()
        assert engine._search is not None
        assert any("NetSearch" in note for note in engine.notes) == options.get("net_search", True)
        return engine._search.params

    assert searched_with() == SearchParams(c_puct=1.745, policy_temperature=1.359, mate_plies=3)
    assert searched_with(search=SearchParams(c_puct=2.0, fpu_value=0.1)) == SearchParams(
        c_puct=2.0, fpu_value=0.1, policy_temperature=1.359, mate_plies=3
    )
    assert searched_with(net_search=False) == SearchParams()


@pytest.mark.parametrize(
    "text",
    [
        "c_puct",
        "c_puct=1=2",
        "c_puct=high",
        "c_puct=nan",
        "c_base=0",
        "seed=1",
        "hash=4",
        "mate_plies=1.5",
        "mate_plies=9",
    ],
)
def test_impossible_search_settings_of_a_net(text: str) -> None:
    with pytest.raises(NetError, match="metadata 'search' is broken"):
        NetInfo.from_metadata({**INFO.to_metadata(), "az_engine.search": text})


@pytest.mark.parametrize(
    ("board", "large"),
    [("go7", False), ("go9", False), ("go12", False), ("go13", True), ("go19", True), ("go9x19", True)],
)
def test_large_boards_have_a_net_of_their_own(board: str, large: bool) -> None:
    game = get_game(board)
    other = net_path("go-large", game)
    path = net_path("", game)
    assert path is not None
    assert (path == other) is large
    assert path.stem == ("go-large" if large else "go")
    evaluator = load_evaluator("", game)
    assert isinstance(evaluator, OnnxEvaluator)
    assert evaluator.path == path
    assert (sha256_of("", game) == sha256_of("go-large", game)) is large
    assert encoder_of("", game) == encoder_of("go-large", game) == "rules"
