"""The learner: batches in, a better network out, one step at a time."""

from __future__ import annotations

import contextlib
import copy
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...engine.errors import DataError
from ...engine.games.base import Game
from ...engine.nets.netinfo import NetInfo
from ..data.dataset import Batch, Positions
from ..families import config_of, family_of
from ..families.config import NetConfig
from ..families.losses import TorchBatch, expected_outcome
from ..families.network import Network
from .checkpoint import Checkpoint
from .config import LASTING, LearnerConfig
from .muon import MuonAdamW

L2 = 1e-4  # c of Eq. 1
LICENCE = "GPL-3.0-or-later"  # of the nets
AFTER_DIVERGENCE = "give the same command with a lower --rate to go on from the newest checkpoint"
# The papers' learning rates: (fraction of the run, rate from there on)
PAPER_DROPS = {
    "agz": ((0.0, 1e-2), (4 / 7, 1e-3), (6 / 7, 1e-4)),
    "az": ((0.0, 0.2), (1 / 7, 0.02), (3 / 7, 0.002), (5 / 7, 0.0002)),
    "az-go": ((0.0, 0.02), (3 / 7, 0.002), (5 / 7, 0.0002)),
}
# AlphaGo Zero's supervised baseline, of 800,000 steps (Extended Data Table 3)
SUPERVISED_DROPS = ((0.0, 0.1), (0.25, 1e-2), (0.5, 1e-3), (0.75, 1e-4), (0.875, 1e-5))


@dataclass(frozen=True, slots=True)
class Measured:
    """Judgement on held-out positions. Errors are squared differences of outcomes in [-1, 1], divided by 4 (papers)."""

    top1: float  # fraction where the most probable legal move is the target's most probable one
    policy: float  # cross-entropy, nats
    value: float  # value loss as trained
    result_error: float  # of the expected outcome against the game's result
    teacher_error: float  # of the expected outcome against the value target
    positions: int
    board: str  # their size, e.g. "9x9"
    ownership: float | None = None  # squared difference of the points' owners in [-1, 1], divided by 4
    score: float | None = None  # absolute difference of the lead, points


def learning_rate(config: LearnerConfig, step: int, progress: float) -> float:
    """The rate of a step (from 0) at ``progress`` in [0, 1] of the run."""
    warm = min(1.0, (step + 1) / max(1, config.warmup))
    if config.cooldown and progress > 1 - config.cooldown:
        warm *= 0.5 * (1 + math.cos(math.pi * (min(1.0, progress) - 1 + config.cooldown) / config.cooldown))
    if config.schedule == "constant":
        return config.rate * warm
    if config.schedule == "cosine":
        return config.rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
    drops = SUPERVISED_DROPS if config.schedule == "supervised" else PAPER_DROPS[config.schedule]
    return [rate for start, rate in drops if progress >= start][-1] * warm


class Learner:
    """A network, its averaged weights, its optimiser, and the run's step, progress and seconds."""

    def __init__(
        self,
        game: Game,
        net: NetConfig,
        config: LearnerConfig,
        *,
        device: str = "cpu",
        threads: int = 0,
        chances_only: bool = False,
        first: Network | None = None,
    ) -> None:
        """threads: of the CPU, for the steps, 0 = torch's; first: what it begins as, where that is no family's.

        chances_only: the last layer of the value learns, all else stays as it is. Errors: OptionError where it cannot.
        """
        torch.manual_seed(config.seed)
        self.net_config = net
        self.config = config
        self.device = torch.device(device)
        self.on_gpu = self.device.type == "cuda"

        def made() -> Network:
            return family_of(net.kind).network(net, game.encoder) if first is None else copy.deepcopy(first)

        self.network: Network = made().to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.averaged: Network = made().to(self.device)
        if self.on_gpu:  # laid out as the network is: one kernel averages all; on a CPU the last bits would change
            self.averaged.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        learned = [name for name in self.net_config.outputs if config.weight_of(name)]
        for network in (self.network, self.averaged):
            network.prepare(learned, threads)
        self.averaged.load_state_dict(self.network.state_dict())
        self.averaged.eval()
        if chances_only:
            self.network.requires_grad_(requires_grad=False)
            for parameter in self.network.of_chances():
                parameter.requires_grad_()
        learning = [p for p in self.network.parameters() if p.requires_grad]
        decayed, plain = [p for p in learning if p.ndim > 1], [p for p in learning if p.ndim <= 1]
        self.optimiser: torch.optim.Optimizer | MuonAdamW
        if config.optimiser == "sgd":  # the gradient of c ||theta||^2 is 2 c theta
            self.optimiser = torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9, weight_decay=2 * L2)
        else:
            groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}]
            matrices = [matrix for matrix in self.network.matrices() if matrix.requires_grad]
            if config.optimiser == "muon" and matrices:
                groups[0]["params"] = [p for p in decayed if all(p is not m for m in matrices)]
                self.optimiser = MuonAdamW(matrices, groups, config.rate, config.weight_decay)
            else:
                fused = self.network.fused
                self.optimiser = torch.optim.AdamW(
                    groups, lr=config.rate, betas=(0.9, 0.98), fused=fused, capturable=self.on_gpu
                )
        if self.on_gpu and config.optimiser != "sgd":  # rates that a recorded step reads
            for group in self.optimiser.param_groups:
                group["lr"] = torch.tensor(config.rate, device=self.device)
        # what a researcher may replace, before the first step
        self.losses: Callable[[Network, TorchBatch], dict[str, Tensor]] = lambda network, batch: network.losses(batch)
        self.rate: Callable[[LearnerConfig, int, float], float] = learning_rate  # of a step at a progress in [0, 1]
        self._averages: tuple[list[Tensor], list[Tensor]] | None = None  # the averaged tensors and their sources
        self.step = 0
        self.positions = 0  # of all steps' batches
        self.progress = 0.0  # fraction of the schedule that is done
        self.seconds = 0.0  # of training time, over all starts
        self.begun = 0.0  # the seconds at the first step

    # ---- one step

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """bf16 arithmetic if configured; weights and statistics stay float32."""
        enabled = self.config.precision == "bf16"
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=enabled, cache_enabled=not self.on_gpu)

    def train_step(self, batch: Batch) -> dict[str, float]:
        """One step of gradient descent. Errors: DataError when the loss or the gradient is not finite."""
        rate = self.set_rate()
        losses, whole, length = self._gradient(TorchBatch.of(batch, self.device))
        # one wait for the device a step
        total, norm, *each = torch.stack([one.detach().float() for one in (whole, length, *losses.values())]).tolist()
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise DataError(
                f"training diverged at step {self.step}: the loss is {total:.3g} and the gradient {norm:.3g}; "
                + AFTER_DIVERGENCE
            )
        self._move()
        self.count(len(batch))
        return {"loss": total, **dict(zip(losses, each, strict=True)), "rate": rate, "gradient": norm}

    def step_on(self, tensors: TorchBatch) -> Tensor:
        """One step on positions that are on the training device; its loss f4[], which nobody has waited for."""
        self.set_rate()
        total = self.descend(tensors)
        self.count(len(tensors.planes))
        return total

    def set_rate(self) -> float:
        """The rate of the next step, for the optimiser, too."""
        rate = self.rate(self.config, self.step, self.progress)
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        return rate

    def descend(self, tensors: TorchBatch) -> Tensor:
        """Gradient and new weights; the loss f4[]. Nothing here waits for the device."""
        _, total, _ = self._gradient(tensors)
        self._move()
        return total.detach()

    def _gradient(self, tensors: TorchBatch) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """The losses, their weighted sum and the gradient's norm; the gradient lies at the weights."""
        self.network.train()
        if self.progress >= self.config.freeze:
            self.network.freeze(self.averaged)
        with self.autocast():
            losses = self.losses(self.network, tensors)
        total = sum(
            (self.config.weight_of(name) * one for name, one in losses.items()), torch.zeros((), device=self.device)
        )
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        return losses, total, nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip or math.inf)

    def _move(self) -> None:
        self.optimiser.step()
        self.network.after_step()

    def count(self, positions: int) -> None:
        """Note that a step was taken on so many positions."""
        self.step += 1
        self.positions += positions
        self.average()

    @torch.no_grad()
    def average(self) -> None:
        """Bring the averaged weights one step up to date."""
        decay = min(self.config.ema, (1 + self.step) / (10 + self.step)) if self.config.ema else 0.0
        if self._averages is None:
            mine, source = self.averaged.state_dict(), self.network.state_dict()
            floats = [name for name, tensor in source.items() if tensor.is_floating_point()]
            self._averages = [mine[name] for name in floats], [source[name] for name in floats]
        torch._foreach_lerp_(*self._averages, 1 - decay)

    @torch.no_grad()
    def measure(self, data: Positions, limit: int = 0) -> Measured:
        """Judge the first ``limit`` positions (0 = all) spread evenly over ``data`` with the averaged weights."""
        count = min(len(data), limit or len(data))
        chosen = np.linspace(0, len(data) - 1, count).astype(np.int64)
        sums: defaultdict[str, float] = defaultdict(float)
        known: defaultdict[str, float] = defaultdict(float)  # positions of which the truth is known, where not of all
        for start in range(0, count, 512):
            batch = TorchBatch.of(data.batch(chosen[start : start + 512]), self.device)
            with self.autocast():
                outputs = self.averaged.outputs(batch.planes)
            logits, output = outputs["policy"], outputs[self.net_config.value_head]
            losses = batch.losses(outputs)
            if batch.legal is not None:
                reached = batch.legal.where(batch.legal >= 0, batch.legal[:, :1])
                picked = reached.gather(1, logits.of(reached).argmax(1, keepdim=True))[:, 0]
            else:
                picked = logits.all().argmax(1)
            best = batch.actions.gather(1, batch.probabilities.argmax(1, keepdim=True))[:, 0]
            outcome = expected_outcome(output)
            sums["top1"] += (picked == best).sum().item()
            sums["policy"] += losses["policy"].item() * len(best)
            sums["value"] += losses["value"].item() * len(best)
            sums["result_error"] += (outcome - batch.z).square().sum().item() / 4
            sums["teacher_error"] += (outcome - (batch.wdl[:, 0] - batch.wdl[:, 2])).square().sum().item() / 4
            if "ownership" in losses and batch.ownership is not None:
                sums["ownership"] += losses["ownership"].item() * len(best) / 4
                known["ownership"] += batch.ownership.isfinite().float().mean().item() * len(best)
            if "score" in outputs and batch.score is not None:
                sums["score"] += (outputs["score"][:, 0] - batch.score).abs().nan_to_num(0).sum().item()
                known["score"] += batch.score.isfinite().sum().item()
        means = {name: total / max(known.get(name, count), 1) for name, total in sums.items()}
        return Measured(**means, positions=count, board=data.board)

    # ---- saving and going on

    def net_info(self, game: Game, **more: Any) -> NetInfo:
        """The metadata of a net of these weights; ``more``: name, trained_on, boards ..."""
        net = self.net_config
        return NetInfo(
            game=game.name,
            encoder=game.encoder.name,
            planes=game.planes,
            actions=game.num_actions,
            planes_version=game.encoder.planes_version,
            moves_version=game.encoder.moves_version,
            value_head=net.value_head,
            architecture=net.architecture,
            quantisation=self.averaged.quantisation,
            history=min(net.history, game.history),
            step=self.step,
            license=LICENCE,
            **more,
        )

    def to_checkpoint(self) -> Checkpoint:
        """All state that a bit-equal continuation needs. Errors: DataError when a weight is not finite."""
        tensors = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= {f"averaged.{k}": v for k, v in self.averaged.state_dict().items()}
        for index, state in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{index}.{k}": v for k, v in state.items() if v is not None}
        bad = next((n for n, t in tensors.items() if t.is_floating_point() and not bool(t.isfinite().all())), None)
        if bad is not None:
            raise DataError(f"training diverged before step {self.step}: {bad} is not finite; {AFTER_DIVERGENCE}")
        tensors["random.torch"] = torch.get_rng_state()
        if self.on_gpu:
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        state = {
            "net": self.net_config.to_json(),
            "learner": asdict(self.config),
            "progress": self.progress,
            "seconds": self.seconds,
            "begun": self.begun,
            "positions": self.positions,
        }
        return Checkpoint(self.step, tensors, state)

    def begin_from(self, saved: Checkpoint) -> None:
        """Take over the averaged weights of another run, and nothing else of it; heads this network lacks are left out.

        This network may be larger than theirs where its family can widen one.

        Errors: DataError when it is of another network.
        """
        theirs = {
            name.removeprefix("averaged."): t for name, t in saved.tensors.items() if name.startswith("averaged.")
        }
        theirs = self.network.widened(theirs)
        for name, ours in self.averaged.state_dict().items():
            if name not in theirs or theirs[name].shape != ours.shape:
                result = f"is {list(theirs[name].shape)}" if name in theirs else "is missing"
                raise DataError(
                    f"the network to begin from is another: {name} {result} there and {list(ours.shape)} here; "
                    "give the settings of the network that it has, or leave them out"
                )
        weights = {name: theirs[name] for name in self.averaged.state_dict()}
        self.network.load_state_dict(weights)
        self.averaged.load_state_dict(weights)

    def restore(self, saved: Checkpoint) -> list[str]:
        """Take over a checkpoint. Returns the settings that are others now, a sentence each.

        Errors: DataError when it is of another network or of other LASTING settings.
        """
        # a checkpoint older than a setting has the setting's former value
        net, former = config_of(saved.state.get("net", {})).to_json(), asdict(LearnerConfig())
        learner = {**former, **saved.state.get("learner", {})}
        our_net, ours = self.net_config.to_json(), asdict(self.config)
        fixed = [(name, net.get(name), our_net.get(name)) for name in ("kind", *sorted(our_net))]
        fixed += [(name, learner[name], ours[name]) for name in LASTING]
        for name, was, now in fixed:
            if was != now:
                raise DataError(
                    f"the run was started with another {name} ({was}, now {now}); "
                    "leave it out, or begin a new run with what this one has learned: --init OLD --out NEW"
                )
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "averaged": {}, "optimiser": {}, "random": {}}
        for name, tensor in saved.tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        try:
            self.network.load_state_dict(parts["network"])
            self.averaged.load_state_dict(parts["averaged"])
            states: dict[int, dict[str, Tensor]] = {}
            for name, tensor in parts["optimiser"].items():
                index, _, key = name.partition(".")
                states.setdefault(int(index), {})[key] = tensor
            self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": states})
            torch.set_rng_state(parts["random"]["torch"])
            if self.on_gpu and "cuda" in parts["random"]:  # not in a checkpoint of a CPU
                torch.cuda.set_rng_state(parts["random"]["cuda"], self.device)
            self.step, self.progress = saved.step, float(saved.state["progress"])
            self.seconds, self.begun = float(saved.state["seconds"]), float(saved.state.get("begun", 0.0))
            self.positions = int(saved.state.get("positions", saved.step * int(learner["batch"])))
        except (RuntimeError, KeyError, ValueError) as error:
            raise DataError(
                f"the checkpoint of step {saved.step} does not fit this network ({error}); give a new --out"
            ) from error
        return [f"{name} was {learner[name]}, is now {ours[name]}" for name in ours if learner[name] != ours[name]]
