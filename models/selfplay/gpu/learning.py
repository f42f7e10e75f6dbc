"""The sections of ``az-engine bench gpu`` that learn: the learner beside a plain loop of torch, and a short run."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ....bench.speed.measure import Measurement
from ....engine.errors import counted
from ....engine.games.base import Game
from ....engine.os.process import module_command
from ....engine.os.system import fast_bf16
from ...data.dataset import Batch
from ...families import family_of
from ...families.losses import TorchBatch
from ...fields import Values, merged
from .setup import LAST, PRECISIONS, Figure, Part, Setup, rate

MINUTES_NOT_DAYS: Values = {  # games that end within seconds, and are learned from at once
    "selfplay": {"games": 64, "visits": 24, "gumbel": 8},
    "window": {"start": 500, "games": 20_000},
    "loop": {"first_positions": 5000, "checkpoint_steps": 200, "first_checkpoint": 25},
    "ladder": {"visits": 24, "plain_visits": 240, "pairs": 8},
}


def learner_parts(setup: Setup) -> Iterator[tuple[str, Part]]:
    size = 32 if setup.quick else setup.run().learner_config().batch
    share = setup.seconds / (3 * len(PRECISIONS))
    for precision in PRECISIONS if setup.on_gpu or fast_bf16() else ("fp32",):
        yield f"{precision}, learner", lambda p=precision: _learned(setup, p, size, share)  # type: ignore[misc]
        yield f"{precision}, time of a step", lambda p=precision: _times(setup, p, size, share / 7)  # type: ignore[misc]
        if setup.on_gpu:
            yield f"{precision}, fused AdamW", lambda p=precision: _plain(setup, p, size, share, fused=True)  # type: ignore[misc]


def _learned(setup: Setup, precision: str, size: int, seconds: float) -> Iterator[Figure]:
    (plain,) = _plain(setup, precision, size, seconds, fused=False)
    assert isinstance(plain, Measurement)
    game, learner = setup.learner(precision)
    batch = random_batch(game, size)
    if setup.on_gpu:
        torch.cuda.reset_peak_memory_stats()
    speed = rate(lambda: learner.train_step(batch), seconds, setup) * size
    how = f"{learner.net_config.architecture}, batch {size}"
    yield Measurement(
        f"{precision}, learner", speed, "samples/s", "a plain loop of torch, data on the device", plain.value, how
    )
    if setup.on_gpu:
        yield Measurement(f"{precision}, peak memory", torch.cuda.max_memory_allocated() / 2**20, "MiB")


def _plain(setup: Setup, precision: str, size: int, seconds: float, *, fused: bool) -> Iterator[Figure]:
    """The loop that anyone would write first: no averaged weights, no limit of the gradient, no look at the losses."""
    game, learner = setup.learner(precision)
    network = family_of(learner.net_config.kind).network(learner.net_config, game.encoder)
    network = network.to(setup.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=fused)
    batch = TorchBatch.of(random_batch(game, size), setup.device)

    def step() -> None:
        with learner.autocast():
            losses = network.losses(batch)
        optimiser.zero_grad(set_to_none=True)
        sum(losses.values(), torch.zeros((), device=setup.device)).backward()
        optimiser.step()

    yield Measurement(
        f"{precision}, plain loop{', fused AdamW' if fused else ''}", rate(step, seconds, setup) * size, "samples/s"
    )


def _times(setup: Setup, precision: str, size: int, seconds: float) -> Iterator[Figure]:
    """Where the time of a step goes: its pieces, each repeated by itself."""
    game, learner = setup.learner(precision)
    batch, network = random_batch(game, size), learner.network
    tensors = TorchBatch.of(batch, setup.device)
    learner.train_step(batch)

    def both_ways() -> None:
        with learner.autocast():
            losses = network.losses(tensors)
        sum(losses.values(), torch.zeros((), device=setup.device)).backward()  # type: ignore[no-untyped-call]

    pieces: dict[str, Callable[[], object]] = {
        "the whole step": lambda: learner.train_step(batch),
        "the whole step, data on the device, no look at the losses": lambda: learner.step_on(tensors),
        "the batch to the device": lambda: TorchBatch.of(batch, setup.device),
        "forward and backward": both_ways,
        "limit of the gradient": lambda: torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0),
        "optimiser": learner.optimiser.step,
        "averages": learner.average,
    }
    for name, piece in pieces.items():
        yield Measurement(f"{precision}, {name}", 1000 / rate(piece, seconds, setup), "ms")


def random_batch(game: Game, size: int) -> Batch:
    """What a learner gets of a game with territory, made of random numbers."""
    rng = np.random.default_rng(0)
    legal = np.argsort(rng.random((size, game.num_actions)), axis=1)[:, : game.max_moves].astype(np.int32)
    targets = rng.random((size, min(64, legal.shape[1]))).astype(np.float32)
    z = rng.choice([-1, 1], size).astype(np.float32)
    return Batch(
        rng.integers(0, 2, (size, *game.planes), np.uint8),
        np.ascontiguousarray(legal[:, : targets.shape[1]]),
        targets / targets.sum(axis=1, keepdims=True),
        np.ascontiguousarray(legal),
        np.stack([z > 0, z == 0, z < 0], axis=1).astype(np.float32),
        z,
        rng.choice([-1, 1], (size, *game.planes[1:])).astype(np.float32),
        (10 * rng.standard_normal(size)).astype(np.float32),
    )


def run_parts(setup: Setup) -> Iterator[tuple[str, Part]]:
    yield "az-engine train", lambda: _trained(setup)


def _trained(setup: Setup) -> Iterator[Figure]:
    seconds = max(setup.seconds, 20.0)  # else it only starts
    few: Values = {"selfplay": {"games": 8, "visits": 8, "max_moves": 30}, "loop": {"first_positions": 20, "steps": 2}}
    few = merged(few, {"window": {"start": 0}, "ladder": {"share": 0.0}, "machine": {"workers": 0}})
    chosen = merged(MINUTES_NOT_DAYS, few if setup.quick else {})
    words = [f"{part}.{name}={value}" for part, values in chosen.items() for name, value in values.items()]
    small = ["--size", "5", "--preset", "az,small", "--filters", "16"]
    out, log = setup.folder / "run", setup.folder / "log"
    command = ["train", "--game", "go", "--device", setup.device.type, "--provider", "torch", "--out", str(out)]
    command += small if setup.quick else ["--size", "9", "--preset", "az,gpu", "--minutes", f"{seconds / 60:.2f}"]
    command += [word for text in words for word in ("--set", text)]
    begun = time.monotonic()
    with log.open("wb") as file:
        environment = {**os.environ, "COLUMNS": "160"}
        done = subprocess.run(
            module_command("az_engine", *command), stdout=file, stderr=file, env=environment, check=False
        )
    seconds = time.monotonic() - begun
    rows = [json.loads(line) for line in _lines(out / "log.jsonl")]
    last = rows[-1] if rows else {}
    yield Measurement("steps", last.get("step", 0), "steps", note=f"in {seconds:.0f} s, its start included")
    yield Measurement("learned from", last.get("positions", 0) / seconds, "positions/s")
    played: dict[str, Any] = next((row["selfplay"] for row in reversed(rows) if "selfplay" in row), {})
    if played:
        how = f"{counted(played['games'], 'game')} of {played['length']:.0f} moves"
        yield Measurement("played", played["positions"] / seconds, "positions/s", note=how)
    learned = [row["trained_per_s"] for row in rows if "trained_per_s" in row]
    if learned:
        yield Measurement("while it learns", learned[-1], "samples/s")
    for each in (log, *sorted((out / "workers").glob("*.log"))[:2]):
        for line in [line for line in _lines(each) if line.strip()][-LAST:]:
            yield each.name, line.rstrip()
    if done.returncode:
        raise RuntimeError(f"az-engine {' '.join(command)} ended with status {done.returncode}")


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []
