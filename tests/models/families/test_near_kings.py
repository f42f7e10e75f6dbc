"""Shogi's features near the kings: the value learns from them, the policy doesn't see them, older nets don't either."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from az_engine.engine.games import get_game
from az_engine.engine.nets.families.sparse.evaluator import SparseEvaluator
from az_engine.engine.nets.families.sparse.integers import read_net
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.positions import random_planes
from az_engine.engine.nets.weights import load_evaluator
from az_engine.models.families.sparse.config import SparseConfig
from az_engine.models.families.sparse.network import SparseNetwork
from az_engine.models.train.origin import origin

SHOGI = get_game("shogi")
SPARSE = SHOGI.using("sparse")
ENCODER = SPARSE.encoder
INFO = NetInfo("shogi", SPARSE.planes, SPARSE.num_actions, 1, 1, "wdl", encoder="sparse", history=1)
CONFIG = SparseConfig(SPARSE.planes, SPARSE.num_actions, filters=32, value_filters=2)


def numbers_of(planes: np.ndarray) -> np.ndarray:
    """The features that planes list, -1 for none: i8[N, 81]."""
    flat = planes.reshape(len(planes), 2, -1).astype(int)
    found: np.ndarray = flat[:, 0] + 256 * flat[:, 1] - 1
    return found


@pytest.fixture(scope="module")
def network() -> SparseNetwork:
    torch.manual_seed(2)
    network = SparseNetwork(CONFIG, ENCODER)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.empty_like(parameter).uniform_(-0.3, 0.3))
        network.after_step()
    return network


def older(model: onnx.ModelProto) -> onnx.ModelProto:
    """The net as one of before 2026-11-30: the value's table ends where the policy's does, and the graph's with it."""
    graph, changed = model.graph, onnx.ModelProto()
    for tensor in graph.initializer:
        if tensor.name == "value_first":
            rows = onnx.numpy_helper.to_array(tensor)[: 1 + ENCODER.policy_features]
            tensor.CopyFrom(onnx.numpy_helper.from_array(rows, "value_first"))
    for node in list(graph.node):
        if node.output[0].endswith(".rows"):
            node.input[:] = [f"{node.output[0][: -len('.rows')]}_first.float", "features"]
        if node.output[0].endswith((".table", ".seen")):
            graph.node.remove(node)
    changed.CopyFrom(model)
    return changed


def test_lists_of_positions_that_differ_near_a_king() -> None:
    planes = random_planes(SPARSE, 400, 3)
    numbers = numbers_of(planes)
    far, near = (numbers >= 0) & (numbers < ENCODER.policy_features), numbers >= ENCODER.policy_features
    assert far.sum(axis=1).max() <= 40
    assert 10 < near.sum(axis=1).mean() < 41
    assert numbers.max() < ENCODER.features
    behind = np.cumsum(near, axis=1) > 0
    assert not (far & behind).any()  # the policy stops at the first


@pytest.mark.parametrize("before", [False, True], ids=["now", "older"])
def test_the_file_and_the_kernel_agree(network: SparseNetwork, before: bool, tmp_path: Path) -> None:
    path, model = tmp_path / "net.onnx", network.to_onnx(INFO)
    path.write_bytes((older(model) if before else model).SerializeToString())
    evaluator = load_evaluator(str(path), SHOGI)  # compares them, too
    assert isinstance(evaluator, SparseEvaluator)
    planes = random_planes(SPARSE, 300, 4)
    ours, files = evaluator.evaluate(planes), OnnxEvaluator.evaluate(evaluator, planes)
    for mine, its in zip(ours, files, strict=True):
        assert np.array_equal(mine, its)
    cut = planes * (numbers_of(planes).reshape(-1, 1, *planes.shape[2:]) < ENCODER.policy_features)
    without = evaluator.evaluate(cut.astype(np.uint8))
    assert np.array_equal(without[0], ours[0])
    assert np.array_equal(without[1], ours[1]) == before


def test_training_goes_on_from_an_older_net(network: SparseNetwork, tmp_path: Path) -> None:
    path = tmp_path / "older.onnx"
    path.write_bytes(older(network.to_onnx(INFO)).SerializeToString())
    tensors = {name.removeprefix("averaged."): tensor for name, tensor in origin(path, SHOGI).tensors.items()}
    again = SparseNetwork(CONFIG, ENCODER)
    again.load_state_dict(tensors)
    numbers, table = read_net(path.read_bytes(), ENCODER), again.to_integers()
    rows = len(numbers.value_first)
    assert rows == 1 + ENCODER.policy_features
    assert np.array_equal(table.value_first[:rows], numbers.value_first)
    assert not table.value_first[rows:].any()
    assert np.array_equal(table.rows, numbers.rows)
    learned = {name: tensor.clone() for name, tensor in tensors.items()}
    for name, count in (("value_shared", 2344), ("value_own", 9376)):
        learned[name] = learned[name][:count]  # a run's checkpoint of that time
    wider = again.widened(learned)
    assert all(torch.equal(wider[name], tensor) for name, tensor in tensors.items())
