"""The search for a forced mate alone (``Limits.solve``): slices of the game's own search until it knows or is stopped.

Its kernel is loaded by the first such search, not by ``Engine.ready``: most games never need it. From the cache that
takes a tenth of a second. On a machine that has to compile it first it takes some seconds once; those are taken even
when less time was given, for "timeout" would say nothing of the position; stop() ends the wait at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from .games.base import Game, MateSearch, State
from .info import Checkmate, Verdict

_SLICE = 5_000  # nodes between two looks at the clock: a few milliseconds


class MateSolver:
    """One search for a forced mate by the side to move at the end of a line."""

    def __init__(self, game: Game, line: State, memory: int) -> None:
        """``memory``: bytes of its table."""
        self._game, self._line = game, line
        self._search = game.mate_search(line, memory)
        self.nodes = 0  # positions made so far

    def solve(self, stopped: threading.Event, exhausted: Callable[[int], bool]) -> Checkmate:
        """The answer; "timeout" once ``stopped`` is set or ``exhausted(nodes)`` before it is known. Blocks."""
        search = self._search
        if search is None:
            return Checkmate("notimplemented")
        verdict = _first_slice(search, stopped)
        while verdict is None and not stopped.is_set() and not exhausted(search.nodes):
            verdict = search.advance(_SLICE)
        self.nodes = search.nodes
        return Checkmate(verdict or "timeout", self._text(search.moves) if verdict == "mate" else ())

    def _text(self, moves: list[int]) -> tuple[str, ...]:
        words, line = [], self._line[-1:]
        for move in moves:
            words.append(self._game.format_move(line[-1], move))
            line = self._game.play(line[-1:], move)
        return tuple(words)


def _first_slice(search: MateSearch, stopped: threading.Event) -> Verdict | None:
    """Advance for the first time, which may compile for seconds: in a thread that a stop need not wait for."""
    verdicts: list[Verdict | None] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            verdicts.append(search.advance(_SLICE))
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    thread = threading.Thread(target=run, name="mate search", daemon=True)
    thread.start()
    while thread.is_alive() and not stopped.is_set():
        thread.join(0.01)
    if failures:
        raise failures[0]
    return verdicts[0] if verdicts else None
