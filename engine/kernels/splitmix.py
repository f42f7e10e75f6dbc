"""Numbers by SplitMix64, the same on every machine: Zobrist keys of positions, and random numbers by key.

A stream of random numbers begins with a key of (seed, game, ply, purpose). So a game is the same on any worker and
beside any other games, and it goes on without a saved state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .jit import device

MOVE, NOISE, SEARCH, RESIGN, SYMMETRY = range(5)  # purposes

_MASK = 2**64 - 1
_GOLDEN, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_GOLDEN_U8, _MIX_1_U8, _MIX_2_U8 = np.uint64(_GOLDEN), np.uint64(_MIX_1), np.uint64(_MIX_2)
_11, _27, _29, _30, _31 = np.uint64(11), np.uint64(27), np.uint64(29), np.uint64(30), np.uint64(31)


def _mix(z: int) -> int:
    z = (z + _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return z ^ (z >> 31)


def random_keys(count: int) -> NDArray[np.uint64]:
    """Zobrist keys u64[count]: SplitMix64 from seed 0."""
    return np.array([_mix(i * _GOLDEN) for i in range(count)], np.uint64)


@device
def chain(key, more):
    """The key (u64) of what ``key`` stands for, followed by what ``more`` stands for."""
    return ((key ^ (key >> _29)) * _GOLDEN_U8) ^ more


def chance_key(*parts: int) -> int:
    """The key, 0 .. 2**64 - 1, of whole numbers such as (seed, game, ply, purpose)."""
    key = 0
    for part in parts:
        key = _mix(key ^ (part & _MASK))
    return key


def uniform(key: int) -> float:
    """The first number of a key's stream, in [0, 1)."""
    return (_mix(key) >> 11) * 2.0**-53


@device
def draw(stream):
    """The next number of a stream u8[1], in (0, 1)."""
    stream[0] += _GOLDEN_U8
    z = stream[0]
    z = (z ^ (z >> _30)) * _MIX_1_U8
    z = (z ^ (z >> _27)) * _MIX_2_U8
    return (np.float64((z ^ (z >> _31)) >> _11) + 0.5) * 2.0**-53


@device
def draw_normal(stream):
    """A normal deviate (Box and Muller, 1958)."""
    return np.sqrt(-2.0 * np.log(draw(stream))) * np.cos(2.0 * np.pi * draw(stream))


@device
def draw_log_gamma(stream, alpha):
    """The logarithm of a gamma deviate of shape ``alpha`` (Marsaglia and Tsang, 2000); its own would often be 0."""
    boost = 0.0
    if alpha < 1.0:
        boost = np.log(draw(stream)) / alpha
        alpha += 1.0
    d = alpha - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = draw_normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and np.log(draw(stream)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return np.log(d * v) + boost


@device
def draw_dirichlet(stream, alpha, count, out):
    """out f8[:count] = a draw from the symmetric Dirichlet distribution of parameter ``alpha``."""
    highest = -np.inf
    for k in range(count):
        out[k] = draw_log_gamma(stream, alpha)
        highest = max(highest, out[k])
    total = 0.0
    for k in range(count):
        out[k] = np.exp(out[k] - highest)
        total += out[k]
    for k in range(count):
        out[k] /= total


@device
def draw_gumbel(stream):
    """A standard Gumbel deviate."""
    return -np.log(-np.log(draw(stream)))
