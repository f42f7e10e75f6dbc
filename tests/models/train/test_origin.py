"""What a run begins from: exported nets read back as networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from az_engine.engine.errors import DataError, NetError
from az_engine.engine.games import get_game
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.engine.nets.opinions import expected_points
from az_engine.engine.nets.weights import dense_net
from az_engine.models.families import config_of
from az_engine.models.families.tower.config import TowerConfig
from az_engine.models.families.tower.graph import KEEP_FP32, folded
from az_engine.models.families.tower.layers import ConvBlock
from az_engine.models.families.tower.network import TowerNetwork
from az_engine.models.net import probes, quantise
from az_engine.models.train import checkpoint
from az_engine.models.train import command as train
from az_engine.models.train.log import read_config
from az_engine.models.train.origin import EMBEDDED, network_at, origin

from ...fakes.arguments import parsed
from ..families.test_tower import FAMILY, GO_INFO, INFO, lively
from ..samples import CHESS, GO, SAMPLE, rows, sample_positions, tiny, tiny_go

DEFAULT = Path("default")


def network_of(saved: checkpoint.Checkpoint, scale: Any) -> TowerNetwork:
    """The network of a checkpoint, for evaluation."""
    config = config_of(saved.state["net"])
    assert isinstance(config, TowerConfig)
    network = TowerNetwork(config, scale)
    network.load_state_dict({n.removeprefix("averaged."): t for n, t in saved.tensors.items()})
    return network.eval()


def chess_planes(count: int) -> Any:
    """Planes u8 [count, C, H, W] of labelled games."""
    data = sample_positions()[0]
    return data.batch(rows(count, data)).planes


def exported(path: Path, network: TowerNetwork, **changes: Any) -> Path:
    """The fp32 file of a network."""
    config = network.config
    info = replace(
        GO_INFO if config.any_size else INFO,
        value_head=config.value_head,
        architecture=config.architecture,
        history=config.history,
        **changes,
    )
    onnx.save(network.to_onnx(info), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("changes", FAMILY, ids=str)
def test_an_exported_net_comes_back(changes: dict[str, Any], tmp_path: Path) -> None:
    network = lively(tiny(**changes))
    path = exported(tmp_path / "net.onnx", network)
    assert network_at(path, CHESS) == network.config
    again = network_of(origin(path, CHESS), CHESS.encoder.plane_scale)
    planes = torch.from_numpy(chess_planes(64))
    with torch.no_grad():
        for ours, theirs in zip(again(planes), network(planes), strict=True):
            assert torch.allclose(ours, theirs, atol=2e-4 * max(1.0, float(theirs.abs().max())))


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"value_head": "value", "score": False, "policy_filters": 5}], ids=str)
def test_a_net_for_every_size_of_board_comes_back(changes: dict[str, Any], tmp_path: Path) -> None:
    config = tiny_go(**changes)
    network = lively(config)
    path = exported(tmp_path / "net.onnx", network, boards=(5, 9))
    assert network_at(path, GO) == config
    again = network_of(origin(path, GO), np.ones(config.planes[0], np.float32))
    planes = torch.from_numpy(np.random.default_rng(3).integers(0, 2, (16, 17, 7, 7)).astype(np.uint8))
    with torch.no_grad():
        for ours, theirs in zip(again(planes), network(planes), strict=True):
            assert torch.allclose(ours, theirs, atol=2e-4 * max(1.0, float(theirs.abs().max())))


@pytest.mark.slow
def test_an_int8_net_comes_back(tmp_path: Path) -> None:
    """The weights differ from the ones before by half a step of their filter's scale at most."""
    network = lively(tiny(squeeze=4))
    model = onnx.load(exported(tmp_path / "net.onnx", network))
    planes = chess_planes(256)
    onnx.save(quantise.quantise(model, [planes], keep=KEEP_FP32), tmp_path / "int8.onnx")
    assert network_at(tmp_path / "int8.onnx", CHESS) == network.config
    again = network_of(origin(tmp_path / "int8.onnx", CHESS), CHESS.encoder.plane_scale)
    block, before = again.tower[1].first, network.tower[1].first
    ours, theirs = (folded(b)[0].detach() for b in (block, before))  # type: ignore[arg-type]
    step = theirs.abs().amax((1, 2, 3), keepdim=True) / 127
    assert bool(((ours - theirs).abs() <= 0.51 * step).all())
    assert not torch.allclose(ours, theirs, atol=1e-6)  # it was rounded indeed
    with torch.no_grad():
        policy, value = again(torch.from_numpy(planes))[:2]
        policy_before, value_before = network(torch.from_numpy(planes))[:2]
    assert float((policy - policy_before).abs().mean()) < 0.025 * float(policy_before.std())
    assert float((value.softmax(1) - value_before.softmax(1)).abs().mean()) < 0.02


def test_training_mode_says_the_same_after_unfolding() -> None:
    """On the positions that the statistics are of, and only because they are."""
    network = lively(tiny(squeeze=4))
    planes = chess_planes(256)
    with torch.no_grad():
        before = network(torch.from_numpy(planes))[0]
        apart = (lively(network.config).train()(torch.from_numpy(planes))[0] - before).abs().max()
        for module in network.modules():  # the identity, as in an exported net
            if isinstance(module, ConvBlock):
                weight, bias = folded(module)
                module.conv.weight.copy_(weight)
                module.norm.weight.fill_(1)
                module.norm.bias.copy_(bias)
                assert module.norm.running_mean is not None
                assert module.norm.running_var is not None
                module.norm.running_mean.zero_()
                module.norm.running_var.fill_(1 - module.norm.eps)
        network.unfold(planes)
        network.eval()
        assert torch.allclose(network(torch.from_numpy(planes))[0], before, atol=1e-3)
        network.train()
        assert torch.allclose(network(torch.from_numpy(planes))[0], before, atol=2e-2)
    assert float(apart) > 0.5
    filters = network.tower[1].first.conv.weight  # type: ignore[union-attr]
    sizes = filters.pow(2).mean((1, 2, 3)).sqrt()  # type: ignore[operator]
    assert torch.allclose(sizes, torch.full_like(sizes, (2 / filters[0].numel()) ** 0.5))  # type: ignore[index]


@pytest.mark.parametrize("name", ["chess", "go", "shogi"])
def test_the_nets_inside_the_package_can_be_trained_on(name: str) -> None:
    config: Any = network_at(DEFAULT, get_game(name))
    assert config.architecture == "dual-res 6x64 se16"
    assert (config.ownership, config.score, config.policy_head) == (
        (True, True, "pooled") if name == "go" else (False, False, "conv")
    )


@pytest.mark.slow
def test_a_run_begins_with_a_net(tmp_path: Path) -> None:
    """One step at a rate of nearly nothing says what the net inside the package says; the card names where it began."""
    words = ["--supervised", str(SAMPLE), "--out", str(tmp_path / "run"), "--init", "default", "--steps", "1"]
    words += ["--batch", "32", "--rate", "1e-12", "--ema", "0", "--precision", "fp32"]
    assert train.main(parsed(train, *words)) == 0
    inside = dense_net("chess")
    assert inside is not None
    planes = chess_planes(64)
    runs = [raw_session(str(p)) for p in (tmp_path / "run" / "net_fp32.onnx", inside)]
    ours, theirs = (probes.run(r, planes)[1] for r in runs)
    # one batch moves the statistics by a tenth
    assert float(np.abs(expected_points(ours) - expected_points(theirs)).mean()) < 0.025
    assert "before" not in read_config(tmp_path / "run" / "config.json")


def test_what_is_no_net_of_ours_is_refused(tmp_path: Path) -> None:
    network = lively(tiny())
    path = exported(tmp_path / "net.onnx", network)
    with pytest.raises(NetError, match="plays chess, not shogi"):
        origin(path, get_game("shogi"))
    with pytest.raises(NetError, match="there is no such file"):
        origin(tmp_path / "missing.onnx", CHESS)
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        tensor.name = tensor.name.replace("tower.1.second", "body")
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(DataError, match=r"has no tower\.1\.second\.weight as nets of az-engine train have"):
        origin(tmp_path / "other.onnx", CHESS)
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name == "tower.1.second.bias":
            tensor.raw_data = tensor.raw_data[:-2]
    onnx.save(model, tmp_path / "torn.onnx")
    with pytest.raises(DataError, match=r"has no tower\.1\.second\.bias as nets"):
        origin(tmp_path / "torn.onnx", CHESS)
    with pytest.raises(DataError, match="there is no net for checkers"):
        origin(DEFAULT, _Nameless())  # type: ignore[arg-type]


class _Nameless:
    name = "checkers"


@pytest.mark.parametrize(("planes", "shown"), [("", 17), ("rules", 42)])
def test_the_net_inside_is_the_one_that_sees_what_the_run_sees(planes: str, shown: int) -> None:
    go = get_game("go").sized(9)
    assert network_at(Path(EMBEDDED), go.using(planes) if planes else go).planes[0] == shown
