"""Deadlines of evaluations: one thread for the whole process ends those that take too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ...os.process import start_thread

TICK_S = 0.25


class Evaluation:
    """A call of a net, while it is under way; may be used again for the next one unless it was ended."""

    __slots__ = ("ended", "on_late", "options", "seconds", "ticks")

    def __init__(self, options: Any, on_late: Callable[[float], None]) -> None:
        """``options``: onnxruntime's RunOptions of the call; ``on_late`` gets the seconds of a deadline missed."""
        self.options, self.on_late = options, on_late
        self.seconds = 0.0  # its deadline
        self.ticks = 0  # left to it
        self.ended = False

    def end(self) -> None:
        """Have onnxruntime give it up."""
        self.ended = self.options.terminate = True


class Watchdog:
    """Ends calls of nets: all that reach their deadline, and on demand those of one owner.

    Time is counted in ticks that the watching thread has seen: the hour in which the whole process was suspended is one
    tick. onnxruntime ends a call between two operators.
    """

    def __init__(self) -> None:
        self._running: set[Evaluation] = set()
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def begin(self, evaluation: Evaluation, seconds: float) -> None:
        """The call begins now and has a deadline of so many seconds."""
        evaluation.seconds, evaluation.ticks = seconds, int(seconds / TICK_S) + 1
        self._running.add(evaluation)
        if not self._awake.is_set():
            self._wake()

    def end(self, evaluation: Evaluation) -> None:
        """The call is over."""
        self._running.discard(evaluation)

    def interrupt(self, on_late: Callable[[float], None]) -> None:
        """End the calls of the net with that ``on_late`` that are under way."""
        for evaluation in self._running.copy():
            if evaluation.on_late == on_late:
                evaluation.end()

    def _wake(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                start_thread(thread)
                self._thread = thread
        self._awake.set()

    def _watch(self) -> None:
        while True:
            self._awake.clear()
            if not self._running:  # looked at after clear(): a call that begins meanwhile sets it again
                self._awake.wait()
            else:
                self._awake.set()
            time.sleep(TICK_S)
            for evaluation in self._running.copy():
                evaluation.ticks -= 1
                if evaluation.ticks == 0:
                    evaluation.on_late(evaluation.seconds)
                    evaluation.end()


WATCHDOG = Watchdog()
