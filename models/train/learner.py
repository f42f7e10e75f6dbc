"""The learner: batches in, a better network out, one step at a time.

Loss (Eq. 1 of AlphaGo Zero): value loss * weight - pi . log p + c ||theta||^2. The value loss is (z - v)^2 or, with the
win/draw/loss head, cross-entropy; the L2 term is the optimiser's weight decay. The losses of ownership and score are
added where the network has these outputs. The policy's softmax runs over the legal moves where the data give them: the
search uses the logits the same way, and no capacity goes into learning legality (as in Lc0).
"""

from __future__ import annotations

import contextlib
import json
import math
from collections import defaultdict
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...engine.errors import DataError
from ...engine.games.base import Game
from ...engine.nets.netinfo import NetInfo
from ..data.dataset import Batch, Positions
from ..families.sparse.network import RowLogits, SparseNetwork
from ..families.tower.network import Network, ValueOutput
from .checkpoint import Checkpoint
from .config import LearnerConfig, NetConfig
from .muon import MuonAdamW

L2 = 1e-4  # c of Eq. 1
LICENCE = "GPL-3.0-or-later"  # of the nets
AFTER_DIVERGENCE = "start again with a lower --rate (the checkpoints before this step are good)"
# The papers' learning rates: (fraction of the run, rate from there on)
PAPER_DROPS = {
    "agz": ((0.0, 1e-2), (4 / 7, 1e-3), (6 / 7, 1e-4)),
    "az": ((0.0, 0.2), (1 / 7, 0.02), (3 / 7, 0.002), (5 / 7, 0.0002)),
    "az-go": ((0.0, 0.02), (3 / 7, 0.002), (5 / 7, 0.0002)),
}
# AlphaGo Zero's supervised baseline
SUPERVISED_DROPS = ((0.0, 0.1), (0.2, 1e-2), (0.4, 1e-3), (0.6, 1e-4), (0.8, 1e-5))


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


def new_network(config: NetConfig, game: Game) -> Network | SparseNetwork:
    """A network with its first weights, for the game as the network sees it."""
    if config.kind == "sparse":
        return SparseNetwork(config, game.encoder.features, game.encoder.alike)
    return Network(config, game.encoder.plane_scale)


def policy_loss(logits: Tensor | RowLogits, batch: TorchBatch) -> Tensor:
    """Mean cross-entropy of the policy targets [B, K] under logits [B, A], over the legal moves if they are known."""
    if batch.legal is None:
        normaliser = logits.logsumexp(1)
    else:
        legal = batch.legal if isinstance(logits, RowLogits) else batch.legal.clamp(min=0)
        normaliser = logits.gather(1, legal).masked_fill(batch.legal < 0, -math.inf).logsumexp(1)
    chosen = (batch.probabilities * logits.gather(1, batch.actions)).sum(1)
    return (normaliser - chosen).mean()


def value_loss(output: Tensor, wdl: Tensor) -> Tensor:
    """Cross-entropy of WDL targets [B, 3] under logits [B, 3], or (z - v)^2 for outputs [B, 1]; mean over the batch."""
    if output.shape[1] == 3:
        return functional.cross_entropy(output, wdl)
    return functional.mse_loss(output[:, 0], wdl[:, 0] - wdl[:, 2])


def ownership_loss(output: Tensor, target: Tensor) -> Tensor:
    """Squared difference of owners [B, H, W] in [-1, 1]; mean over points and batch, 0 where the target is NaN."""
    return functional.mse_loss(output, target.where(target.isfinite(), output.detach()))


def score_loss(output: Tensor, target: Tensor) -> Tensor:
    """Huber loss of leads [B, 1] against [B], in units of ten points; mean over the batch, 0 for what is NaN."""
    said = output[:, 0].float()
    known = target.where(target.isfinite(), said.detach())
    return functional.smooth_l1_loss(said / ValueOutput.POINTS, known / ValueOutput.POINTS)


def expected_outcome(output: Tensor) -> Tensor:
    """Expected outcome [B] in [-1, 1] of WDL logits [B, 3] or values [B, 1]."""
    if output.shape[1] == 1:
        return output[:, 0]
    chances = output.softmax(1)
    return chances[:, 0] - chances[:, 2]


@dataclass(frozen=True, slots=True)
class TorchBatch:
    """A :class:`Batch` as tensors on the training device; indices are int64."""

    planes: Tensor
    actions: Tensor
    probabilities: Tensor
    legal: Tensor | None
    wdl: Tensor
    z: Tensor
    ownership: Tensor | None
    score: Tensor | None
    after: Tensor | None
    after_wdl: Tensor | None

    @classmethod
    def of(cls, batch: Batch, device: torch.device) -> TorchBatch:

        def put(values: Any) -> Any:
            if values is None:
                return None
            tensor = torch.from_numpy(values).to(device, non_blocking=True)
            return tensor.long() if tensor.dtype == torch.int32 else tensor

        return cls(**{f.name: put(getattr(batch, f.name)) for f in fields(cls)})

    def losses(self, outputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The loss of each of the outputs; of the policy only where the batch asks for it.

        Errors: DataError when the positions lack what the network is to learn.
        """
        result = {}
        if "policy" in outputs and self.actions.shape[1]:
            result["policy"] = policy_loss(outputs["policy"], self)
        for head in ("wdl", "value"):
            if head in outputs:
                result["value"] = value_loss(outputs[head], self.wdl)
        for name, target, loss in (("ownership", self.ownership, ownership_loss), ("score", self.score, score_loss)):
            if name in outputs:
                if target is None:
                    raise DataError(f"the data have no {name}; train without --{name}")
                result[name] = loss(outputs[name], target)
        return result


class Learner:
    """A network, its averaged weights, its optimiser, and the run's step, progress and seconds."""

    def __init__(self, game: Game, net: NetConfig, config: LearnerConfig, *, device: str = "cpu") -> None:
        torch.manual_seed(config.seed)
        self.net_config = net
        self.config = config
        self.device = torch.device(device)
        # Network or SparseNetwork, both:
        self.network: Any = new_network(net, game).to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.averaged: Any = new_network(net, game).to(self.device)
        if net.kind == "sparse":  # what is not learned is not rounded either
            for network in (self.network, self.averaged):
                network.coarse_value, network.coarse_policy = config.value_weight > 0, config.policy_weight > 0
        self.averaged.load_state_dict(self.network.state_dict())
        self.averaged.eval()
        decayed = [p for p in self.network.parameters() if p.ndim > 1]
        plain = [p for p in self.network.parameters() if p.ndim <= 1]
        self.optimiser: torch.optim.Optimizer | MuonAdamW
        if config.optimiser == "sgd":  # the gradient of c ||theta||^2 is 2 c theta
            self.optimiser = torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9, weight_decay=2 * L2)
        else:
            groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}]
            if config.optimiser == "muon":
                matrices = [p for n, p in self.network.named_parameters() if n.endswith("conv.weight")]
                groups[0]["params"] = [p for p in decayed if all(p is not m for m in matrices)]
                self.optimiser = MuonAdamW(matrices, groups, config.rate, config.weight_decay)
            else:
                fused = net.kind == "sparse"  # in one pass; it takes weights and averages to lie alike in memory
                self.optimiser = torch.optim.AdamW(groups, lr=config.rate, betas=(0.9, 0.98), fused=fused)
        self.step = 0
        self.progress = 0.0  # fraction of the run that is done
        self.seconds = 0.0  # of training time, over all starts

    # ---- one step

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """bf16 arithmetic if configured; weights and statistics stay float32."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.config.precision == "bf16")

    def train_step(self, batch: Batch) -> dict[str, float]:
        """One step of gradient descent. Errors: DataError when the loss or the gradient is not finite."""
        tensors = TorchBatch.of(batch, self.device)
        rate = learning_rate(self.config, self.step, self.progress)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.network.train()
        if self.progress >= self.config.freeze:
            self.freeze()
        with self.autocast():
            losses = tensors.losses(self._outputs(tensors))
        if tensors.after is not None and tensors.after_wdl is not None:
            assert isinstance(self.network, SparseNetwork)
            share = len(tensors.after) / (len(tensors.after) + len(tensors.planes))
            if share:
                followed = value_loss(self.network.value_of(tensors.after), tensors.after_wdl)
                losses["value"] = torch.lerp(losses["value"], followed, share)
        weights = {name: getattr(self.config, f"{name}_weight") for name in losses}
        loss = sum((weights[name] * one for name, one in losses.items()), torch.zeros((), device=self.device))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = float(nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip or math.inf))
        total = loss.item()
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise DataError(
                f"training diverged at step {self.step}: the loss is {total:.3g} and the gradient {norm:.3g}; "
                + AFTER_DIVERGENCE
            )
        self.optimiser.step()
        if isinstance(self.network, SparseNetwork):
            self.network.keep_bounds()
        self.step += 1
        self._average()
        return {"loss": total, **{k: v.item() for k, v in losses.items()}, "rate": rate, "gradient": norm}

    def _outputs(self, batch: TorchBatch) -> dict[str, Any]:
        """The network's outputs; of a sparse one only those that are learned: value and policy share nothing there."""
        if isinstance(self.network, SparseNetwork):
            outputs: dict[str, Any] = {}
            if self.config.policy_weight:
                outputs["policy"] = self.network.policy_of(batch.planes)
            if self.config.value_weight:
                outputs[self.net_config.value_head] = self.network.value_of(batch.planes)
            return outputs
        return dict(zip(self.net_config.outputs, self.network(batch.planes), strict=True))

    @torch.no_grad()
    def freeze(self) -> None:
        """Normalise by the averaged statistics from now on, as in play, and keep them fixed.

        Each board size has its own statistics (a small board is nearly all edge) and each batch one size, but the
        exported net has one set: the last part of a run adapts the weights to it.
        """
        for mine, averaged in zip(self.network.modules(), self.averaged.modules(), strict=True):
            if isinstance(mine, nn.BatchNorm2d):
                for name, statistics in averaged.named_buffers():
                    mine.get_buffer(name).copy_(statistics)
                mine.eval()

    @torch.no_grad()
    def _average(self) -> None:
        decay = min(self.config.ema, (1 + self.step) / (10 + self.step)) if self.config.ema else 0.0
        mine, source = self.averaged.state_dict(), self.network.state_dict()
        floats = [name for name, tensor in source.items() if tensor.is_floating_point()]
        torch._foreach_lerp_([mine[n] for n in floats], [source[n] for n in floats], 1 - decay)

    @torch.no_grad()
    def measure(self, data: Positions, limit: int = 0) -> Measured:
        """Judge the first ``limit`` positions (0 = all) spread evenly over ``data`` with the averaged weights."""
        count = min(len(data), limit or len(data))
        chosen = np.linspace(0, len(data) - 1, count).astype(np.int64)
        sums: defaultdict[str, float] = defaultdict(float)
        for start in range(0, count, 512):
            batch = TorchBatch.of(data.batch(chosen[start : start + 512]), self.device)
            with self.autocast():
                outputs = dict(zip(self.net_config.outputs, self.averaged(batch.planes), strict=True))
            logits, output = outputs["policy"], outputs[self.net_config.value_head]
            losses = batch.losses(outputs)
            if batch.legal is not None:
                reached = batch.legal.where(batch.legal >= 0, batch.legal[:, :1])
                picked = reached.gather(1, logits.gather(1, reached).argmax(1, keepdim=True))[:, 0]
            else:
                picked = (logits.all() if isinstance(logits, RowLogits) else logits).argmax(1)
            best = batch.actions.gather(1, batch.probabilities.argmax(1, keepdim=True))[:, 0]
            outcome = expected_outcome(output)
            sums["top1"] += (picked == best).sum().item()
            sums["policy"] += losses["policy"].item() * len(best)
            sums["value"] += losses["value"].item() * len(best)
            sums["result_error"] += (outcome - batch.z).square().sum().item() / 4
            sums["teacher_error"] += (outcome - (batch.wdl[:, 0] - batch.wdl[:, 2])).square().sum().item() / 4
            if "ownership" in losses:
                sums["ownership"] += losses["ownership"].item() * len(best) / 4
            if "score" in outputs and batch.score is not None:
                sums["score"] += (outputs["score"][:, 0] - batch.score).abs().nan_to_num(0).sum().item()
        return Measured(**{name: total / count for name, total in sums.items()}, positions=count, board=data.board)

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
        state = {
            "net": self.net_config.to_json(),
            "learner": asdict(self.config),
            "progress": self.progress,
            "seconds": self.seconds,
        }
        return Checkpoint(self.step, tensors, state)

    def begin_from(self, saved: Checkpoint) -> None:
        """Take over the averaged weights of another run, and nothing else of it; heads this network lacks are left out.

        The value and the policy of a sparse network may be wider than theirs.

        Errors: DataError when it is of another network.
        """
        theirs = {
            name.removeprefix("averaged."): t for name, t in saved.tensors.items() if name.startswith("averaged.")
        }
        if isinstance(self.network, SparseNetwork):
            theirs = self.network.widened(theirs)
        for name, own in self.averaged.state_dict().items():
            if name not in theirs or theirs[name].shape != own.shape:
                found = f"is {list(theirs[name].shape)}" if name in theirs else "is missing"
                raise DataError(
                    f"the network to begin from is another: {name} {found} there and {list(own.shape)} here; "
                    "give the settings of the network that it has, or leave them out"
                )
        weights = {name: theirs[name] for name in self.averaged.state_dict()}
        self.network.load_state_dict(weights)
        self.averaged.load_state_dict(weights)

    def restore(self, saved: Checkpoint) -> None:
        """Take over a checkpoint. Errors: DataError when it is of another network or other settings."""
        # a checkpoint older than a setting has the setting's former value
        defaults = {"net": {"ownership": False, "score": False}, "learner": asdict(LearnerConfig())}
        for name, own in (("net", json.loads(json.dumps(self.net_config.to_json()))), ("learner", asdict(self.config))):
            theirs = {**defaults[name], **saved.state.get(name, {})}
            different = sorted(k for k in own if theirs.get(k) != own[k])
            if different:
                field = different[0]
                raise DataError(
                    f"the run was started with another {field} ({theirs.get(field)}, now {own[field]}); "
                    "go on with the same settings or give a new --out"
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
            self.step, self.progress = saved.step, float(saved.state["progress"])
            self.seconds = float(saved.state["seconds"])
        except (RuntimeError, KeyError, ValueError) as error:
            raise DataError(
                f"the checkpoint of step {saved.step} does not fit this network ({error}); give a new --out"
            ) from error
