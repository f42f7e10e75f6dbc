"""The arithmetic that these nets share: rows added up in 16 bits, then small layers of clipped whole numbers."""

from __future__ import annotations

import numpy as np

from .....engine.kernels.jit import device

CLIP = 127


@device
def add_rows(rows, bias, inputs, count, out):
    """out[j] = bias[j] + the sum over ``count`` inputs of rows[input, j], in 16 bits."""
    for j in range(bias.shape[0]):
        out[j] = bias[j]
    for k in range(count):
        row = rows[inputs[k]]
        for j in range(bias.shape[0]):
            out[j] += row[j]


@device
def multiply(rows, bias, o, given, count):
    """Output ``o`` (i8) of a layer."""
    total = bias[o]
    for j in range(count):
        total += np.int32(rows[o, j]) * np.int32(given[j])
    return np.int64(total)


@device
def clipped(x):
    return min(max(x, np.int64(0)), np.int64(CLIP))
