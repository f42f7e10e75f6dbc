"""The folder of a run: it belongs to one process, and its disk may be full."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from ..engine.errors import DataError

RETRY_SECONDS = 5.0

Result = TypeVar("Result")


class DiskFull(DataError):
    """There is no room on the disk; nothing was kept. The caller may wait and try again."""


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
        with contextlib.suppress(OSError):  # a full disk; the lock holds without the number
            os.write(self._file, f"{os.getpid()}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


class Patience:
    """Does what writes into a run's folder: says once that the disk is full, waits and tries again."""

    def __init__(
        self,
        folder: Path,
        say: Callable[[str], None],
        *,
        stopping: Callable[[], bool],
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """``say`` hears once of a full disk; ``waiting`` is called before every pause."""
        self.folder, self.say, self.stopping, self.waiting = folder, say, stopping, waiting

    def __call__(self, action: Callable[[], Result], what: str) -> Result:
        """The result of ``action``, tried again and again while there is no room; ``what`` it stores, for people.

        Errors: DataError when ``stopping`` became true, or the folder cannot be written for another reason.
        """
        told = False
        while True:
            try:
                return action()
            except DiskFull as error:
                reason = str(error)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise DataError(f"{self.folder} cannot be written ({error.strerror})") from error
                reason = f"{self.folder} is full; make room and the run goes on"
            if not told:
                self.say(reason)
                told = True
            if self.stopping():
                raise DataError(f"stopped while the disk was full: {what} was not stored")
            self.waiting()
            time.sleep(RETRY_SECONDS)
