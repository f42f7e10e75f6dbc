"""torch plays with a run's nets: the same answers as onnxruntime, and a sentence where it cannot."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from az_engine.cli import main
from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.limits import Limits
from az_engine.engine.nets import weights
from az_engine.engine.nets.file.netfile import EMBEDDED
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx import session
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.opinions import expected_points, softmax
from az_engine.engine.nets.positions import random_planes
from az_engine.engine.params import EngineOptions
from az_engine.models.families.tower.config import TowerConfig
from az_engine.models.families.tower.graph import KEEP_FP32
from az_engine.models.families.tower.network import TowerNetwork
from az_engine.models.net import providers, quantise
from az_engine.models.net.batches import Batches, sizes_of
from az_engine.models.net.evaluator import TorchEvaluator, read_network
from az_engine.models.selfplay.config import RunConfig

from ...engine.driving import Recorder
from ..families.test_tower import FAMILY, GO_INFO, INFO, lively
from ..samples import tiny, tiny_go

CHESS, GO = get_game("chess"), get_game("go")


def written(network: TowerNetwork, info: NetInfo, folder: Path) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(network.to_onnx(info).SerializeToString())
    return path


def go5(**changes: Any) -> tuple[Game, TowerConfig, NetInfo]:
    """AlphaGo Zero's flat head on a small board."""
    game = get_game("go5")
    config = TowerConfig(game.planes, game.num_actions, blocks=2, filters=8, policy_head="flat", **changes)
    info = replace(GO_INFO, planes=game.planes, actions=game.num_actions, value_head=config.value_head)
    return game, config.seeing(game.encoder), info


def both(path: Path, game: Game, count: int, **options: Any) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Every output of onnxruntime and of torch for ``count`` positions, more than torch's batch."""
    planes = random_planes(game, count, 0).reshape(count, -1)
    expected = OnnxEvaluator(path, game, provider="cpu", batch_size=16).evaluate_all(planes)
    torch_net = TorchEvaluator(path, game, batch_size=32, **options)
    got = torch_net.evaluate_all(planes)
    assert [y is None for y in expected] == [y is None for y in got]
    return [(a, b) for a, b in zip(expected, got, strict=True) if a is not None and b is not None]


NETS: dict[str, Callable[[], tuple[Game, TowerConfig, NetInfo]]] = {
    **{
        f"chess {changes}": lambda c=changes: (CHESS, tiny(**c), replace(INFO, value_head=tiny(**c).value_head))  # type: ignore[misc]
        for changes in FAMILY
    },
    "go5": go5,
    "go5 value, ownership, score": lambda: go5(value_head="value", ownership=True, score=True),
    **{
        f"pooled {size}": lambda s=size: (get_game(f"go{s}"), tiny_go(squeeze=4), replace(GO_INFO, boards=(7, 19)))  # type: ignore[misc]
        for size in (7, 9, 19)
    },
}


@pytest.mark.parametrize("name", NETS)
def test_torch_says_what_onnxruntime_says(name: str, tmp_path: Path) -> None:
    game, config, info = NETS[name]()
    path = written(lively(config), replace(info, history=config.history), tmp_path)
    outputs = both(path, game, 70)
    assert len(outputs) == len(config.outputs)
    for expected, got in outputs:
        assert (got.shape, str(got.dtype)) == (expected.shape, "float32")
        assert expected.std() > 0.001
        np.testing.assert_allclose(got, expected, atol=1e-4 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("name", ["chess {'kind': 'dual-res', 'blocks': 2}", "go5 value, ownership, score", "pooled 9"])
def test_bf16_costs_what_its_eight_bits_cost(name: str, tmp_path: Path) -> None:
    game, config, info = NETS[name]()
    path = written(lively(config), replace(info, history=config.history), tmp_path)
    (logits, rounded), (values, rounded_values), *_ = outputs = both(path, game, 70, precision="bf16")
    assert np.abs(softmax(logits) - softmax(rounded)).mean() < 1e-3
    assert np.abs(expected_points(values) - expected_points(rounded_values)).max() < 2e-2
    for expected, got in outputs:
        assert 0 < np.abs(got - expected).max() < 0.02 * max(1.0, np.abs(expected).max())


def test_a_position_is_judged_alike_whatever_stands_beside_it(tmp_path: Path) -> None:
    game, config, info = go5()
    network = TorchEvaluator(written(lively(config), info, tmp_path), game, batch_size=64)
    planes = random_planes(game, 64, 0).reshape(64, -1)
    whole = network.evaluate(planes)
    turned = network.evaluate(planes[::-1])
    fewer = network.evaluate(planes[:60])  # padded to the same size
    for a, b, c in zip(whole, turned, fewer, strict=True):
        assert np.array_equal(a, b[::-1])
        assert np.array_equal(a[:60], c)


def test_policies_are_gathered_at_the_legal_actions() -> None:
    game, config, _ = go5()
    network = lively(config).to_play(torch.float32, torch.device("cpu"))
    planes, actions = random_planes(game, 8, 0), np.random.default_rng(0).integers(0, 26, (8, 5))
    whole, some = Batches(network, game.planes, 8), Batches(network, game.planes, 8, width=5)
    for batches in (whole, some):
        batches.slots[1].planes[:] = planes
        batches.slots[1].actions[:, :5] = actions[:, : batches.slots[1].actions.shape[1]]
    policy, value = whole.run(8, 1)()
    gathered, same = some.run(8, 1)()
    assert np.array_equal(gathered, np.take_along_axis(policy, actions, 1))
    assert np.array_equal(value, same)


def test_sizes_of_batches() -> None:
    assert sizes_of(64) == [8, 16, 24, 32, 40, 48, 56, 64]
    assert sizes_of(3) == [1, 2, 3]
    assert sizes_of(1) == [1]


def test_weights_in_int8_become_fp32(tmp_path: Path) -> None:
    game, config, info = go5()
    model = lively(config).to_onnx(info)
    path = tmp_path / "int8.onnx"
    path.write_bytes(quantise.quantise(model, [random_planes(game, 64, 0)], keep=KEEP_FP32).SerializeToString())
    assert "torch fp32 of int8 weights on CPU" in TorchEvaluator(path, game).description
    for expected, got in both(path, game, 70):  # onnxruntime rounds what the layers say, too
        assert np.abs(got - expected).mean() < 0.05 * expected.std()
    whole = tmp_path / "fp32.onnx"
    _, network = read_network(path, game)
    whole.write_bytes(network.to_onnx(info).SerializeToString())
    planes = random_planes(game, 70, 0).reshape(70, -1)
    exact = OnnxEvaluator(whole, game, provider="cpu", batch_size=16).evaluate(planes)
    for expected, got in zip(exact, TorchEvaluator(path, game).evaluate(planes), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-4 * max(1.0, float(np.abs(expected).max())))


def test_nets_that_torch_cannot_run_are_refused(tmp_path: Path) -> None:
    game, config, info = go5()
    model, path = lively(config).to_onnx(info), tmp_path / "net.onnx"
    with pytest.raises(NetError, match="a sparse net, which torch does not play with"):
        TorchEvaluator(EMBEDDED / "chess.onnx", CHESS)
    for constant in model.graph.initializer:
        if constant.name == "value.hidden.weight":
            constant.name = "other"
    for node in model.graph.node:
        node.input[:] = ["other" if name == "value.hidden.weight" else name for name in node.input]
    path.write_bytes(model.SerializeToString())
    OnnxEvaluator(path, game, provider="cpu", batch_size=1)
    with pytest.raises(NetError, match="no net of az-engine train, and torch runs no others"):
        TorchEvaluator(path, game)
    with pytest.raises(OptionError, match=r"torch computes in fp32 or bf16: set machine\.int8=false"):
        RunConfig.from_values({"game": "go5", "machine": {"provider": "torch", "int8": True}})


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, config, info = go5()
    path = written(lively(config), info, tmp_path)
    real = builtins.__import__

    def refusing(name: str, *more: Any) -> Any:
        if name == "evaluator" and more[-1] == 1:
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(NetError, match=r"torch is missing\); run: pip install 'az-engine\[train\]'"):
        providers.run_evaluator(path, game, provider="torch", batch_size=8)


def test_auto_takes_torch_where_only_torch_has_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, config, info = go5()
    path = written(lively(config), info, tmp_path)

    def chosen() -> type:
        return type(providers.run_evaluator(path, game, batch_size=8))

    assert not session.uses_gpu("auto")  # of this machine
    assert chosen() is OnnxEvaluator
    monkeypatch.setattr(providers, "nvidia_driver", lambda: True)
    assert chosen() is OnnxEvaluator
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("az_engine.models.net.evaluator.torch_device", lambda: torch.device("cpu"))
    assert chosen() is TorchEvaluator
    assert type(providers.load_evaluator(str(path), game, batch_size=8)) is TorchEvaluator
    assert providers.load_evaluator("uniform", game).info is None
    assert type(providers.load_evaluator("", CHESS)) is TorchEvaluator  # the package's convolution net
    sparse = providers.load_evaluator(str(EMBEDDED / "chess.onnx"), CHESS)
    assert not isinstance(sparse, TorchEvaluator)  # torch cannot, and need not
    monkeypatch.setattr(providers, "uses_gpu", lambda provider: True)
    assert chosen() is OnnxEvaluator


def test_the_engine_plays_by_torch(tmp_path: Path) -> None:
    path = str(written(lively(tiny()), INFO, tmp_path))
    answers = {}
    for provider in ("cpu", "torch"):
        engine = Engine("chess", EngineOptions(weights_file=path, provider=provider, hash_mb=16, threads=1))
        engine.set_position(None, [])
        recorder = Recorder()
        engine.go(Limits(nodes=60), recorder.infos.append, recorder.on_done)
        assert recorder.done.wait(300)
        assert ("torch fp32 on CPU" in engine.description) == (provider == "torch")
        answers[provider] = recorder.answer.move
        engine.close()
    assert answers["torch"] == answers["cpu"]


def test_a_match_by_torch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(lively(tiny()), INFO, tmp_path)
    players = ["-A", f"{path} option.Provider=torch option.Threads=1", "-B", f"{path} option.Threads=1"]
    assert main(["match", *players, "--visits", "4", "--games", "2", "--max-plies", "8", "--openings", "random:2"]) == 0
    assert "of 2" in capsys.readouterr().out


def test_a_provider_that_nothing_offers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(lively(tiny()), INFO, tmp_path)
    monkeypatch.setattr(weights, "entry_points", lambda **_: ())
    with pytest.raises(NetError, match="nothing installed here runs nets by torch; choose another Provider"):
        weights.load_evaluator(str(path), CHESS, provider="torch")


def test_a_gpu_too_small_for_the_net_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, config, info = go5()

    def failing(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB\nmore")

    monkeypatch.setattr("az_engine.models.net.evaluator.Batches", failing)
    with pytest.raises(NetError, match=r"torch cannot run net\.onnx on cpu .*20 GiB.; give smaller batches"):
        TorchEvaluator(written(lively(config), info, tmp_path), game)
