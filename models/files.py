"""Folders that belong to one process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from ..engine.errors import DataError


class RunLock:
    """Holds a run directory for one process: an flock, so it vanishes with the process however that ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 32).decode(errors="replace").strip()
            os.close(self._file)
            raise DataError(
                f"{folder} is in use by another process (pid {holder or 'unknown'}); wait for it or give another --out"
            ) from error
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
