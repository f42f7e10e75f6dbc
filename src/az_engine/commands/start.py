"""``az-engine`` without a command: the page, in the browser of this machine."""

from __future__ import annotations

import argparse
import os
import socket
import stat
import sys
import urllib.request
import webbrowser
from http.client import HTTPException
from urllib.error import URLError

from ..engine.errors import OptionError
from ..engine.kernels.cache import private_directory
from ..protocols import serve
from .installation import Installation

HELP = """\
Play, analyse and review chess, shogi and Go on a page in the browser of this machine; az-engine alone does the same.
The page opens at once and says what is still prepared: half a minute for a game, once on a machine. Ctrl-C ends it."""

_TITLE = b"<title>az-engine"
_LOOK_S = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, default=serve.HTTP_PORT, help="port of the page; a free one where it is taken (%(default)s)"
    )


def main(args: argparse.Namespace) -> int:
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        raise OptionError(
            "az-engine alone opens a page in the browser; in a program enter the command az-engine-uci (chess), "
            "az-engine-usi (shogi) or az-engine-gtp (Go)"
        )
    if not 0 <= args.port < 1 << 16:
        raise OptionError(f"--port is {args.port}; give a port from 0 to 65535")
    command = Installation.current().command
    print(
        f"az-engine {command} shows its page in your browser; Ctrl-C ends it.\n"
        f"  in your chess, shogi or Go program: {command} check --programs      in this terminal: {command} play\n"
        f"  everything else: {command} --help",
        file=sys.stderr,
    )
    address = f"http://localhost:{args.port}/"
    if args.port and _shows_the_page(address):
        print(f"az-engine: it runs already: {address}", file=sys.stderr)
        webbrowser.open(address)
        return 0
    port = args.port if _is_free(args.port) else 0
    log = os.devnull if (folder := private_directory()) is None else str(folder / "page.log")
    words = ["--open", "--port", "0", "--http-port", str(port), "--log-file", log]
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    status: int = serve.main(parser.parse_args(words))
    return status


def _shows_the_page(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=_LOOK_S) as answer:
            return _TITLE in answer.read(1 << 14)
    except (URLError, HTTPException, OSError, ValueError):  # something else listens there
        return False


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
