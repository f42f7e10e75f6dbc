"""What UCI and USI have in common: the commands, and how their words are read.

USI grew out of UCI: it renames a few commands and says some things differently. A protocol is a :class:`CommandSession`
with its own words for positions, limits and answers.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from .. import __version__
from ..engine.info import BestMove, ThinkingInfo
from ..engine.limits import Limits
from ..engine.params import EngineOptions
from .info_lines import game_over_line, info_lines, stats_lines
from .lines import LineWriter, one_line
from .loader import EngineSeam
from .options import OptionValues
from .session import Session

_WHOLE = re.compile(r"([+-]?)([0-9]+)")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GoWords:
    """The words after ``go``: keywords that were there, numbers by keyword, and what could not be read."""

    seen: frozenset[str]
    numbers: dict[str, int]
    searchmoves: tuple[str, ...]
    complaints: tuple[str, ...]

    def limits(self, first: str, second: str) -> Limits:
        """The limits that both protocols know; ``first`` and ``second`` are the players' letters, the opener first.

        Limits below one (``nodes 0``, ``depth -1``) become the smallest search there is, never an endless one.
        """
        numbers = self.numbers
        nodes, depth = numbers.get("nodes"), numbers.get("depth")
        time = numbers.get(f"{first}time"), numbers.get(f"{second}time")
        if time == (None, None) and {f"{first}inc", f"{second}inc", "byoyomi"} & numbers.keys():
            time = 0, 0  # an increment alone: an empty clock
        return Limits(
            nodes=None if nodes is None else max(nodes, 1),
            depth=None if depth is None else max(depth, 1),
            movetime=numbers.get("movetime"),
            time=time,
            increment=(numbers.get(f"{first}inc", 0), numbers.get(f"{second}inc", 0)),
            byoyomi=max(numbers.get("byoyomi", 0), 0),
            infinite="infinite" in self.seen,
            ponder="ponder" in self.seen,
            searchmoves=self.searchmoves,
        )


def read_go(words: Sequence[str], numbers: Collection[str], optional: Collection[str] = ()) -> GoWords:
    """Read the words after ``go``, in any order; unknown ones are skipped, unreadable numbers left out.

    ``numbers``: keywords that a whole number follows; ``optional`` ones may stand without it.
    """
    keywords = {*numbers, "infinite", "ponder", "searchmoves"}
    seen: set[str] = set()
    found: dict[str, int] = {}
    moves: list[str] = []
    complaints: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word not in keywords:
            continue
        seen.add(word)
        if word == "searchmoves":
            while i < len(words) and words[i] not in keywords:
                moves.append(words[i])
                i += 1
        elif word in numbers:
            text = words[i] if i < len(words) and words[i] not in keywords else ""
            i += 1 if text else 0
            number = _whole(text)
            if number is not None:
                found[word] = number
            elif text or word not in optional:
                complaints.append(f"go: {word} needs a whole number, not '{one_line(text, 40)}'; left out")
    return GoWords(frozenset(seen), found, tuple(moves), tuple(complaints))


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


class CommandSession(Session):
    """One conversation in UCI or a protocol like it."""

    notation: ClassVar[str]  # the word before a position: "fen"
    no_move: ClassVar[str]  # what `bestmove` says when there is none

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], EngineSeam],
        values: OptionValues,
        writer: LineWriter,
        notes: Iterable[str] = (),
    ) -> None:
        """See :class:`Session`."""
        super().__init__(make_engine, values, writer, notes)
        self.commands: dict[str, Callable[[str], None]] = {
            values.protocol: lambda _: self._greet(),
            "debug": self._debug,
            "isready": lambda _: self.ping("readyok"),
            "setoption": self._setoption,
            "register": lambda _: None,  # there is nothing to register
            f"{values.protocol}newgame": lambda _: self.new_game(),
            "position": self.position,
            "go": self._go,
            "stop": lambda _: self.stop(),
            "ponderhit": lambda _: self.ponderhit(),
            "quit": lambda _: self.quit(),
        }

    # ------------------------------------------------------------------ what a protocol adds

    @staticmethod
    @abstractmethod
    def read_go(words: Sequence[str]) -> tuple[GoWords, Limits]:
        """The words after ``go``, and the limits they mean."""

    @staticmethod
    @abstractmethod
    def mate(moves: int) -> str:
        """The distance to mate as ``score mate`` wants it, from full moves; 0 = the side to move has lost."""

    # ------------------------------------------------------------------ commands

    def command(self, line: str) -> None:
        """Obey one line; leading unknown words are skipped, as the protocol's text wants."""
        words = line.split()
        if not words or words[0].startswith("#"):
            return
        skipped = next((i for i, word in enumerate(words) if word in self.commands), None)
        if skipped is None:
            self.hint(f"unknown command: {one_line(line, 80)}")
            return
        if skipped:
            self.hint(f"skipped unknown words before {words[skipped]}")
        rest = line.split(maxsplit=skipped + 1)[skipped + 1 :]
        self.commands[words[skipped]](rest[0] if rest else "")

    def _greet(self) -> None:
        self.send(
            f"id name az-engine {__version__}",
            "id author the az-engine authors",
            *self.values.declarations(),
            f"{self.values.protocol}ok",
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

    def position(self, rest: str) -> None:
        """Obey ``position``."""
        words = rest.split()
        cut = words.index("moves") if "moves" in words else len(words)
        root, moves = words[:cut], words[cut + 1 :]
        form = f"startpos or {self.notation} <{self.notation.upper()}>"
        if root == ["startpos"]:
            self.set_position(None, moves)
        elif root[:1] == [self.notation] and len(root) > 1:
            self.set_position(" ".join(root[1:]), moves)
        elif words:
            self.refuse_position(f"position: expected {form}, then moves <moves> or nothing")
        else:
            self.say(f"position: expected {form}; ignored")

    def _go(self, rest: str) -> None:
        go, limits = self.read_go(rest.split())
        for complaint in go.complaints:
            self.say(complaint)
        perft = go.numbers.get("perft")
        if perft is None:
            self.go(limits)
        elif perft < 1:
            self.say("go perft needs a depth of at least 1")
        else:
            self.perft(perft, self._show_perft)

    def _show_perft(self, leaves: dict[str, int]) -> None:
        counts = [f"{move}: {count}" for move, count in leaves.items()]
        self.send(*counts, "", f"Nodes searched: {sum(leaves.values())}")

    # ------------------------------------------------------------------ replies

    def message(self, text: str) -> str:
        """An ``info string`` line."""
        return f"info string {text}"

    def report(self, info: ThinkingInfo, *, final: bool) -> list[str]:
        """Statistics of the root moves if wanted, then the principal variations: these are always last."""
        stats = self.values["verbose_move_stats"] and (final or self.values["log_live_stats"])
        lines = info_lines(info, show_wdl=bool(self.values["show_wdl"]), mate=self.mate)
        return (stats_lines(info) if stats else []) + lines

    def answer(self, best: BestMove, limits: Limits) -> list[str]:
        """``bestmove``; without a legal move also the score of the end that is there."""
        if best.move is None:
            return [game_over_line(best.lines, mate=self.mate), f"bestmove {self.no_move}"]
        return [f"bestmove {best.move}" + (f" ponder {best.ponder}" if best.ponder else "")]
