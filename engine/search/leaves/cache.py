"""The position cache: evaluations by a key of all that the planes show, so that none is computed twice.

It keeps what the net says and nothing that depends on what the net does not see, such as Go's komi for many nets: that
is counted in after every look-up, see ``ownership.apply_rules``.

The moves of whole positions, sorted and with priors packed as the tree keeps them, lie in a ring, ownerships in
another; the oldest are overwritten. A 64-bit key and the number of legal moves decide a hit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...games.leaves import Leaves, make_leaves
from ...games.outcome import RUNNING
from ...kernels.jit import borrow, device, entry, kernel
from ..tree.nodes import Ownerships, copy_ownerships, make_ownerships, pack_prior, unpack_prior

ENTRY = np.dtype(
    [("key", "u8"), ("start", "i8"), ("value", "f4"), ("draw", "f4"), ("count", "i4"), ("number", "u4")], align=True
)  # start: of its moves, counted from the first move ever stored; number: of the positions stored before it
MOVE = np.dtype([("move", "u2"), ("prior", "u2")], align=True)


@device
def recall(entries, ring, head, leaves, b):
    """Fill in leaf ``b`` if it is known, and say whether it is; see :func:`probe`."""
    leaf, capacity = leaves.rows[b], ring.shape[0]
    e = entries[np.int64(leaf.key % np.uint64(entries.shape[0]))]
    if e.key != leaf.key or e.count != leaf.count or head[0] - e.start > capacity:
        return False
    if np.uint32(head[1] - np.int64(e.number)) > np.uint32(entries.shape[0] // 2):  # its ownership is overwritten
        return False
    for k in range(e.count):
        m = ring[(e.start + k) % capacity]
        leaves.moves[b, k] = m.move
        leaves.priors[b, k] = unpack_prior(m.prior)
    leaf.value = e.value
    leaf.draw = e.draw
    leaf.utility = 0.0
    return True


@device
def remember(entries, ring, head, leaves, b):
    """Remember leaf ``b``; see :func:`store`."""
    leaf, capacity = leaves.rows[b], ring.shape[0]
    e = entries[np.int64(leaf.key % np.uint64(entries.shape[0]))]
    e.key = leaf.key
    e.start = head[0]
    e.count = leaf.count
    e.value = leaf.value
    e.draw = leaf.draw
    e.number = np.uint32(head[1])
    for k in range(leaf.count):
        m = ring[(head[0] + k) % capacity]
        m.move = leaves.moves[b, k]
        m.prior = pack_prior(leaves.priors[b, k])
    head[0] += leaf.count
    head[1] += 1


@kernel
def probe(entries, ring, head, leaves, count):
    """Fill in the known ones of ``count`` leaves and pack the planes of the others to the front.

    entries ENTRY[S], ring MOVE[R], head i8[2] = moves and positions stored so far. Reads outcome, key and count; writes
    moves, priors, value, draw and row. Returns the number of rows to evaluate.
    """
    entries, ring, leaves = borrow(entries), borrow(ring), borrow(leaves)
    planes = leaves.planes
    missing = 0
    for b in range(count):
        leaf = leaves.rows[b]
        leaf.row = -1
        if leaf.outcome != RUNNING:
            continue
        if recall(entries, ring, head, leaves, b):
            continue
        if missing != b:
            for i in range(planes.shape[1]):
                planes[missing, i] = planes[b, i]
        leaf.row = missing
        missing += 1
    return missing


@kernel
def store(entries, ring, head, leaves, count):
    """Remember the leaves that were evaluated (row >= 0, count > 0)."""
    entries, ring, leaves = borrow(entries), borrow(ring), borrow(leaves)
    for b in range(count):
        if leaves.rows[b].row >= 0 and leaves.rows[b].count > 0:
            remember(entries, ring, head, leaves, b)


@cache
def _entries() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The entry points of ``probe`` and ``store``."""
    given = np.zeros(1, ENTRY), np.zeros(1, MOVE), np.zeros(2, np.int64), make_leaves(1, 1, 1), 0
    return entry(probe, *given), entry(store, *given)


class PositionCache:
    """A cache of ``memory`` bytes; safe to use from several threads."""

    def __init__(self, memory: int, moves_per_position: float = 32.0, points: int = 0) -> None:
        """points: of the board, for which ``ownerships`` may want memory, too."""
        more = points + 5 if points else 0
        positions = max(256, int(memory / (2 * ENTRY.itemsize + moves_per_position * MOVE.itemsize + more)))
        self._ownerships: Ownerships | None = None
        self._mixed = False  # whether positions without ownership are in it
        self._entries = np.zeros(2 * positions, ENTRY)
        self._ring = np.empty(max(4096, int(positions * moves_per_position)), MOVE)
        self._head = np.zeros(2, np.int64)
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries = np.zeros(len(self._entries), ENTRY)  # quicker, and its memory is committed as it is used
            self._head[:] = 0
            self._mixed = False

    def keep_ownerships(self, points: int) -> None:
        """Keep the ownership of positions, too; forget what was stored without them."""
        if self._ownerships is None or self._ownerships.owners.shape[1] != points:
            self._ownerships, self._mixed = make_ownerships(len(self._entries) // 2, points), True
        if self._mixed:
            self.clear()

    def probe(self, leaves: Leaves, count: int, ownerships: Ownerships | None = None) -> int:
        """See :func:`probe`; ``ownerships`` out: of the leaves that are known."""
        with self._lock:
            missing = int(_entries()[0](self._entries, self._ring, self._head, leaves, count))
            if ownerships is not None and missing < count:
                assert self._ownerships is not None
                rows = leaves.rows[:count]
                known = np.flatnonzero((rows["row"] < 0) & (rows["outcome"] == RUNNING))
                copy_ownerships(self._ownerships, self._places(rows["key"][known]), ownerships, known)
            return missing

    def store(self, leaves: Leaves, count: int, ownerships: Ownerships | None = None) -> None:
        """See :func:`store`; ``ownerships``: of the leaves."""
        with self._lock:
            _entries()[1](self._entries, self._ring, self._head, leaves, count)
            if ownerships is None:
                self._mixed = True
                return
            assert self._ownerships is not None
            rows = leaves.rows[:count]
            stored = np.flatnonzero((rows["row"] >= 0) & (rows["count"] > 0))
            copy_ownerships(ownerships, stored, self._ownerships, self._places(rows["key"][stored]))

    def _places(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Where the ownerships of known positions lie."""
        numbers = self._entries["number"][(keys % np.uint64(len(self._entries))).astype(np.int64)]
        return (numbers % (len(self._entries) // 2)).astype(np.int64)
