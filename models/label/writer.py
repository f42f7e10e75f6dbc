"""The shards that labelling fills, see :mod:`shards`: whole tasks, each once."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.errors import OptionError
from ...engine.os.files import write_atomically
from ..data.shards import Records, ShardStore
from ..storage import Patience
from ..train.log import read_config

SETTINGS = "label.json"  # what the records of a folder are made with
FLUSH_SECONDS = 60.0  # most work that a kill can lose, besides the tasks that are being done


class Writer:
    """Gathers records into shards. What has come for a shard is stored once a minute; a new run begins another."""

    def __init__(self, folder: Path, shard_positions: int, form: ShardStore, patiently: Patience, each: int) -> None:
        """each: games of a task. BLOCKS: reads what is there. Errors: DataError."""
        self._folder, self._form, self._patiently = folder, form, patiently
        self._shard_positions, self._each = shard_positions, each
        self.tasks: set[int] = set()
        self.positions = 0
        self._shard: list[Records] = []  # of the shard that is filled now
        self._number = 0  # of it
        self._settings: bytes | None = None  # to be stored before the first shard
        self._stored, self._when = 0, time.monotonic()  # tasks of it that are on the disk, since when
        for path in sorted(folder.glob("*.npz")):
            records = form.read(path)
            self.tasks |= set(np.unique(records["game"] // each).tolist())
            self.positions += len(records)
            number = path.stem.rpartition("_")[2]
            self._number = max(self._number, int(number) + 1 if number.isdigit() else 0)

    def add(self, records: Records) -> None:
        """Take one task; one without records leaves nothing. BLOCKS while a shard is written."""
        if not len(records):
            return
        if self._shard and records.dtype != self._shard[0].dtype:  # fields that a teacher may give are missing in one
            self._begin_another()
        self._shard.append(records)
        self.tasks.add(int(records["game"][0]) // self._each)
        self.positions += len(records)
        if sum(map(len, self._shard)) >= self._shard_positions:
            self._begin_another()
        elif time.monotonic() - self._when > FLUSH_SECONDS:
            self.flush()

    def _begin_another(self) -> None:
        self.flush()
        self._shard.clear()
        self._number, self._stored = self._number + 1, 0

    def flush(self) -> None:
        """Store what has come. BLOCKS. Errors: DataError."""
        if len(self._shard) > self._stored:
            if (settings := self._settings) is not None:
                self._patiently(lambda: write_atomically(self._folder / SETTINGS, settings), "the settings")
                self._settings = None
            path, records = self._folder / f"labelled_{self._number:05d}.npz", np.concatenate(self._shard)
            what = f"a shard of {len(self._shard)} labelled games"
            self._patiently(lambda: self._form.write(path, records), what)
            self._stored = len(self._shard)
        self._when = time.monotonic()

    def go_on_with(self, settings: Mapping[str, Any]) -> None:
        """Keep what the records are made with, by flag, ready for JSON; it is stored with the first of them.

        Errors: OptionError where those that are there were made with something else; what earlier versions used is not
        known.
        """
        path = self._folder / SETTINGS
        known = read_config(path, "give another --out") if self.tasks and path.exists() else settings
        changed = [name for name in dict.fromkeys([*known, *settings]) if _set(known, name) != _set(settings, name)]
        if changed:
            then, now = (
                ", ".join(f"{name} {_shown(each.get(name))}" for name in changed) for each in (known, settings)
            )
            raise OptionError(
                f"the records in {self._folder} were made with other settings ({then}; now {now}); give the same ones "
                "to go on, or another --out"
            )
        self._settings = (json.dumps(settings, indent=1) + "\n").encode()


def _set(settings: Mapping[str, Any], name: str) -> Any:
    """A setting's value; None for what does nothing, as a flag that a later version adds."""
    return settings.get(name) or None


def _shown(value: Any) -> str:
    return "unset" if value in (None, "", []) else ",".join(map(str, value)) if isinstance(value, list) else str(value)
