"""Kernels of a sparse network's training: sums over the few rows of a table that a position touches, and back."""

from __future__ import annotations

import numpy as np

from ...engine.kernels.jit import kernel, summing_kernel


@summing_kernel
def gather_features(planes, weight, bias, out):
    """out f4[B, H] = bias f4[H] + the rows of weight f4[F, H] that planes u1[B, 2 P] list, see ``games.sparse``."""
    places, width = planes.shape[1] // 2, bias.shape[0]
    for b in range(planes.shape[0]):
        row = out[b]
        for i in range(width):
            row[i] = bias[i]
        for n in range(places):
            feature = planes[b, n] + 256 * np.int64(planes[b, places + n]) - 1
            if feature < 0:
                break
            source = weight[feature]
            for i in range(width):
                row[i] += source[i]


@kernel
def scatter_features(planes, gradient, out):
    """Add gradient f4[B, H] to the rows of out f4[F, H] that planes u1[B, 2 P] list."""
    places, width = planes.shape[1] // 2, out.shape[1]
    for b in range(planes.shape[0]):
        source = gradient[b]
        for n in range(places):
            feature = planes[b, n] + 256 * np.int64(planes[b, places + n]) - 1
            if feature < 0:
                break
            row = out[feature]
            for i in range(width):
                row[i] += source[i]


@summing_kernel
def gather_rows(hidden, weight, bias, actions, out):
    """out f4[B, K] = hidden f4[B, D] . weight f4[A, D][actions i8[B, K]] + bias f4[A]; 0 for actions below 0."""
    width = hidden.shape[1]
    for b in range(actions.shape[0]):
        left = hidden[b]
        for k in range(actions.shape[1]):
            out[b, k] = 0.0
            if actions[b, k] < 0:
                continue
            right, total = weight[actions[b, k]], np.float32(0.0)
            for i in range(width):
                total += left[i] * right[i]
            out[b, k] = total + bias[actions[b, k]]


@kernel
def scatter_rows(hidden, weight, actions, gradient, to_hidden, to_weight, to_bias):
    """Add what gradient f4[B, K] of :func:`gather_rows` means for its arguments to the last three."""
    width = hidden.shape[1]
    for b in range(actions.shape[0]):
        left, back = hidden[b], to_hidden[b]
        for k in range(actions.shape[1]):
            g = gradient[b, k]
            if g == np.float32(0.0) or actions[b, k] < 0:
                continue
            right, grown = weight[actions[b, k]], to_weight[actions[b, k]]
            for i in range(width):
                back[i] += g * right[i]
                grown[i] += g * left[i]
            to_bias[actions[b, k]] += g
