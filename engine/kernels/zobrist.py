"""Zobrist keys: random numbers, the same on every machine, and one key for several positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .jit import device

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def random_keys(count: int) -> NDArray[np.uint64]:
    """SplitMix64 from seed 0, u64[count]."""
    index = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = index * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@device
def chain(key, more):
    """The key (u64) of what ``key`` stands for, followed by what ``more`` stands for."""
    return ((key ^ (key >> np.uint64(29))) * _GOLDEN) ^ more
