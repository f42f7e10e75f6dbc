"""Layers of the papers' networks: a tower of convolutions, policy heads and a value head.

AlphaGo Zero, Methods, "Neural network architecture"; AlphaZero uses the same tower with a convolutional
policy head. Squeeze-excitation, the win/draw/loss head, heads that fit every size of board, and the outputs of
ownership and score are options beside the papers' settings.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..losses import SCORE_UNIT
from .config import TowerConfig


class ConvBlock(nn.Module):
    """Convolution without bias, batch normalisation and, if ``relu``, a rectifier. [B, in, H, W] -> [B, out, H, W]."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, relu: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x))
        return functional.relu(x, inplace=True) if self.relu else x


class SqueezeExcite(nn.Module):
    """Squeeze-excitation (Hu et al. 2018): every channel is scaled by a gate computed from all channels' means."""

    def __init__(self, filters: int, hidden: int) -> None:
        super().__init__()
        self.down = nn.Linear(filters, hidden)
        self.up = nn.Linear(hidden, filters)

    def forward(self, x: Tensor) -> Tensor:
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
        y = self.second(self.first(x))
        if self.squeeze is not None:
            y = self.squeeze(y)
        return functional.relu(y + x, inplace=True)


def make_tower(config: TowerConfig) -> nn.Sequential:
    """One tower of the configured kind: [B, used planes, H, W] -> [B, F, H, W]."""
    blocks: list[nn.Module] = [ConvBlock(len(config.used_planes), config.filters, 3)]
    if config.kind.endswith("res"):
        blocks += [ResidualBlock(config.filters, config.squeeze) for _ in range(config.blocks)]
    else:
        blocks += [ConvBlock(config.filters, config.filters, 3) for _ in range(config.blocks - 1)]
    return nn.Sequential(*blocks)


class ConvPolicy(nn.Module):
    """AlphaZero's policy head: conv 3x3, BN, ReLU, then a 1x1 convolution to the action planes. -> logits [B, A]."""

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        _, height, width = config.planes
        hidden = config.policy_filters or config.filters
        self.block = ConvBlock(config.filters, hidden, 3)
        self.out = nn.Conv2d(hidden, config.actions // (height * width), 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.block(x))
        return out.flatten(1)


class FlatPolicy(nn.Module):
    """AlphaGo Zero's policy head: conv 1x1 (2 filters), BN, ReLU, fully connected. -> logits [B, A]."""

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        _, height, width = config.planes
        hidden = config.policy_filters or 2
        self.block = ConvBlock(config.filters, hidden, 1)
        self.out = nn.Linear(hidden * height * width, config.actions)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.block(x).flatten(1))
        return out


class Pool(nn.Module):
    """What a board of any size says as a whole: [B, F, H, W] -> [B, 3 F, 1, 1].

    Each filter's mean, that mean times (N - 14) / 10 and its maximum; the second lets sums over the board be learned
    (Wu 2019, "Accelerating Self-Play Learning in Go", appendix A).
    """

    CENTRE, SPREAD = 14.0, 10.0

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=(2, 3), keepdim=True)
        return torch.cat([mean, mean * ((x.shape[2] - self.CENTRE) / self.SPREAD), x.amax(dim=(2, 3), keepdim=True)], 1)


class PooledPolicy(nn.Module):
    """A policy head for every size of board: -> logits [B, N * N + 1], the points and the pass.

    conv 3x3 and BN, to which a bias made of the pooled board is added, ReLU, conv 1x1 to one logit a point; the pass is
    a small network on the pooled board.
    """

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        hidden = config.policy_filters or 32
        self.block = ConvBlock(config.filters, hidden, 3, relu=False)
        self.board = ConvBlock(config.filters, hidden, 1)
        self.pool = Pool()
        self.bias = nn.Conv2d(3 * hidden, hidden, 1)
        self.out = nn.Conv2d(hidden, 1, 1)
        self.pass_hidden = nn.Conv2d(3 * hidden, hidden, 1)
        self.pass_out = nn.Conv2d(hidden, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        board = self.pool(self.board(x))
        points: Tensor = self.out(functional.relu(self.block(x) + self.bias(board)))
        passing: Tensor = self.pass_out(functional.relu(self.pass_hidden(board)))
        return torch.cat([points.flatten(1), passing.flatten(1)], 1)


class ValueOutput(nn.Module):
    """The papers' value head: conv 1x1, BN, ReLU, fully connected, ReLU, fully connected.

    -> value [B, 3], logits of win, draw and loss, or [B, 1] through tanh. Beside it, where the configuration has them:
    ownership [B, H, W] in [-1, 1], +1 where a point will be the side to move's, through conv 1x1 and tanh; score
    [B, 1], by how many points the side to move leads on the board, komi left out. All for the side to move. With the
    pooled policy head, the fully connected layers read the pooled board instead of every point.
    """

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        _, height, width = config.planes
        self.block = ConvBlock(config.filters, config.value_filters, 1)
        self.pool = Pool() if config.any_size else None
        self.hidden = nn.Linear(config.value_filters * (3 if self.pool else height * width), config.value_hidden)
        self.out = nn.Linear(config.value_hidden, 3 if config.value_head == "wdl" else 1)
        self.tanh = config.value_head == "value"
        self.ownership = nn.Conv2d(config.value_filters, 1, 1) if config.ownership else None
        self.score = nn.Linear(config.value_hidden, 1) if config.score else None

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        features = self.block(x)
        board = features if self.pool is None else self.pool(features)
        hidden = functional.relu(self.hidden(board.flatten(1)))
        out: Tensor = self.out(hidden)
        result = [torch.tanh(out) if self.tanh else out]
        if self.ownership is not None:
            result.append(torch.tanh(self.ownership(features))[:, 0])
        if self.score is not None:
            result.append(self.score(hidden) * SCORE_UNIT)
        return tuple(result)


POLICY_HEADS: dict[str, type[ConvPolicy | FlatPolicy | PooledPolicy]] = {
    "conv": ConvPolicy,
    "flat": FlatPolicy,
    "pooled": PooledPolicy,
}
