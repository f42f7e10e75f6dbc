"""File formats of game records: each game lists its own (``Game.record_formats``), PGN for chess, KIF for shogi.

Readers replay the moves by the rules; an illegal or unreadable move ends the game, and ``Record.fault`` says why.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import DataError, OptionError
from .opinion import Opinion, forget, opine
from .record import ILLEGAL, LINE, Node, Record
from .text import kind_of

_SAMPLE = 1 << 16
MAX_GAMES = 1_000_000  # of one file
MAX_PLIES = 2000  # of one game; a longer one is cut there and has a fault
EVERYTHING = frozenset(
    {"variations", "comments", "times", "fractions", "NAGs", "ends", "names", "headers", "result", "margin", "setup"}
)  # that a format may hold of a record, beside its moves


_WITHIN = {("JSON", "JKF"), ("a FEN", "EPD"), ("a FEN", "UCI"), ("an SFEN", "USI")}  # what a text looks like, and is
_NAMES = {"&": "bookmarks", "#": "lines of the program that wrote it", ILLEGAL: "illegal moves"}


def nothing_more(record: Record) -> list[str]:
    """No loss beyond what ``RecordFormat.holds`` tells."""
    return []


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A file format of game records."""

    name: str
    suffixes: tuple[str, ...]  # of its files, the usual one first
    read: Callable[[BinaryIO], Iterator[Record]]  # any bytes; errors: DataError when it is no such file at all
    write: Callable[[Record], str] | None  # one game as text; None: only read. Errors: PositionError
    between: str | None = None  # text between two games of a file; None = one game a file
    encode: Callable[[str, str], bytes] = lambda text, name: text.encode()  # a file's text and name as its bytes
    holds: frozenset[str] = EVERYTHING
    keeps: frozenset[str] = frozenset()  # names in Node.more that it holds, whatever format they come from
    also_lost: Callable[[Record], list[str]] = nothing_more  # further things, by name
    opine: Callable[[Node, Opinion], None] = opine  # adds what a search says of a position
    forget: Callable[[Node], bool] = forget  # takes off what searches have said, ours or others; whether there was any
    terms: str = ""  # name of the format in whose terms its records are, if it is another

    def lost(self, record: Record) -> Counter[str]:
        """How many of which things of a record the format cannot hold."""
        ours = record.source == self.name
        count: Counter[str] = Counter()
        if "names" not in self.holds:
            count["names"] = sum(map(bool, record.names))
        if "headers" not in self.holds:
            count["headers"] = len(record.headers) * (not ours)
        if "result" not in self.holds:
            count["result"] = int(record.result is not None or bool(record.reason))
        if "margin" not in self.holds:
            count["margin"] = int(record.margin is not None)
        for node in record.tree.descendants():
            self._lost_of(node, ours, count)
            if node.position is not None and node is not record.tree and "setup" not in self.holds:
                count["positions set up later"] += 1
        count.update(self.also_lost(record))
        return +count

    def _lost_of(self, node: Node, ours: bool, count: Counter[str]) -> None:
        contents = {
            "variations": max(len(node.children) - 1, 0),
            "comments": bool(node.comment or node.before),
            "times": node.seconds is not None,
            "fractions": node.seconds is not None and node.seconds != int(node.seconds),
            "NAGs": len(node.nags),
            "ends": node.end is not None and not node.bare,
        }
        if "times" not in self.holds:
            contents["fractions"] = 0
        for name, number in contents.items():
            if number and name not in self.holds:
                count[{"fractions": "fractions of seconds"}.get(name, name)] += int(number)
        for name in () if ours else node.more:
            if name not in self.keeps and name != LINE:
                count[_NAMES.get(name, f"property {name}")] += 1


def left_out(form: RecordFormat, lost: Mapping[str, int]) -> str:
    """What a format could not hold, in one sentence; "" where it holds all."""
    results = [f"{name} ({count} left out)" if count > 1 else name for name, count in sorted(lost.items())]
    return f"{form.name} holds no {', no '.join(results)}" if results else ""


def format_named(formats: Sequence[RecordFormat], name: str, *, to_write: bool = False) -> RecordFormat:
    """The format of that name, such as "csa", or of a file name. Errors: OptionError, which lists those for the use."""
    lower = name.lower()
    for form in formats:
        if lower == form.name.lower() or any(lower.endswith(suffix) for suffix in form.suffixes):
            return form
    known = ", ".join(f"{f.name} ({' '.join(f.suffixes)})" for f in formats if f.write or not to_write) or "none"
    raise OptionError(f"{name!r} is no format for games of this kind; known are {known}")


def is_record(formats: Sequence[RecordFormat], path: Path) -> bool:
    """Whether a file's name ends like those of one of the formats."""
    return any(path.name.lower().endswith(suffix) for form in formats for suffix in form.suffixes)


def read_games(formats: Sequence[RecordFormat], path: Path) -> Iterator[Record]:
    """The games of a file in the format of its name.

    Errors: OptionError for an unknown format, DataError when the file cannot be read at all.
    """
    reader = format_named(formats, path.name)
    try:
        with path.open("rb") as file:
            for number, record in enumerate(reader.read(file)):
                if number == MAX_GAMES:
                    raise DataError(f"it holds more than {MAX_GAMES:,} games; split it")
                record.source = reader.terms or reader.name
                if record.fault and number == 0 and not record.moves and record.root is None:
                    record.fault += _hint(path, reader)
                yield record
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check its name and rights") from error
    except DataError as error:
        raise DataError(f"{path.name}: {error}{_hint(path, reader)}") from error


def _hint(path: Path, form: RecordFormat) -> str:
    """What a file looks like that is not of its format, "" where that is unknown."""
    with path.open("rb") as file:
        kind = kind_of(file.read(_SAMPLE))
    ours = kind == form.name or (kind, form.name) in _WITHIN
    return f"; it looks like {kind}" if kind and not ours else ""


def encoded(form: RecordFormat, text: str, name: str) -> tuple[bytes, str]:
    """A file's bytes, and a sentence where they are not in the encoding that its name asks for, else ""."""
    content = form.encode(text, name)
    if not content.startswith(BOM_UTF8):
        return content, ""
    strange = "".join(dict.fromkeys(letter for letter in text if form.encode(letter, name).startswith(BOM_UTF8)))
    return content, f"{name} is written in UTF-8: Shift-JIS has no {strange[:20]}"


def format_games(records: list[Record], form: RecordFormat) -> str:
    """Games as the text of one file. Errors: OptionError when the format cannot hold them, PositionError."""
    if form.write is None:
        raise OptionError(f"{form.name} is only read; choose another format to write")
    if len(records) > 1 and form.between is None:
        raise OptionError(f"a {form.name} file holds one game, not {len(records)}; write to a folder")
    return (form.between or "").join(map(form.write, records))
