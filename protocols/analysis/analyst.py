"""Turns that wait for their analysis, and the analysts that search them: each has an engine and a thread."""

from __future__ import annotations

import heapq
import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from ...engine import blocking
from ...engine.errors import AzError, PositionError
from ...engine.info import BestMove, Estimate, ThinkingInfo
from ...engine.nets.evaluator import Interrupted
from ...engine.os.process import start_thread
from ...engine.params import EngineOptions
from ..gtp.board import Size
from ..gtp.game import GoEngine
from .answer import Seen, no_results, warning
from .fields import QueryError
from .query import Query


class AnalysisEngine(GoEngine, Protocol):
    """What an analysis needs of an engine; see :class:`az_engine.engine.engine.Engine` for each method."""

    def new_tree(self) -> None: ...


class Replay:
    """The moves of a query, which are played when an analyst takes the first of its turns."""

    def __init__(self, query: Query) -> None:
        self._played = query.played
        self._played_once = self._illegal = False
        self._lock = threading.Lock()

    def play(self, engine: AnalysisEngine, requested: Callable[[], bool]) -> bool:
        """Let the engine play all moves, at least once; False when another turn has reported that one is illegal.

        BLOCKS while another analyst does. Errors: QueryError, once; PositionError.
        """
        with self._lock:
            if not self._played_once and not self._illegal:
                try:
                    self._played.play(engine, requested)
                except (PositionError, QueryError):
                    self._illegal = True
                    raise
                self._played_once = requested()
            return not self._illegal


@dataclass(eq=False, slots=True)
class Turn:
    """One position of a query, from its question to its one final answer."""

    query: Query
    number: int
    replay: Replay
    size: int = 0  # bytes that it keeps
    terminated: bool = False
    _answered: bool = False
    _begun: bool = False
    _stop: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> bool:
        """Take it for analysis; False when it was terminated before. From any thread."""
        with self._lock:
            self._begun = not self.terminated
            return self._begun

    def answer(self) -> bool:
        """Claim the right to give the final answer: True once. From any thread."""
        with self._lock:
            first, self._answered = not self._answered, True
            return first

    def on_terminate(self, stop: Callable[[], None] | None) -> None:
        """Call ``stop``, which must return at once, when it is terminated, or now if it was."""
        with self._lock:
            self._stop = stop
            if stop is not None and self.terminated:
                stop()

    def terminate(self) -> bool:
        """Ask for its answer soon; True when nobody has begun it: the caller answers. From any thread."""
        with self._lock:
            first, self.terminated = not self.terminated, True
            if self._stop is not None:
                self._stop()
            return first and not self._begun


class Turns:
    """Turns that wait, those of the greatest priority first, then in the order of their questions."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Turn]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._ended = 0  # turns of the heap that were terminated, at most
        self._idle = 0  # analysts that wait for a turn
        self._closed = False

    def put(self, turn: Turn) -> bool:
        """Let a turn wait; False when all who take turns are busy."""
        with self._changed:
            heapq.heappush(self._heap, (-turn.query.turns[turn.number], next(self._order), turn))
            self._changed.notify()
            return len(self._heap) <= self._idle

    def count_ended(self) -> None:
        """A turn that waits was terminated: let go of such turns, once they are half of all. From any thread."""
        with self._changed:
            self._ended += 1
            if 2 * self._ended > len(self._heap):
                self._heap = [entry for entry in self._heap if not entry[2].terminated]
                heapq.heapify(self._heap)
                self._ended = 0

    def take(self) -> Turn | None:
        """The next one, begun; None after :meth:`close`. Blocks."""
        with self._changed:
            while not self._closed:
                while self._heap:
                    turn = heapq.heappop(self._heap)[2]
                    if turn.begin():
                        return turn
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
        return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._changed.notify_all()


class Analyst:
    """Analyses one turn after another, on a thread of its own."""

    def __init__(
        self,
        make_engine: Callable[[], AnalysisEngine],
        turns: Turns,
        write: Callable[[str], object],
        over: Callable[[Turn, BaseException | None], None],
        tell: Callable[[str], None],
    ) -> None:
        """Begin. ``write`` gets answers, ``over`` each turn with the bug that ended it, ``tell`` what loading says.

        Errors: ThreadError.
        """
        self._make_engine, self._turns = make_engine, turns
        self._write, self._over, self._tell = write, over, tell
        self._engine: AnalysisEngine | None = None
        self._size: Size | None = None
        self._forget = False
        self._thread = threading.Thread(target=self._run, name="analyst", daemon=True)
        start_thread(self._thread)

    def clear_cache(self) -> None:
        """Forget the net's outputs, before the next turn. Returns at once."""
        self._forget = True

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        while (turn := self._turns.take()) is not None:
            bug = None
            try:
                answer = self._analyse(turn)
            except QueryError as error:
                answer = error.answer(turn.query.id)
            except AzError as error:
                answer = {"id": turn.query.id, "turnNumber": turn.number, "error": str(error)}
            except Exception as error:  # noqa: BLE001  a boundary: the session shows the bug, the turn gets its answer
                bug, answer = error, no_results(turn.query, turn.number)
                self._close_engine()
            if turn.answer() and answer:
                self._write(json.dumps(answer))
            self._over(turn, bug)
        self._close_engine()

    def _close_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def _prepared(self, query: Query) -> AnalysisEngine:
        """The engine with the query's options, its net loaded. Blocks. Errors: AzError."""
        if self._engine is None:
            self._engine, self._size = self._make_engine(), None
        engine = self._engine
        size = query.played.size
        if size is not None and size != self._size:
            engine.resize(*size)
            self._size = size
        engine.configure(**{f.name: getattr(query.options, f.name) for f in fields(EngineOptions)})
        engine.ready(self._tell)
        if self._forget:
            self._forget = False
            engine.new_game()
        engine.new_tree()
        return engine

    def _analyse(self, turn: Turn) -> dict[str, Any]:
        """The final answer, empty after another turn's error; reports before it are written. Errors: AzError."""
        query, played = turn.query, turn.query.played
        engine = self._prepared(query)
        if not turn.replay.play(engine, lambda: not turn.terminated):
            return {}
        if turn.terminated:
            return no_results(query, turn.number)
        engine.set_position(played.root_at(turn.number), played.words[: played.stops[turn.number]])
        legal = engine.legal_moves()
        try:
            seen = Seen(query, turn.number, engine.position or "", legal, engine.opinion(alone=query.limits.alone))
        except Interrupted:
            return no_results(query, turn.number)
        allowed = query.restricted(turn.number, legal)
        if allowed is None:
            return no_results(query, turn.number)
        best, last = self._search(engine, turn, seen, allowed)
        if best.error is not None:
            raise best.error
        if last is not None:
            return seen.report(last, during=False)
        if best.lines:
            return seen.ended(best, self._estimate(engine, query))
        return no_results(query, turn.number)

    def _search(
        self, engine: AnalysisEngine, turn: Turn, seen: Seen, allowed: tuple[str, ...]
    ) -> tuple[BestMove, ThinkingInfo | None]:
        """Search until the limits or a termination end it: the best move and the last report. Blocks."""
        query = turn.query
        due = query.first_ms or query.every_ms

        def on_info(info: ThinkingInfo) -> None:
            nonlocal due
            if info.lines and query.every_ms and info.time_ms >= due and not turn.terminated:
                due = info.time_ms + query.every_ms
                self._write(json.dumps(seen.report(info, during=True)))

        limits = query.limits_of(allowed)
        best, last = blocking.search(engine, limits, on_info, lambda: turn.on_terminate(engine.stop))
        turn.on_terminate(None)
        if best.lines or not turn.terminated:  # a terminated turn without a visit is no fault
            for text in best.messages:
                self._write(json.dumps(warning(query.id, text)))
        return best, last

    def _estimate(self, engine: AnalysisEngine, query: Query) -> Estimate | None:
        """How a finished game of territory counts, as the net sees it."""
        return engine.estimate() if query.played.size is not None else None
