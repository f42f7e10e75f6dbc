"""The papers' networks in torch.

AlphaGo Zero, Methods, "Neural network architecture"; AlphaZero uses the same tower with a convolutional
policy head. Squeeze-excitation, the win/draw/loss head, heads that fit every size of board, and the outputs of
ownership and score are options beside the papers' settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ....engine.nets.file.netfile import FLOAT
from ....engine.nets.netinfo import NetInfo
from ..network import Network, Planes, array
from .config import TowerConfig
from .graph import KEEP_FP32, TowerWriter, add_policy, add_value, folded
from .layers import POLICY_HEADS, ConvBlock, PooledPolicy, ResidualBlock, ValueOutput, make_tower

POSITIONS = 2048  # that the statistics of a network read from a file are taken from
_BATCH = 64  # positions judged at a time


class TowerNetwork(Network):
    """The whole network. The planes are cast and multiplied by ``plane_scale`` f4 [C] (the game's) inside of it."""

    config: TowerConfig
    keep_fp32 = KEEP_FP32
    scale: Tensor
    used: Tensor

    def __init__(self, config: TowerConfig, plane_scale: Any) -> None:
        super().__init__(config)
        used = torch.tensor(config.used_planes)
        self.register_buffer("used", used, persistent=False)
        scale = torch.as_tensor(plane_scale, dtype=torch.float32)[used]
        self.register_buffer("scale", scale.reshape(1, -1, 1, 1).clone(), persistent=False)
        self.tower = make_tower(config)
        self.value_tower = make_tower(config) if config.kind.startswith("sep") else None
        self.policy = POLICY_HEADS[config.policy_head](config)
        self.value = ValueOutput(config)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            if isinstance(module, ResidualBlock):  # each block starts as the identity: deep towers train from step one
                nn.init.zeros_(module.second.norm.weight)
        for last in self.last_layers():  # near-uniform policy and value at the start
            nn.init.normal_(last.weight, std=0.01)

    def last_layers(self) -> list[nn.Conv2d | nn.Linear]:
        layers: list[nn.Conv2d | nn.Linear] = [self.policy.out, self.value.out]
        if isinstance(self.policy, PooledPolicy):
            layers.append(self.policy.pass_out)
        return layers + [layer for layer in (self.value.ownership, self.value.score) if layer is not None]

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        x = planes[:, self.used] if len(self.used) < planes.shape[1] else planes
        x = (x.to(torch.float32) * self.scale).to(next(self.tower.parameters()).dtype)
        x = x.contiguous(memory_format=torch.channels_last)
        shared: Tensor = self.tower(x)
        features = shared if self.value_tower is None else self.value_tower(x)
        return (self.policy(shared).float(), *(y.float() for y in self.value(features)))

    # ---- learning

    def matrices(self) -> list[nn.Parameter]:
        return [p for name, p in self.named_parameters() if name.endswith("conv.weight")]

    def of_chances(self) -> list[nn.Parameter]:
        return list(self.value.out.parameters())

    @torch.no_grad()
    def freeze(self, averaged: Network) -> None:
        """Normalise by the averaged statistics from now on, as in play, and keep them fixed.

        Each board size has its own statistics (a small board is nearly all edge) and each batch one size, but the
        exported net has one set: the last part of a run adapts the weights to it.
        """
        for mine, other in zip(self.modules(), averaged.modules(), strict=True):
            if isinstance(mine, nn.BatchNorm2d):
                for name, statistics in other.named_buffers():
                    mine.get_buffer(name).copy_(statistics)
                mine.eval()

    def warm_up(self, positions: Callable[[int], Planes]) -> None:
        self.unfold(positions(POSITIONS))

    @torch.no_grad()
    def unfold(self, planes: Planes) -> None:
        """Give every normalisation the statistics of planes u8 [N, C, H, W], and every filter the norm of a fresh one.

        The outputs stay the same: normalisation divides the filter's norm out again. Only the optimiser, whose step
        size is absolute, sees the difference.
        """
        sums: dict[ConvBlock, Tensor] = {}
        blocks = [module for module in self.modules() if isinstance(module, ConvBlock)]

        def adding(block: ConvBlock) -> Callable[[Any, Any, Tensor], None]:
            def add(module: Any, inputs: Any, output: Tensor) -> None:
                x = output.double()
                sums_of_scale = torch.stack(
                    [torch.full_like(x[0, :, 0, 0], x[:, 0].numel()), x.sum((0, 2, 3)), (x * x).sum((0, 2, 3))]
                )
                sums[block] = sums[block] + sums_of_scale if block in sums else sums_of_scale

            return add

        hooks = [block.conv.register_forward_hook(adding(block)) for block in blocks]
        self.eval()
        for i in range(0, len(planes), _BATCH):
            self(torch.from_numpy(planes[i : i + _BATCH]))
        for hook in hooks:
            hook.remove()
        self.train()
        for block in blocks:
            points, first, second = sums[block]
            mean, variance = first / points, (second / points - (first / points) ** 2).clamp(min=0)
            filters, norm = block.conv.weight, block.norm
            size = filters.double().pow(2).mean((1, 2, 3)).sqrt()
            fresh = (2 / filters[0].numel()) ** 0.5  # of kaiming_normal_
            larger = torch.where(size > fresh * 1e-6, fresh / size, torch.ones_like(size))
            filters.mul_(larger.float()[:, None, None, None])
            norm.bias.add_(mean.float())
            norm.weight.copy_(((variance * larger**2 + norm.eps).sqrt() / larger).float())
            assert norm.running_mean is not None
            assert norm.running_var is not None
            norm.running_mean.copy_((mean * larger).float())
            norm.running_var.copy_((variance * larger**2).float())

    # ---- files and play

    def graph(self, info: NetInfo) -> TowerWriter:
        graph, config = TowerWriter(), self.config
        x = "planes"
        if len(config.used_planes) < config.planes[0]:
            used = graph.constant("used", np.asarray(config.used_planes, np.int64))
            x = graph.node("Gather", [x, used], "planes.used", axis=1)
        x = graph.node("Cast", [x], "planes.float", to=FLOAT)
        x = graph.node("Mul", [x, graph.constant("planes.scale", array(self.scale))], "planes.scaled")
        shared = graph.tower(x, self.tower, "tower")
        features = shared if self.value_tower is None else graph.tower(x, self.value_tower, "value_tower")
        add_policy(graph, shared, self.policy)
        add_value(graph, features, self.value, config.value_head)
        return graph

    def to_play(self, dtype: torch.dtype, device: torch.device) -> TowerNetwork:
        """Fold the normalisation in, channels last.

        The last layers and the value's hidden one stay float32: their rounding would be the outputs'.
        """
        for block in [module for module in self.modules() if isinstance(module, ConvBlock)]:
            weight, bias = folded(block)
            old = block.conv
            padding = old.kernel_size[0] // 2
            conv = nn.Conv2d(old.in_channels, old.out_channels, old.kernel_size[0], padding=padding)
            with torch.no_grad():
                conv.weight.copy_(weight)
                assert conv.bias is not None
                conv.bias.copy_(bias)
            block.add_module("conv", conv)
            block.add_module("norm", nn.Identity())
        scale = self.scale.float()
        super().to_play(dtype, device)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.scale = scale.to(device)
        if dtype != torch.float32:
            for layer in (*self.last_layers(), self.value.hidden):
                layer.float()
                layer.register_forward_pre_hook(_as_float32)
        return self


def _as_float32(layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (inputs[0].float(),)
