"""Storage of a run: its folder is locked to one process; writers wait while the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
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
    """Locks a run's folder for this process with a lock that ends with the process.

    Where nothing was written meanwhile, neither the lock nor a folder made for it is left behind.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder, lock it, and remove the drafts that killed processes have left in it.

        Errors: DataError when it cannot be written, or another process has it.
        """
        self._path, self._made = folder / "lock", [path for path in (folder, *folder.parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._before = {*folder.iterdir()}  # with the lock of an earlier start
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | BINARY, 0o644)
        except OSError as error:
            self._remove_folders()
            raise DataError(f"{folder} cannot be written ({error.strerror}); give another folder") from error
        try:
            lock(self._file)
            if not os.fstat(self._file).st_nlink:
                raise OSError("another process has just removed it, at its end")
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
        unused = {*self._path.parent.iterdir()} - self._before == {self._path}
        if unused and sys.platform != "win32":  # where an open file cannot be removed
            self._path.unlink()
        os.close(self._file)
        if unused:
            self._path.unlink(missing_ok=True)
            self._remove_folders()

    def _remove_folders(self) -> None:
        """Remove those made here that are empty, the innermost first."""
        with contextlib.suppress(OSError):  # another process uses one
            for path in self._made:
                path.rmdir()


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
