"""A KataGo net that learns on: it begins as it was, its weights alone change, and the result plays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.games.go.encoders.katago import ENCODER
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.models.distil.katago import KatagoNetwork, is_katago, read_katago
from az_engine.models.families.losses import TorchBatch
from az_engine.models.foreign.families import convert_file
from az_engine.models.net.torchgraph import TorchGraph
from az_engine.models.train.config import LearnerConfig
from az_engine.models.train.learner import Learner

from ..foreign.katago_files import random_net, to_bytes
from ..foreign.test_katago import random_planes

KINDS = (("ordinary_block", "gpool_block"), ("nested_bottleneck_block", "transformer_attention_block"))


def a_net(folder: Path, kinds: tuple[str, ...] = KINDS[0]) -> Path:
    path = folder / "net.bin.gz"
    path.write_bytes(to_bytes(random_net(1, 15, kinds)))
    return path


def learning(game: Game, path: Path, config: LearnerConfig, *, chances_only: bool = False) -> Learner:
    first = read_katago(path, exact=True)
    return Learner(game, first.config, config, chances_only=chances_only, first=first)


def batch_of(planes: torch.Tensor) -> TorchBatch:
    count, points = len(planes), planes[0, 0].numel()
    return TorchBatch(
        planes, torch.arange(points + 1).expand(count, -1), torch.full((count, points + 1), 1 / (points + 1)), None,
        torch.tensor([[0.9, 0.0, 0.1]]).repeat(count, 1), torch.full((count,), 0.8),
        torch.zeros(count, *planes.shape[2:]), torch.full((count,), 3.0), None, None,
    )  # fmt: skip


@pytest.mark.parametrize("kinds", KINDS)
def test_it_begins_as_the_net_and_learns(kinds: tuple[str, ...], tmp_path: Path) -> None:
    path = a_net(tmp_path, kinds)
    converted, planes = convert_file(path), torch.from_numpy(random_planes(5, 5, "chinese", 1))
    before = onnx.load_from_string(converted.model)
    expected = TorchGraph(before)(planes)
    game = get_game("go").sized(19).using(ENCODER)
    learner = learning(game, path, LearnerConfig(optimiser="muon", rate=1e-3, warmup=1))
    with torch.no_grad():
        for name, output in learner.averaged.outputs(planes).items():
            told = output.all() if name == "policy" else output
            assert torch.allclose(told, expected[name], rtol=1e-4, atol=1e-4), name
    losses = [float(learner.step_on(batch_of(planes))) for _ in range(30)]
    assert losses[-1] < losses[0] - 0.3
    info = learner.net_info(game, name="more", boards=(5,), trained_on="")
    after = learner.averaged.to_onnx(info)
    assert learner.averaged.parity(after, planes.numpy()) < 1e-3
    told = NetInfo.from_metadata({each.key: each.value for each in after.metadata_props})
    assert (told.boards, told.search) == (converted.info.boards, converted.info.search)
    assert {output.name for output in after.graph.output} == {"policy", "wdl", "ownership", "score"}
    weights = {each.name: numpy_helper.to_array(each) for each in after.graph.initializer}
    changed = {
        each.name for each in before.graph.initializer
        if each.name in weights and not np.array_equal(weights[each.name], numpy_helper.to_array(each))
    }  # fmt: skip
    assert {"entry.planes.weight", "policy.out.weight", "wdl.logits.bias"} <= changed
    assert not {name for name in changed if name.startswith(("number", "sizes", "score.counted", "wdl.barred"))}


@pytest.mark.parametrize("name", ["default", "run", "step-00000001.json", "step-00000001.safetensors"])
def test_runs_and_checkpoints_are_no_katago_nets(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"{}")
    assert not is_katago(tmp_path / name)


def test_its_chances_alone_learn(tmp_path: Path) -> None:
    path, planes = a_net(tmp_path), torch.from_numpy(random_planes(5, 5, "chinese", 1))
    game = get_game("go").sized(19).using(ENCODER)
    learner = learning(game, path, LearnerConfig(optimiser="muon", rate=1e-2), chances_only=True)
    before = {name: weight.clone() for name, weight in learner.network.body.weights()}  # type: ignore[operator, union-attr]
    learner.step_on(batch_of(planes))
    after = dict(learner.network.body.weights())  # type: ignore[operator, union-attr]
    assert {name for name, weight in after.items() if not torch.equal(weight, before[name])} == {
        "wdl.logits.weight",
        "wdl.logits.bias",
    }


def test_most_of_it_may_be_computed_in_bfloat16(tmp_path: Path) -> None:
    path, planes = a_net(tmp_path), torch.from_numpy(random_planes(5, 5, "chinese", 2))
    exact, rounded = (read_katago(path, exact=exact).eval() for exact in (True, False))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        one, other = (net.outputs(planes)["wdl"].softmax(1) for net in (exact, rounded))
    assert 0 < (one - other).abs().max() < 0.05
    assert all(weight.dtype == torch.float32 for weight in rounded.parameters())


@pytest.mark.slow
def test_a_short_run_ends_with_nets_that_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = a_net(tmp_path), tmp_path / "run"
    arguments = "--sizes 5:1,7:1 --minutes 0.2 --points 800 --least 32 --batch 2 --precision bf16 --rate 0.0005"
    command = ["distil", str(path), "--init", str(path), "--out"]
    assert main([*command, str(out), *arguments.split()]) == 0
    [exact] = out.glob("*_fp32.onnx")
    assert is_katago(exact)
    assert isinstance(read_katago(exact, exact=True), KatagoNetwork)
    players = [f"{each} visits=4" for each in (exact, next(out.glob("*_int8.onnx")))]
    games = ["-A", players[0], "-B", players[1], "--games", "2", "--out", str(tmp_path / "match")]
    assert main(["match", "--game", "go", "--size", "7", *games]) == 0
    again = ["distil", str(path), "--init", str(exact), "--out", str(tmp_path / "again")]
    assert main([*again, *arguments.split(), "--fp32"]) == 0
    capsys.readouterr()
    assert main([*command, str(tmp_path / "more"), "--nets", "1x8"]) != 0
    assert "is a KataGo net, which has its own shape; leave --nets out" in " ".join(capsys.readouterr().err.split())
