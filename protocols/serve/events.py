"""The server's log: one JSON object a line for each thing that happens."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TextIO

from ...engine.clock import Stopwatch
from ...engine.errors import OptionError

MOST_A_MINUTE = 60  # lines ...
_MINUTE_S = 60.0
_CAUSED = ("refuse", "lost", "web")  # ... of each of these events


class EventLog:
    """Writes events to a file, or to stderr; from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Errors: OptionError when the file cannot be written. Earlier content is kept."""
        self._lock = threading.Lock()
        self._path = path
        self.stale = False  # whether the file is opened anew before the next event: another may have its name now
        self.counts = Counter[str]()  # of events by name
        self._crowd: dict[str, tuple[Stopwatch, int]] = {}  # of events that clients cause: the last minute's
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
        """Write one line: the time (UTC), the event's name and what is known about it. Never a token.

        Of events that anybody can cause there are MOST_A_MINUTE lines a minute; the next says how many were left out.
        """
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
        with self._lock:
            self.counts[event] += 1
            since, seen = self._crowd.get(event, (Stopwatch(), 0))
            if since.seconds >= _MINUTE_S:
                if seen > MOST_A_MINUTE:
                    about["left_out"] = seen - MOST_A_MINUTE
                since, seen = Stopwatch(), 0
            if event in _CAUSED:
                self._crowd[event] = since, seen + 1
            self._open_anew()
            if self._stream is None or seen >= MOST_A_MINUTE:
                return
            line = json.dumps({"time": stamp, "event": event, **about})
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # the disk is full or the terminal gone: games go on without a log
                self._stream = None

    def _open_anew(self) -> None:
        if self.stale and self._path is not None:
            with contextlib.suppress(OSError):  # else the old file goes on
                fresh = self._path.open("a", encoding="utf-8")
                if self._stream is not None:
                    self._stream.close()
                self._stream = fresh
        self.stale = False
