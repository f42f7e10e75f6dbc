"""What is done when the disk is full: say so once, wait, try again. Nothing is given up and nothing old is removed."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..engine.errors import DataError
from .frames import DiskFull

RETRY_SECONDS = 5.0

Result = TypeVar("Result")


class Patience:
    """Does what writes into a run's folder, however long it takes."""

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
