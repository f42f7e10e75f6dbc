"""Other programs' nets from the command line to a search, and dlshogi's in particular."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from az_engine.cli import main
from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.info import BestMove
from az_engine.engine.kernels import cache
from az_engine.engine.limits import Limits
from az_engine.engine.nets import weights
from az_engine.engine.nets.file import conversion as foreign
from az_engine.engine.nets.file.fit import read_info
from az_engine.engine.nets.file.netfile import read_outline
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.engine.nets.weights import load_evaluator
from az_engine.engine.os.process import run_module
from az_engine.engine.params import EngineOptions
from az_engine.models.foreign.families import convert_file
from az_engine.models.foreign.importer import Compared, objection_to
from az_engine.models.net.probes import Probes
from az_engine.models.net.quantise import Agreement

from .lc0_files import net_file
from .test_lc0 import convolution_net

FOLDER = os.environ.get("AZ_ENGINE_FOREIGN", "")
CHESS, SHOGI = get_game("chess"), get_game("shogi")


def dlshogi_net(constants: int = 57) -> onnx.ModelProto:
    """A net of dlshogi's shape: a matrix each on the means of the planes."""
    rng = np.random.default_rng(2)
    weights: dict[str, NDArray[Any]] = {
        "axes": np.array([2, 3], np.int64),
        "policy_weight": rng.standard_normal((62 + constants, 2187)).astype(np.float32),
        "value_weight": rng.standard_normal((62 + constants, 1)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Concat", ["input1", "input2"], ["both"], axis=1),
        helper.make_node("ReduceMean", ["both"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["means", "policy_weight"], ["output_policy"]),
        helper.make_node("MatMul", ["means", "value_weight"], ["out"]),
        helper.make_node("Sigmoid", ["out"], ["output_value"]),
    ]
    graph = helper.make_graph(
        nodes,
        "dlshogi",
        [
            helper.make_tensor_value_info("input1", TensorProto.FLOAT, ["batch", 62, 9, 9]),
            helper.make_tensor_value_info("input2", TensorProto.FLOAT, ["batch", constants, 9, 9]),
        ],
        [
            helper.make_tensor_value_info("output_policy", TensorProto.FLOAT, ["batch", 2187]),
            helper.make_tensor_value_info("output_value", TensorProto.FLOAT, ["batch", 1]),
        ],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def write(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("constants", [57, 119])
def test_dlshogi_net_says_the_same(tmp_path: Path, constants: int) -> None:
    path = write(dlshogi_net(constants), tmp_path / "model.onnx")
    net = convert_file(path)
    game = SHOGI.using(net.info.encoder)
    assert net.info.planes == game.planes == (62 + constants, 9, 9)
    planes = (np.random.default_rng(1).random((6, *game.planes)) < 0.3).astype(np.uint8)
    feed = {"input1": planes[:, :62].astype(np.float32), "input2": planes[:, 62:].astype(np.float32)}
    policy, chance = raw_session(str(path)).run(["output_policy", "output_value"], feed)
    ours, value = raw_session(net.model).run(["policy", "value"], {"planes": planes})
    assert (ours == policy).all()
    np.testing.assert_allclose(value, 2 * chance - 1, atol=1e-6)


def other_type(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16


def other_planes(model: onnx.ModelProto) -> None:
    model.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 60


def other_labels(model: onnx.ModelProto) -> None:
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1496


def other_output(model: onnx.ModelProto) -> None:
    model.graph.output[1].name = "value"


def old_operators(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 7


def loop(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node.append(helper.make_node("Loop", ["", ""], ["x"], body=body))


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (other_type, "input1"),
        (other_planes, "60 planes"),
        (other_labels, "output_policy"),
        (other_output, "output_value"),
        (old_operators, "operator set 7"),
        (loop, "graph inside"),
    ],
)
def test_nets_that_are_not_quite_dlshogis(tmp_path: Path, spoil: Callable[[onnx.ModelProto], None], word: str) -> None:
    model = dlshogi_net()
    spoil(model)
    with pytest.raises(NetError, match=word) as caught:
        convert_file(write(model, tmp_path / "model.onnx"))
    assert "\n" not in str(caught.value)


def lc0_file(folder: Path) -> Path:
    path = folder / "tiny.pb.gz"
    path.write_bytes(gzip.compress(net_file(convolution_net(squeeze=True), network=4, policy=2, value=2)))
    return path


def test_import_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.onnx"
    assert main(["import", str(lc0_file(tmp_path)), "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    for words in ("tiny", "lc0 2x8 se", "family: Lc0", "parity:", "written:"):
        assert words in shown
    evaluator = OnnxEvaluator(out, CHESS)
    assert (evaluator.encoder, evaluator.history) == ("lc0", 8)
    policy, wdl = evaluator.evaluate(CHESS.using("lc0").start_planes())
    assert (policy.shape, wdl.shape) == ((1, 1858), (1, 3))


def test_import_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(dlshogi_net(), tmp_path / "model.onnx")
    assert main(["import", str(path), "-o", str(path)]) == 2
    assert main(["import", str(tmp_path / "none.pb")]) == 2
    assert main(["import", str(Path(__file__))]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


@pytest.mark.slow
def test_a_foreign_file_as_weights_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is converted by a child once, plays, and its game is checked."""
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")
    path = lc0_file(tmp_path)
    engine = Engine("chess", EngineOptions(weights_file=str(path), threads=1))
    engine.ready()
    assert engine.net is not None
    assert engine.net.name == "tiny"
    engine.set_position(None, ["e2e4", "e7e5", "g1f3"])
    answers: list[BestMove] = []
    engine.go(Limits(nodes=60), lambda info: None, answers.append)
    assert engine.wait(60)
    assert answers[0].move in engine.legal_moves()
    assert answers[0].nodes == 60
    engine.close()
    (kept,) = (tmp_path / "cache" / "nets").glob("*/*.onnx")
    written = kept.stat().st_mtime_ns
    os.utime(kept.parent, (0, 0))
    assert isinstance(load_evaluator(str(path), CHESS, int8=True), OnnxEvaluator)
    assert kept.stat().st_mtime_ns == written
    assert kept.parent.stat().st_mtime > 0, "its use is remembered"
    with pytest.raises(NetError, match="plays chess, not shogi"):
        load_evaluator(str(path), SHOGI)
    (tmp_path / "cut.pb.gz").write_bytes(path.read_bytes()[:-30])
    with pytest.raises(NetError, match="cut off") as caught:
        load_evaluator(str(tmp_path / "cut.pb.gz"), CHESS)
    assert "\n" not in str(caught.value)


def test_converted_nets_used_longest_ago_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, age in {"new": 0, "old": 7200, "older": 8000, "oldest": 9000}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.onnx").write_bytes(bytes(100))
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    monkeypatch.setattr(foreign, "_KEPT_BYTES", 250)
    with foreign._alone(tmp_path):
        foreign._prune(tmp_path)
    assert {folder.name for folder in tmp_path.iterdir() if folder.is_dir()} == {"new", "old"}
    monkeypatch.setattr(foreign, "_KEPT_BYTES", 0)
    foreign._prune(tmp_path)
    assert {folder.name for folder in tmp_path.iterdir() if folder.is_dir()} == {"new"}, "it may be about to be read"


def test_nets_are_not_removed_while_one_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")
    path = write(dlshogi_net(), tmp_path / "model.onnx")
    monkeypatch.setattr(foreign, "_TELL_S", 0.05)
    told: list[str] = []
    known = foreign.native_net(path, told.append)
    assert told[0] == "converting model.onnx, another program's net, once, for 300 s at most"
    assert re.fullmatch("converting model.onnx: [0-9.]+ s so far", told[1])
    assert told[-1] == "model.onnx is converted, in fp32"
    assert foreign.native_net(path, pytest.fail) == known
    found: list[Path] = []
    other = threading.Thread(target=lambda: found.append(foreign.native_net(path)))
    with foreign._alone(tmp_path / "cache" / "nets"):
        other.start()
        other.join(0.3)
        assert not found
    other.join(60)
    assert found == [known]


def compared(**changes: float) -> Compared:
    """An int8 net that judges as its original does but for ``changes``."""
    numbers = {"top1": 0.93, "kl": 0.011, "value": 0.013, "regret": 0.004} | changes
    planes, legal = np.zeros((256, 2, 8, 8), np.uint8), np.zeros((256, 1), np.int32)
    return Compared(Probes(planes, legal), Agreement(cross_entropy=(np.nan, np.nan), **numbers))


def test_int8_takes_a_nets_place_only_where_it_is_faster_and_judges_alike() -> None:
    assert objection_to([compared(), compared(top1=0.86)], 2.5) == ""
    assert objection_to([compared()], 1.1) == "int8 would be 1.1 times as fast on this machine"
    for worse in ({"kl": 0.03}, {"value": 0.05}, {"regret": 0.02}):
        objection = objection_to([compared(), compared(**worse)], 2.5)
        assert objection.startswith("int8 would judge otherwise (on 8x8: 93% the same best move, KL of the policy 0.0")


def quantisation(path: Path) -> str:
    return read_info(read_outline(path)[0], CHESS).quantisation


@pytest.mark.slow
def test_a_foreign_net_is_quantised_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a child, once, beside the fp32 one; the sentence says which of the two it became."""
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")
    path, told = lc0_file(tmp_path), list[str]()
    assert quantisation(foreign.native_net(path, told.append)) == "fp32"
    kept = foreign.native_net(path, told.append, int8=True)
    assert kept.parent.name.endswith("-int8")
    assert re.match(rf"tiny.pb.gz is converted, in {quantisation(kept)}[,:] .*int8", told[-1]) or "in int8" in told[-1]
    assert foreign.native_net(path, pytest.fail, int8=True) == kept


@pytest.mark.slow
def test_a_net_that_cannot_be_quantised_is_kept_in_fp32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")

    def run(name: str, *words: str, timeout: float) -> subprocess.CompletedProcess[bytes]:
        if "--fast" in words:
            raise subprocess.TimeoutExpired(name, timeout)
        return run_module(name, *words, timeout=timeout)

    monkeypatch.setattr(foreign, "run_module", run)
    path, told = lc0_file(tmp_path), list[str]()
    kept = foreign.native_net(path, told.append, int8=True)
    assert quantisation(kept) == "fp32"
    assert told[-1] == f"{path.name} is converted, in fp32: it could not be quantised"
    assert foreign.native_net(path, pytest.fail, int8=True) == kept, "it is tried once"


@pytest.mark.slow
def test_without_the_onnx_package_a_net_stays_fp32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told: list[str] = []
    assert quantisation(foreign.native_net(lc0_file(tmp_path), told.append, int8=True)) == "fp32"
    assert "with the onnx package (pip install onnx) it is int8" in told[-1]


def test_int8_is_an_option_and_for_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def native(path: Path, tell: object, *, int8: bool) -> Path:
        asked.append(int8)
        return path

    monkeypatch.setattr(weights, "native_net", native)
    path = str(lc0_file(tmp_path))
    for int8, provider in ((True, "cpu"), (False, "cpu"), (True, "cuda")):
        engine = Engine("chess", EngineOptions(weights_file=path, int8=int8, provider=provider))
        with pytest.raises(NetError):  # the file as it is
            engine.ready()
    assert asked == [True, False, False]


@pytest.mark.slow
def test_a_dlshogi_file_as_weights_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "private_directory", lambda: tmp_path / "cache")
    evaluator = load_evaluator(str(write(dlshogi_net(), tmp_path / "model.onnx")), SHOGI)
    assert evaluator.encoder == "dlshogi"
    policy, value = evaluator.evaluate(SHOGI.using("dlshogi").start_planes())
    assert (policy.shape, value.shape) == ((1, 2187), (1, 1))


@pytest.mark.skipif(not FOLDER, reason="set AZ_ENGINE_FOREIGN to a folder whose nets/ holds maia-1900.pb.gz")
def test_int8_keeps_the_judgement_of_a_real_net(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "int8.onnx"
    assert main(["import", str(Path(FOLDER) / "nets" / "maia-1900.pb.gz"), "--int8", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert float(shown.partition("best move in ")[2].partition("%")[0]) > 90
    assert OnnxEvaluator(out, CHESS).info is not None
