"""A clock that tests turn themselves."""

from __future__ import annotations

import threading


class FakeClock:
    """Seconds that pass when told to, and ``tick`` more at each reading: a search in ticks needs no real time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.tick = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            self.now += self.tick
            return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._lock:
            self.now += seconds
