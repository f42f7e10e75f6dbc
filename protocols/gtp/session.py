"""A GTP session: a conversation in strict turns, whatever the controller sends ahead; each command gets one response.

So there are three threads. One reads, and lets another line end an analysis at once. One serves the commands, one after
another. The main thread waits for the end, and sees to it that it comes.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable

from ...engine.errors import AzError, OptionError
from ...engine.params import EngineOptions
from ..lines import LineReader, LineWriter, TrafficLog, one_line
from ..loader import Loader
from ..options import OptionValues
from .command import Command, read_command
from .game import GoEngine
from .player import GtpPlayer

END_PATIENCE_S = 10.0  # for what was asked before `quit` or the end of the input: a net may have to be loaded
INTERRUPT_PATIENCE_S = 0.7  # after SIGINT or SIGTERM
CLOSE_PATIENCE_S = 0.3  # for the engine's threads, and for the last responses


class GtpSession:
    """One GTP conversation."""

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], GoEngine],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        """Load nothing. ``make_engine`` is called when a command needs it; ``notes`` are told on stderr."""
        self._writer = writer
        self._told: set[str] = set()
        self._loader = Loader(make_engine, values, self.say)
        self._player = GtpPlayer(self._loader, values, writer, self.say)
        self._changed = threading.Condition()  # of all that follows
        self._waiting: deque[Command] = deque()
        self._serving: Command | None = None
        self._patience: float | None = None  # once no more is read: how long the rest may take
        self._over = False
        self._status = 0
        self._open_log(str(values["log_file"]))
        for note in notes:
            self.say(note)

    def run(self, descriptor: int = 0) -> int:
        """Read ``descriptor`` to its end or ``quit`` and return the exit status: 0, or 1 after a bug. BLOCKS."""
        LineReader(descriptor, self._receive, self._refuse_line, lambda: self._finish(END_PATIENCE_S)).start()
        threading.Thread(target=self._serve, name="serve", daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._patience is not None)
            left = [] if self._changed.wait_for(lambda: self._over, self._patience) else self._outstanding()
        if left:  # beside: writing would wait for ever for a reader that has stopped reading
            giving_up = threading.Thread(target=self._give_up, args=(left,), name="give up", daemon=True)
            giving_up.start()
            giving_up.join(CLOSE_PATIENCE_S)
        engine = self._loader.engine
        if engine is not None and self._over:
            closing = threading.Thread(target=engine.close, name="close", daemon=True)
            closing.start()
            closing.join(CLOSE_PATIENCE_S)
        if self._writer.log is not None:
            self._writer.log.close()
        return self._status

    def interrupt(self) -> None:
        """Quit soon, as a signal handler may ask."""
        threading.Thread(target=self._finish, args=(INTERRUPT_PATIENCE_S,), name="interrupt", daemon=True).start()

    # ------------------------------------------------------------------ reading

    def _receive(self, line: str) -> None:
        if self._writer.log is not None:
            self._writer.log.record("<", line)
        self._take(read_command(line))

    def _refuse_line(self) -> None:
        self._take(Command("", "", ""), "a line longer than 1 MiB")

    def _take(self, command: Command | None, fault: str = "") -> None:
        """Another line has come: an analysis ends, and the command, if it holds one, waits for its turn."""
        with self._changed:
            if self._patience is not None:
                return
            for earlier in self._outstanding():
                if earlier.endless:
                    earlier.interrupt()
            if command is not None:
                command.fault = fault
                self._waiting.append(command)
                self._changed.notify_all()
        if command is not None and command.name == "quit":
            self._finish(END_PATIENCE_S)

    def _finish(self, patience: float) -> None:
        """Read no more; searches end at once, and what was asked is answered if that takes no longer."""
        with self._changed:
            if self._patience is None:
                self._patience = patience
                for command in self._outstanding():
                    command.interrupt()
                self._changed.notify_all()

    def _outstanding(self) -> list[Command]:
        return [*([self._serving] if self._serving is not None else []), *self._waiting]

    # ------------------------------------------------------------------ serving

    def _serve(self) -> None:
        """Obey one command after another until there are no more."""
        while (command := self._next()) is not None:
            self._obey(command)
            self._check_log()
            if self._writer.closed:
                self._finish(0.0)
                break
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _next(self) -> Command | None:
        with self._changed:
            self._serving = None
            self._changed.wait_for(lambda: self._waiting or self._patience is not None)
            if self._waiting:
                self._serving = self._waiting.popleft()
            return self._serving

    def _obey(self, command: Command) -> None:
        handler = self._player.commands.get(command.name)
        try:
            if command.fault or handler is None:
                command.fail(self._writer, command.fault or "unknown command")
                return
            text = handler(command)
            if text is not None:
                command.succeed(self._writer, text)
        except AzError as error:
            command.fail(self._writer, one_line(str(error)))
            if command.begun:  # its response could not say so
                self.say(one_line(str(error)))
        except Exception as error:  # noqa: BLE001  the one boundary: a bug still gets the command its response
            self._status = 1
            self._blame("".join(traceback.format_exception(error)).rstrip())
            command.fail(self._writer, one_line(f"internal error, please report it: {type(error).__name__}: {error}"))

    def _give_up(self, left: list[Command]) -> None:
        """Something takes too long: answer for what is left, so that the process can end."""
        for command in left:
            if command.name == "quit":
                command.succeed(self._writer)
            else:
                command.fail(self._writer, "interrupted")

    # ------------------------------------------------------------------ beside the protocol

    def say(self, text: str) -> None:
        """Tell the user a sentence, once: on stderr, since stdout carries nothing but responses."""
        if text not in self._told:
            self._told.add(text)
            self._blame(one_line(text))

    def _blame(self, text: str) -> None:
        if self._writer.log is not None:
            self._writer.log.record("!", text)
        if sys.stderr is not None:
            try:
                sys.stderr.write(f"az-engine: {text}\n")
                sys.stderr.flush()
            except (OSError, ValueError):
                return  # nobody reads it; the log has it

    def _open_log(self, path: str) -> None:
        if path:
            try:
                self._writer.log = TrafficLog(path)
            except OptionError as error:
                self.say(str(error))

    def _check_log(self) -> None:
        log = self._writer.log
        if log is not None and log.fault is not None:
            self._writer.log = None
            self.say(log.fault)
