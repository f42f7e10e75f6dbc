"""Kernels of a sparse network's training: sums over the few rows of a table that a position touches, and back.

Weights of the value: see ``value.ValueWeights``.
"""

from __future__ import annotations

import numpy as np

from ....engine.kernels.jit import kernel, summing_kernel
from ....engine.nets.families.sparse.integers import bucket_start


@summing_kernel
def gather_features(planes, weight, bias, out):
    """out f4[B, H] = bias f4[H] + the rows of weight f4[F, H] that planes u1[B, 2 P] list, see ``games.sparse``.

    The features that have no row are behind the others.
    """
    places, width = planes.shape[1] // 2, bias.shape[0]
    for b in range(planes.shape[0]):
        row = out[b]
        for i in range(width):
            row[i] = bias[i]
        for n in range(places):
            feature = planes[b, n] + 256 * np.int64(planes[b, places + n]) - 1
            if feature < 0 or feature >= weight.shape[0]:
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
            if feature < 0 or feature >= out.shape[0]:
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


@kernel
def join(shared, ours, alike, bound, step, out):
    """out f4[F, V] = own f4[F, V] + row alike i8[F] of shared f4[S, V], within +-bound.

    With a step above 0 it is rounded to whole steps.
    """
    for f in range(ours.shape[0]):
        for i in range(ours.shape[1]):
            total = min(max(ours[f, i] + shared[alike[f], i], -bound), bound)
            out[f, i] = np.rint(total / step) * step if step > 0 else total


@kernel
def divide(shared, ours, alike, bound, gradient, to_shared, to_ours):
    """The gradients of :func:`join`'s tables from the sum's, as if nothing were rounded; to_shared is zero before."""
    for f in range(ours.shape[0]):
        for i in range(ours.shape[1]):
            inside = -bound <= ours[f, i] + shared[alike[f], i] <= bound
            to_ours[f, i] = gradient[f, i] if inside else np.float32(0)
            to_shared[alike[f], i] += to_ours[f, i]


@summing_kernel
def value_forward(planes, weights, sums, units, out):
    """out f4[B, 3] = the WDL logits of planes u1[B, 2 P].

    Kept for the way back, clipped to 0 .. 1: sums f4[B, V] of the first layer and the hidden units f4[B, HIDDEN] of the
    position's bucket.
    """
    places, width, half = planes.shape[1] // 2, sums.shape[1], sums.shape[1] // 2
    products = np.empty(half, np.float32)
    zero, one = np.float32(0), np.float32(1)
    for b in range(planes.shape[0]):
        row = sums[b]
        for i in range(width):
            row[i] = weights.bias[i]
        count = 0
        for n in range(places):
            feature = planes[b, n] + 256 * np.int64(planes[b, places + n]) - 1
            if feature < 0:
                break
            count += 1
            source = weights.first[feature]
            for i in range(width):
                row[i] += source[i]
        start = bucket_start(count, weights.hidden_bias.shape[0])
        for i in range(width):
            row[i] = min(max(row[i], zero), one)
        for i in range(half):
            products[i] = row[i] * row[half + i]
        for k in range(3):
            out[b, k] = weights.out_bias[k]
        for j in range(units.shape[1]):
            total, layer = weights.hidden_bias[start + j], weights.hidden[start + j]
            for i in range(half):
                total += products[i] * layer[i]
            total = min(max(total, zero), one)
            units[b, j] = total
            for k in range(3):
                out[b, k] += total * weights.out[k, start + j]


@summing_kernel
def value_backward(planes, weights, sums, units, gradient, to):
    """Add to ``to``, the gradients of ``weights``, what gradient f4[B, 3] of :func:`value_forward` means for them."""
    places, half = planes.shape[1] // 2, sums.shape[1] // 2
    products, back = np.empty(half, np.float32), np.empty(half, np.float32)
    grown = np.empty(2 * half, np.float32)
    zero, one = np.float32(0), np.float32(1)
    for b in range(planes.shape[0]):
        row, count = sums[b], 0
        while count < places and (planes[b, count] or planes[b, places + count]):
            count += 1
        start = bucket_start(count, weights.hidden_bias.shape[0])
        for i in range(half):
            products[i], back[i] = row[i] * row[half + i], zero
        for k in range(3):
            to.out_bias[k] += gradient[b, k]
        for j in range(units.shape[1]):
            unit, slope = units[b, j], zero
            for k in range(3):
                to.out[k, start + j] += gradient[b, k] * unit
                slope += gradient[b, k] * weights.out[k, start + j]
            if unit <= zero or unit >= one:
                continue
            to.hidden_bias[start + j] += slope
            layer, grows = weights.hidden[start + j], to.hidden[start + j]
            for i in range(half):
                grows[i] += slope * products[i]
                back[i] += slope * layer[i]
        for i in range(half):
            left, right = row[i], row[half + i]
            grown[i] = back[i] * right if zero < left < one else zero
            grown[half + i] = back[i] * left if zero < right < one else zero
        for i in range(2 * half):
            to.bias[i] += grown[i]
        for n in range(places):
            feature = planes[b, n] + 256 * np.int64(planes[b, places + n]) - 1
            if feature < 0:
                break
            target = to.first[feature]
            for i in range(2 * half):
                target[i] += grown[i]
