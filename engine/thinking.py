"""One search from ``go`` to ``bestmove``: its thread, clock, reports and answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from .clock import Budget, Stopwatch, budget
from .errors import NetError
from .games.base import State
from .info import BestMove, Checkmate, Line, ThinkingInfo
from .limits import Limits
from .nets.ownership import Outlook
from .params import EngineOptions
from .search.mate import MateSolver
from .search.results import RootView, visit_lead
from .search.search import Search
from .search.tree import DEPTH_MAX, DEPTH_SUM

_INFO_SECONDS = 0.1  # between reports, growing as the search goes on ...
_INFO_MAX_SECONDS = 1.0  # ... to this
_ESTIMATE_SHARE = 0.25  # of the time between reports: what a report may spend on estimates

OnInfo = Callable[[ThinkingInfo], None]
OnDone = Callable[[BestMove], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What one ``go`` has to search; ``search`` is None when the game is over or no position is held."""

    search: Search | None
    line: State | None  # the game up to the root
    options: EngineOptions
    messages: tuple[str, ...]  # for the user
    fallback: str | None  # the first legal move, if the search gives none
    verdict: tuple[Line, ...] = ()  # outcome of a finished game as a line without moves
    win: bool = False  # the side to move wins by declaration
    mate: MateSolver | None = None  # with Limits.solve, in place of the search


class Thinking:
    """A search from ``go`` to its answer.

    ``over`` is set before ``on_done`` is called, so that the next search may begin; ``answered`` once it has returned.
    """

    def __init__(
        self,
        prepare: Callable[[Limits], Task],
        limits: Limits,
        on_info: OnInfo,
        on_done: OnDone,
        previous: Thinking | None,
    ) -> None:
        """``prepare`` is called in the search's thread once ``previous`` is over; it may block and raise NetError."""
        self.over, self.answered = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)
        self._prepare, self._limits, self._previous = prepare, limits, previous
        self._on_info, self._on_done = on_info, on_done
        self._watch = Stopwatch()  # of the whole search
        self._clock = Stopwatch()  # of our own time: restarted by ponderhit
        self._stopped = threading.Event()
        self._released = threading.Event()  # need not wait for stop or ponderhit
        if not (limits.infinite or limits.ponder):
            self._released.set()
        self._budget: Budget | None = None
        self._search: Search | None = None
        self._root: RootView | None = None
        self._next_info = 0.0
        self._interval = _INFO_SECONDS
        self._messages: list[str] = []
        self._options = EngineOptions()
        self._outlook: Outlook | None = None  # when reports carry estimates

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def wait(self, timeout: float | None) -> bool:
        """Block until ``on_done`` has returned; False after ``timeout`` seconds.

        A callback cannot wait for itself: within one it returns at once whether the search is over.
        """
        if threading.current_thread() is self._thread:
            return self.over.is_set()
        return self.answered.wait(timeout)

    def stop(self) -> None:
        """Ask for the answer; returns at once."""
        self._stopped.set()
        self._released.set()

    def ponderhit(self) -> None:
        """Let the clocks run from now on; returns at once."""
        if self._limits.ponder and not self._released.is_set():
            self._clock.restart()
            self._released.set()

    def _run(self) -> None:
        if self._previous is not None:
            self._previous.over.wait()
            self._previous = None
        task, answer = None, BestMove(None)
        try:
            task = self._prepare(self._limits)
            answer = self._think(task)
        except BaseException as error:  # noqa: BLE001 - handed over: the protocol shows it and still gets its answer
            answer = self._answer_without_search(task, error)
        finally:
            self._released.wait()
            self.over.set()
            try:
                self._on_done(answer)
            finally:
                self.answered.set()

    def _think(self, task: Task) -> BestMove:
        search, line, options = task.search, task.line, task.options
        self._messages = list(task.messages)
        if self._limits.solve:
            return self._solve(task)
        if search is None or line is None:
            elapsed = self._watch.milliseconds
            return BestMove(None, win=task.win, lines=task.verdict, time_ms=elapsed, messages=task.messages)
        self._search, self._options = search, options
        self._root = RootView(search.game, search.tree, line)
        if self._limits.report_ms is not None:
            self._outlook = Outlook(search.game, search.evaluator, line)
        self._budget = budget(
            self._limits,
            search.game.side_to_move(line[-1]),
            int(line[-1]["ply"]),
            typical_moves=search.game.typical_moves,
            overhead_ms=options.move_overhead_ms,
            last_overhead_ms=options.last_overhead_ms,
            minimum_ms=options.minimum_ms,
            ponder=options.ponder,
        )
        search.tree.counters[DEPTH_SUM] = search.tree.counters[DEPTH_MAX] = 0
        search.run(self._should_stop)
        if isinstance(search.error, NetError):
            self._messages.append(str(search.error))
        elif search.error is not None:
            raise search.error
        if search.tree.full:
            self._messages.append(
                f"the tree has filled Hash ({options.hash_mb} MB) and stops growing; raise Hash for longer searches"
            )
        self._inform()
        self._released.wait()  # an infinite or pondering search answers only when asked
        return self._best_move(task)

    def _solve(self, task: Task) -> BestMove:
        """The answer to ``Limits.solve``; "timeout" without a position."""
        limits, solver = self._limits, task.mate
        if solver is None:
            return BestMove(None, checkmate=Checkmate("timeout"), messages=task.messages)
        time = Limits(movetime=limits.movetime)
        given = budget(time, 0, 0, typical_moves=1.0, overhead_ms=task.options.move_overhead_ms)

        def exhausted(nodes: int) -> bool:
            late = given is not None and given.should_stop(self._watch.seconds)
            return late or (limits.nodes is not None and nodes >= limits.nodes)

        found = solver.solve(self._stopped, exhausted)
        return BestMove(None, checkmate=found, nodes=solver.nodes, time_ms=self._watch.milliseconds)

    def _should_stop(self) -> bool:
        search = self._search
        assert search is not None
        if self._stopped.is_set():
            return True
        elapsed = self._watch.seconds
        if elapsed >= self._next_info and search.simulations:
            self._interval = min(self._interval * 1.3, _INFO_MAX_SECONDS)
            if self._limits.report_ms is not None:
                self._interval = self._limits.report_ms / 1000.0
            self._next_info = elapsed + self._interval
            self._inform()
        if not self._released.is_set() or self._limits.infinite:
            return False
        return self._limit_reached(search)

    def _limit_reached(self, search: Search) -> bool:
        limits, tree = self._limits, search.tree
        if limits.depth is not None and self._depth() >= limits.depth and search.simulations > 1:
            return True
        if limits.mate is not None and (limits.mate <= 0 or self._mate_found(limits.mate)):
            return True
        if self._budget is None:
            return False
        root = tree.nodes[tree.root]
        if int(root["first_edge"]) < 0:
            return False
        elapsed = self._clock.seconds
        with search.lock:
            most, second, agree = visit_lead(tree)
        instability = 1.0 if not agree else max(0.0, 2.0 * second / max(most, 1) - 1.0)
        allowed = self._budget.allowed(instability)
        if elapsed >= allowed:
            return True
        if not search.params.smart_pruning or limits.movetime is not None or elapsed < self._budget.minimum:
            return False
        if int(root["edges"]) == 1:
            return True
        rate = search.simulations / max(self._watch.seconds, 1e-3)
        return bool(search.simulations >= 32 and most - second > rate * (allowed - elapsed) * 1.05)

    def _mate_found(self, moves: int) -> bool:
        assert self._search is not None
        assert self._root is not None
        with self._search.lock:
            lines = self._root.lines(1)
        return bool(lines and lines[0].mate is not None and 0 < lines[0].mate <= moves)

    def _depth(self) -> int:
        """Mean depth of this search's simulations in plies, at least 1."""
        assert self._search is not None
        return max(1, round(int(self._search.tree.counters[DEPTH_SUM]) / max(self._search.simulations, 1)))

    def _say(self, message: str) -> None:
        self._on_info(ThinkingInfo(1, 1, 0, 0, self._watch.milliseconds, 0, (), (), message))

    def _inform(self) -> None:
        search, options = self._search, self._options
        assert search is not None
        assert self._root is not None
        for message in self._messages:
            self._say(message)
        self._messages.clear()
        with search.lock:
            lines = self._root.lines(options.multipv)
            stats = self._root.move_stats(search.params) if options.move_stats else ()
            deepest, used = int(search.tree.counters[DEPTH_MAX]), search.tree.used
            nodes = int(search.tree.nodes[search.tree.root]["n"])
        if not lines:
            return
        self._ask(lines)
        elapsed = max(self._watch.seconds, 1e-3)
        depth = self._depth()
        self._on_info(
            ThinkingInfo(
                depth,
                max(depth, deepest, 1),
                nodes,
                int(search.simulations / elapsed),
                int(1000 * elapsed),
                min(1000, int(1000 * used)),
                self._estimated(lines),
                stats,
                estimate=self._outlook.root() if self._outlook is not None else None,
            )
        )

    def _ask(self, lines: tuple[Line, ...]) -> None:
        """Estimate the moves searched, best first, within a share of the time between reports; never at the end."""
        search, interval, watch = self._search, self._interval, Stopwatch()
        assert search is not None

        def enough() -> bool:
            return search.stopping or self._stopped.is_set() or watch.seconds >= _ESTIMATE_SHARE * interval

        if self._outlook is not None:
            self._outlook.ask([line.pv[0] for line in lines if line.visits], enough)

    def _estimated(self, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        """The lines with the estimates after their first moves, where known."""
        outlook = self._outlook
        return lines if outlook is None else tuple(replace(each, estimate=outlook.after(each.pv[0])) for each in lines)

    def _best_move(self, task: Task) -> BestMove:
        search = self._search
        assert search is not None
        assert self._root is not None
        with search.lock:
            move = self._root.choose(search.params.temperature, search.params.seed)
            line = None if move is None else self._root.line_with(move)
        if line is None:
            return self._answer_without_search(task, search.error)
        return BestMove(
            line.pv[0],
            line.pv[1] if len(line.pv) > 1 else None,
            resign=self._hopeless(line),
            lines=self._estimated((line,)),
            nodes=search.simulations,
            time_ms=self._watch.milliseconds,
            messages=tuple(self._messages),
        )

    def _hopeless(self, line: Line) -> bool:
        """Whether to resign: never in analysis, nor when pondering was stopped."""
        threshold, limits = self._options.resign_cp, self._limits
        playing = limits.bounded and not (limits.ponder and self._stopped.is_set())
        return threshold is not None and playing and line.cp <= -threshold

    def _answer_without_search(self, task: Task | None, error: BaseException | None) -> BestMove:
        """Say why the search gave no move; a bug still gets a legal move, a missing or broken net does not."""
        known = isinstance(error, NetError)
        reason = str(error) if error is not None else "the tree has no room for a single position; raise Hash"
        move = task.fallback if task is not None and not known else None
        messages = tuple(dict.fromkeys([*self._messages, reason]))
        return BestMove(
            move,
            checkmate=Checkmate("timeout") if self._limits.solve else None,
            time_ms=self._watch.milliseconds,
            messages=messages,
            error=None if known else error,
        )
