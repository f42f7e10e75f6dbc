"""Game records, and the file formats that hold them.

Each game lists its formats (``Game.record_formats``): PGN for chess, CSA and KIF for shogi. Their readers replay the
moves; an illegal or unreadable move ends the game, and ``Record.fault`` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from ..errors import DataError, OptionError

MAX_BYTES = 16 << 20  # of a file that is read whole
MAX_LINE = 1 << 20  # bytes of a line, in a file that is read line by line
MAX_GAME = 16 << 20  # bytes of one game there
MAX_GAMES = 1_000_000  # of one file
MAX_PLIES = 2000  # of one game; a longer one is cut there and has a fault

Reason = Literal[
    "",  # unknown
    "resignation",
    "mate",
    "stalemate",
    "time",
    "illegal move",
    "repetition",
    "perpetual check",  # a repetition that the checking side loses
    "declaration",  # entering king
    "impasse",  # both kings have entered
    "maximum moves",
    "forfeit",
    "interrupted",
]


@dataclass(frozen=True, slots=True)
class Record:
    """One game: the moves actually played, without variations."""

    moves: tuple[str, ...] = ()  # as the game's protocol writes them
    root: str | None = None  # the position they begin from, in the game's own notation; None = its usual start
    result: int | None = None  # 1 the first player won, 0 drawn, -1 the second player won, None not known
    reason: Reason = ""
    names: tuple[str, str] = ("", "")  # of the first and the second player
    times: tuple[float | None, ...] = ()  # seconds spent on each move, or ()
    comments: tuple[str, ...] = ()  # before the first move and after each one: len(moves) + 1, or ()
    headers: Mapping[str, str] = field(default_factory=dict)  # by PGN's names: Event, Site, Date, TimeControl ...
    fault: str = ""  # one sentence: why the rest of the text was not read


class BoundedLines:
    """The lines of a UTF-8 stream with bounds on lines and games, for parsers that call ``readline``."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.number = 0  # of the last line
        self._left = MAX_GAME

    def begin_game(self) -> None:
        """Restart the count of the game's bytes."""
        self._left = MAX_GAME

    def readline(self) -> str:
        """The next line with its end, "" at the end of the stream. Errors: DataError for one that is too long."""
        raw = self._stream.readline(MAX_LINE)
        self.number += 1
        self._left -= len(raw)
        if len(raw) == MAX_LINE or self._left < 0:
            raise DataError(f"line {self.number}: a line or a game is longer than any can be")
        return raw.decode("utf-8", "replace").replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A file format of game records."""

    name: str
    suffixes: tuple[str, ...]  # of its files, the usual one first
    read: Callable[[BinaryIO], Iterator[Record]]  # any bytes; errors: DataError when it is no such file at all
    write: Callable[[Record], str] | None  # one game as text, in UTF-8; None: only read. Errors: PositionError
    between: str | None  # text between two games of a file; None = one game a file
    encode: Callable[[str, str], bytes] = lambda text, name: text.encode()  # a file's text and name as its bytes


def format_named(formats: Sequence[RecordFormat], name: str) -> RecordFormat:
    """The format of that name, such as "csa", or of a file name. Errors: OptionError."""
    lower = name.lower()
    for form in formats:
        if lower == form.name.lower() or any(lower.endswith(suffix) for suffix in form.suffixes):
            return form
    known = ", ".join(f"{f.name} ({' '.join(f.suffixes)})" for f in formats) or "none"
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
                yield record
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check its name and rights") from error
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from error


def format_games(records: list[Record], form: RecordFormat) -> str:
    """Games as the text of one file. Errors: OptionError when the format cannot hold them, PositionError."""
    if form.write is None:
        raise OptionError(f"{form.name} is only read; choose another format to write")
    if len(records) > 1 and form.between is None:
        raise OptionError(f"a {form.name} file holds one game, not {len(records)}; write to a folder")
    return (form.between or "").join(map(form.write, records))
