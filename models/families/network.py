"""The networks that families make: a torch module that also says how it learns and how it becomes a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, ClassVar

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...engine.errors import NetError, OptionError
from ...engine.nets.netinfo import NetInfo
from ...engine.nets.onnx.session import raw_session
from ..net.onnxfile import GraphWriter
from ..net.probes import check, run
from .config import NetConfig
from .losses import Logits, Outputs, TorchBatch, value_loss

TOLERANCE = 2e-4  # greatest difference of an output from torch's that counts as the same network
Planes = NDArray[np.uint8]  # [B, C, H, W]


class Network(nn.Module, ABC):
    """A network: planes u8 [B, C, H, W] -> policy logits f4 [B, A], value f4 [B, 3] or [B, 1], and the rest.

    ``forward`` gives a tuple in the order of ``config.outputs``, float32 whatever the weights are. Every value is the
    side to move's. A family has to define ``forward`` and :meth:`graph`; the other methods have a use in some.
    """

    quantisation: ClassVar[str] = "fp32"  # of its file: "int8" where that holds whole numbers from the beginning
    keep_fp32: ClassVar[tuple[str, ...]] = ()  # nodes that stay float32 in int8 files, see ``net.quantise``
    fused: ClassVar[bool] = False  # whether AdamW goes over all weights in one pass: they must lie plainly in memory

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = config
        self.learned: Collection[str] = config.outputs

    # ---- learning

    def prepare(self, learned: Collection[str], threads: int) -> None:
        """Before it learns: the outputs that have a loss, and the CPU threads of its steps; 0 = as torch has it."""
        self.learned = learned
        if threads:
            torch.set_num_threads(threads)

    @property
    def threads(self) -> int:
        """CPU threads of its training."""
        return torch.get_num_threads()

    def outputs(self, planes: Tensor, names: Collection[str] = ()) -> Outputs:
        """The outputs by name; those not in ``names`` (() = all) may be missing where no weights are shared."""
        policy, *others = self(planes)
        return dict(zip(self.config.outputs, (Logits(policy), *others), strict=True))

    def losses(self, batch: TorchBatch) -> dict[str, Tensor]:
        """The loss of each output that is learned: "policy", "value", "ownership", "score".

        Errors: DataError when the positions lack what the network is to learn.
        """
        losses = batch.losses(self.outputs(batch.planes, self.learned))
        if batch.after is not None and batch.after_wdl is not None and len(batch.after):
            head = self.config.value_head
            followed = value_loss(self.outputs(batch.after, (head,))[head], batch.after_wdl)
            share = len(batch.after) / (len(batch.after) + len(batch.planes))
            losses["value"] = torch.lerp(losses["value"], followed, share)
        return losses

    def matrices(self) -> list[nn.Parameter]:
        """The weights that Muon is for."""
        return []

    def of_chances(self) -> list[nn.Parameter]:
        """The weights of the last layer of the value, which alone can learn other chances. Errors: OptionError."""
        raise OptionError(f"networks of the kind {self.config.kind} learn chances together with all else")

    def after_step(self) -> None:
        """After each step of the optimiser: bring the weights back to where they may be."""

    def freeze(self, averaged: Network) -> None:
        """Keep statistics of the batches fixed from now on, as those of the averaged network are."""

    def widened(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The state of a smaller network in this one's sizes, which says the same; any other one as it is."""
        return state

    def warm_up(self, positions: Callable[[int], Planes]) -> None:
        """Make a network that was read from a file fit to learn; positions(n): of n positions of its own games."""

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

    # ---- files

    @abstractmethod
    def graph(self, info: NetInfo) -> GraphWriter:
        """Nodes and constants from the input "planes" to nodes named as the outputs. Errors: NetError."""

    def to_onnx(self, info: NetInfo) -> onnx.ModelProto:
        """The ONNX model of the current weights with ``info`` as its metadata: plain operators of the default domain.

        Input  "planes"    uint8   [batch, C, H, W]; H and W are free where the network takes every size
        Output "policy"    float32 [batch, A] logits
        Output "wdl"       float32 [batch, 3] logits of win, draw, loss for the side to move, or
               "value"     float32 [batch, 1] in [-1, 1], the same point of view
        Output "ownership" float32 [batch, H, W] in [-1, 1], +1 = the side to move's, where the network has it
        Output "score"     float32 [batch, 1] lead of the side to move on the board in points, komi left out, likewise

        Errors: NetError.
        """
        config = self.config
        sizes: dict[str, list[int | str]] = {
            "policy": ["actions" if config.any_size else config.actions],
            "wdl": [3],
            "value": [1],
            "ownership": ["height", "width"] if config.any_size else [*config.planes[1:]],
            "score": [1],
        }
        content = self.graph(info).to_bytes(info, {name: sizes[name] for name in config.outputs})
        model = onnx.load_model_from_string(content)
        check(model)
        return model

    @torch.no_grad()
    def arrays(self, planes: Planes) -> list[NDArray[np.float32]]:
        """All outputs in order, as in evaluation; on a GPU in float32, too, whose convolutions are TF32 elsewhere."""
        training = self.training
        self.eval()
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            policy, *others = self.outputs(torch.from_numpy(planes).to(next(self.parameters()).device)).values()
        self.train(training)
        return [y.cpu().numpy() for y in (policy.all(), *others)]

    def parity(self, model: onnx.ModelProto, planes: Planes) -> float:
        """The greatest absolute difference between torch (evaluation mode, float32) and onnxruntime over all outputs.

        Errors: NetError when it is above TOLERANCE times an output's own size (at least 1) or not finite.
        """
        expected, got = self.arrays(planes), run(raw_session(model.SerializeToString()), planes)
        differences = [float(np.abs(a - b).max()) for a, b in zip(expected, got, strict=True)]
        for name, y, difference in zip(self.config.outputs, expected, differences, strict=True):
            if not difference <= TOLERANCE * max(1.0, float(np.abs(y).max())):
                raise NetError(
                    f"the exported net's {name} differs from the trained one's by {difference:.2g}; it was not written"
                )
        return max(differences)

    def to_play(self, dtype: torch.dtype, device: torch.device) -> Network:
        """Prepare it for playing with torch, in place."""
        return self.eval().requires_grad_(requires_grad=False).to(device=device, dtype=dtype)


def array(tensor: Tensor) -> NDArray[Any]:
    """A tensor as a constant of a graph, float32."""
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()
