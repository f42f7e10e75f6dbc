"""A session: one conversation over lines in and lines out, whatever the protocol.

Three threads. The reader turns input lines into events. The worker does what may take long (loading kernels and nets,
setting up positions, in GTP whole commands), one *step* after another. The thread that calls :meth:`Session.run` runs
the loop: it alone changes the session's state, so that replies keep their order. A search's own threads only post
events.

Commands that have an effect become steps in a backlog. It waits while the worker is busy or a search runs, so every
command applies to the next search, and input is read all the time. ``stop`` and the like act at once.
"""

from __future__ import annotations

import contextlib
import math
import queue
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar, Generic

from ..engine.clock import Stopwatch
from ..engine.errors import AzError, OptionError, ThreadError
from ..engine.os.process import start_thread
from ..engine.params import EngineOptions
from .lines import LineReader, LineWriter, TrafficLog
from .loader import AnyEngine, Loader
from .options import OptionValues
from .steps import EarlyStep, Event, Step

INTERRUPT_PATIENCE_S = 0.7  # after SIGINT or SIGTERM, for earlier requests
CLOSE_PATIENCE_S = 0.3  # for the engine's threads
WAITING_BYTES = 48 << 20  # of lines: two thirds in the backlog, one third not yet looked at, when no more are read
STEP_BYTES = 1 << 10  # about what a step takes beside its line


class Session(ABC, Generic[AnyEngine]):
    """One conversation. A protocol adds its commands and the form of its replies."""

    quit_patience_s: ClassVar[float]  # for requests before `quit` ...
    loading_patience_s: ClassVar[float] = 10.0  # ... while the engine that is to move is being loaded ...
    end_patience_s: ClassVar[float]  # ... or before a bug
    reads_on: ClassVar[bool] = True  # also while the backlog is full: a line may end what it waits for
    keep_alive_s: ClassVar[float | None] = None  # a sentence this often while the worker is busy

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], AnyEngine],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        """Load nothing. ``make_engine`` is called on the worker; ``notes`` are for the user, once a GUI listens."""
        self.values = values
        self._loader = Loader(make_engine, values, self.tell_from_worker)
        self._writer = writer
        self._notes = list(notes)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._jobs: queue.SimpleQueue[Callable[[], Event] | None] = queue.SimpleQueue()
        self._backlog: deque[Step] = deque()
        self.most_bytes = WAITING_BYTES  # of lines that wait, about
        self._waiting = 0  # bytes of the backlog
        self._unread = 0  # bytes of lines that wait for _receive()
        self._line = 0  # bytes of the line that is obeyed now
        self._room = threading.Condition()  # of both numbers, for the reader
        self._busy: Step | None = None  # on the worker
        self._silence = Stopwatch()
        self._early: tuple[Stopwatch, float] | None = None  # since when, and seconds until the engine is loaded unasked
        self._quitting: tuple[Stopwatch, float] | None = None  # since when, and seconds for what is left
        self._gone = False  # the client
        self._status: int | None = None  # exit status, once over
        self._fault = 0  # exit status to come
        self._open_log()

    # ------------------------------------------------------------------ what a protocol adds

    @abstractmethod
    def command(self, line: str) -> None: ...

    @abstractmethod
    def overlong(self) -> None: ...

    @abstractmethod
    def tell(self, text: str) -> None:
        """Tell the user one sentence, on the session's thread."""

    def tell_from_worker(self, text: str) -> None:
        """Tell the user one sentence, from any thread."""
        self.post(partial(self.tell, text))

    @abstractmethod
    def stop(self) -> None:
        """End all searches requested so far, each with its answer. Returns at once."""

    @abstractmethod
    def stop_endless(self) -> None:
        """The input has ended: end all searches that only another line would end. Returns at once."""

    @abstractmethod
    def answer_outstanding(self) -> None:
        """The session ends now: answer what is still unanswered with the best at hand."""

    @property
    def searching(self) -> bool:
        """Whether a search runs, for which the backlog waits."""
        return False

    def load_early(self, seconds: float) -> None:
        """Load the engine after so long, if no line needs it until then: a program is still starting up."""
        self._early = (Stopwatch(), seconds)

    def load_unasked(self) -> Event:
        """What :meth:`load_early` does, on the worker."""
        self._loader.prepare()
        return self.check_output

    def drop_backlog(self) -> None:
        """After a bug: keep of the backlog only what needs an answer."""

    # ------------------------------------------------------------------ the loop

    def run(self, reader: LineReader) -> int:
        """Read to the end of the input or ``quit`` and return the exit status: 0, or 1 after a bug. BLOCKS."""
        start_thread(threading.Thread(target=self._run_worker, args=(self._jobs,), name="worker", daemon=True))
        try:
            reader.start(self._hear, partial(self.post, self._receive_overlong), partial(self.post, self.finish))
        except ThreadError:
            self._jobs.put(None)
            raise
        while self._status is None:
            try:
                event = self._events.get(timeout=self._patience())
            except queue.Empty:
                event = self._tick
            try:
                event()
            except Exception as error:  # noqa: BLE001  the one boundary: a bug still gets every command its answer
                self._crash(error)
        with self._room:
            self._room.notify_all()
        if self._busy is None:
            in_time(self._let_go)
        else:  # with the engine, for which it would only make another
            self._jobs.put(self._let_go)
        self._jobs.put(None)
        if self._writer.log is not None:
            self._writer.log.close()
        return self._status

    def _let_go(self) -> Event:
        """Close the engine: in a server the process goes on, and nothing else holds the tree's memory."""
        engine, self._loader.engine = self._loader.engine, None
        if engine is not None:
            engine.close()
        return self.check_output

    def interrupt(self) -> None:
        self.post(partial(self.quit, INTERRUPT_PATIENCE_S))

    def hang_up(self) -> None:
        """The client is gone: look at no more lines, end all work. From any thread; returns at once."""
        with self._room:
            self._gone = True
            self._room.notify_all()
        self.post(partial(self.quit, 0.0))

    def quit(self, patience: float | None = None) -> None:
        """Read no more, end all searches, finish what was requested if that takes no longer than ``patience`` seconds.

        None: the protocol's ``quit_patience_s``.
        """
        seconds = self.quit_patience_s if patience is None else patience
        if self._quitting is None or seconds < self._quitting[1]:
            self._quitting = (Stopwatch(), seconds)
            self.stop()
            self.advance()

    def finish(self) -> None:
        """Read no more and finish what was requested, however long it takes, unless nobody reads the answers."""
        if self._quitting is None:
            self._quitting = (Stopwatch(), math.inf)
            self.stop_endless()
            self.advance()

    def post(self, event: Event) -> None:
        """Let the session's thread call ``event``. From any thread."""
        self._events.put(event)

    def _hear(self, line: str) -> None:
        """Pass a line on, for the reader's thread; wait while too many lines wait already."""
        with self._room:
            while (
                self._status is None
                and not self._gone
                and (self._unread > self.most_bytes // 3 or (self.crowded and not self.reads_on))
            ):
                self._room.wait()
            if self._gone:
                return
            self._unread += len(line) + STEP_BYTES
        self.post(partial(self._receive, line))

    @property
    def crowded(self) -> bool:
        """Whether the backlog is full."""
        return self._waiting > self.most_bytes * 2 // 3

    def _receive(self, line: str) -> None:
        self._line = len(line)
        with self._room:
            self._unread -= self._line + STEP_BYTES
            self._room.notify()
        if self._writer.log is not None:
            self._writer.log.record("<", line)
        if self._quitting is None and not self._gone:
            self.command(line)
            self.advance()

    def _receive_overlong(self) -> None:
        if self._quitting is None:
            self.overlong()
            self.advance()

    @property
    def _kept_waiting(self) -> bool:
        """Whether the worker is busy with a request, or with something that keeps it from one."""
        return self._busy is not None and (bool(self._backlog) or not isinstance(self._busy, EarlyStep))

    def _patience(self) -> float | None:
        """Seconds until :meth:`_tick` has something to do; None: not before the next event."""
        waits = []
        if self._kept_waiting and self.keep_alive_s is not None:
            waits.append(self.keep_alive_s - self._silence.seconds)
        if self._quitting is not None and self._quitting[1] < math.inf:
            since, patience = self._quitting
            waits.append(patience - since.seconds)
        if self._early is not None:
            waits.append(self._early[1] - self._early[0].seconds)
        return max(min(waits), 0.0) if waits else None

    def _tick(self) -> None:
        if self._quitting is not None and self._quitting[0].seconds >= self._quitting[1]:
            self._end_now()
        elif self._kept_waiting and self.keep_alive_s is not None and self._silence.seconds >= self.keep_alive_s:
            self._silence.restart()
            self.tell("still busy")
        if self._early is not None and self._early[0].seconds >= self._early[1]:
            self._early = None
            if not (self._quitting or self._busy or self.searching or self._loader.up_to_date):
                self.enqueue(EarlyStep(self.load_unasked))
                self.advance()

    # ------------------------------------------------------------------ output

    def send(self, *lines: str) -> None:
        """Write one reply; quit when nobody reads any more."""
        if lines:
            self._writer.write("\n".join(lines))
            self.check_output()

    def check_output(self) -> None:
        """Quit when nobody reads any more; tell it when the log has ended."""
        if self._writer.closed:
            self.quit(0.0)
        log = self._writer.log
        if log is not None and log.fault is not None:
            self._writer.log = None
            self.tell(log.fault)

    def tell_notes(self) -> None:
        """Tell the user what was found wrong at the start."""
        for note in self._notes:
            self.tell(note)
        self._notes.clear()

    def write_stderr(self, text: str) -> None:
        """Write to stderr, after the program's name, and to the log."""
        if self._writer.log is not None:
            self._writer.log.record("!", text)
        if sys.stderr is not None:
            try:
                sys.stderr.write(f"az-engine: {text}\n")
                sys.stderr.flush()
            except (OSError, ValueError):
                return  # nobody reads it; the log has it

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

    def enqueue(self, step: Step, more: int = 0) -> None:
        """Let a step wait; ``more``: the bytes that it keeps beside its line."""
        step.size = STEP_BYTES + self._line + more
        self._waiting += step.size
        self._backlog.append(step)

    def unfinished(self) -> list[Step]:
        """The step that the worker is busy with, and those that wait."""
        return [*([self._busy] if self._busy is not None else []), *self._backlog]

    def advance(self) -> None:
        if self._quitting is not None and isinstance(self._busy, EarlyStep) and not self._backlog:
            self._status = self._fault
        while self._status is None and self._busy is None and not self.searching:
            if not self._backlog:
                if self._quitting is not None:
                    self._status = self._fault
                return
            step = self._backlog.popleft()
            with self._room:
                self._waiting -= step.size
                self._room.notify()
            if step.work is not None:
                self._busy = step
                self._silence.restart()
                self._jobs.put(step.work)
            elif step.then is not None:
                step.then()

    def _run_worker(self, jobs: queue.SimpleQueue[Callable[[], Event] | None]) -> None:
        while (work := jobs.get()) is not None:
            try:
                event = partial(self._worked, work())
            except BaseException as error:  # noqa: BLE001  raised again in the loop, whose boundary tells it
                event = partial(self._failed, error)
            self.post(event)

    def _worked(self, then: Event) -> None:
        self._busy = None
        then()
        self.advance()

    def _failed(self, error: BaseException) -> None:
        step, self._busy = self._busy, None
        if isinstance(error, AzError):
            self.tell(str(error))
        if step is not None and step.failed is not None:
            step.failed()
        if not isinstance(error, AzError):
            raise error
        self.advance()

    # ------------------------------------------------------------------ faults and the end

    def _crash(self, error: BaseException) -> None:
        """A bug: tell it, answer what is outstanding, end with status 1."""
        self.write_stderr("".join(traceback.format_exception(error)).rstrip())
        again, self._fault = self._fault, 1
        if again:
            self._end_now()
            return
        self.tell(internal_error(error))
        self.drop_backlog()
        self._waiting = sum(step.size for step in self._backlog)
        self._quitting = None
        self.post(partial(self.quit, self.end_patience_s))

    def _end_now(self) -> None:
        self.answer_outstanding()
        self._backlog.clear()
        self._waiting = 0
        self._status = self._fault


def in_time(work: Callable[[], object]) -> None:
    """Do a last thing on a thread of its own, if there is one left, and wait a moment only."""
    thread = threading.Thread(target=work, name="end", daemon=True)
    with contextlib.suppress(RuntimeError):
        thread.start()
        thread.join(CLOSE_PATIENCE_S)


def internal_error(error: BaseException) -> str:
    return f"internal error, please report it: {type(error).__name__}: {error}"
