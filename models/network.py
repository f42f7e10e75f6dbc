"""The papers' network family: a tower of convolutions with a policy head and a value head.

AlphaGo Zero, Methods, "Neural network architecture"; AlphaZero uses the same tower with a convolutional
policy head. Squeeze-excitation and the win/draw/loss head are options beside the papers' settings.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .settings import NetConfig


class ConvBlock(nn.Module):
    """Convolution without bias, batch normalisation and, if ``relu``, a rectifier. [B, in, H, W] -> [B, out, H, W]."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, relu: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        x = self.norm(self.conv(x))
        return functional.relu(x, inplace=True) if self.relu else x


class SqueezeExcite(nn.Module):
    """Squeeze-excitation (Hu et al. 2018): every channel is scaled by a gate computed from all channels' means."""

    def __init__(self, filters: int, hidden: int) -> None:
        super().__init__()
        self.down = nn.Linear(filters, hidden)
        self.up = nn.Linear(hidden, filters)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        gate = torch.sigmoid(self.up(functional.relu(self.down(x.mean(dim=(2, 3))))))
        return x * gate[:, :, None, None]


class ResidualBlock(nn.Module):
    """conv BN ReLU conv BN [squeeze-excitation] + input, ReLU. [B, F, H, W] -> [B, F, H, W]."""

    def __init__(self, filters: int, squeeze: int) -> None:
        super().__init__()
        self.first = ConvBlock(filters, filters, 3)
        self.second = ConvBlock(filters, filters, 3, relu=False)
        self.squeeze = SqueezeExcite(filters, squeeze) if squeeze else None

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        y = self.second(self.first(x))
        if self.squeeze is not None:
            y = self.squeeze(y)
        return functional.relu(y + x, inplace=True)


def make_tower(config: NetConfig) -> nn.Sequential:
    """One tower of the configured kind: [B, used planes, H, W] -> [B, F, H, W]."""
    blocks: list[nn.Module] = [ConvBlock(len(config.used_planes), config.filters, 3)]
    if config.kind.endswith("res"):
        blocks += [ResidualBlock(config.filters, config.squeeze) for _ in range(config.blocks)]
    else:
        blocks += [ConvBlock(config.filters, config.filters, 3) for _ in range(config.blocks - 1)]
    return nn.Sequential(*blocks)


class ConvPolicy(nn.Module):
    """AlphaZero's policy head: conv 3x3, BN, ReLU, then a 1x1 convolution to the action planes. -> logits [B, A]."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        _, height, width = config.planes
        hidden = config.policy_filters or config.filters
        self.block = ConvBlock(config.filters, hidden, 3)
        self.out = nn.Conv2d(hidden, config.actions // (height * width), 1)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        out: Tensor = self.out(self.block(x))
        return out.flatten(1)


class FlatPolicy(nn.Module):
    """AlphaGo Zero's policy head: conv 1x1 (2 filters), BN, ReLU, fully connected. -> logits [B, A]."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        _, height, width = config.planes
        hidden = config.policy_filters or 2
        self.block = ConvBlock(config.filters, hidden, 1)
        self.out = nn.Linear(hidden * height * width, config.actions)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        out: Tensor = self.out(self.block(x).flatten(1))
        return out


class ValueOutput(nn.Module):
    """The papers' value head: conv 1x1, BN, ReLU, fully connected, ReLU, fully connected.

    -> [B, 3] logits of win, draw and loss, or [B, 1] through tanh; both for the side to move.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        _, height, width = config.planes
        self.block = ConvBlock(config.filters, config.value_filters, 1)
        self.hidden = nn.Linear(config.value_filters * height * width, config.value_hidden)
        self.out = nn.Linear(config.value_hidden, 3 if config.value_head == "wdl" else 1)
        self.tanh = config.value_head == "value"

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        out: Tensor = self.out(functional.relu(self.hidden(self.block(x).flatten(1))))
        return torch.tanh(out) if self.tanh else out


class Network(nn.Module):
    """The whole network: planes u8 [B, C, H, W] -> (policy logits f4 [B, A], value f4 [B, 3] or [B, 1]).

    The planes are cast and multiplied by ``plane_scale`` f4 [C] (the game's) inside the network.
    """

    scale: Tensor
    used: Tensor

    def __init__(self, config: NetConfig, plane_scale: Any) -> None:
        super().__init__()
        self.config = config
        used = torch.tensor(config.used_planes)
        self.register_buffer("used", used, persistent=False)
        scale = torch.as_tensor(plane_scale, dtype=torch.float32)[used]
        self.register_buffer("scale", scale.reshape(1, -1, 1, 1).clone(), persistent=False)
        self.tower = make_tower(config)
        self.value_tower = make_tower(config) if config.kind.startswith("sep") else None
        self.policy = ConvPolicy(config) if config.policy_head == "conv" else FlatPolicy(config)
        self.value = ValueOutput(config)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            if isinstance(module, ResidualBlock):  # each block starts as the identity: deep towers train from step one
                nn.init.zeros_(module.second.norm.weight)
        for last in (self.policy.out, self.value.out):  # near-uniform policy and value at the start
            nn.init.normal_(last.weight, std=0.01)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """See the class."""
        x = planes[:, self.used] if len(self.used) < planes.shape[1] else planes
        x = (x.to(torch.float32) * self.scale).contiguous(memory_format=torch.channels_last)
        shared: Tensor = self.tower(x)
        own = shared if self.value_tower is None else self.value_tower(x)
        return self.policy(shared).float(), self.value(own).float()

    def parameter_count(self) -> int:
        """Number of trained parameters."""
        return sum(p.numel() for p in self.parameters())
