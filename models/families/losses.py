"""What networks learn from: a batch on the training device, and the losses of their outputs.

Loss (Eq. 1 of AlphaGo Zero): value loss * weight - pi . log p + c ||theta||^2. The value loss is (z - v)^2 or, with the
win/draw/loss head, cross-entropy; the L2 term is the optimiser's weight decay. The losses of ownership and score are
added where the network has these outputs. The policy's softmax runs over the legal moves where the data give them: the
search uses the logits the same way, and no capacity goes into learning legality (as in Lc0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...engine.errors import DataError
from ..data.dataset import Batch

Outputs = dict[str, Any]  # of a network, by name: the policy as Logits, the others as tensors, see Network.to_onnx
SCORE_UNIT = 10.0  # points of score that a loss, and a network's output before scaling, of 1 stand for


class Logits:
    """A policy's logits [B, A]."""

    def __init__(self, whole: Tensor) -> None:
        self._whole = whole

    def of(self, actions: Tensor) -> Tensor:
        """The logits [B, K] of actions i8 [B, K]; any number for those below 0, which are padding."""
        return self._whole.gather(1, actions.clamp(min=0))

    def all(self) -> Tensor:
        return self._whole


def policy_loss(logits: Logits, batch: TorchBatch) -> Tensor:
    """Mean cross-entropy of the policy targets [B, K] under logits [B, A], over the legal moves if they are known."""
    if batch.legal is None:
        normaliser = logits.all().logsumexp(1)
    else:
        normaliser = logits.of(batch.legal).masked_fill(batch.legal < 0, -math.inf).logsumexp(1)
    chosen = (batch.probabilities * logits.of(batch.actions)).sum(1)
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
    predicted = output[:, 0].float()
    known = target.where(target.isfinite(), predicted.detach())
    return functional.smooth_l1_loss(predicted / SCORE_UNIT, known / SCORE_UNIT)


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

    def losses(self, outputs: Outputs) -> dict[str, Tensor]:
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
