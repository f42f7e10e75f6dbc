"""The layers of KataGo's nets. Arrays are float32: convolutions [out, in, height, width], matrices [in, out], [C]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
IDENTITY, RELU, MISH, SILU = "identity", "relu", "mish", "silu"  # activations


@dataclass(frozen=True, slots=True)
class Norm:
    """y = x * scale + shift per channel: batch normalisation with its statistics."""

    scale: Array
    shift: Array


@dataclass(frozen=True, slots=True)
class RootMeanSquare:
    """y = x / sqrt(mean(x^2) + epsilon) * scale + shift; the mean is over channels, if ``spatial`` over points, too."""

    epsilon: float
    scale: Array
    shift: Array | None
    spatial: bool


@dataclass(frozen=True, slots=True)
class NormConv:
    """A convolution of an activation of a normalised input: what residual blocks are made of."""

    norm: Norm
    activation: str
    conv: Array


@dataclass(frozen=True, slots=True)
class Ordinary:
    """x + second(first(x))."""

    first: NormConv
    second: NormConv


@dataclass(frozen=True, slots=True)
class Pooled:
    """y = act(norm x); r = regular(y) + matrix(pool(act(norm pooled(y)))); x + last(r)."""

    norm: Norm
    activation: str
    regular: Array
    pooled: Array
    pooled_norm: Norm
    pooled_activation: str
    matrix: Array
    last: NormConv


@dataclass(frozen=True, slots=True)
class Nested:
    """x + last(blocks(first(x)))."""

    first: NormConv
    blocks: tuple[Block, ...]
    last: NormConv


@dataclass(frozen=True, slots=True)
class Attention:
    """x + out(attention(norm x)) with rotated queries and keys.

    frequencies: [kv heads or 1, pairs, 2], angle of a pair of channels = column * f[0] + row * f[1]; None: no rotation.
    """

    norm: RootMeanSquare
    heads: int
    key_heads: int
    query: Array
    key: Array
    value: Array
    out: Array
    frequencies: Array | None


@dataclass(frozen=True, slots=True)
class FeedForward:
    """x + out(silu(hidden(norm x)) * gate(norm x))."""

    norm: RootMeanSquare
    hidden: Array
    gate: Array
    out: Array


Block = Ordinary | Pooled | Nested | Attention | FeedForward


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """conv(act(norm(points x + matrix(pool(act(norm pooled(x))))))) per point; the pass from the same pool.

    passing: (matrix,), or (matrix, bias, activation, matrix).
    """

    points: Array
    pooled: Array
    pooled_norm: Norm
    pooled_activation: str
    matrix: Array
    norm: Norm
    activation: str
    out: Array
    passing: tuple[Array] | tuple[Array, Array, str, Array]


@dataclass(frozen=True, slots=True)
class ValueHead:
    """hidden = act(matrix(pool(y)) + bias) of y = act(norm(conv x)); outcome and score from it, ownership from y."""

    conv: Array
    norm: Norm
    activation: str
    matrix: Array
    bias: Array
    hidden_activation: str
    outcome: Array  # win, loss, no result
    outcome_bias: Array
    score: Array  # mean, deviation, lead, time left, ...
    score_bias: Array
    ownership: Array


class Scales(NamedTuple):
    """What 1 of a net's outputs means; of the errors the square."""

    mean: float = 20.0  # points
    stdev: float = 20.0  # points
    lead: float = 20.0  # points
    time: float = 40.0  # moves
    outcome_error: float = 0.25
    score_error: float = 30.0  # points squared


@dataclass(frozen=True, slots=True)
class KatagoNet:
    """One file. suicidal: it sees areas as if suicide were legal."""

    name: str
    version: int
    suicidal: bool
    scales: Scales
    conv: Array
    matrix: Array
    blocks: tuple[Block, ...]
    tip: Norm | RootMeanSquare
    tip_activation: str
    policy: PolicyHead
    value: ValueHead

    @property
    def channels(self) -> int:
        """Width of the trunk."""
        return int(self.conv.shape[0])
