"""The network family and its export to ONNX."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from az_engine.engine.errors import NetError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.nets.file.netfile import OPERATORS
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.models.families import config_of, family_of
from az_engine.models.families.tower.config import TowerConfig
from az_engine.models.families.tower.layers import ResidualBlock
from az_engine.models.families.tower.network import TowerNetwork
from az_engine.models.net import probes

from ..samples import CHESS, rows, sample_positions, tiny, tiny_go

INFO = NetInfo(
    "chess",
    CHESS.planes,
    CHESS.num_actions,
    CHESS.encoder.planes_version,
    CHESS.encoder.moves_version,
    "wdl",
    name="test",
)
GO = get_game("go")
GO_INFO = NetInfo(
    "go", GO.planes, GO.num_actions, GO.encoder.planes_version, GO.encoder.moves_version, "wdl", name="test"
)


def paper(game: Game) -> TowerConfig:
    """The papers' network."""
    tower = family_of("dual-res")
    config = tower.configured(game, tower.shorthands["paper"].values[20])
    assert isinstance(config, TowerConfig)
    return config


FAMILY: list[dict[str, Any]] = [
    {"kind": "dual-res", "blocks": 2},
    {"kind": "dual-res", "blocks": 2, "squeeze": 4, "value_filters": 3, "policy_filters": 12},
    {"kind": "sep-res", "value_head": "value"},
    {"kind": "dual-conv", "blocks": 3, "policy_head": "flat"},
    {"kind": "sep-conv", "blocks": 2, "history": 3},
    {"history": 1, "squeeze": 4, "value_head": "value", "policy_head": "flat"},
]


def lively(config: TowerConfig) -> TowerNetwork:
    """A net whose normalisations and outputs are far from their first values, as after training."""
    torch.manual_seed(1)
    network = TowerNetwork(
        config, np.ones(config.planes[0], np.float32) if config.any_size else CHESS.encoder.plane_scale
    )
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            for tensor, low, high in ((module.weight, 0.3, 1.5), (module.bias, -0.3, 0.3)):
                nn.init.uniform_(tensor, low, high)
            assert module.running_mean is not None
            assert module.running_var is not None
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.3, 2.0)
    nn.init.constant_(network.value.block.norm.bias, 0.7)  # a single filter must not be dead behind its rectifier
    for layer in network.last_layers():
        nn.init.normal_(layer.weight, std=0.5)
    return network.eval()


@pytest.mark.parametrize("changes", FAMILY, ids=str)
def test_onnx_says_what_torch_says(changes: dict[str, Any]) -> None:
    config = tiny(**changes)
    network = lively(config)
    model = network.to_onnx(INFO)
    data = sample_positions()[0]
    planes = data.batch(rows(70, data)).planes  # more than one run of 64, and a remainder
    with torch.no_grad():
        policy, value = (y.numpy() for y in network(torch.from_numpy(planes)))
    assert policy.shape == (70, 4672)
    assert value.shape == (70, 3 if config.value_head == "wdl" else 1)
    assert policy.std() > 0.05
    assert value.std() > 0.002
    assert network.parity(model, planes) < 1e-4
    got = probes.run(raw_session(model.SerializeToString()), planes)
    np.testing.assert_allclose(got[0], policy, atol=1e-4)
    np.testing.assert_allclose(got[1], value, atol=1e-4)
    assert [o.name for o in model.graph.output] == ["policy", config.value_head]
    assert {n.op_type for n in model.graph.node} <= OPERATORS


@pytest.mark.parametrize("changes", [{}, {"kind": "sep-res", "value_head": "value"}, {"score": False}], ids=str)
def test_one_network_for_every_size_of_board(changes: dict[str, Any]) -> None:
    network = lively(tiny_go(squeeze=4, **changes))
    info = replace(GO_INFO, value_head=network.config.value_head, boards=(9, 13, 19))
    model = network.to_onnx(info)
    assert [o.name for o in model.graph.output] == list(network.config.outputs)
    rng = np.random.default_rng(3)
    for lines in (2, 3, 9, 13, 19, 25):
        planes = rng.integers(0, 2, (70, 17, lines, lines), dtype=np.uint8)
        assert network.parity(model, planes) < 2e-3
        with torch.no_grad():
            outputs = dict(zip(network.config.outputs, network(torch.from_numpy(planes)), strict=True))
        assert outputs["policy"].shape == (70, lines * lines + 1)
        assert outputs["ownership"].shape == (70, lines, lines)
        assert outputs["ownership"].abs().max() <= 1
        assert outputs["ownership"].std() > 0.01
        assert outputs["policy"].std() > 0.05
        if network.config.score:
            assert outputs["score"].shape == (70, 1)
            assert outputs["score"].std() > 0.01


def test_the_pool_tells_boards_of_different_size_apart() -> None:
    network = lively(tiny_go())
    assert network.value.pool is not None
    values = []
    for lines in (9, 10):  # all points alike and no edge in sight of the pooled mean: only the size differs
        features = torch.ones(1, 8, lines, lines)
        with torch.no_grad():
            values.append(network.value.pool(network.value.block(features)))
    means = values[0].shape[1] // 3
    assert torch.allclose(values[0][:, :means], values[1][:, :means])
    assert torch.allclose(values[0][:, 2 * means :], values[1][:, 2 * means :])
    ratio = values[0][:, means : 2 * means] / values[1][:, means : 2 * means]
    assert torch.allclose(ratio[ratio.isfinite()], torch.tensor(5 / 4))


def test_heads_that_the_actions_do_not_fit() -> None:
    with pytest.raises(OptionError, match="points of the board and a pass"):
        tiny(policy_head="pooled")
    assert not tiny().any_size
    assert tiny_go().any_size
    assert tiny().outputs == ("policy", "wdl")
    assert (paper(get_game("go")).outputs, paper(get_game("go")).policy_head) == (("policy", "value"), "flat")


def test_parity_notices_a_changed_weight() -> None:
    network = lively(tiny())
    model = network.to_onnx(INFO)
    with torch.no_grad():
        network.policy.out.weight[3] += 0.1
    data = sample_positions()[0]
    with pytest.raises(NetError, match="differs from the trained one"):
        network.parity(model, data.batch(rows(8, data)).planes)


def test_metadata_comes_back() -> None:
    model = onnx.load_from_string(lively(tiny()).to_onnx(INFO).SerializeToString())
    assert NetInfo.from_metadata({p.key: p.value for p in model.metadata_props}) == INFO


def test_a_foreign_operator_is_refused() -> None:
    model = lively(tiny()).to_onnx(INFO)
    for node in model.graph.node:
        if node.op_type == "Sigmoid" or node.op_type == "Relu":
            node.op_type = "Softsign"
    with pytest.raises(NetError, match="Softsign"):
        probes.check(model)


def test_older_planes_do_not_reach_a_net_without_history() -> None:
    network = lively(tiny(history=1))
    data = sample_positions()[0]
    planes = data.batch(rows(16, data)).planes
    changed = planes.copy()
    changed[:, 14:112] = 1 - changed[:, 14:112].clip(0, 1)
    with torch.no_grad():
        for a, b in zip(network(torch.from_numpy(planes)), network(torch.from_numpy(changed)), strict=True):
            assert torch.equal(a, b)
        changed[:, 3] ^= 1  # the rooks do matter
        assert not torch.equal(network(torch.from_numpy(planes))[0], network(torch.from_numpy(changed))[0])


def test_used_planes_are_the_newest_steps_and_the_constant_ones() -> None:
    assert tiny(history=8).used_planes == tuple(range(119))
    assert tiny(history=2).used_planes == (*range(28), *range(112, 119))
    go, shogi = get_game("go").encoder, get_game("shogi").encoder
    assert TowerConfig(go.planes, 82, policy_head="flat", history=1).seeing(go).used_planes == (0, 1, 16)
    assert TowerConfig(shogi.planes, 11259, history=1).seeing(shogi).used_planes == (*range(45), 360, 361)


@pytest.mark.parametrize(
    ("planes", "history", "each", "asked", "used"),
    [
        (12, 1, 0, 8, range(12)),  # a game without history: a net looks at all of it, whatever it asks for
        (12, 1, 12, 8, range(12)),
        (20, 2, 8, 2, range(20)),
        (20, 2, 8, 1, (*range(8), *range(16, 20))),
    ],
)
def test_every_plane_that_shows_something_is_used(
    planes: int, history: int, each: int, asked: int, used: Iterable[int]
) -> None:
    encoder = replace(CHESS.encoder, planes=(planes, 8, 8), history=history, planes_per_position=each)
    config = TowerConfig(encoder.planes, 64, blocks=1, filters=4, history=asked).seeing(encoder)
    assert config.used_planes == (*used,)
    assert config_of(json.loads(json.dumps(config.to_json()))) == config


def test_runs_of_earlier_versions_say_nothing_of_the_planes() -> None:
    config = tiny(history=2)
    earlier = {name: value for name, value in config.to_json().items() if name != "used"}
    assert config_of(earlier) == config


def test_the_papers_network() -> None:
    config = paper(CHESS)
    assert (config.blocks, config.filters, config.policy_head, config.value_head) == (19, 256, "conv", "value")
    with torch.device("meta"):
        network = TowerNetwork(config, torch.ones(119))
    convolutions = [m for m in network.tower.modules() if isinstance(m, nn.Conv2d)]
    assert len(convolutions) == 1 + 2 * 19
    assert sum(isinstance(m, ResidualBlock) for m in network.tower) == 19
    assert (network.value.block.conv.out_channels, network.value.hidden.out_features) == (1, 256)
    assert network.policy.out.out_channels == 73


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kind": "triple"}, "dual-res, sep-res"),
        ({"blocks": 0}, "blocks is 0; it must be at least 1"),
        ({"history": 9}, "1 to 8"),
    ],
)
def test_impossible_networks_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        tiny(**changes)


def test_actions_that_are_no_planes_need_the_flat_head() -> None:
    with pytest.raises(OptionError, match="policy_head flat"):
        TowerConfig((17, 9, 9), 82)


def test_configurations_survive_json() -> None:
    config = tiny(kind="sep-res", squeeze=4, history=2)
    assert config_of({**config.to_json(), "planes": list(config.planes)}) == config
    with pytest.raises(OptionError, match="broken"):
        config_of({"planes": [1, 2, 3], "colour": 1})
