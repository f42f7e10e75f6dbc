"""``az-engine play``: a game against the engine in a terminal."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import board_size
from ..engine.clock import Stopwatch
from ..engine.errors import AzError, OptionError
from ..protocols.languages import ENGLISH, languages, translated

if TYPE_CHECKING:
    from ..api.engine import Engine

_EVERY_S = 8.0
HELP = """\
Play a game in this terminal. Type a move, or `help` for the commands: board, hint, undo, swap, resign ...

  az-engine play                                     chess, you have White, the engine takes a second a move
  az-engine play --side black --visits 50            a weaker opponent moves first
  az-engine play --net maia-1900.pb.gz --visits 1    a human-like opponent: Lc0's Maia, one visit (see docs/play.md)
  az-engine play --game go --size 9 --handicap 2     Go; shogi is --game shogi, your own game --game NAME
  az-engine play --words                             the board in words, for a screen reader

Moves: Nf3 or g1f3 in chess; 7g7f, P-7f or 7六歩 in shogi; D4 or pass in Go."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--game", default="chess", help="chess (default), shogi, go, or another installed game")
    parser.add_argument(
        "--side", default="first", metavar="SIDE", help="yours: first (default), second, both, none, or white, black"
    )
    strength = parser.add_mutually_exclusive_group()
    strength.add_argument("--seconds", type=float, metavar="S", help="the engine's time for a move (default 1)")
    strength.add_argument("--visits", type=int, metavar="N", help="the engine's visits for a move, instead of time")
    parser.add_argument(
        "--net",
        default="default",
        metavar="FILE",
        help="ONNX, Lc0, KataGo, dlshogi or miniosl; default: the one inside",
    )
    parser.add_argument("--position", metavar="TEXT", help="begin here: FEN, SFEN, or the game's own notation")
    parser.add_argument("--words", action="store_true", help="for a screen reader: describe the board in words")
    parser.add_argument(
        "--letters", action="store_true", help="draw pieces as letters, also where Unicode can be shown"
    )
    parser.add_argument(
        "--language",
        choices=[ENGLISH, *languages()],
        help="of its sentences; shogi's moves, too, are then written as in that country (default: that of LANG)",
    )
    go = parser.add_argument_group("Go")
    go.add_argument("--size", type=board_size, metavar="N", help="lines of the board (default 9), or 9x13")
    go.add_argument("--komi", type=float, help="points for White (default: 7 on 9x9, 7.5 on others, 0.5 with handicap)")
    go.add_argument(
        "--handicap", type=int, default=0, metavar="N", help="stones on the fixed points before White moves"
    )
    go.add_argument("--rules", metavar="NAME", help="tromp-taylor (default), chinese, japanese ...")


def main(args: argparse.Namespace) -> int:
    from ..api.engine import Engine
    from ..api.limits import Limits
    from ..api.position import Position
    from ..engine.games import get_game
    from ..engine.nets.weights import check_weights
    from .game import TerminalGame, sides_of

    if args.visits is not None and args.visits < 1:
        raise OptionError(f"--visits must be 1 or more, not {args.visits}")
    name = args.game if args.size is None else f"{args.game}{args.size}"
    game = get_game(name)
    root = Position(name, args.position, komi=args.komi, rules=args.rules, handicap=args.handicap)
    game = game.variant(root.variant) if root.variant else game
    yours = sides_of(game, args.side)
    check_weights("" if args.net == "default" else args.net, game)  # now, not when the engine moves
    seconds = 1.0 if args.visits is None and args.seconds is None else args.seconds
    limits = Limits(nodes=args.visits, seconds=seconds)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no kanji
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    language = args.language or language_of(os.environ)
    pictures = sys.stdout.isatty() and encoding == "utf8" and not args.letters
    with Engine(name, args.net, int8=args.visits != 1) as engine:  # one visit: its moves count, not its speed
        threading.Thread(target=load, args=(engine, language), name="loading", daemon=True).start()
        opponent = "az-engine" if args.net == "default" else f"az-engine {Path(args.net).name}"
        about = {"words": args.words, "pictures": pictures, "language": language, "opponent": opponent}
        return TerminalGame(game, engine, root, yours, limits, **about).run(
            sys.stdin or (), sys.stdout
        )  # None where it is closed


def language_of(environment: Mapping[str, str]) -> str:
    """The language of a terminal's user, as LC_ALL, LC_MESSAGES or LANG say; English where there is no other."""
    requested = next(filter(None, map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return next((code for code in languages() if requested.startswith(f"{code}_")), ENGLISH)


def load(engine: Engine, language: str = ENGLISH) -> None:
    """Load the engine while the person thinks; say on stderr what takes long, how far it is every few seconds."""
    shown: list[Stopwatch] = []  # since the last word about kernels

    def tell(text: str) -> None:
        if text.startswith("compiling "):
            if shown and shown[-1].seconds < _EVERY_S:
                return  # the next kernel
            text += "" if shown else "; you can move meanwhile"
            shown.append(Stopwatch())
        sys.stderr.write(f"\naz-engine: {translated(text, language)}\n")
        sys.stderr.flush()

    with contextlib.suppress(AzError):  # the first search says it
        engine.load(tell)
