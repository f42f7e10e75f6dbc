"""``az-engine lichess``: the engine of this machine in the analysis board of lichess.org.

:mod:`api` speaks HTTP with lichess and its broker, :mod:`work` is one analysis that the site asks for, :mod:`provider`
fetches the work and streams the engine's answers.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ...engine.errors import NetError, OptionError
from ...engine.os.system import split_command
from ..configuration import default_config
from ..serve.admission import read_tokens

SITE, BROKER = "https://lichess.org", "https://engine.lichess.ovh"
TOKEN_PAGE = "/account/oauth/token/create?scopes[]=engine:read&scopes[]=engine:write&description=az-engine"
_VARIABLE = "LICHESS_API_TOKEN"

HELP = f"""\
Analyse on lichess.org with the engine of this machine: the analysis board gets its lines from here.

  1. Make a token: {SITE}{TOKEN_PAGE}
  2. Put it into a file that only you can read:   (umask 077; cat > ~/lichess-token)
  3. Start the engine, and leave it running:      az-engine lichess --token-file ~/lichess-token
  4. Open {SITE}/analysis, its menu (three lines), and choose "az-engine" as the engine.

  az-engine lichess --net chess-conv --threads 8 --hash 2048
  az-engine lichess --engine "stockfish" --name Stockfish     # any UCI engine
  az-engine lichess --remove                                  # take the engine off the list of the site

The token: --token-file, the environment variable {_VARIABLE}, or --token, which other users of this machine can see.
Ctrl-C and SIGTERM end it. When lichess cannot be reached it says so once, and tries again until it can."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--token", metavar="T", help=f"token of lichess (default: the environment variable {_VARIABLE})")
    given.add_argument("--token-file", type=Path, metavar="FILE", help="its first line is the token; mode 600")
    parser.add_argument("--name", default="az-engine", help="name in the menu of the site (default: %(default)s)")
    parser.add_argument(
        "--threads",
        type=int,
        default=2,
        metavar="N",
        help="most threads that the site may choose (default: %(default)s)",
    )
    parser.add_argument(
        "--hash",
        type=int,
        default=512,
        metavar="MIB",
        help="most memory that the site may choose (default: %(default)s)",
    )
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument("--net", metavar="NET", help="net of az-engine, as --weights-file of az-engine uci")
    engine.add_argument("--engine", metavar="COMMAND", help="another UCI engine (default: az-engine uci)")
    parser.add_argument("--server", default=SITE, metavar="URL", help="the site (default: %(default)s)")
    parser.add_argument(
        "--broker", metavar="URL", help=f"where the work comes from (default: {BROKER}, or the --server that is given)"
    )
    parser.add_argument("--remove", action="store_true", help="remove the engine from the site, and end")


def main(args: argparse.Namespace) -> int:
    """Fetch work until SIGTERM or Ctrl-C. Errors: OptionError; NetError; EngineProcessError: it does not start."""
    from .api import LichessApi
    from .provider import Analyst, Provider

    if not 3 <= len(args.name) <= 200:
        raise OptionError("--name must have 3 to 200 characters")
    for name, most in (("threads", 65536), ("hash", 1048576)):
        if not 1 <= getattr(args, name) <= most:
            raise OptionError(f"--{name} must be from 1 to {most}")
    broker = args.broker or (BROKER if args.server == SITE else args.server)
    secret = read_tokens(default_config().with_name("lichess-secret"))[0]
    api = LichessApi(args.server, broker, _token(args), secret, _tell)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        if args.remove:
            removed = api.remove(args.name)
            _tell(f"{args.name} was removed from {args.server}" if removed else f"{args.server} has no {args.name}")
            return 0
        words = split_command(args.engine) if args.engine else [sys.executable, "-I", "-m", "az_engine", "uci"]
        if args.net:
            _check_net(args.net)
            words += ["--weights-file", args.net]
        with Provider(api, partial(Analyst, words, args.threads, args.hash), _tell) as provider:
            api.register(args.name, args.threads, args.hash)
            _tell(f"{args.name} is ready: choose it in the menu of {args.server}/analysis")
            provider.run()
    except KeyboardInterrupt:
        return 0


def _check_net(weights: str) -> None:
    """Before the site lists the engine. Errors: NetError when the net cannot be read."""
    from ...engine.games import get_game
    from ...engine.nets.weights import net_path

    path = net_path(weights, get_game("chess"), provider="auto", int8=True)
    if path is not None and not path.is_file():
        raise NetError(f"there is no net {str(path)!r}")


def _token(args: argparse.Namespace) -> str:
    """The token of lichess. Errors: OptionError."""
    if args.token_file is not None:
        path = args.token_file.expanduser()
        if not path.exists():
            raise OptionError(f"there is no {path}: make a token at {SITE}{TOKEN_PAGE} and put it there")
        return read_tokens(path)[0]
    token = args.token if args.token is not None else os.environ.get(_VARIABLE, "")
    if not token:
        raise OptionError(f"give a token with --token-file or {_VARIABLE}: {SITE}{TOKEN_PAGE} makes one")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise OptionError("the token is no token of lichess: it has characters that none has")
    return str(token)


def _tell(text: str) -> None:
    sys.stderr.write(f"az-engine: {text}\n")
    sys.stderr.flush()


def _interrupt(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
