"""The server's log: one JSON object a line for each thing that happens."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TextIO

from ...engine.errors import OptionError


class EventLog:
    """Writes events to a file, or to stderr; from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Errors: OptionError when the file cannot be written. Earlier content is kept."""
        self._lock = threading.Lock()
        self.counts = Counter[str]()  # of events by name
        try:
            self._stream: TextIO | None = sys.stderr if path is None else path.open("a", encoding="utf-8")
        except OSError as error:
            raise OptionError(f"the log file {path} cannot be written ({error.strerror})") from error

    def close(self) -> None:
        """Close the file; later events are dropped."""
        with self._lock:
            if self._stream not in (None, sys.stderr):
                self._stream.close()
            self._stream = None

    def write(self, event: str, **about: object) -> None:
        """Write one line: the time (UTC), the event's name and what is known about it. Never a token."""
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
        line = json.dumps({"time": stamp, "event": event, **about})
        with self._lock:
            self.counts[event] += 1
            if self._stream is None:
                return
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # the disk is full or the terminal gone: games go on without a log
                self._stream = None
