"""From a network's output to priors and values: softmax over the legal moves, sorted; the outcome from WDL logits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...games.outcome import RUNNING
from ...kernels.jit import borrow, device, kernel
from ..tree.nodes import pack_prior

_FEW = 40  # up to so many moves, insertion sort is faster


@device
def _exp(x):
    """e**x of a float32 x <= 0, within two units in the last place: plain arithmetic, which loops can vectorise.

    x = n ln 2 + r with |r| <= ln(2) / 2, and a polynomial for e**r (Cephes, expf). NaN stays NaN.
    """
    x = np.float32(-87.0) if x < np.float32(-87.0) else x
    n = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    y = np.float32(1.9875691500e-4) * r + np.float32(1.3981999507e-3)
    y = y * r + np.float32(8.3334519073e-3)
    y = y * r + np.float32(4.1665795894e-2)
    y = y * r + np.float32(1.6666665459e-1)
    y = y * r + np.float32(5.0000001201e-1)
    y = y * r * r + r + np.float32(1.0)
    return y * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@device
def _softmax_row(logits, row, actions, b, count, temperature, priors):
    """Softmax of the logits of the legal actions into priors[b, :count]; False when it is not finite."""
    for k in range(count):
        priors[b, k] = logits[row, actions[b, k]]
    return softmax_in_place(priors, b, count, temperature)


@device
def softmax_in_place(priors, b, count, temperature):
    """Softmax of the logits priors[b, :count]; False when it is not finite."""
    highest = np.float32(-np.inf)
    for k in range(count):
        highest = max(highest, priors[b, k])
    scale = np.float32(1.0) / temperature
    for k in range(count):
        priors[b, k] = _exp((priors[b, k] - highest) * scale)
    total = np.float32(0.0)
    for k in range(count):
        total += priors[b, k]
    if not np.isfinite(total):
        return False
    share = np.float32(1.0) / total
    for k in range(count):
        priors[b, k] *= share
    return True


@device
def sort_row(priors, moves, b, count, space):
    """Sort by falling prior; equal priors keep their order. space: u8[2, M], working space.

    A few moves are put where so many others are greater. Many are brought nearly into order by two rounds of counting
    over 16 bits, and by insertion.
    """
    disorder = 0
    for k in range(1, count):
        disorder += priors[b, k] > priors[b, k - 1]
    if not disorder:
        return
    if count <= _FEW:
        _rank(priors, moves, b, count, space)
        return
    for k in range(count):
        bits = np.uint64(np.float32(priors[b, k]).view(np.uint32))
        key = np.uint64(np.uint16(~pack_prior(priors[b, k])))
        space[0, k] = (key << np.uint64(48)) | (bits << np.uint64(16)) | np.uint64(moves[b, k])
    _count_out(space, 0, count, np.uint64(48))
    _count_out(space, 1, count, np.uint64(56))
    for k in range(count):
        priors[b, k] = np.uint32(space[0, k] >> np.uint64(16)).view(np.float32)
        moves[b, k] = np.uint16(space[0, k])
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
def _rank(priors, moves, b, count, space):
    """Sort by the number of greater ones: a loop without branches, which is made of vectors."""
    keys, ranked = space[0], space[1]
    for k in range(count):
        bits = np.uint64(np.float32(priors[b, k]).view(np.uint32))  # those of numbers above 0 are in their order
        keys[k] = (bits << np.uint64(32)) | (np.uint64(_FEW - k) << np.uint64(16)) | np.uint64(moves[b, k])
    for k in range(count):
        key, place = keys[k], np.uint64(0)
        for j in range(count):
            place += np.uint64(keys[j] > key)
        ranked[place] = key
    for k in range(count):
        priors[b, k] = np.uint32(ranked[k] >> np.uint64(32)).view(np.float32)
        moves[b, k] = np.uint16(ranked[k])


@device
def _count_out(space, source, count, shift):
    """Sort space[source, :count] by the 8 bits from ``shift`` on into the other row; equal ones keep their order."""
    places = np.zeros(256, np.int32)
    for k in range(count):
        places[(space[source, k] >> shift) & np.uint64(255)] += 1
    total = 0
    for value in range(256):
        number = places[value]
        places[value] = total
        total += number
    for k in range(count):
        value = (space[source, k] >> shift) & np.uint64(255)
        space[1 - source, places[value]] = space[source, k]
        places[value] += 1


@device
def outcome_of(values, row):
    """(value, draw chance) of values f4[., 3] (WDL logits) or f4[., 1] (value), side to move's view."""
    if values.shape[1] == 1:
        return values[row, 0], np.float32(0.0)
    highest = max(values[row, 0], values[row, 1], values[row, 2])
    win, draw = np.exp(values[row, 0] - highest), np.exp(values[row, 1] - highest)
    loss = np.exp(values[row, 2] - highest)
    total = win + draw + loss
    return (win - loss) / total, draw / total


@device
def _follow_advice(leaves, b):
    """Bring the priors of leaf ``b`` within the bounds that the game has read."""
    moves, priors, leaf, total = leaves.moves, leaves.priors, leaves.rows[b], np.float32(0.0)
    for k in range(leaf.count):
        for a in range(leaf.advised):
            advice = leaves.advice[b, a]
            if advice.move == moves[b, k]:
                priors[b, k] = min(max(priors[b, k], advice.least), advice.most)
        total += priors[b, k]
    for k in range(leaf.count):
        priors[b, k] /= total


@kernel
def digest(leaves, count, logits, values, temperature):
    """Turn the rows of one evaluation into what ``expansion.expand`` takes.

    logits f4[K, A] and values f4[K, 3 or 1]: a leaf's are in row ``row``, negative where none was needed; temperature
    f4: of the softmax. Of the leaves priors, value and draw are written and moves sorted, by falling prior.
    Returns how many rows were not finite; their counts become -1.
    """
    leaves, logits, values = borrow(leaves), borrow(logits), borrow(values)
    moves, actions, priors = leaves.moves, leaves.actions, leaves.priors
    space = np.empty((2, moves.shape[1]), np.uint64)  # not borrowed: it would be freed at once
    bad = 0
    for b in range(count):
        leaf = leaves.rows[b]
        if leaf.outcome != RUNNING or leaf.row < 0:
            continue
        value, draw = outcome_of(values, leaf.row)
        finite = _softmax_row(logits, leaf.row, actions, b, leaf.count, temperature, priors)
        if not finite or not np.isfinite(value) or abs(value) > 1.001:
            leaf.count = -1
            bad += 1
            continue
        leaf.value = value
        leaf.draw = draw
        leaf.utility = 0.0
        if leaf.advised:
            _follow_advice(leaves, b)
        sort_row(priors, moves, b, leaf.count, space)
    return bad


@kernel
def keep_only(requested, leaves, b):
    """Leave only the moves that occur in requested u2[K] in row ``b`` and share the priors out among them."""
    moves, priors, leaf = leaves.moves, leaves.priors, leaves.rows[b]
    kept, total = 0, np.float32(0.0)
    for k in range(leaf.count):
        for w in range(requested.shape[0]):
            if moves[b, k] == requested[w]:
                moves[b, kept] = moves[b, k]
                priors[b, kept] = priors[b, k]
                total += priors[b, k]
                kept += 1
                break
    for k in range(kept):
        priors[b, k] /= total
    leaf.count = kept


def put_first(move: int, moves: NDArray[np.uint16], priors: NDArray[np.float32]) -> None:
    """Put ``move`` in front of moves u2[n] and raise its prior to the greatest of priors f4[n]; their sum stays 1.

    Nothing happens when it is not among them.
    """
    for k in np.flatnonzero(moves == move):
        raised = max(priors[0], priors[k])
        total = np.float32(1.0) + raised - priors[k]
        moves[1 : k + 1], priors[1 : k + 1] = moves[:k].copy(), priors[:k].copy()
        moves[0], priors[0] = move, raised
        priors /= total
