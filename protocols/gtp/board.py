"""A Go board as GTP talks of it: vertices, colours, the drawing, and the engine's line of text.

Points are numbered from the top left corner, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...engine.errors import AzError
from ...engine.games import get_game

if TYPE_CHECKING:
    from ...engine.games.capabilities import Territory

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}
STONES = {"b": "X", "w": "O"}
PASS = "pass"
_VERTEX = re.compile(r"([A-HJ-Z])([1-9][0-9]?)")


class Size(NamedTuple):
    """Columns and rows of a board."""

    columns: int
    rows: int

    @property
    def points(self) -> int:
        return self.columns * self.rows

    @property
    def square(self) -> bool:
        return self.columns == self.rows

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"


def result(margin: float) -> str:
    """Black's lead as GTP writes it: ``B+3.5``, ``W+0.5``, ``0``."""
    return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"


class GtpError(AzError):
    """A command that fails; its text follows the question mark of the response."""


def territory() -> Territory:
    """How Go is counted. BLOCKS while kernels are loaded."""
    counted = get_game("go").territory
    assert counted is not None
    return counted


def other(colour: str) -> str:
    return "w" if colour == "b" else "b"


def read_colour(word: str) -> str:
    """The colour "b" or "w" that a word names, in any case. Errors: GtpError."""
    colour = COLOURS.get(word.lower())
    if colour is None:
        raise GtpError("invalid color or coordinate")
    return colour


def read_size(words: Sequence[str]) -> Size:
    """A board's lines, or its columns and rows. Errors: GtpError."""
    if len(words) not in (1, 2):
        raise GtpError("syntax error")
    if not all(word.isascii() and word.removeprefix("-").isdigit() for word in words):
        raise GtpError("boardsize not an integer")
    return Size(int(words[0][:6]), int(words[-1][:6]))


def read_vertex(word: str, size: Size) -> str:
    """A vertex of the board, or pass, as we write it. Errors: GtpError."""
    text = word.upper()
    if text == "PASS":
        return PASS
    match = _VERTEX.fullmatch(text)
    if match is None or COLUMNS.index(match[1]) >= size.columns or int(match[2]) > size.rows:
        raise GtpError("invalid color or coordinate")
    return text


def read_pairs(words: Sequence[str], size: Size) -> list[tuple[str, str]]:
    """Colours and vertices, in turn. Errors: GtpError."""
    if len(words) % 2:
        raise GtpError("syntax error")
    return [(read_colour(a), read_vertex(b, size)) for a, b in zip(words[::2], words[1::2], strict=True)]


def vertex(point: int, size: Size) -> str:
    return f"{COLUMNS[point % size.columns]}{size.rows - point // size.columns}"


def point(text: str, size: Size) -> int:
    return (size.rows - int(text[1:])) * size.columns + COLUMNS.index(text[0])


def most_handicap(size: Size) -> int:
    """The greatest number of fixed handicap stones; 0 on a board that is not square."""
    return territory().most_handicap(size.rows) if size.square else 0


def fixed_handicap(size: Size, stones: int) -> list[str]:
    """Where fixed handicap stones go. Errors: GtpError."""
    if not 2 <= stones <= most_handicap(size):
        raise GtpError("invalid number of stones")
    return [vertex(p, size) for p in territory().handicap(size.rows, stones)]


def handicap_of(stones: str, moves: Sequence[tuple[str, str]]) -> int:
    """Black's handicap, as KataGo has it: the ``stones`` put down, if none is white, and moves before white's first.

    moves: colours and vertices.

    White may pass in between; two white moves in a row make it a problem that is set up.
    """
    if STONES["w"] in stones:
        return 0
    count = 0
    for number, (colour, place) in enumerate(moves):
        if colour == "b":
            count += place != PASS
        elif moves[number + 1 : number + 2] and moves[number + 1][0] == "w":
            count = 0
            break
        elif place != PASS:
            break
    count += len(stones)
    return count if count > 1 else 0


@dataclass(frozen=True, slots=True)
class Board:
    """Stones on a board: H * W characters X (black), O (white) and . from the top left."""

    size: Size
    stones: str

    @classmethod
    def read(cls, position: str) -> Board:
        """From the engine's line of text, whose first field is the board."""
        rows = position.split(maxsplit=1)[0].split("/")
        stones = "".join(re.sub(r"\d+", lambda n: "." * int(n[0]), row) for row in rows)
        return cls(Size(len(stones) // len(rows), len(rows)), stones)

    @property
    def text(self) -> str:
        """The board as the first field of the engine's line of text."""
        columns = self.size.columns
        rows = (self.stones[start : start + columns] for start in range(0, len(self.stones), columns))
        return "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)

    @property
    def empty(self) -> bool:
        return not self.stones.strip(".")

    def with_stones(self, stones: Mapping[int, str]) -> Board:
        changed = [*self.stones]
        for p, stone in stones.items():
            changed[p] = stone
        return Board(self.size, "".join(changed))

    def drawing(self) -> list[str]:
        w, h = self.size
        most = most_handicap(self.size)
        stars = {point(star, self.size) for star in fixed_handicap(self.size, most)} if most else set[int]()
        columns = "   " + " ".join(COLUMNS[:w])
        shown = ["+" if p in stars and stone == "." else stone for p, stone in enumerate(self.stones)]
        rows = [f"{h - r:2} {' '.join(shown[r * w : r * w + w])} {h - r}" for r in range(h)]
        return [columns, *rows, columns]
