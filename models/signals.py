"""SIGINT and SIGTERM ask a command to end: it saves what it has reached and breaks off what it can do again."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Self


def done(action: Callable[[], object]) -> bool:
    """Call ``action``: :meth:`StopSignals.attempt` where no signal is caught."""
    action()
    return True


class BrokenOff(BaseException):
    """A signal ended work that can be done again."""


class StopSignals:
    """Catches SIGINT and SIGTERM while it is entered, in the main thread."""

    def __init__(self) -> None:
        self._received = self._breaking = False

    def __call__(self) -> bool:
        """Whether one has come."""
        return self._received

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._receive) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: object) -> None:
        self._received = True
        if self._breaking:
            self._breaking = False
            raise BrokenOff

    def attempt(self, action: Callable[[], object]) -> bool:
        """Call ``action``, which a signal breaks off; False when one did, or had come before and it was not begun."""
        if self._received:
            return False
        try:
            self._breaking = True
            action()
            self._breaking = False
        except BrokenOff:
            return False
        finally:
            self._breaking = False
        return True
