"""The process of a protocol's command: one conversation on stdin and stdout, and its end."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from ..engine.errors import OptionError
from ..engine.os.process import start_thread
from ..engine.os.system import few_arenas
from ..engine.params import EngineOptions
from .configuration import add_flags, start_values
from .lines import LineReader, claim_stdout, on_abandoned
from .options import OPTIONS, OptionValues
from .session import Session

if TYPE_CHECKING:
    from ..engine.engine import Engine

USUAL_GAMES = {"uci": "chess", "usi": "shogi", "gtp": "go"}  # what a protocol's command plays without --game
EARLY_S = 0.5  # after the start: then a program has greeted us, and sets up its board
SIGNAL_PATIENCE_S = 3.0  # after SIGINT or SIGTERM, even when the other program has stopped reading
HANG_UP_PATIENCE_S = 1.0  # once nobody reads any more


def add_arguments(protocol: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--game",
        default=USUAL_GAMES[protocol],
        metavar="NAME",
        help=f"a game that is played over {protocol.upper()} (default: %(default)s)",
    )
    add_flags(parser, protocol)


def converse(protocol: str, make_session: type[Session[Any]], args: argparse.Namespace) -> NoReturn:
    """Talk on stdin and stdout until ``quit``, then end the process: status 0, 1 after a bug or a full output.

    Errors: OptionError for a configuration file that cannot be used, a game that is not played over the protocol, and a
    flag that means nothing to the game.
    """
    start, notes = start_values(args)
    values = OptionValues(protocol, start, _hidden_options(args, protocol))
    talk(make_session, partial(_make_engine, args.game), values, notes, early_s=EARLY_S)


def talk(
    make_session: type[Session[Any]],
    make_engine: Callable[[EngineOptions], Any],
    values: OptionValues,
    notes: list[str],
    *,
    early_s: float | None = None,
    prepare: Callable[[], object] | None = None,
) -> NoReturn:
    """Hold a conversation on stdin and stdout, then end the process: status 0, 1 after a bug or a full output.

    early_s: seconds after which the engine is loaded if no line needs it; None: never. prepare: what is done,
    and may take long, before the first line is read.
    """
    few_arenas()
    writer, begun = claim_stdout(), list[Session[Any]]()
    _end_on_signals(begun)
    on_abandoned(writer.descriptor, partial(_end, begun, Session.hang_up, HANG_UP_PATIENCE_S))
    if prepare is not None:
        prepare()
    session = make_session(make_engine, values, writer, notes)
    begun.append(session)
    if early_s is not None:
        session.load_early(early_s)
    status = session.run(LineReader(0))
    if writer.fault:
        session.write_stderr(f"the output cannot be written ({writer.fault}); make room, or write it elsewhere")
        status = 1
    if sys.stderr is not None:
        sys.stderr.flush()
    # Skip the interpreter's own end: cleaning up after numba takes 0.3 s, for which a GUI waits, and a compile or the
    # loading of a net cannot be interrupted.
    os._exit(status)


def _end(begun: list[Session[Any]], how: Callable[[Session[Any]], None], patience: float) -> None:
    """End the conversation, if there is one yet, and in any case the process."""
    for session in begun:
        how(session)
        time.sleep(patience)
    os._exit(0)


def _end_on_signals(begun: list[Session[Any]]) -> None:
    """Let SIGINT and SIGTERM end the conversation, in SIGNAL_PATIENCE_S at most.

    A thread waits for them: a handler would not run while the main thread waits for its next event, and may not start
    a thread.
    """
    receiver, sender = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)

    def wait() -> None:
        os.read(receiver, 1)
        _end(begun, Session.interrupt, SIGNAL_PATIENCE_S)

    start_thread(threading.Thread(target=wait, name="signals", daemon=True))


def _hidden_options(args: argparse.Namespace, protocol: str) -> set[str]:
    """Keys of the options that the game does not have. Errors: OptionError, see :func:`converse`."""
    if args.game == USUAL_GAMES[protocol]:  # it has all options of its protocol: known without loading it
        return set()
    from ..engine.games import get_game

    game = get_game(args.game)
    if game.protocol != protocol:
        command = f"az-engine {game.protocol} --game {args.game}"
        raise OptionError(f"{game.name} is played over {game.protocol.upper()}: start {command}")
    if protocol == "gtp":  # its commands are Go's
        raise OptionError(f"az-engine gtp plays go alone, and boardsize sets the size: leave out --game {args.game}")
    hidden = {option.key for option in OPTIONS if option.of_games} - game.special_options
    for key in sorted(hidden):
        if getattr(args, key, None) is not None:
            raise OptionError(f"--{key.replace('_', '-')} means nothing to {game.name}; leave it out")
    return hidden


def _make_engine(game: str, options: EngineOptions) -> Engine:
    """numpy and numba are not imported before it is called."""
    from ..engine.engine import Engine

    return Engine(game, options)
