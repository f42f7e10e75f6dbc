"""A Go board as GTP talks of it: vertices, colours, the drawing, and the engine's line of text.

Points are numbered from the top left corner, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...engine.errors import AzError
from ...engine.games import get_game

if TYPE_CHECKING:
    from ...engine.games.capabilities import Territory

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}
STONES = {"b": "X", "w": "O"}
PASS = "pass"
_VERTEX = re.compile(r"([A-HJ-Z])([1-9][0-9]?)")


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


def read_vertex(word: str, size: int) -> str:
    """A vertex of the board, or pass, as we write it. Errors: GtpError."""
    text = word.upper()
    if text == "PASS":
        return PASS
    found = _VERTEX.fullmatch(text)
    if found is None or COLUMNS.index(found[1]) >= size or int(found[2]) > size:
        raise GtpError("invalid color or coordinate")
    return text


def read_pairs(words: Sequence[str], size: int) -> list[tuple[str, str]]:
    """Colours and vertices, in turn. Errors: GtpError."""
    if len(words) % 2:
        raise GtpError("syntax error")
    return [(read_colour(a), read_vertex(b, size)) for a, b in zip(words[::2], words[1::2], strict=True)]


def vertex(point: int, size: int) -> str:
    return f"{COLUMNS[point % size]}{size - point // size}"


def point(text: str, size: int) -> int:
    return (size - int(text[1:])) * size + COLUMNS.index(text[0])


@dataclass(frozen=True, slots=True)
class Board:
    """Stones on a board: N * N characters X (black), O (white) and . from the top left."""

    size: int
    stones: str

    @classmethod
    def read(cls, position: str) -> Board:
        """From the engine's line of text, whose first field is the board."""
        rows = position.split(maxsplit=1)[0].split("/")
        return cls(len(rows), "".join(re.sub(r"\d+", lambda n: "." * int(n[0]), row) for row in rows))

    @property
    def text(self) -> str:
        """The board as the first field of the engine's line of text."""
        rows = (self.stones[start : start + self.size] for start in range(0, len(self.stones), self.size))
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
        n = self.size
        stars = territory().handicap(n, territory().most_handicap(n))
        columns = "   " + " ".join(COLUMNS[:n])
        shown = ["+" if p in stars and stone == "." else stone for p, stone in enumerate(self.stones)]
        rows = [f"{n - r:2} {' '.join(shown[r * n : r * n + n])} {n - r}" for r in range(n)]
        return [columns, *rows, columns]
