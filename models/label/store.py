"""The shards that labelling fills, see :mod:`shards`."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from ..data.shards import Records, ShardStore
from ..storage import Patience


class Store:
    """The shards of a folder: whole tasks, each once. Task i labels the games each i .. each (i + 1) - 1."""

    FLUSH_SECONDS = 300.0  # most work that a kill can lose

    def __init__(self, folder: Path, shard_positions: int, form: ShardStore, patiently: Patience, each: int) -> None:
        self.folder, self.patiently = folder, patiently
        self.form = form
        self.shard_positions = shard_positions
        self.each = each
        self.tasks: set[int] = set()
        self.positions = 0
        self._waiting: list[Records] = []
        self._flushed = time.monotonic()
        self._next = 0
        for path in sorted(folder.glob("*.npz")):
            records = form.read(path)
            self.tasks |= set(np.unique(records["game"] // each).tolist())
            self.positions += len(records)
            number = path.stem.rpartition("_")[2]
            self._next = max(self._next, int(number) + 1 if number.isdigit() else 0)

    def add(self, records: Records) -> None:
        """Take one task; a shard is written when enough are waiting or have waited long enough."""
        self._waiting.append(records)
        self.tasks.add(int(records["game"][0]) // self.each)
        self.positions += len(records)
        waited = time.monotonic() - self._flushed
        if sum(map(len, self._waiting)) >= self.shard_positions or waited > self.FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            path, records = self.folder / f"labelled_{self._next:05d}.npz", np.concatenate(self._waiting)
            self.patiently(lambda: self.form.write(path, records), f"a shard of {len(self._waiting)} labelled games")
            self._next += 1
            self._waiting.clear()
        self._flushed = time.monotonic()
