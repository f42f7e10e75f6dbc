"""Storage of a run: its folder is locked to one process; writers wait while the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from ..engine.errors import DataError
from ..engine.os.files import drafts_below, remove_abandoned
from ..engine.os.system import BINARY, lock

RETRY_SECONDS = 5.0

Result = TypeVar("Result")


class DiskFull(DataError):
    """The disk is full; nothing was stored. The caller may wait and try again."""


class NewerFormat(DataError):
    """A newer version of az-engine wrote the file; nothing older takes its place."""


def check_format(what: str, result: object, known: int) -> None:
    """Errors: NewerFormat when ``found``, the format version that ``what`` states, is above ``known``."""
    if isinstance(result, int) and result > known:
        raise NewerFormat(f"{what} has format {result}, newer than {known}, the newest known here; update az-engine")


class RunLock:
    """Locks a run's folder for this process with a lock that ends with the process."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, lock it, and remove the drafts that killed processes have left in it.

        Errors: DataError when it cannot be written, or another process has it.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | BINARY, 0o644)
        except OSError as error:
            raise DataError(f"{folder} cannot be written ({error.strerror}); give another folder") from error
        try:
            lock(self._file)
        except OSError as error:
            holder = os.read(self._file, 32).decode(errors="replace").strip()
            os.close(self._file)
            raise DataError(
                f"{folder} is in use by another process (pid {holder or 'unknown'}); wait for it or give another folder"
            ) from error
        remove_abandoned(drafts_below(folder))
        os.ftruncate(self._file, 0)
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the process id
            os.write(self._file, f"{os.getpid()}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


class Patience:
    """Retries writes into a run's folder while the disk is full."""

    def __init__(
        self,
        folder: Path,
        say: Callable[[str], None],
        *,
        stopping: Callable[[], bool],
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """``say`` is called once for each write that meets a full disk, ``waiting`` before every pause."""
        self.folder, self.say, self.stopping, self.waiting = folder, say, stopping, waiting

    def __call__(self, action: Callable[[], Result], what: str) -> Result:
        """Call ``action`` until it succeeds and return its result; ``what`` names what it stores, for messages.

        Errors: DataError when ``stopping`` became true, or the folder cannot be written for another reason.
        """
        reported = False
        while True:
            try:
                return action()
            except DiskFull as error:
                reason = str(error)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise DataError(f"{self.folder} cannot be written ({error.strerror})") from error
                reason = f"{self.folder} is full; make room and the run goes on"
            if not reported:
                self.say(reason)
                reported = True
            if self.stopping():
                raise DataError(f"stopped while the disk was full: {what} was not stored")
            self.waiting()
            time.sleep(RETRY_SECONDS)
