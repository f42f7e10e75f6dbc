"""The process of a protocol's command: one conversation on stdin and stdout, and its end."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..engine.params import EngineOptions
from .lines import LineWriter, claim_stdout
from .options import OptionValues, start_values

if TYPE_CHECKING:
    from ..engine.engine import Engine

SIGNAL_PATIENCE_S = 3.0  # after SIGINT or SIGTERM: a program that has stopped reading must not keep the process alive


class Conversation(Protocol):
    """What a protocol's session has to offer."""

    def run(self) -> int:
        """Talk to the end; returns the exit status. BLOCKS."""

    def interrupt(self) -> None:
        """End soon, as a signal handler may ask."""


def converse(
    begin: Callable[[OptionValues, LineWriter, list[str]], Conversation], protocol: str, args: argparse.Namespace
) -> int:
    """Talk on stdin and stdout until ``quit``, then end the process: status 0, or 1 after a bug.

    ``begin`` gets the options, who writes, and sentences for the user. Errors: OptionError for a configuration file
    that cannot be used.
    """
    start, notes = start_values(args)
    session = begin(OptionValues(protocol, start), claim_stdout(), notes)

    def end(*_: object) -> None:
        session.interrupt()
        at_last = threading.Timer(SIGNAL_PATIENCE_S, os._exit, (0,))
        at_last.daemon = True
        at_last.start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    status = session.run()
    if sys.stderr is not None:
        sys.stderr.flush()
    # Not by way of the interpreter's end: tidying up after numba takes 0.3 s, which a GUI waits for, and a compile or a
    # net being loaded cannot be called back.
    os._exit(status)


def engine_of(game: str) -> Callable[[EngineOptions], Engine]:
    """What makes a game's engine. numpy and numba are not imported before it is called."""

    def make(options: EngineOptions) -> Engine:
        from ..engine.engine import Engine

        return Engine(game, options)

    return make
