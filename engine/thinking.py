"""One search from ``go`` to ``bestmove``: its thread, clock, reports and answer."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from .clock import Budget, Delays, Stopwatch, budget
from .errors import AzError, NetError, ThreadError
from .games.base import State
from .games.tactics.proofs import MAX_PLIES
from .info import BestMove, Checkmate, Line, ThinkingInfo
from .limits import Limits
from .nets.evaluator import Interrupted
from .os.process import start_thread
from .params import EngineOptions
from .search.mate import MateSolver
from .search.search import Search
from .search.tree.nodes import DEPTH_MAX, DEPTH_SUM, NODES
from .search.tree.ownership import Averages
from .search.tree.results import RootView, visit_lead

_INFO_SECONDS = 0.1  # between reports, growing as the search goes on ...
_INFO_MAX_SECONDS = 1.0  # ... to this
_RENEWED = 1.03  # times the visits that an average counts: then a report has a new one
_FLAT = 16  # times the visits at which it deepened, times its nodes: a tree that was visited so often is flat
_FLAT_VISITS = 64  # no tree of fewer is called so
_TICK_S = 0.1  # between looks at a search
_PATIENCE = 3  # ticks that a search may take to end before its evaluation is interrupted ...
_FIRST_PATIENCE = 10  # ... when it has no move yet, and after the interruption before it is left behind

OnInfo = Callable[[ThinkingInfo], None]
OnDone = Callable[[BestMove], None]
Work = Callable[["Thinking", Limits, ThreadError | None], BestMove]


@dataclass(frozen=True, slots=True)
class Job:
    """What one ``go`` has to search; ``search`` is None when the game is over or no position is held."""

    search: Search | None
    line: State | None  # the game up to the root
    options: EngineOptions
    messages: tuple[str, ...]  # for the user
    fallback: str | None  # a move that was allowed, if the search gives none
    verdict: tuple[Line, ...] = ()  # outcome of a finished game as a line without moves
    win: bool = False  # the side to move wins by declaration
    booked: str | None = None  # the move of an opening book, in place of the search
    mate: MateSolver | None = None  # with Limits.solve, in place of the search; with Limits.mate, beside it
    error: BaseException | None = None  # why there is no search, or why it has another net than the requested one
    delays: Delays = field(default_factory=Delays)  # of the game so far


def _nothing() -> None:
    pass


class Thinking:
    """A search from ``go`` to its answer.

    ``over`` is set before ``on_done`` is called, so that the next search may begin; ``answered`` once it has returned.
    """

    def __init__(
        self,
        limits: Limits,
        on_info: OnInfo,
        on_done: OnDone,
        previous: Thinking | None,
    ) -> None:
        """``previous``: the search that has to be over first."""
        self.over, self.answered = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)
        self._limits, self._previous = limits, previous
        self._estimating = limits.with_estimates
        self._work: Work | None = None
        self._after = _nothing
        self._job: Job | None = None  # the last one
        self._on_info, self._on_done = on_info, on_done
        self._watch = Stopwatch()  # of the whole search
        self._clock = Stopwatch()  # of our own time: restarted by ponderhit
        self._stopped = threading.Event()
        self._released = threading.Event()  # need not wait for stop or ponderhit
        if not (limits.infinite or limits.ponder):
            self._released.set()
        self._budget: Budget | None = None
        self._allowed = math.inf  # seconds, as far as the budget was asked
        self._search: Search | None = None
        self._root: RootView | None = None
        self._depth = 1  # reported so far
        self._deepened = 0  # visits of the root when that became deeper last
        self._kept = 0  # visits of the root before this search
        self._next_info = 0.0
        self._interval = _INFO_SECONDS
        self._messages: list[str] = []
        self._options = EngineOptions()
        self._mate: MateSolver | None = None  # beside the search
        self._averaged: tuple[Averages | None, int, int] = (None, 0, 0)  # over a tree; its root's children and visits

    def start(self, work: Work, after: Callable[[], None]) -> None:
        """Begin; returns at once. Where no thread can be started the answer, without a search, comes before.

        work: has jobs :meth:`run`, in the search's thread, and gives the answer; gets this search, its limits and why
        there is no such thread. It may block. after: called there once ``on_done`` has returned.
        """
        self._work, self._after = work, after
        try:
            start_thread(self._thread)
        except ThreadError as error:
            self._released.set()
            self._run(error)

    def wait(self, timeout: float | None) -> bool:
        """Block until ``on_done`` has returned; False after ``timeout`` seconds.

        A callback cannot wait for itself: within one it returns at once whether the search is over.
        """
        if threading.current_thread() is self._thread:
            return self.over.is_set()
        return self.answered.wait(timeout)

    def searches(self, search: Search | None) -> bool:
        """Whether this search of the tree is under way, and not left behind."""
        return search is not None and search is self._search and not self.over.is_set()

    def stop(self) -> None:
        """Ask for the answer; returns at once."""
        self._stopped.set()
        self._released.set()

    def ponderhit(self) -> None:
        """Let the clocks run from now on; returns at once."""
        if self._limits.ponder and not self._limits.infinite and not self._released.is_set():
            self._clock.restart()
            self._released.set()

    def _run(self, fault: ThreadError | None = None) -> None:
        if self._previous is not None:
            self._previous.over.wait()
            self._previous = None
        answer = BestMove(None)
        try:
            assert self._work is not None
            answer = self._work(self, self._limits, fault)
        except BaseException as error:  # noqa: BLE001 - handed over: the protocol shows it and still gets its answer
            answer = self._answer_without_search(self._job, error)
        finally:
            self._released.wait()
            self.over.set()
            try:
                self._on_done(answer)
                self._after()
            finally:
                self._work = self._job = None  # which hold the engine and this search
                self._after = _nothing
                self.answered.set()

    def accept(self, job: Job) -> None:
        """Take a job, for :meth:`run` or, where that fails, for the answer without a search."""
        failed = self._job
        self._job = job
        if failed is not None and job.search is None:  # no other net to go on with: the answer is what was found
            self._job = replace(job, search=failed.search, line=failed.line)
        self._messages.extend(job.messages)

    def run(self, job: Job) -> BestMove | NetError:
        """Search, report and give the answer; or the fault of a net in whose place another job has to go on."""
        going_on = self._job is not None
        self.accept(job)
        if self._limits.solve:
            return self._solve(job)
        if job.search is None and not going_on:
            return self._settled(job)
        assert self._job is not None
        job, search, line = self._job, self._job.search, self._job.line
        assert search is not None
        assert line is not None
        fault = self._search_until_due(search, line, job) if search is not self._search else None
        if fault is not None:
            return fault
        self._solve_on(search)
        if search.note:
            self._messages.append(search.note)
        lines = self._inform(search)
        self._released.wait()  # an infinite or pondering search answers only on request
        answer = self._best_move(job, search, lines)
        if not (self._limits.ponder and self._stopped.is_set()):
            side, ply = search.game.side_to_move(line[-1]), int(line[-1]["ply"])
            job.delays.end(self._limits, side, ply, 1000.0 * min(self._clock.seconds, self._allowed))
        self._search = None  # a worker that still hangs in its net changes nothing any more
        return answer

    def _settled(self, job: Job) -> BestMove:
        """The answer where there is nothing to search."""
        if job.error is not None:
            return self._answer_without_search(job, job.error)
        elapsed = self._watch.milliseconds
        if job.booked is not None:
            return BestMove(job.booked, time_ms=elapsed, messages=job.messages)
        return BestMove(None, win=job.win, lines=job.verdict, time_ms=elapsed, messages=job.messages)

    def _search_until_due(self, search: Search, line: State, job: Job) -> NetError | None:
        """Search until it is time to answer; the fault of the net for which it has to begin anew with another one."""
        self._begin(search, line, job)
        self._oversee(search)
        error = search.error or search.evaluator.fault
        if error is None or isinstance(error, Interrupted):
            return None
        if not isinstance(error, NetError):
            raise error
        if self._stopped.is_set() and search.tree.nodes[search.tree.root]["n"] > 1:
            self._messages.append(str(error))
            return None
        return error

    def _begin(self, search: Search, line: State, job: Job) -> None:
        options = job.options
        self._search, self._options, self._mate, self._averaged = search, options, job.mate, (None, 0, 0)
        search.left = self._left
        self._root = RootView(search.game, search.tree, line, options, several=search.several)
        side, ply = search.game.side_to_move(line[-1]), int(line[-1]["ply"])
        job.delays.begin(self._limits, side, ply)
        self._budget = budget(
            self._limits,
            side,
            ply,
            typical_moves=search.game.typical_moves,
            overhead_ms=options.move_overhead_ms,
            last_overhead_ms=options.last_overhead_ms,
            minimum_ms=options.minimum_ms,
            ponder=options.ponder,
            delays=job.delays,
            chance=random.random(),
        )
        self._depth, self._kept = 1, int(search.tree.nodes[search.tree.root]["n"])
        search.tree.counters[DEPTH_SUM], search.tree.counters[DEPTH_MAX] = search.tree.depths()

    def _oversee(self, search: Search) -> None:
        """Run a search in a thread of its own. Interrupt its net when it is long overdue, then leave the thread behind.

        Patience is counted in ticks that this thread has seen: a process that was suspended is no fault of the net. A
        compiled net cannot hang, and a thread costs as much as some hundred of its simulations: its search runs in
        this one.
        """
        watch = partial(self._should_stop, search)
        if search.evaluator.compiled is not None:
            search.run(watch)
            return
        running = threading.Thread(target=search.run, args=(watch,), name="worker 0")
        running.daemon = True
        start_thread(running)
        overdue = 0
        while running.is_alive():
            running.join(_TICK_S)
            overdue += self._overdue(search)
            patience = _PATIENCE if search.tree.nodes[search.tree.root]["n"] > 1 else _FIRST_PATIENCE
            if overdue > patience + _FIRST_PATIENCE:
                return
            if overdue > patience:
                search.stopping = True
                search.evaluator.interrupt()

    def _overdue(self, search: Search) -> bool:
        """Whether the search should have ended already."""
        if self._stopped.is_set() or search.stopping or search.evaluator.fault is not None:
            return True
        if self._budget is None or self._limits.infinite or not self._released.is_set():
            return False
        return self._clock.seconds > self._budget.maximum

    def _solve(self, job: Job) -> BestMove:
        """The answer to ``Limits.solve``; "timeout" without a position."""
        limits, solver = self._limits, job.mate
        if solver is None:
            return BestMove(None, checkmate=Checkmate("timeout"), messages=job.messages)
        time = Limits(movetime=limits.movetime)
        given = budget(time, 0, 0, typical_moves=1.0, overhead_ms=job.options.move_overhead_ms)

        def exhausted(nodes: int) -> bool:
            late = given is not None and given.should_stop(self._watch.seconds)
            return late or (limits.nodes is not None and nodes >= limits.nodes)

        result = solver.solve(self._stopped, exhausted)
        messages = (solver.note,) if solver.note else ()
        return BestMove(None, checkmate=result, nodes=solver.nodes, time_ms=self._watch.milliseconds, messages=messages)

    def _solve_on(self, search: Search) -> None:
        """Look on for the mate of ``Limits.mate`` where the search of the tree has ended before; tell where none is."""
        limits, solver = self._limits, self._mate
        if limits.mate is None or limits.mate <= 0:
            return
        while solver is not None and not self._stopped.is_set() and not self._limit_reached(search):
            if limits.nodes is not None and max(search.simulations, solver.nodes) >= limits.nodes:
                break
            solver.step(self._stopped)
        if not self._has_mate(limits.mate) and not (solver is not None and solver.moves):
            none = solver is not None and solver.verdict == "nomate" and 2 * limits.mate <= MAX_PLIES
            self._messages.append(
                f"there is no mate in {limits.mate}" if none else f"no mate in {limits.mate} was found"
            )

    def _left(self) -> float:
        """Seconds until the search has to end, as far as that is known."""
        if self._stopped.is_set():
            return 0.0
        if self._budget is None or self._limits.infinite or not self._released.is_set():
            return math.inf
        return min(self._allowed, self._budget.maximum) - self._clock.seconds

    def _should_stop(self, search: Search) -> bool:
        if self._stopped.is_set() or search is not self._search:
            return True
        if self._mate is not None and self._mate.verdict is None:
            self._mate.step(self._stopped)
        elapsed = self._watch.seconds
        if elapsed >= self._next_info and search.simulations:
            self._interval = min(self._interval * 1.3, _INFO_MAX_SECONDS)
            if self._limits.report_ms is not None:
                self._interval = self._limits.report_ms / 1000.0
            self._next_info = elapsed + self._interval
            self._inform(search)
        if not self._released.is_set() or self._limits.infinite:
            return False
        return self._limit_reached(search)

    def _limit_reached(self, search: Search) -> bool:
        limits, tree = self._limits, search.tree
        deep = limits.depth is not None and (self._reached(search) >= limits.depth or self._flat(search))
        if deep and search.simulations > 1:
            return True
        if limits.mate is not None and (limits.mate <= 0 or self._has_mate(limits.mate)):
            return True
        if self._mate is not None and self._mate.verdict is not None:
            return True
        if self._budget is None:
            return False
        with search.lock.shared():
            root = tree.nodes[tree.root]
            expanded, choices = tree.expanded, int(root["edges"])
            most, second, agree = visit_lead(tree)
        if not expanded:
            return False
        elapsed = self._clock.seconds
        instability = 1.0 if not agree else max(0.0, 2.0 * second / max(most, 1) - 1.0)
        allowed = self._allowed = self._budget.allowed(instability)
        if elapsed >= allowed and (search.simulations > 1 or elapsed >= self._budget.maximum):
            return True
        if not search.params.smart_pruning or limits.fixed or elapsed < self._budget.minimum:
            return False
        if choices == 1:
            return True
        if elapsed < self._budget.unsaved:
            return False
        rate = search.simulations / max(self._watch.seconds, 1e-3)
        return bool(search.simulations >= 32 and most - second > rate * (allowed - elapsed) * 1.05)

    def _has_mate(self, moves: int) -> bool:
        assert self._search is not None
        assert self._root is not None
        if self._mate is not None and self._mate.verdict is None and self._mate.moves:
            return False  # there may be a shorter one
        with self._search.lock:
            lines = self._lines(1, None)
        return bool(lines and lines[0].mate is not None and 0 < lines[0].mate <= moves)

    def _reached(self, search: Search) -> int:
        """Mean depth of the tree in plies: never less than before, and not beyond the limit."""
        visits = self._kept + search.simulations
        mean = round(int(search.tree.counters[DEPTH_SUM]) / max(visits, 1))
        if (depth := min(mean, self._limits.depth or mean)) > self._depth:
            self._depth, self._deepened = depth, visits
        return self._depth

    def _flat(self, search: Search) -> bool:
        """Whether the tree neither deepens nor grows any more: its leaves are ends of the game or known outcomes."""
        visits = self._kept + search.simulations
        return visits > _FLAT * max(self._deepened, int(search.tree.counters[NODES]), _FLAT_VISITS)

    def _say(self, message: str) -> None:
        self._on_info(ThinkingInfo(1, 1, 0, 0, self._watch.milliseconds, 0, (), (), message))

    def _inform(self, search: Search) -> tuple[Line, ...]:
        """Report; returns the lines."""
        options = self._options
        assert self._root is not None
        for message in self._messages:
            self._say(message)
        self._messages.clear()
        with search.lock:
            averages = self._averages(search)
            lines = self._lines(options.multipv, averages)
            stats = self._root.move_stats(search.params) if options.move_stats else ()
            deepest, used = int(search.tree.counters[DEPTH_MAX]), search.tree.used
            visits = int(search.tree.nodes[search.tree.root]["n"])
        if not lines or search is not self._search:
            return lines
        depth = self._reached(search)
        self._on_info(
            ThinkingInfo(
                depth,
                max(depth, deepest),
                search.simulations,
                visits,
                max(self._watch.milliseconds, 1),
                min(1000, int(1000 * used)),
                lines,
                stats,
                estimate=None if averages is None else averages.root(),
                tbhits=search.table_hits,
            )
        )
        return lines

    def _lines(self, multipv: int, averages: Averages | None) -> tuple[Line, ...]:
        """The tree's best lines, before them a mate that is known beside it. Call it under the search's lock."""
        assert self._root is not None
        lines = self._root.lines(multipv, averages)
        return self._with_mate(lines)[: max(len(lines), 1)]

    def _with_mate(self, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        solver, root = self._mate, self._root
        if solver is None or not solver.moves:
            return lines
        assert root is not None
        mate = (solver.plies + 1) // 2
        if lines and lines[0].mate is not None and 0 < lines[0].mate <= mate:
            return lines
        line = root.mating_line(solver.moves, mate)
        same = [each for each in lines if each.pv[0] == line.pv[0]]
        if same:
            line = replace(line, visits=same[0].visits, prior=same[0].prior)
        return (line, *(each for each in lines if each.pv[0] != line.pv[0]))

    def _averages(self, search: Search) -> Averages | None:
        """Of the tree, when reports carry estimates. Call it under the search's lock.

        Those of an earlier report while hardly anything has come: an average reads thousands of nodes.
        """
        if not self._estimating:
            return None
        root = search.tree.nodes[search.tree.root]
        children, visits = int(root["children"]), int(root["n"])
        made, last_children, last_visits = self._averaged
        if made is None or not search.running or children != last_children or visits > _RENEWED * last_visits:
            made = Averages(search.tree, moves_ownership=self._limits.moves_ownership)
            self._averaged = made, children, visits
        return made

    def _best_move(self, job: Job, search: Search, lines: tuple[Line, ...]) -> BestMove:
        """The answer of a search that has ended; ``lines``: of its last report, whose first is the best."""
        if search.params.temperature > 0:
            assert self._root is not None
            with search.lock:
                line = self._root.answer(search.params.temperature, search.params.seed, self._averages(search))
                lines = self._with_mate(() if line is None else (line,))
        if not lines:
            return self._answer_without_search(job, job.error or search.error)
        line = lines[0]
        return BestMove(
            line.pv[0],
            line.pv[1] if len(line.pv) > 1 else None,
            resign=self._hopeless(line),
            lines=(line,),
            nodes=search.simulations,
            time_ms=self._watch.milliseconds,
            messages=tuple(self._messages),
            error=job.error,
        )

    def _hopeless(self, line: Line) -> bool:
        """Whether to resign: never in analysis, nor when pondering was stopped."""
        options, limits = self._options, self._limits
        behind = options.resign_cp is not None and line.cp <= -options.resign_cp
        unlikely = options.resign_permille > 0 and 500 * (1 + line.wdl.value) < options.resign_permille
        return (behind or unlikely) and limits.bounded and not (limits.ponder and self._stopped.is_set())

    def _answer_without_search(self, job: Job | None, error: BaseException | None) -> BestMove:
        """Any legal move, and why the search gave none."""
        if isinstance(error, MemoryError):
            error = AzError("there is not enough memory for a search; choose a smaller Hash or fewer Threads")
        if isinstance(error, Interrupted):
            error, reason = None, "the search was stopped before the net had answered: any legal move is played"
        else:
            reason = str(error) if error is not None else "the tree has no room for a single position; raise Hash"
        return BestMove(
            job.fallback if job is not None else None,
            checkmate=Checkmate("timeout") if self._limits.solve else None,
            time_ms=self._watch.milliseconds,
            messages=tuple(dict.fromkeys([*self._messages, reason])),
            error=error,
        )
