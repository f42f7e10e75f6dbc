"""A lock that many threads hold together or one holds alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class SharedLock:
    """As a lock, ``with lock:`` holds it alone; ``with lock.shared():`` beside others that share it.

    Whoever wants it alone goes before those who come later to share it. It is not reentrant.
    """

    def __init__(self) -> None:
        self._door = threading.Lock()  # held by whoever is alone, or about to be
        self._left = threading.Condition()
        self._sharing = 0

    def __enter__(self) -> None:
        self._door.acquire()
        if self._sharing:  # nobody joins them while the door is held
            with self._left:
                while self._sharing:
                    self._left.wait()

    def __exit__(self, *error: object) -> None:
        self._door.release()

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock beside others."""
        with self._door, self._left:
            self._sharing += 1
        try:
            yield
        finally:
            with self._left:
                self._sharing -= 1
                self._left.notify_all()
