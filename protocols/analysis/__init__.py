"""KataGo's analysis protocol: JSON queries on stdin, JSON answers on stdout, many at a time, for every game.

Bottom up: :mod:`fields` reads JSON, :mod:`positions` the game that a query means, :mod:`query` the rest of it;
:mod:`answer` is a report as JSON, :mod:`analyst` searches, :mod:`session` is the conversation.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import NoReturn

from ...engine.errors import OptionError
from ...engine.params import EngineOptions
from ..configuration import add_flags, start_values
from ..conversation import talk
from ..options import OptionValues

HELP = """\
Analyse many positions at a time: KataGo's analysis protocol, a JSON object a line, as KaTrain and others speak it.

  az-engine analysis                       Go, as a drop-in for `katago analysis`
  az-engine analysis --game chess          the same for chess: positions as FEN, moves as in UCI
  echo '{"id":"a","moves":[["B","E5"]],"rules":"japanese","boardXSize":9,"boardYSize":9}' | az-engine analysis"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--game", default="go", metavar="NAME", help="which game (default: %(default)s)")
    parser.add_argument(
        "--analysts", type=int, default=4, metavar="N", help="positions searched side by side (default: %(default)s)"
    )
    parser.add_argument(
        "--quit-without-waiting", action="store_true", help="at the end of stdin, do not finish what was asked"
    )
    add_flags(parser, "gtp")


def main(args: argparse.Namespace) -> NoReturn:
    """Talk on stdin and stdout until the input ends. Errors: OptionError, NetError."""
    from ...engine.engine import Engine
    from ...engine.games import get_game
    from ...engine.nets.shared import SharedNets
    from .session import AnalysisSession

    if args.analysts < 1:
        raise OptionError("--analysts must be at least 1")
    start, notes = start_values(args)
    values = OptionValues("gtp", start, {"mate_plies"} - get_game(args.game).special_options)
    start["hash"] = max(int(values["hash"]) // args.analysts, 1)  # each has a tree of its own
    values = OptionValues("gtp", start, values.hidden)
    nets = SharedNets(values.engine_options().threads)

    def make_engine(options: EngineOptions) -> Engine:
        return Engine(args.game, options, partial(nets.load, ""))

    def load() -> None:
        first = make_engine(values.engine_options())
        first.ready(_tell)
        _tell(f"{first.description}; ready to begin handling requests")
        first.close()

    make_session = AnalysisSession.of(args.game, args.analysts, waits=not args.quit_without_waiting)
    talk(make_session, make_engine, values, notes, prepare=load)


def _tell(text: str) -> None:
    sys.stderr.write(f"az-engine: {text}\n")
    sys.stderr.flush()
