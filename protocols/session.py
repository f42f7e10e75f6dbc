"""The loop between a text protocol and an engine: what UCI and USI have in common.

Three threads. The reader turns stdin into events. The worker does what may take long (loading kernels and nets, setting
up positions), one *step* after another. The main thread runs the loop: it alone changes the session's state and prints,
so that replies keep their order and every ``go`` gets exactly one answer. The search's own threads only post events.

Commands that have an effect become steps in a backlog. It stands still while the worker is busy or a search runs, so
that everything applies to the next search and stdin is read all the time. ``stop`` and the like act at once.
"""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..engine.clock import Stopwatch
from ..engine.errors import AzError, OptionError, PositionError, UnknownOptionError
from ..engine.info import BestMove, ThinkingInfo
from ..engine.limits import Limits
from ..engine.params import EngineOptions
from .lines import LineReader, LineWriter, TrafficLog, one_line
from .loader import EngineSeam, Loader
from .options import OptionValues
from .pending import Go

KEEP_ALIVE_S = 5.0  # a blank line this often while the worker is busy: GUIs give up on silent engines
QUIT_PATIENCE_S = 0.7  # for what was asked before `quit`
END_PATIENCE_S = 1.2  # for what was asked before the input ended
CLOSE_PATIENCE_S = 0.3  # for the engine's threads
REPORTS_PER_S = 20  # blocks of info lines
LINES_PER_S = 400  # info lines, when the blocks are long

Then = Callable[[], None]


@dataclass(slots=True)
class Step:
    """One command of the backlog. ``work`` runs on the worker and returns what then runs on the main thread."""

    work: Callable[[], Then] | None = None
    then: Then | None = None  # without work
    go: Go | None = None  # to be answered at the end of this step's search
    ping: bool = False  # answered at once while a search runs


class Session(ABC):
    """One conversation. A protocol adds its command parser and the form of its replies."""

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], EngineSeam],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        """Load nothing. ``make_engine`` is called on the worker; ``notes`` are told when the GUI may hear them."""
        self.values = values
        self.debug = False
        self._loader = Loader(make_engine, values, lambda text: self._post(partial(self.say, text)))
        self._writer = writer
        self._notes = list(notes)
        self._events: queue.SimpleQueue[Then] = queue.SimpleQueue()
        self._jobs: queue.SimpleQueue[Callable[[], Then] | None] | None = None
        self._backlog: deque[Step] = deque()
        self._busy: Step | None = None  # on the worker
        self._search: Go | None = None  # running
        self._silence = Stopwatch()
        self._quitting: tuple[Stopwatch, float] | None = None
        self._status: int | None = None  # exit status, once over
        self._fault = 0  # exit status to come
        self._placed = False  # a position was set
        self._refusal: str | None = None  # why no position is held
        self._open_log()

    # ------------------------------------------------------------------ what a protocol adds

    @abstractmethod
    def command(self, line: str) -> None:
        """Obey one input line."""

    @abstractmethod
    def message(self, text: str) -> str:
        """The line that tells the user ``text``, which is one printable line."""

    @abstractmethod
    def report(self, info: ThinkingInfo, *, final: bool) -> list[str]:
        """The lines of one report; ``info`` has at least one principal variation."""

    @abstractmethod
    def answer(self, best: BestMove, limits: Limits) -> list[str]:
        """The lines that answer a ``go`` with these limits, ending the search."""

    def unknown_option(self, reason: str) -> None:
        """The user set an option that does not exist."""
        self.say(reason)

    # ------------------------------------------------------------------ the loop

    def run(self, descriptor: int = 0) -> int:
        """Read ``descriptor`` to its end or ``quit`` and return the exit status: 0, or 1 after a bug. BLOCKS."""
        LineReader(
            descriptor,
            lambda line: self._post(partial(self._receive, line)),
            partial(self._post, partial(self.say, "a line longer than 1 MiB was thrown away")),
            partial(self._post, partial(self.quit, END_PATIENCE_S)),
        ).start()
        while self._status is None:
            try:
                event = self._events.get(timeout=self._patience())
            except queue.Empty:
                event = self._tick
            try:
                event()
            except Exception as error:  # noqa: BLE001  the one boundary: a bug still gets every `go` its answer
                self._crash(error)
        engine = self._loader.engine
        if engine is not None and self._busy is None:
            closing = threading.Thread(target=engine.close, name="close", daemon=True)
            closing.start()
            closing.join(CLOSE_PATIENCE_S)
        if self._jobs is not None:
            self._jobs.put(None)
        if self._writer.log is not None:
            self._writer.log.close()
        return self._status

    def interrupt(self) -> None:
        """Quit soon, as a signal handler may ask."""
        self._post(partial(self.quit, QUIT_PATIENCE_S))

    def _post(self, event: Then) -> None:
        self._events.put(event)

    def _receive(self, line: str) -> None:
        if self._writer.log is not None:
            self._writer.log.record("<", line)
        if self._quitting is None:
            self.command(line)
            self._advance()

    def _patience(self) -> float | None:
        waits = []
        if self._busy is not None:
            waits.append(KEEP_ALIVE_S - self._silence.seconds)
        if self._quitting is not None:
            since, patience = self._quitting
            waits.append(patience - since.seconds)
        return max(min(waits), 0.0) if waits else None

    def _tick(self) -> None:
        if self._quitting is not None and self._quitting[0].seconds >= self._quitting[1]:
            self._give_up()
        elif self._busy is not None and self._silence.seconds >= KEEP_ALIVE_S:
            self._silence.restart()
            self.send("")

    # ------------------------------------------------------------------ output

    def send(self, *lines: str) -> None:
        """Write one reply. Nobody there any more: quit."""
        if not lines:
            return
        if not self._writer.write("\n".join(lines)) and self._quitting is None:
            self.quit(0.0)
        log = self._writer.log
        if log is not None and log.fault is not None:
            self._writer.log = None
            self.say(log.fault)

    def say(self, text: str) -> None:
        """Tell the user one sentence."""
        self.send(self.message(one_line(text)))

    def hint(self, text: str) -> None:
        """Tell it in debug mode only."""
        if self.debug:
            self.say(text)

    def tell_notes(self) -> None:
        """Tell what was found wrong at the start, once the GUI listens."""
        for note in self._notes:
            self.say(note)
        self._notes.clear()

    def _open_log(self) -> None:
        old, self._writer.log = self._writer.log, None
        if old is not None:
            old.close()
        path = str(self.values["log_file"])
        if path:
            try:
                self._writer.log = TrafficLog(path)
            except OptionError as error:
                self._notes.append(str(error))

    # ------------------------------------------------------------------ steps

    def enqueue(self, step: Step) -> None:
        """Do a step after all earlier ones."""
        self._backlog.append(step)

    def _advance(self) -> None:
        while self._status is None and self._busy is None and self._search is None:
            if not self._backlog:
                if self._quitting is not None:
                    self._status = self._fault
                return
            step = self._backlog.popleft()
            if step.go is not None and step.go.queued:
                step.go.waited.restart()
            if step.work is not None:
                self._busy = step
                self._silence.restart()
                self._delegate(step.work)
            elif step.then is not None:
                step.then()

    def _delegate(self, work: Callable[[], Then]) -> None:
        if self._jobs is None:  # made late: a `quit` right after the greeting needs no thread
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=self._labour, args=(self._jobs,), name="worker", daemon=True).start()
        self._jobs.put(work)

    def _labour(self, jobs: queue.SimpleQueue[Callable[[], Then] | None]) -> None:
        while (work := jobs.get()) is not None:
            try:
                event = partial(self._worked, work())
            except BaseException as error:  # noqa: BLE001  raised again in the loop, whose boundary tells it
                event = partial(self._failed, error)
            self._post(event)

    def _worked(self, then: Then) -> None:
        self._busy = None
        then()
        self._advance()

    def _failed(self, error: BaseException) -> None:
        step, self._busy = self._busy, None
        if isinstance(error, AzError):
            self.say(str(error))
        if step is not None and step.go is not None:
            self.send(*self.answer(BestMove(None), step.go.limits))
        elif step is not None and step.ping and step.then is not None:
            step.then()
        if not isinstance(error, AzError):
            raise error
        self._advance()

    # ------------------------------------------------------------------ commands that protocols share

    def ping(self, reply: str) -> None:
        """Answer when everything asked before is done and the engine is loaded; at once during a search."""

        def then() -> None:
            self.tell_notes()
            self.send(reply)

        def work() -> Then:
            self._loader.prepare()
            return then

        playing = self._search is not None and not any(go.game_over for go in self._outstanding())
        if playing or (self._idle and self._loader.up_to_date):
            then()
        else:
            self.enqueue(Step(work, then, ping=True))

    @property
    def _idle(self) -> bool:
        return self._busy is None and self._search is None and not self._backlog

    def set_option(self, name: str, text: str | None) -> None:
        """Check a value at once, and let it hold from the next step on."""
        try:
            option, value = self.values.read(name, text)
        except UnknownOptionError as error:
            self.unknown_option(str(error))
            return
        except OptionError as error:
            self.say(str(error))
            return

        def then() -> None:
            if option.key == "clear_hash":
                self._forget()
                return
            self.values.set(option, value)
            if option.key == "log_file":
                self._open_log()
                self.tell_notes()

        self.enqueue(Step(then=then))

    def new_game(self) -> None:
        """Forget the tree and the cache."""
        self.enqueue(Step(then=self._forget))

    def _forget(self) -> None:
        if self._loader.engine is not None:
            self._loader.engine.new_game()

    def set_position(self, root: str | None, moves: Sequence[str]) -> None:
        """Set up a position; if it is refused no position is held, and ``go`` says so."""

        def work() -> Then:
            try:
                notes = self._loader.configured().set_position(root, moves)
            except PositionError as error:
                return partial(self._hold, str(error), [str(error)])
            return partial(self._hold, None, notes)

        self.enqueue(Step(work))

    def refuse_position(self, reason: str) -> None:
        """The position cannot even be read."""
        self.enqueue(Step(then=partial(self._hold, reason, [reason])))

    def _hold(self, refusal: str | None, notes: Sequence[str]) -> None:
        self._placed = True
        self._refusal = refusal
        for note in notes:
            self.say(note)

    def perft(self, depth: int, show: Callable[[dict[str, int]], None]) -> None:
        """Count the legal move tree; ``show`` gets leaves by move."""

        def work() -> Then:
            if self._refusal is not None:
                return partial(self.say, f"nothing to count: {self._refusal}")
            return partial(show, self._placed_engine().perft(depth))

        self.enqueue(Step(work))

    def _placed_engine(self) -> EngineSeam:
        engine = self._loader.configured()
        if not self._placed:
            engine.set_position(None, ())
            self._placed = True
        return engine

    # ------------------------------------------------------------------ searching

    def go(self, limits: Limits) -> None:
        """Search. An earlier search that nothing else would end is stopped; it gets its own answer first."""
        outstanding = self._outstanding()
        for earlier in outstanding:
            if earlier.endless:
                self._stop(earlier)
        go = Go(limits, queued=bool(outstanding))

        def work() -> Then:
            reason = self._refusal or self._loader.prepare()
            if reason is None:
                self._placed_engine()
            return partial(self._start, go, reason)

        self.enqueue(Step(work, go=go))

    def stop(self) -> None:
        """End all searches asked for so far, each with its answer."""
        for go in self._outstanding():
            self._stop(go)

    def game_over(self) -> None:
        """End all searches as :meth:`stop` does; their answers come before those to anything asked from now on."""
        for go in self._outstanding():
            go.game_over = True
            self._stop(go)

    def ponderhit(self, clocks: Limits | None = None) -> None:
        """The clocks of the ``go ponder`` count from now on; ignored when nobody ponders.

        ``clocks`` stand in for those of a ``go ponder`` that had no limit at all: its search goes on as a new one.
        """
        for go in self._outstanding():
            if go.limits.ponder and not go.hit:
                running = self._loader.engine if go is self._search else None
                go.hit = True
                go.waited.restart()
                go.quiet_until = 0.0
                if clocks is not None and not go.limits.bounded:
                    go.limits = replace(clocks, searchmoves=go.limits.searchmoves)
                    go.again = running is not None
                    if running is not None:
                        running.stop()
                elif running is not None:
                    running.ponderhit()

    def quit(self, patience: float = QUIT_PATIENCE_S) -> None:
        """Finish what was asked if that takes no longer than ``patience`` seconds, then end; read no more."""
        if self._quitting is None:
            self._quitting = (Stopwatch(), patience)
            self.stop()
            self._advance()

    def _outstanding(self) -> list[Go]:
        steps = [*([self._busy] if self._busy is not None else []), *self._backlog]
        running = [self._search] if self._search is not None else []
        return running + [step.go for step in steps if step.go is not None]

    def _stop(self, go: Go) -> None:
        go.stopped = True
        if go is self._search and self._loader.engine is not None:
            self._loader.engine.stop()

    def _start(self, go: Go, reason: str | None) -> None:
        engine = self._loader.engine
        if reason is not None or engine is None:
            self.say(f"no move: {reason}")
            self.send(*self.answer(BestMove(None), go.limits))
            return
        self._search = go
        try:
            engine.go(go.limits_left(), partial(self._on_info, go), partial(self._on_done, go))
        except BaseException:
            self._search = None
            self.send(*self.answer(BestMove(None), go.limits))
            raise
        if go.stopped:
            engine.stop()
        if any(other.game_over for other in self._outstanding()):
            return
        pings = [step.then for step in self._backlog if step.ping and step.then is not None]
        self._backlog = deque(step for step in self._backlog if not step.ping)
        for pong in pings:
            pong()

    def _on_info(self, go: Go, info: ThinkingInfo) -> None:
        """Called by the search."""
        if info.message is not None:
            self._post(partial(self._say_of, go, info.message))
        if info.lines:
            go.latest = info
            if not go.announced and go.waited.seconds >= go.quiet_until:
                go.announced = True
                self._post(partial(self._report, go))

    def _on_done(self, go: Go, best: BestMove) -> None:
        """Called by the search."""
        self._post(partial(self._done, go, best))

    def _say_of(self, go: Go, text: str) -> None:
        if go is self._search:
            self.say(text)

    def _report(self, go: Go) -> None:
        go.announced = False
        if go is self._search and go.latest is not None and go.latest is not go.printed:
            go.printed = go.latest
            lines = self.report(go.latest, final=False)
            self.send(*lines)
            go.quiet_until = go.waited.seconds + max(1.0 / REPORTS_PER_S, len(lines) / LINES_PER_S)

    def _done(self, go: Go, best: BestMove) -> None:
        if go is not self._search:
            self._blame("the engine ended a search that was not running; ignored")
            return
        self._search = None
        if go.again and best.error is None:
            go.again = False
            self._start(go, None)
            return
        for text in best.messages:
            self.say(text)
        if isinstance(best.error, AzError):
            self.say(str(best.error))
        if best.move is not None:
            info = go.final_report(best, best.move)
            if info is not go.printed or self.values["verbose_move_stats"]:
                self.send(*self.report(info, final=True))
        self.send(*self.answer(best, go.limits))
        if best.error is not None and not isinstance(best.error, AzError):
            raise best.error
        self._advance()

    # ------------------------------------------------------------------ faults and the end

    def _blame(self, text: str) -> None:
        """A bug of ours, for stderr and the log."""
        if self._writer.log is not None:
            self._writer.log.record("!", text)
        if sys.stderr is not None:
            try:
                sys.stderr.write(text + "\n")
                sys.stderr.flush()
            except (OSError, ValueError):
                return  # nobody reads it; the log has it

    def _crash(self, error: BaseException) -> None:
        """A bug: tell it, answer what is outstanding, end with status 1."""
        self._blame("".join(traceback.format_exception(error)).rstrip())
        again, self._fault = self._fault, 1
        if again:
            self._give_up()
            return
        self.say(f"internal error, please report it: {type(error).__name__}: {error}")
        waiting = [step for step in self._backlog if step.go is not None]
        self._backlog = deque(
            Step(then=partial(self._start, step.go, "internal error"), go=step.go) for step in waiting if step.go
        )
        self._quitting = None
        self._post(partial(self.quit, END_PATIENCE_S))

    def _give_up(self) -> None:
        """End now; what is still outstanding gets the best answer at hand."""
        for go in self._outstanding():
            known = go.latest.lines[0].pv[:1] if go.latest is not None else ()
            self.send(*self.answer(BestMove(known[0] if known else None), go.limits))
        self._search = None
        self._backlog.clear()
        self._status = self._fault
