"""``az-engine connect``: a program for GUIs that passes their lines on to ``az-engine serve``, and its answers back.

It imports nothing but the standard library: it must be there at once, on machines without numpy or a net.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import socket
import sys
import threading
from functools import partial
from pathlib import Path

from ..engine.errors import AzError, OptionError
from .lines import LineWriter, on_abandoned

HELP = """\
Enter this command as the engine in a program that runs here, to play on a machine where `az-engine serve` runs.

  az-engine connect gpu.example.org chess
  az-engine connect 192.168.1.7:8766 shogi --token-file ~/token
  az-engine connect gpu.example.org go --write-launcher az-go.sh     # for programs that only take a file

The token that a server asks for: --token-file, or the environment variable AZ_ENGINE_TOKEN."""

PORT = 8766
_CONNECT_S = 5.0
_END_S = 2.0  # for the server to finish, once our input has ended
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.%a-z]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?")
_GAME = re.compile(r"[a-z][a-z0-9_]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="HOST[:PORT]", help=f"where az-engine serve runs (default port: {PORT})")
    parser.add_argument("game", metavar="GAME", help="chess, shogi, go, or another game of the server")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="its first line is the server's token")
    parser.add_argument(
        "--write-launcher",
        type=Path,
        metavar="FILE",
        help="write a .sh or .bat that does this, and end",
    )


def main(args: argparse.Namespace) -> int:
    """Relay until either side closes. Errors: OptionError."""
    host, port = read_address(args.server)
    if not _GAME.fullmatch(args.game):
        raise OptionError(f"{args.game!r} is no name of a game: chess, shogi and go are")
    if args.write_launcher is not None:
        write_launcher(args.write_launcher, args.server, args.game, args.token_file)
        return 0
    token = _token(args.token_file)
    on_abandoned(1, partial(os._exit, 0))
    try:
        link = socket.create_connection((host, port), timeout=_CONNECT_S)
    except OSError as error:
        reason = f"no az-engine serve answers at {args.server} ({error.strerror or error})"
        LineWriter(1).write(f"info string {reason}" if args.game != "go" else f"? {reason}\n")
        raise AzError(reason) from error
    link.settimeout(None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(f"{f'token {token}' + chr(10) if token else ''}game {args.game}\n".encode())
    threading.Thread(target=_send, args=(link,), daemon=True).start()
    _receive(link)
    os._exit(0)  # the other thread still waits for the GUI


def _token(path: Path | None) -> str:
    if path is None:
        return os.environ.get("AZ_ENGINE_TOKEN", "").strip()
    try:
        return path.expanduser().read_text(encoding="ascii").split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"the token in {path} cannot be read") from error


def _send(link: socket.socket) -> None:
    """Pass the input on to its end; a server that then does not close is left."""
    try:
        while chunk := os.read(0, 1 << 16):
            link.sendall(chunk)
        link.shutdown(socket.SHUT_WR)
    except OSError:  # either is gone: the other thread sees it
        return
    ending = threading.Timer(_END_S, os._exit, (0,))
    ending.daemon = True
    ending.start()


def _receive(link: socket.socket) -> None:
    """Pass what the server says on to the output, up to the end of either."""
    try:
        while chunk := link.recv(1 << 16):
            data = memoryview(chunk)
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        return


def read_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST[:PORT]`` or ``[IPV6]:PORT``. Errors: OptionError."""
    if text.count(":") > 1 and "[" not in text:  # IPv6 without brackets, and so without a port
        text = f"[{text}]"
    match = _HOST.fullmatch(text)
    port = int(match["port"] or PORT) if match else 0
    if match is None or not 0 < port < 65536:
        raise OptionError(f"{text!r} is no address: write host, host:port or [IPv6]:port")
    return match["v6"] or match["name"], port


def write_launcher(path: Path, server: str, game: str, token_file: Path | None) -> None:
    """Write the file that a program starts as its engine. Errors: OptionError, also when it would replace another's."""
    words = [sys.executable, "-I", "-m", "az_engine", "connect", server, game]
    if token_file is not None:
        words += ["--token-file", str(token_file.expanduser().absolute())]
    if path.suffix.lower() in (".bat", ".cmd"):
        text = "@echo off\r\n" + " ".join(f'"{word}"' for word in words) + "\r\n"
    else:
        text = f"#!/bin/sh\nexec {shlex.join(words)}\n"
    try:
        if path.exists() and "az_engine" not in path.read_text(encoding="utf-8", errors="replace"):
            raise OptionError(f"{path} is there already and no launcher of az-engine: choose another name")
        path.write_bytes(text.encode())
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)  # executable for those who may read it
    except OSError as error:
        raise OptionError(f"{path} cannot be written ({error.strerror})") from error
    LineWriter(1).write(f"{path}: enter this file as the engine")
