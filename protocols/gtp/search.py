"""One search, as the thread that serves GTP's commands sees it: started, watched and waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...engine.info import BestMove, ThinkingInfo
from ...engine.limits import Limits
from ..loader import EngineSeam
from .command import Command


class Watch:
    """What a search says, kept until it is asked for: of its reports only the last."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._latest: ThinkingInfo | None = None
        self._messages: list[str] = []
        self._best: BestMove | None = None

    def inform(self, info: ThinkingInfo) -> None:
        """For the search's thread: a report."""
        with self._changed:
            if info.message is not None:
                self._messages.append(info.message)
            if info.lines:
                self._latest = info
            self._changed.notify()

    def finish(self, best: BestMove) -> None:
        """For the search's thread: the end."""
        with self._changed:
            self._best = best
            self._changed.notify()

    def news(self, known: ThinkingInfo | None) -> tuple[ThinkingInfo | None, list[str], BestMove | None]:
        """(the last report, messages not yet handed over, the end if it has come). BLOCKS until there is news."""
        with self._changed:
            while self._latest is known and not self._messages and self._best is None:
                self._changed.wait()
            messages, self._messages = self._messages, []
            return self._latest, messages, self._best


def search(
    engine: EngineSeam,
    limits: Limits,
    command: Command,
    show: Callable[[ThinkingInfo], None],
    say: Callable[[str], None],
) -> tuple[BestMove, ThinkingInfo | None]:
    """Search until the limits or ``command`` end it; returns the best move and the last report. BLOCKS.

    ``show`` gets the reports, ``say`` sentences for the user.
    """
    watch = Watch()
    engine.go(limits, watch.inform, watch.finish)
    command.on_interrupt(engine.stop)
    known: ThinkingInfo | None = None
    best: BestMove | None = None
    while best is None:
        info, messages, best = watch.news(known)
        for text in messages:
            say(text)
        if info is not None and info is not known:
            show(info)
            known = info
    command.on_interrupt(None)
    for text in best.messages:
        say(text)
    return best, known
