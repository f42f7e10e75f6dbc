"""``az-engine serve``: one process that plays with many clients over the network, each in its own session.

Bottom up: :mod:`events` is the log, :mod:`admission` says who may come in, :mod:`preparation` loads the games,
:mod:`hangup` notices who is gone, :mod:`connection` is one client, :mod:`server` listens for lines. For HTTP and
WebSocket, :mod:`access` checks requests, :mod:`metrics` has figures, :mod:`web` is the application and :mod:`listener`
runs it.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.clock import Stopwatch
from ...engine.errors import OptionError
from ...engine.os.system import few_arenas, memory_bytes
from ...engine.params import EngineOptions
from ..configuration import add_flags, start_values
from ..options import OPTIONS, OptionValues, Value
from ..session import WAITING_BYTES

if TYPE_CHECKING:
    from ...engine.nets.shared import Batcher, SharedNets
    from .access import AccessCheck
    from .events import EventLog
    from .listener import WebListener
    from .server import Offer, Server

HELP = """\
Play with many clients over the network: every game in one process, one session a client, each line as on stdin.
The same protocols over WebSocket, KataGo's analysis protocol, HTTP and a web page: port 8765.

A client opens a TCP connection and talks: its first line, `uci`, `usi` or a command of GTP, tells the game. Programs
that can only start a command start `az-engine connect HOST GAME`; gogui-client connects as it is.

  az-engine serve --open                  play and analyse in a browser, on the page http://localhost:8765
  az-engine serve                         chess, shogi and Go for the programs of this machine, port 8766
  az-engine serve --host 0.0.0.0          for other machines, too: it shows the token that they must send
  az-engine serve --game chess --game go=runs/go9

On SIGTERM and Ctrl-C every session gets its move, then the server ends. SIGHUP opens the log file anew."""

PORT, HTTP_PORT = 8766, 8765  # of line protocols; of HTTP and WebSocket
MOST_IN_FLIGHT = 256  # leaves of one worker
_ALOUD_S = 4.0  # between lines about what is compiled
_BESIDE_MIB = 4  # of a session: leaves, threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags: address, games, limits, and what the options of a session begin with."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--open", action="store_true", help="show the page in the browser of this machine")
    parser.add_argument(
        "--port", type=int, default=PORT, help="port of UCI, USI and GTP; 0 = a free one (default: 8766)"
    )
    parser.add_argument(
        "--http-port",
        default=str(HTTP_PORT),
        metavar="PORT",
        help="port of HTTP and WebSocket; none = do without (default: 8765)",
    )
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="URL",
        help="let web pages of this origin connect, beside its own; can be repeated",
    )
    parser.add_argument(
        "--proxy", default="", metavar="ADDRESS,...", help="believe these proxies when X-Forwarded-For names the client"
    )
    parser.add_argument(
        "--game",
        action="append",
        metavar="NAME[=NET]",
        help="a game to play, with a net of your own; can be repeated (default: all games with a net in this package)",
    )
    parser.add_argument(
        "--run", type=Path, metavar="RUN", help="show the page of this training run, live, under /run of the web page"
    )
    parser.add_argument(
        "--max-sessions", type=int, default=20, metavar="N", help="sessions at once (default: %(default)s)"
    )
    parser.add_argument(
        "--per-client", type=int, default=8, metavar="N", help="sessions of one client (default: %(default)s)"
    )
    parser.add_argument(
        "--memory", type=int, metavar="MIB", help="memory of all sessions together (default: half of the machine's)"
    )
    parser.add_argument(
        "--idle",
        type=float,
        default=3600.0,
        metavar="S",
        help="close a session after so many seconds without a line; 0 = never (default: 3600)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="tokens, one a line: a client must send one. Made when it is missing. Without --host only this machine's "
        "programs connect, and need none",
    )
    parser.add_argument("--log-file", metavar="FILE", help="write events there, not to stderr: a JSON object a line")
    add_flags(parser, "all", without=("weights_file", "log_file"))


def main(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; see :mod:`server`."""
    from ...engine.nets.shared import SharedNets
    from .access import AccessCheck
    from .admission import Admission, default_token_file, loopback, read_tokens
    from .events import EventLog
    from .preparation import Preparation
    from .server import Rules, Server

    if args.http_port != "none" and not (args.http_port.isdecimal() and int(args.http_port[:6]) < 1 << 16):
        raise OptionError("--http-port must be a port, or none")
    if not 0 <= args.port < 1 << 16:
        raise OptionError("--port must be a port, 0 to 65535")
    for name, least in (("max_sessions", 1), ("per_client", 1), ("idle", 0)):
        if getattr(args, name) < least:
            raise OptionError(f"--{name.replace('_', '-')} must be at least {least}")
    if args.run is not None and not (args.run / "config.json").is_file():
        raise OptionError(f"--run: {args.run} is no folder of a training run; give the --out of az-engine train")
    if args.run is not None and args.http_port == "none":
        raise OptionError("--run needs HTTP; leave --http-port none out")
    few_arenas()
    log = EventLog(Path(args.log_file) if args.log_file else None)
    start, notes = start_values(args)
    for note in notes:
        log.write("note", text=note)
    tokens: tuple[str, ...] = ()
    if args.token_file is not None or not loopback(args.host):
        path = args.token_file or default_token_file()
        tokens = read_tokens(path)
        shown = f"; the first is {tokens[0]}" if sys.stderr.isatty() else ""
        sys.stderr.write(f"az-engine: clients send a token of {path}{shown}\n")
    memory = args.memory or (memory_bytes() >> 21)
    share = max(memory // args.max_sessions, 1)
    threads = int(start.get("threads", EngineOptions().threads))
    texts = min(max(share // 4, 1), 2 * WAITING_BYTES >> 20)  # MiB: Python's texts take twice their bytes
    caps = {"hash": max(share - texts - _BESIDE_MIB, 1), "threads": threads, "batch_size": MOST_IN_FLIGHT}
    rules = Rules(args.idle, caps, texts << 19, min(max(share // 16, 1), 4))
    nets = SharedNets(threads)
    names, aloud = args.game or _games(), args.log_file is not None
    offers = [_offer(words, start, nets, log, aside=i > 0, aloud=aloud) for i, words in enumerate(names)]
    admission = Admission(args.max_sessions, args.per_client, tokens)
    server = Server((args.host, args.port), offers, admission, rules, log)
    _obey_signals(server, log)
    web = _web(args, server, AccessCheck(admission, tuple(args.origin), not tokens), nets.batcher, log)
    ports = {"port": server.port, "http_port": web.port if web else None}

    def loaded() -> None:
        if preparation.fault is not None:
            server.stop()
            return
        gc.collect()
        gc.freeze()  # what is loaded stays: no collection looks at it again
        log.write("ready", host=args.host, **ports, games=[offer.game for offer in offers])

    preparation = Preparation([offer.loading for offer in offers if offer.loading is not None], loaded)
    if web is not None:
        web.start()
        _tell_page(args.host, web.port, tokens, show=args.open, run=args.run is not None)
    preparation.start()
    server.run()
    if web is not None:
        web.stop()
    if preparation.fault is not None:
        raise preparation.fault
    log.write("end")
    sys.stderr.flush()
    os._exit(0)  # see conversation.converse


def _obey_signals(server: Server, log: EventLog) -> None:
    """Let SIGHUP open the log anew, SIGUSR1 and SIGUSR2 write a line about the sessions, and others end the server."""

    def reopen(*_: object) -> None:
        log.stale = server.status_requests = True

    def tell(*_: object) -> None:
        server.status_requests = True

    for name in ("SIGINT", "SIGTERM", "SIGQUIT", "SIGALRM", "SIGVTALRM", "SIGXCPU", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.stop())
    for name, obey in (("SIGHUP", reopen), ("SIGUSR1", tell), ("SIGUSR2", tell)):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), obey)


def _web(
    args: argparse.Namespace, server: Server, access: AccessCheck, batcher: Batcher, log: EventLog
) -> WebListener | None:
    """What listens for HTTP; None without. Errors: OptionError; ModuleNotFoundError without the extra."""
    if args.http_port == "none":
        return None
    from .listener import WebListener
    from .web import Web

    app = Web(server, access, batcher, args.run).app
    return WebListener((args.host, int(args.http_port)), app, args.proxy, log)


def _tell_page(host: str, port: int, tokens: tuple[str, ...], *, show: bool, run: bool) -> None:
    """Say where the page is; with ``show``, open it in the browser. The token stays behind the #, which is not sent."""
    import webbrowser

    from .admission import loopback

    name = "localhost" if loopback(host) or host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{port}/{f'#token={tokens[0]}' if tokens else ''}"
    shown = tokens[0] if tokens and sys.stderr.isatty() else "TOKEN"  # what is no terminal keeps it, such as a journal
    sys.stderr.write(f"az-engine: the page is http://{name}:{port}/{f'#token={shown}' if tokens else ''}\n")
    if run:
        token = f"?token={shown}" if tokens else ""
        sys.stderr.write(f"az-engine: the training run is http://{name}:{port}/run{token}\n")
    if show:
        threading.Thread(target=webbrowser.open, args=(address,), name="browser", daemon=True).start()


def _games() -> list[str]:
    """The games with a net inside the package."""
    from ...engine.games import game_names
    from ...engine.nets.weights import embedded_net

    return [name for name in game_names() if embedded_net(name)]


def _offer(words: str, start: dict[str, Value], nets: SharedNets, log: EventLog, *, aside: bool, aloud: bool) -> Offer:
    """A game as ``NAME[=NET]``, which is loaded once, so that later sessions do not wait. Errors: OptionError.

    aside: another process compiles its kernels; aloud: stderr, which has no log, tells how far that is.
    """
    from ...engine.aside import compile_aside
    from ...engine.engine import Engine
    from ...engine.games import get_game
    from .preparation import GameLoad
    from .server import Offer

    name, _, net = words.partition("=")
    game = get_game(name)
    hidden = frozenset(option.key for option in OPTIONS if option.of_games) - game.special_options
    kept = {key: value for key, value in start.items() if key not in ("weights_file", "log_file")}
    if net:
        kept["weights_file"] = net
    options = OptionValues(game.protocol, kept, hidden).engine_options()

    def load(tell: Callable[[str], None]) -> None:
        shown = list[Stopwatch]()

        def progress(text: str) -> None:
            log.write("load", game=name, text=text)
            tell(text)
            if aloud and (not shown or shown[-1].seconds >= _ALOUD_S):
                shown.append(Stopwatch())
                sys.stderr.write(f"az-engine: {name}: {text}\n")

        if aside:
            compile_aside(name, options.weights_file, progress)
        engine = Engine(name, replace(options, hash_mb=1), partial(nets.load, ""))
        engine.ready(progress)
        log.write("game", game=name, protocol=game.protocol, net=engine.description)
        engine.close()
        if shown:
            sys.stderr.write(f"az-engine: {name} is ready\n")

    def make_engine(options: EngineOptions, client: str) -> Engine:
        return Engine(name, options, partial(nets.load, client))

    return Offer(name, game.protocol, make_engine, kept, hidden, GameLoad(name, load))
