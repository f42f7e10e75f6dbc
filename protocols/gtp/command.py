"""One command of GTP: reads its line, and writes its response exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..lines import LineWriter
from .board import GtpError

ENDLESS = (  # another line ends them
    *("analyze", "lz-analyze", "kata-analyze"),
    *("kata-search_cancellable", "kata-search_analyze_cancellable"),
)
_MOMENT_S = 0.7  # of a search whose player quits


class GtpCommand:
    """A command on its way from its line to the end of its response."""

    def __init__(self, number: str, name: str, rest: str) -> None:
        """``number``: the id's digits as they came, or nothing; ``rest``: the arguments."""
        self.number, self.name, self.rest = number, name, rest
        self.endless = name in ENDLESS
        self.fault = ""  # why the command fails, if that is known when it is read
        self.begun = False  # the head of the response is written
        self._answered = False
        self._interrupted = False
        self._hurried = False
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()

    @property
    def words(self) -> list[str]:
        """The arguments; not kept, for they take many times the memory of the line."""
        return self.rest.split()

    def arguments(self, number: int) -> list[str]:
        """The words, if there are as many. Errors: GtpError."""
        words = self.words
        if len(words) != number:
            raise GtpError("syntax error")
        return words

    @property
    def interrupted(self) -> bool:
        return self._interrupted

    def interrupt(self) -> None:
        """Make the command end soon. From any thread; returns at once."""
        with self._lock:
            self._interrupted = True
            if self._stop is not None:
                self._stop()

    def hurry(self) -> None:
        """Leave its search, under way or not yet begun, a moment only. From any thread; returns at once."""
        with self._lock:
            self._hurried = True
            self._interrupt_soon()

    def _interrupt_soon(self) -> None:
        if self._hurried and self._stop is not None:
            timer = threading.Timer(_MOMENT_S, self.interrupt)
            timer.daemon = True
            timer.start()

    def on_interrupt(self, stop: Callable[[], None] | None) -> None:
        """Call ``stop``, which must return at once, on an interrupt, or now if there was one."""
        with self._lock:
            self._stop = stop
            if stop is not None and self._interrupted:
                stop()
            self._interrupt_soon()

    def begin(self, writer: LineWriter) -> None:
        self.begun = True
        writer.write(f"={self.number}")

    def succeed(self, writer: LineWriter, text: str = "") -> None:
        """Write the whole response, or end the one begun."""
        self._respond(writer, "=", text)

    def fail(self, writer: LineWriter, text: str) -> None:
        """Write that the command failed; a response already begun is ended."""
        self._respond(writer, "?", text)

    def _respond(self, writer: LineWriter, head: str, text: str) -> None:
        with self._lock:
            answered, self._answered = self._answered, True
        if answered:  # another thread was faster
            return
        if self.begun:
            writer.write("")
            return
        lines = [line.rstrip() for line in text.split("\n") if line.strip()]  # a blank line would end the response
        writer.write(f"{head}{self.number} ".rstrip() + (" " if lines else "") + "\n".join(lines) + "\n")


def read_command(line: str) -> GtpCommand | None:
    """The command in a line that :func:`lines.clean` has cleaned; None when there is none."""
    text = line.partition("#")[0].strip()
    head, _, rest = text.replace("\t", " ").partition(" ")
    if not head:
        return None
    if head.isascii() and head.isdigit():
        name, _, rest = rest.strip().partition(" ")
        return GtpCommand(head, name, rest.strip())
    return GtpCommand("", head, rest.strip())
