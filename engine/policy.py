"""From a network's output to priors and values: softmax over the legal moves, sorted; the outcome from WDL logits."""

from __future__ import annotations

import numpy as np

from .games.outcome import RUNNING
from .jit import borrow, device, kernel


@device
def _softmax_row(logits, row, actions, b, count, temperature, priors):
    """Softmax of the logits of the legal actions into priors[b, :count]; False when it is not finite."""
    highest = np.float32(-np.inf)
    for k in range(count):
        highest = max(highest, logits[row, actions[b, k]])
    total = np.float32(0.0)
    for k in range(count):
        priors[b, k] = np.exp((logits[row, actions[b, k]] - highest) / temperature)
        total += priors[b, k]
    if not np.isfinite(total):
        return False
    for k in range(count):
        priors[b, k] /= total
    return True


@device
def _sort_row(priors, moves, b, count):
    """Insertion sort by falling prior; equal priors keep their order."""
    for i in range(1, count):
        prior, move = priors[b, i], moves[b, i]
        j = i - 1
        while j >= 0 and priors[b, j] < prior:
            priors[b, j + 1] = priors[b, j]
            moves[b, j + 1] = moves[b, j]
            j -= 1
        priors[b, j + 1] = prior
        moves[b, j + 1] = move


@device
def _outcome_of(values, row):
    """(value, draw chance) of values f4[., 3] (WDL logits) or f4[., 1] (value), side to move's view."""
    if values.shape[1] == 1:
        return values[row, 0], np.float32(0.0)
    highest = max(values[row, 0], values[row, 1], values[row, 2])
    win, draw = np.exp(values[row, 0] - highest), np.exp(values[row, 1] - highest)
    loss = np.exp(values[row, 2] - highest)
    total = win + draw + loss
    return (win - loss) / total, draw / total


@kernel
def digest(count, row, logits, values, temperature, moves, actions, counts, outcomes, priors, value_draw):
    """Turn the rows of one evaluation into what ``tree.expand`` takes.

    row i4[B]: the row of logits f4[., A] and values f4[., 3 or 1] of each leaf, negative where none was needed;
    temperature f4: of the softmax; moves u2[B, M], actions u2[B, M], counts i4[B], outcomes i1[B]: of the leaves
    kernel, moves are sorted in place; priors f4[B, M] out; value_draw f4[B, 2] out.
    Returns how many rows were not finite; their counts become -1.
    """
    logits, values, moves, actions, priors = (
        borrow(logits),
        borrow(values),
        borrow(moves),
        borrow(actions),
        borrow(priors),
    )
    bad = 0
    for b in range(count):
        if outcomes[b] != RUNNING or row[b] < 0:
            continue
        value, draw = _outcome_of(values, row[b])
        finite = _softmax_row(logits, row[b], actions, b, counts[b], temperature, priors)
        if not finite or not np.isfinite(value) or abs(value) > 1.001:
            counts[b] = -1
            bad += 1
            continue
        value_draw[b, 0] = value
        value_draw[b, 1] = draw
        _sort_row(priors, moves, b, counts[b])
    return bad


@kernel
def keep_only(wanted, moves, priors, counts, b):
    """Leave only the moves that occur in wanted u2[K] in row ``b`` and share the priors out among them."""
    kept, total = 0, np.float32(0.0)
    for k in range(counts[b]):
        for w in range(wanted.shape[0]):
            if moves[b, k] == wanted[w]:
                moves[b, kept] = moves[b, k]
                priors[b, kept] = priors[b, k]
                total += priors[b, k]
                kept += 1
                break
    for k in range(kept):
        priors[b, k] /= total
    counts[b] = kept
