"""A Go board as GTP talks of it: vertices, colours, the drawing, handicap points, and the engine's line of text.

Points are numbered from the top left corner, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...engine.errors import AzError

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}
STONES = {"b": "X", "w": "O"}
PASS = "pass"
_VERTEX = re.compile(r"([A-HJ-Z])([1-9][0-9]?)")
_STAR_LINES = ((12, 3), (7, 2), (0, 1))  # from this size on, star points are that far from the edge
# Star points in the order of the stones: (column, row from below), 0 = left or low, 1 = middle, 2 = right or high.
_FIXED = ((0, 0), (2, 2), (0, 2), (2, 0), (0, 1), (2, 1), (1, 0), (1, 2), (1, 1))


class GtpError(AzError):
    """A command that fails; the text is what follows the question mark."""


def other(colour: str) -> str:
    """The opponent of "b" or "w"."""
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


def vertex(point: int, size: int) -> str:
    """The vertex of a point."""
    return f"{COLUMNS[point % size]}{size - point // size}"


def point(text: str, size: int) -> int:
    """The point of a vertex that :func:`read_vertex` returned."""
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
        """Whether no stone is on it."""
        return not self.stones.strip(".")

    def near(self, point: int) -> list[int]:
        """The neighbours of a point."""
        n, column = self.size, point % self.size
        found = [point - n, point + n]
        found += [point - 1] if column else []
        found += [point + 1] if column < n - 1 else []
        return [p for p in found if 0 <= p < n * n]

    def region(self, point: int) -> tuple[frozenset[int], set[str]]:
        """(the chain of stones, or area of empty points, that a point belongs to; what is around it: X, O or .)."""
        kind, seen, around, waiting = self.stones[point], {point}, set[str](), [point]
        while waiting:
            for p in self.near(waiting.pop()):
                if self.stones[p] != kind:
                    around.add(self.stones[p])
                elif p not in seen:
                    seen.add(p)
                    waiting.append(p)
        return frozenset(seen), around

    def regions(self) -> list[tuple[str, frozenset[int], set[str]]]:
        """All chains and empty areas: (X, O or ., its points, what is around it)."""
        found, seen = [], set[int]()
        for p, kind in enumerate(self.stones):
            if p not in seen:
                points, around = self.region(p)
                seen |= points
                found.append((kind, points, around))
        return found

    def with_stones(self, stones: Mapping[int, str]) -> Board:
        """The board after points have become X, O or ``.``."""
        changed = [*self.stones]
        for p, stone in stones.items():
            changed[p] = stone
        return Board(self.size, "".join(changed))

    def drawing(self) -> list[str]:
        """Lines for people."""
        n = self.size
        stars = {point(v, n) for v in handicap(n, most_handicap(n))} if most_handicap(n) else set[int]()
        columns = "   " + " ".join(COLUMNS[:n])
        shown = ["+" if p in stars and stone == "." else stone for p, stone in enumerate(self.stones)]
        rows = [f"{n - r:2} {' '.join(shown[r * n : r * n + n])} {n - r}" for r in range(n)]
        return [columns, *rows, columns]


def most_handicap(size: int) -> int:
    """The greatest number of fixed handicap stones (GTP 2, section 4.1.1); 0 on boards that have none."""
    if size < 7:
        return 0
    return 9 if size % 2 and size > 7 else 4


def handicap(size: int, stones: int) -> list[str]:
    """Vertices of that many fixed handicap stones; 2 <= stones <= :func:`most_handicap`."""
    edge = next(lines for least, lines in _STAR_LINES if size >= least)
    lines = (edge, size // 2, size - 1 - edge)
    chosen = [*_FIXED[:stones]]
    if stones in (5, 7):
        chosen[-1] = _FIXED[-1]  # odd numbers take the centre
    return [f"{COLUMNS[lines[x]]}{lines[y] + 1}" for x, y in chosen]
