"""What only a GPU shows; skipped without one."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from az_engine.engine.games import get_game
from az_engine.engine.nets.positions import random_planes
from az_engine.models.families.losses import TorchBatch
from az_engine.models.foreign.families import convert_file
from az_engine.models.foreign.katago import ENCODER
from az_engine.models.net.evaluator import TorchEvaluator
from az_engine.models.net.torchgraph import RecordedGraph, TorchGraph
from az_engine.models.selfplay.gpu.learning import random_batch
from az_engine.models.selfplay.nets.publish import publish
from az_engine.models.train.config import LearnerConfig
from az_engine.models.train.learner import Learner
from az_engine.models.train.recorded import RecordedSteps

from ..families.test_tower import lively
from ..foreign.katago_files import random_net, to_bytes
from .test_evaluator import both, go5, written

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")


def test_graphs_say_what_onnxruntime_says(tmp_path: Path) -> None:
    game, config, info = go5(ownership=True, score=True)
    path = written(lively(config), info, tmp_path)
    for precision, tolerance in (("fp32", 1e-4), ("bf16", 0.02)):
        for expected, got in both(path, game, 70, precision=precision):
            assert np.abs(got - expected).max() <= tolerance * max(1.0, float(np.abs(expected).max()))


def test_a_graph_is_recorded_while_other_threads_take_memory(tmp_path: Path) -> None:
    game, config, info = go5()
    path, over = written(lively(config), info, tmp_path), threading.Event()

    def taking() -> None:
        while not over.is_set():
            torch.empty(1 << 22, device="cuda").add_(1)
            torch.empty(1 << 20, pin_memory=True)
            torch.cuda.empty_cache()

    thread = threading.Thread(target=taking)
    thread.start()
    try:
        nets = [TorchEvaluator(path, game, batch_size=64) for _ in range(4)]
    finally:
        over.set()
        thread.join()
    planes = random_planes(game, 64, 0).reshape(64, -1)
    first, *others = [net.evaluate(planes)[0] for net in nets]
    assert all(np.array_equal(first, other) for other in others)


def test_a_learner_publishes_and_goes_on(tmp_path: Path) -> None:
    game, config, _ = go5(ownership=True, score=True)
    config = replace(config, filters=64)
    settings = LearnerConfig(batch=64, warmup=0, precision="bf16")
    learner, batch = Learner(game, config, settings, device="cuda"), random_batch(game, 64)
    losses = [learner.train_step(batch)["loss"] for _ in range(20)]
    assert losses[-1] < losses[0]
    layouts = [p.is_contiguous(memory_format=torch.channels_last) for p in learner.averaged.parameters() if p.ndim == 4]
    assert all(layouts)
    publish(learner, game, None, tmp_path / "net.onnx", boards=(), trained_on="", int8=False, say=print)
    saved = learner.to_checkpoint()
    assert "random.cuda" in saved.tensors
    for device in ("cuda", "cpu"):
        other = Learner(game, config, settings, device=device)
        other.restore(saved)
        assert other.step == 20
        other.train_step(batch)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_recorded_steps_learn_as_plain_ones_do(optimiser: str) -> None:
    game, config, _ = go5(ownership=True, score=True)
    settings = LearnerConfig(batch=64, warmup=0, precision="fp32", optimiser=optimiser, freeze=0.5)  # type: ignore[arg-type]
    plain, other = (Learner(game, config, settings, device="cuda") for _ in range(2))
    recorded = RecordedSteps(other)
    for step in range(16):
        batch = TorchBatch.of(random_batch(game, 64), plain.device)
        plain.progress = other.progress = step / 16
        losses = plain.step_on(batch), recorded.step_on(batch)
        assert torch.allclose(*losses, rtol=1e-2)
    for name, weights in plain.averaged.state_dict().items():
        assert torch.allclose(weights.float(), other.averaged.state_dict()[name].float(), atol=2e-2), name


def test_a_recorded_graph_says_what_a_plain_one_says(tmp_path: Path) -> None:
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(to_bytes(random_net(3, 15, ("nested_bottleneck_block", "transformer_attention_block"), "rms")))
    device = torch.device("cuda")
    graph = TorchGraph(onnx.load_model_from_string(convert_file(path).model)).to(device).eval()
    pool = torch.cuda.graph_pool_handle()
    recorded = {lines: RecordedGraph(graph, pool) for lines in (7, 9)}
    for seed in range(3):
        for lines, run in recorded.items():
            planes = torch.from_numpy(random_planes(get_game("go").sized(lines).using(ENCODER), 8, seed)).to(device)
            with torch.inference_mode():
                expected = graph(planes)
            assert all(torch.allclose(got, expected[name], atol=1e-3) for name, got in run(planes).items())
