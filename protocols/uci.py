"""UCI (the text of April 2006, and what Stockfish, Lc0 and the match tools made of it), and the command for it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from ..engine.limits import Limits
from . import conversation
from .uci_family import CommandSession, GoWords, read_go

HELP = """\
Play chess in any program that speaks UCI: enter this command, or az-engine-uci, as the engine.

By hand: type `uci`, `position startpos moves e2e4`, `go nodes 400`, `quit`. Besides UCI there is `go perft N`.

Another game that is played over UCI: --game NAME. Its positions are `position fen` and the game's own notation."""

_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft")


class UciSession(CommandSession):
    """One UCI conversation."""

    notation = "fen"
    no_move = "(none)"

    @staticmethod
    def read_go(words: Sequence[str]) -> tuple[GoWords, Limits]:
        """The words after ``go``, and the limits they mean."""
        go = read_go(words, _NUMBERS)
        limits = go.limits("w", "b")
        mate, movestogo = go.numbers.get("mate"), go.numbers.get("movestogo", 0)
        if mate is not None and mate < 1:  # no mate is shorter than one move: as little search as possible
            limits, mate = replace(limits, nodes=1), None
        return go, replace(limits, mate=mate, movestogo=movestogo if movestogo > 0 else None)

    @staticmethod
    def mate(moves: int) -> str:
        """UCI counts full moves."""
        return str(moves)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of ``az-engine uci``."""
    conversation.add_arguments(parser, "uci")


def main(args: argparse.Namespace) -> int:
    """Talk UCI on stdin and stdout; see :func:`conversation.converse`."""
    return conversation.converse(UciSession, "uci", args)
