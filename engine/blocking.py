"""One search from the limits to the answer, for callers that wait for it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import NamedTuple, Protocol

from .info import BestMove, ThinkingInfo
from .limits import Limits

_LOOK_S = 0.2  # between looks for Ctrl-C, which no lock lets through on Windows


class Searcher(Protocol):
    """An engine; see :class:`engine.Engine`."""

    def go(self, limits: Limits, on_info: Callable[[ThinkingInfo], None], on_done: Callable[[BestMove], None]) -> None:
        """Start a search; returns at once."""

    def stop(self) -> None:
        """Ask it to end; returns at once."""


class SearchResult(NamedTuple):
    """What a search gives."""

    best: BestMove
    last: ThinkingInfo | None  # the last report with lines


def search(
    engine: Searcher,
    limits: Limits,
    on_info: Callable[[ThinkingInfo], None] | None = None,
    begun: Callable[[], None] | None = None,
) -> SearchResult:
    """Search the position that an engine holds. Blocks; an exception such as KeyboardInterrupt stops the search first.

    on_info: gets the reports, on the search's thread, which waits for it. begun: called once the search can be stopped.
    """
    answer: queue.SimpleQueue[BestMove] = queue.SimpleQueue()
    last: ThinkingInfo | None = None

    def note(info: ThinkingInfo) -> None:
        nonlocal last
        if info.lines:
            last = info
        if on_info is not None:
            on_info(info)

    engine.go(limits, note, answer.put)
    try:
        if begun is not None:
            begun()
        while True:
            try:
                return SearchResult(answer.get(timeout=_LOOK_S), last)
            except queue.Empty:
                continue
    except BaseException:
        engine.stop()
        answer.get()
        raise
