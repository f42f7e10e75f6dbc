"""The network in torch, and its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from az_engine.engine.nets.file.netfile import FLOAT
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.models.families.network import Network, array
from az_engine.models.net.onnxfile import GraphWriter

if TYPE_CHECKING:
    from . import LinearConfig


class LinearNetwork(Network):
    """Planes u8 [B, C, H, W] -> policy logits f4 [B, A], alike for all positions, and WDL logits f4 [B, 3]."""

    scale: Tensor

    def __init__(self, config: LinearConfig, plane_scale: Any) -> None:
        """plane_scale: f4 [C], of the game's encoder."""
        super().__init__(config)
        scale = torch.as_tensor(plane_scale, dtype=torch.float32).reshape(1, -1, 1, 1)
        self.register_buffer("scale", scale, persistent=False)
        self.moves = nn.Parameter(torch.zeros(config.actions))
        self.outcome = nn.Parameter(torch.randn(3, int(np.prod(config.planes))) * config.first_weights)
        self.outcome_bias = nn.Parameter(torch.zeros(3))

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        x = (planes * self.scale.float()).flatten(1).to(self.outcome.dtype)
        wdl = nn.functional.linear(x, self.outcome, self.outcome_bias)
        return self.moves.float().expand(len(planes), -1), wdl.float()

    def take(self, stored: dict[str, NDArray[np.float32]]) -> None:
        """Take over the constants of a file."""
        self.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in stored.items()})

    def graph(self, info: NetInfo) -> GraphWriter:
        graph = GraphWriter()
        stored = {name: graph.constant(name, array(tensor)) for name, tensor in self.state_dict().items()}
        x = graph.node("Cast", ["planes"], "planes.float", to=FLOAT)
        x = graph.node("Mul", [x, graph.constant("planes.scale", array(self.scale))], "planes.scaled")
        x = graph.node("Flatten", [x], "planes.flat", axis=1)
        graph.node("Gemm", [x, stored["outcome"], stored["outcome_bias"]], "wdl", transB=1)
        first = graph.node("Gather", [x, graph.constant("first", np.array([0], np.int64))], "planes.first", axis=1)
        none = graph.node("Mul", [first, graph.number(0.0)], "none")  # [B, 1]: as many rows as there are positions
        graph.node("Add", [none, stored["moves"]], "policy")
        return graph
