"""Has a page's long files read and written by a process of its own: nobody else's conversation waits for them."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

from ...engine.errors import DataError
from ...engine.os.process import module_command
from ...engine.os.system import ran_out_of_time

LONG = 1 << 15  # characters of a message that has a process of its own
SECONDS = 10  # of computing
_PATIENCE_S = 60  # on the clock, once it has begun
_CHILD = f"{__package__}.filechild"
_AT_A_TIME = threading.BoundedSemaphore(2)  # processes of one server


class FileWork:
    """What a session has others do, one message at a time."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._lock = threading.Lock()

    def answer(self, about: dict[str, Any], line: str) -> str:
        """The answer to a message. BLOCKS. ``about``: what :mod:`filechild` is to know. Errors: DataError."""
        given = json.dumps(about) + "\n" + line
        with _AT_A_TIME:
            with self._lock:
                if self._ended:
                    raise DataError("the session is over")
                command, pipe = module_command(_CHILD), subprocess.PIPE
                self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
            try:
                out, faults = self._child.communicate(given.encode("utf-8", "surrogatepass"), _PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._child.kill()
                out, faults = self._child.communicate()
        status = self._child.returncode
        if status < 0 or ran_out_of_time(status):
            raise DataError(f"this takes too long, more than {SECONDS} s of computing: send fewer games at a time")
        if status > 0:
            raise RuntimeError(f"the process for files failed: {faults.decode('utf-8', 'replace')[-2000:]}")
        return out.decode().rstrip("\n")

    def end(self) -> None:
        """Nobody waits for the answer any more. From any thread; returns at once."""
        with self._lock:
            self._ended = True
            if self._child is not None:
                self._child.kill()
