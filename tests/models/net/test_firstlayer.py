"""A first convolution in int8: planes without rounding, sums of weights kept, the net's judgement nearly so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.go.encoders import katago
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.models.distil.command import network
from az_engine.models.families.tower.graph import FIRST, KEEP_FP32
from az_engine.models.families.tower.network import TowerNetwork
from az_engine.models.net.evaluator import read_network
from az_engine.models.net.firstlayer import rounded_first
from az_engine.models.net.quantise import quantise
from az_engine.models.train.config import LearnerConfig
from az_engine.models.train.learner import Learner

GO = get_game("go").sized(9).using(katago.RULES)


def shown(count: int, komi: tuple[float, ...]) -> NDArray[np.uint8]:
    """Planes u1[N, C, 9, 9] of random games."""
    random, planes = np.random.default_rng(count), np.zeros((count, *GO.planes), np.uint8)
    line = GO.initial()
    for i in range(count):
        line["komi"] = round(2 * komi[i % len(komi)])
        GO.encode(line, np.array([len(line) - 1]), np.array([0]), planes[i : i + 1], 1)
        moves = GO.legal_moves(line)[:-1]
        line = GO.play(line, int(random.choice(moves))) if i % 40 != 39 and len(moves) else GO.initial()
    return planes


def net() -> onnx.ModelProto:
    torch.manual_seed(3)
    learner = Learner(GO, network(2, 16, 8), LearnerConfig())
    assert isinstance(learner.averaged, TowerNetwork)
    for layer in learner.averaged.last_layers():
        torch.nn.init.normal_(layer.weight, std=0.3)
    return learner.averaged.to_onnx(learner.net_info(GO, name="net", boards=(9,), trained_on=""))


def weights(model: onnx.ModelProto, name: str) -> NDArray[np.float32]:
    return numpy_helper.to_array(next(each for each in model.graph.initializer if each.name == name))


def test_planes_are_exact_and_sums_of_weights_are_kept() -> None:
    model, planes = net(), shown(256, (7.0,))
    first = rounded_first(model, FIRST, [planes])
    assert first.greatest == pytest.approx(255 / katago.KOMI_UNIT)
    before, after = (weights(each, f"{FIRST}.weight") for each in (model, first.model))
    unit = np.abs(before).max(axis=(1, 2, 3), keepdims=True) / 127
    assert np.allclose(after / unit, np.round(after / unit), atol=1e-3)
    sums = np.abs((after - before).sum(axis=(2, 3)) / unit[:, :, 0, 0])
    assert sums.max() <= 0.501
    assert sums.max() > 0.4  # and not the weights themselves


def test_int8_judges_as_float32_does_at_every_komi(tmp_path: Path) -> None:
    model, planes = net(), shown(256, (7.0, 6.5))
    keep = tuple(name for name in KEEP_FP32 if name.rstrip(".") != FIRST)
    int8 = quantise(model, [planes], keep=keep, first=FIRST)
    (rounding,) = [node for node in int8.graph.node if node.input[:1] == ["planes.scaled"]]
    assert rounding.op_type == "QuantizeLinear"
    assert float(weights(int8, rounding.input[1])) == pytest.approx(1 / katago.KOMI_UNIT, rel=1e-6)
    makers = {name: node.op_type for node in int8.graph.node for name in node.output}
    assert all(makers[output.name] != "DequantizeLinear" for output in int8.graph.output)  # no logit is rounded
    new = shown(200, (-30.0, -7.0, 0.0, 7.5, 40.0))
    exact, ours = (
        raw_session(each.SerializeToString()).run(["policy", "wdl"], {"planes": new}) for each in (model, int8)
    )
    for one, other in zip(exact, ours, strict=True):
        assert np.abs(one - other).mean() < 0.12 * one.std()
    onnx.save(int8, tmp_path / "int8.onnx")
    again = read_network(tmp_path / "int8.onnx", GO)[1].state_dict()["tower.0.conv.weight"].numpy()
    assert again.shape == (16, 32, 3, 3)


def test_planes_of_other_scales_are_refused() -> None:
    model = net()
    scale = next(each for each in model.graph.initializer if each.name == "planes.scale")
    values = numpy_helper.to_array(scale).copy()
    values.ravel()[3] *= 0.37
    scale.CopyFrom(numpy_helper.from_array(values, scale.name))
    with pytest.raises(NetError, match="no whole multiples"):
        rounded_first(model, FIRST, [shown(8, (7.0,))])
