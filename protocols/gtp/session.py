"""A GTP session: a conversation in strict turns, whatever the controller sends ahead; each command gets one response.

The worker obeys one command after another and writes their responses. Another line ends an analysis at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from ...engine.errors import AzError
from ...engine.params import EngineOptions
from ..lines import LineWriter, one_line
from ..options import OptionValues
from ..session import Session, in_time, internal_error
from ..steps import Event, Step
from .command import GtpCommand, read_command
from .game import GoEngine
from .player import GtpPlayer

_BEGINNINGS = ("boardsize", "rectangular_boardsize", "clear_board", "loadsgf")  # of games: a move will be requested


@dataclass(slots=True, kw_only=True)
class CommandStep(Step):
    command: GtpCommand


class GtpSession(Session[GoEngine]):
    quit_patience_s = 0.7
    end_patience_s = 10.0  # a net may have to be loaded
    reads_on = False  # in strict turns

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], GoEngine],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(make_engine, values, writer, notes)
        self._shown: set[str] = set()
        self._early_s: float | None = None
        self._endless: list[GtpCommand] = []  # not interrupted yet
        self._player = GtpPlayer(self._loader, values, writer, self.tell)
        self.tell_notes()

    def command(self, line: str) -> None:
        """Let the command in a line, if it holds one, wait for its turn; end an analysis in any case."""
        self._take(read_command(line))

    def overlong(self) -> None:
        """Let a command that fails wait for its turn."""
        command = GtpCommand("", "", "")
        command.fault = "a line longer than 1 MiB"
        self._take(command)

    def _take(self, command: GtpCommand | None) -> None:
        self.stop_endless()
        if command is not None:
            if command.endless:
                self._endless.append(command)
            self.enqueue(CommandStep(partial(self._obey, command), command=command))
            if command.name == "quit":  # the last command: earlier requests are answered first
                if isinstance(self._busy, CommandStep):
                    self._busy.command.hurry()
                self.finish()

    def load_early(self, seconds: float) -> None:
        """Load the net so long after a board is set up."""
        self._early_s = seconds

    def load_unasked(self) -> Event:
        self._player.ready()
        return self.check_output

    def _unanswered(self) -> list[GtpCommand]:
        return [step.command for step in self.unfinished() if isinstance(step, CommandStep)]

    def _obey(self, command: GtpCommand) -> Event:
        """Obey a command and write its response, on the worker."""
        handler = self._player.commands.get(command.name)
        try:
            if command.fault or handler is None:
                command.fail(self._writer, command.fault or "unknown command")
            else:
                text = handler(command)
                if text is not None:
                    command.succeed(self._writer, text)
                if command.name in _BEGINNINGS and self._early_s is not None:
                    self.post(partial(super().load_early, self._early_s))
        except AzError as error:
            command.fail(self._writer, one_line(str(error)))
            if command.begun:  # its response could not say so
                self.tell(str(error))
        except Exception as error:  # noqa: BLE001  a boundary: a bug still gets the command its response
            self._fault = 1
            self.write_stderr("".join(traceback.format_exception(error)).rstrip())
            command.fail(self._writer, one_line(internal_error(error)))
        return self.check_output

    def stop(self) -> None:
        for command in self._unanswered():
            command.interrupt()

    def stop_endless(self) -> None:
        for command in self._endless:
            command.interrupt()
        self._endless.clear()

    def tell(self, text: str) -> None:
        """Tell the user a sentence, once: on stderr, since stdout carries nothing but responses. From any thread."""
        if text not in self._shown:
            self._shown.add(text)
            self.write_stderr(one_line(text))

    def tell_from_worker(self, text: str) -> None:
        """Tell it at once: before the response to the command that it is about."""
        self.tell(text)

    def answer_outstanding(self) -> None:
        """Let all commands fail but ``quit``; wait a moment only, lest the controller has stopped reading."""
        in_time(partial(self._fail, self._unanswered()))

    def _fail(self, commands: list[GtpCommand]) -> None:
        for command in commands:
            if command.name == "quit":
                command.succeed(self._writer)
            else:
                command.fail(self._writer, "interrupted")
