"""UCI (the text of April 2006, and what Stockfish, Lc0 and the match tools made of it), and the command for it."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .. import __version__
from ..engine.info import BestMove, ThinkingInfo
from ..engine.limits import Limits
from ..engine.params import EngineOptions
from .lines import LineWriter, claim_stdout, one_line
from .loader import EngineSeam
from .options import OptionValues, add_flags, start_values
from .session import Session
from .thinking import game_over_line, info_lines, stats_lines

HELP = """\
Play chess in any program that speaks UCI: enter this command, or az-engine-uci, as the engine.

By hand: type `uci`, `position startpos moves e2e4`, `go nodes 400`, `quit`. Besides UCI there is `go perft N`."""

_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft")
_FLAGS = ("infinite", "ponder")
_KEYWORDS = frozenset((*_NUMBERS, *_FLAGS, "searchmoves"))
_WHOLE = re.compile(r"([+-]?)([0-9]+)")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GoCommand:
    """A ``go`` as read: its limits, the depth of ``perft`` if that was asked, and what could not be read."""

    limits: Limits
    perft: int | None
    complaints: tuple[str, ...]


def read_go(words: Sequence[str]) -> GoCommand:
    """Read the words after ``go``, in any order; unknown ones are skipped, unreadable numbers left out.

    Limits below one (``nodes 0``, ``depth -1``, ``mate 0``) become the smallest search there is, never an endless one.
    """
    numbers: dict[str, int] = {}
    flags: set[str] = set()
    moves: list[str] = []
    complaints: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word in _FLAGS:
            flags.add(word)
        elif word == "searchmoves":
            while i < len(words) and words[i] not in _KEYWORDS:
                moves.append(words[i])
                i += 1
        elif word in _NUMBERS:
            text = words[i] if i < len(words) and words[i] not in _KEYWORDS else ""
            i += 1 if text else 0
            number = _whole(text)
            if number is None:
                complaints.append(f"go: {word} needs a whole number, not '{one_line(text, 40)}'; left out")
            else:
                numbers[word] = number
    nodes, depth, mate = (numbers.get(key) for key in ("nodes", "depth", "mate"))
    if mate is not None and mate < 1:  # no mate is shorter than one move: as little search as possible
        nodes, mate = 1, None
    clock = any(key in numbers for key in ("wtime", "btime"))
    if not clock and any(key in numbers for key in ("winc", "binc")):  # an increment alone: an empty clock
        numbers |= {"wtime": 0, "btime": 0}
    limits = Limits(
        nodes=None if nodes is None else max(nodes, 1),
        depth=None if depth is None else max(depth, 1),
        mate=mate,
        movetime=numbers.get("movetime"),
        time=(numbers.get("wtime"), numbers.get("btime")),
        increment=(numbers.get("winc", 0), numbers.get("binc", 0)),
        movestogo=numbers.get("movestogo") if numbers.get("movestogo", 0) > 0 else None,
        infinite="infinite" in flags,
        ponder="ponder" in flags,
        searchmoves=tuple(moves),
    )
    return GoCommand(limits, numbers.get("perft"), tuple(complaints))


def _whole(text: str) -> int | None:
    """A whole number, held within 64 bits."""
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    size = int(found[2]) if len(found[2]) < 20 else _LARGEST
    return min(size, _LARGEST) * (-1 if found[1] == "-" else 1)


def read_setoption(rest: str) -> tuple[str, str | None] | None:
    """Name and value of ``setoption name <id> [value <x>]``; the value verbatim but for blanks around it."""
    keyword, *rest_words = rest.split(maxsplit=1) or [""]
    if keyword != "name" or not rest_words:
        return None
    cut = re.search(r"(^|\s)value(\s|$)", rest_words[0])
    if cut is None:
        return rest_words[0].strip(), None
    name, value = rest_words[0][: cut.start()].strip(), rest_words[0][cut.end() :].strip()
    return (name, value) if name else None


class UciSession(Session):
    """One UCI conversation."""

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], EngineSeam],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        """See :class:`Session`."""
        super().__init__(make_engine, values, writer, notes)
        self._commands: dict[str, Callable[[str], None]] = {
            "uci": lambda _: self._greet(),
            "debug": self._debug,
            "isready": lambda _: self.ping("readyok"),
            "setoption": self._setoption,
            "register": lambda _: None,  # there is nothing to register
            "ucinewgame": lambda _: self.new_game(),
            "position": self._position,
            "go": self._go,
            "stop": lambda _: self.stop(),
            "ponderhit": lambda _: self.ponderhit(),
            "quit": lambda _: self.quit(),
        }

    def command(self, line: str) -> None:
        """Obey one line; leading unknown words are skipped, as the protocol's text wants."""
        words = line.split()
        if not words or words[0].startswith("#"):
            return
        skipped = next((i for i, word in enumerate(words) if word in self._commands), None)
        if skipped is None:
            self.hint(f"unknown command: {one_line(line, 80)}")
            return
        if skipped:
            self.hint(f"skipped unknown words before {words[skipped]}")
        rest = line.split(maxsplit=skipped + 1)[skipped + 1 :]
        self._commands[words[skipped]](rest[0] if rest else "")

    def message(self, text: str) -> str:
        """An ``info string`` line."""
        return f"info string {text}"

    def report(self, info: ThinkingInfo, *, final: bool) -> list[str]:
        """Statistics of the root moves if wanted, then the principal variations: these are always last."""
        stats = self.values["verbose_move_stats"] and (final or self.values["log_live_stats"])
        return (stats_lines(info) if stats else []) + info_lines(info, show_wdl=bool(self.values["show_wdl"]))

    def answer(self, best: BestMove) -> list[str]:
        """``bestmove``; without a legal move also the score of the end that is there."""
        if best.move is None:
            return [game_over_line(best.lines), "bestmove (none)"]
        return [f"bestmove {best.move}" + (f" ponder {best.ponder}" if best.ponder else "")]

    def _greet(self) -> None:
        self.send(
            f"id name az-engine {__version__}",
            "id author the az-engine authors",
            *self.values.declarations(),
            "uciok",
        )
        self.tell_notes()

    def _debug(self, rest: str) -> None:
        self.debug = {"on": True, "off": False}.get(rest.strip(), self.debug)

    def _setoption(self, rest: str) -> None:
        read = read_setoption(rest)
        if read is None:
            self.say("setoption needs a name: setoption name <option> [value <value>]")
        else:
            self.set_option(*read)

    def _position(self, rest: str) -> None:
        words = rest.split()
        cut = words.index("moves") if "moves" in words else len(words)
        root, moves = words[:cut], words[cut + 1 :]
        if root == ["startpos"]:
            self.set_position(None, moves)
        elif root[:1] == ["fen"] and len(root) > 1:
            self.set_position(" ".join(root[1:]), moves)
        elif words:
            self.refuse_position("position: expected startpos or fen <FEN>, then moves <moves> or nothing")
        else:
            self.say("position: expected startpos or fen <FEN>; ignored")

    def _go(self, rest: str) -> None:
        go = read_go(rest.split())
        for complaint in go.complaints:
            self.say(complaint)
        if go.perft is None:
            self.go(go.limits)
        elif go.perft < 1:
            self.say("go perft needs a depth of at least 1")
        else:
            self.perft(go.perft, self._show_perft)

    def _show_perft(self, leaves: dict[str, int]) -> None:
        counts = [f"{move}: {count}" for move, count in leaves.items()]
        self.send(*counts, "", f"Nodes searched: {sum(leaves.values())}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of ``az-engine uci``."""
    add_flags(parser, "uci")


def main(args: argparse.Namespace) -> int:
    """Talk UCI on stdin and stdout until ``quit``, then end the process: status 0, or 1 after a bug.

    Errors: OptionError for a configuration file that cannot be used.
    """
    start, notes = start_values(args)
    session = UciSession(_make_engine, OptionValues("uci", start), claim_stdout(), notes)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: session.interrupt())
    status = session.run()
    if sys.stderr is not None:
        sys.stderr.flush()
    # Not by way of the interpreter's end: tidying up after numba takes 0.3 s, which a GUI waits for, and a compile or a
    # net being loaded cannot be called back.
    os._exit(status)


def _make_engine(options: EngineOptions) -> EngineSeam:
    from ..engine.engine import Engine  # numpy, numba: not before they are needed

    return Engine("chess", options)
