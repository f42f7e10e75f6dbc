"""The position cache: evaluations kept by a key over all that the planes show, so that none is computed twice.

Priors and values of whole positions, sorted as the tree wants them, lie in a ring of moves; the oldest are overwritten.
A 64-bit key and the number of legal moves decide a hit.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games.outcome import RUNNING
from ..kernels.jit import borrow, kernel

ENTRY = np.dtype(
    [("key", "u8"), ("start", "i8"), ("value", "f4"), ("draw", "f4"), ("count", "i4")], align=True
)  # start: where the moves lie, counted from the ring's very first move on
MOVE = np.dtype([("prior", "f4"), ("move", "u2")], align=True)


@kernel
def probe(entries, ring, head, count, keys, outcomes, counts, moves, priors, values, row, planes):
    """Fill in what is known of a batch and pack the planes of the rest to the front.

    entries ENTRY[S], ring MOVE[R], head i8[1]; the batch as in ``policy.digest``; row i4[B] out: the row of planes
    u1[B, .] in which a leaf now lies, -1 where no evaluation is needed. Returns the number of rows to evaluate.
    """
    entries, ring, moves, priors, planes = borrow(entries), borrow(ring), borrow(moves), borrow(priors), borrow(planes)
    size, capacity = np.uint64(entries.shape[0]), ring.shape[0]
    missing = 0
    for b in range(count):
        row[b] = -1
        if outcomes[b] != RUNNING:
            continue
        e = entries[np.int64(keys[b] % size)]
        if e.key == keys[b] and e.count == counts[b] and head[0] - e.start <= capacity:
            for k in range(e.count):
                m = ring[(e.start + k) % capacity]
                moves[b, k] = m.move
                priors[b, k] = m.prior
            values[b, 0] = e.value
            values[b, 1] = e.draw
            continue
        if missing != b:
            for i in range(planes.shape[1]):
                planes[missing, i] = planes[b, i]
        row[b] = missing
        missing += 1
    return missing


@kernel
def store(entries, ring, head, count, keys, counts, moves, priors, values, row):
    """Remember the evaluated rows of a batch (row >= 0, counts > 0)."""
    entries, ring, moves, priors = borrow(entries), borrow(ring), borrow(moves), borrow(priors)
    capacity = ring.shape[0]
    for b in range(count):
        if row[b] < 0 or counts[b] <= 0:
            continue
        e = entries[np.int64(keys[b] % np.uint64(entries.shape[0]))]
        e.key = keys[b]
        e.start = head[0]
        e.count = counts[b]
        e.value = values[b, 0]
        e.draw = values[b, 1]
        for k in range(counts[b]):
            m = ring[(head[0] + k) % capacity]
            m.move = moves[b, k]
            m.prior = priors[b, k]
        head[0] += counts[b]


class PositionCache:
    """Evaluations of ``memory`` bytes in all; safe to use from several workers."""

    def __init__(self, memory: int, moves_per_position: float = 32.0) -> None:
        positions = max(256, int(memory / (2 * ENTRY.itemsize + moves_per_position * MOVE.itemsize)))
        self._entries = np.zeros(2 * positions, ENTRY)
        self._ring = np.empty(max(4096, int(positions * moves_per_position)), MOVE)
        self._head = np.zeros(1, np.int64)
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries["count"] = 0
            self._entries["key"] = 0
            self._head[0] = 0

    def probe(self, count: int, *batch: NDArray[Any]) -> int:
        """See :func:`probe`."""
        with self._lock:
            return int(probe(self._entries, self._ring, self._head, count, *batch))

    def store(self, count: int, *batch: NDArray[Any]) -> None:
        """See :func:`store`."""
        with self._lock:
            store(self._entries, self._ring, self._head, count, *batch)
