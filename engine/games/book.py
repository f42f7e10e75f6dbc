"""Opening books: files that say what to play in known positions, and the engine's reader of the one it plays from."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import IllegalMoveError, OptionError
from .rules import Rules

State = NDArray[np.void]
BOOK_OPTIONS = frozenset({"own_book", "book_file", "best_book_move"})  # of games that have books, see Game.own_options


class BookMove(NamedTuple):
    """A move that a book knows."""

    move: str  # in the game's notation
    weight: float  # how often to play it, beside the position's other moves; at least 0


class Book(ABC):
    """An opening book in a file."""

    @abstractmethod
    def find(self, state: State) -> list[BookMove]:
        """What the book has for one State[]; its moves may be illegal, for a file can hold anything."""


class BookReader:
    """Draws moves from the book in a file, which it opens at the first request."""

    def __init__(self, path: str, open_book: Callable[[Path], Book]) -> None:
        """open_book: see Game.open_book."""
        self._path, self._open = path, open_book
        self._book: Book | None = None
        self._random = random.Random()
        self.problem = ""  # why the file cannot be used, one sentence

    def move(self, rules: Rules, line: State, *, best: bool, seed: int = 0) -> tuple[str, int] | None:
        """(move, number of moves that the book has) at the end of a line; None when it has none.

        best: the move with the greatest weight instead of a random one; seed: 0 = a different game each time.
        """
        if self._book is None and not self.problem:
            try:
                self._book = self._open(Path(self._path))
            except OSError as error:
                self.problem = f"the book {self._path!r} cannot be read ({error.strerror}); set BookFile to another"
            except OptionError as error:
                self.problem = f"{self._path!r}: {error}"
        if self._book is None:
            return None
        known = [each for each in self._book.find(line[-1]) if each.weight > 0 and _legal(rules, line, each.move)]
        if not known:
            return None
        if best:
            return max(known, key=lambda each: each.weight).move, len(known)
        source = random.Random(seed * 65536 + len(line)) if seed else self._random
        return source.choices(known, [each.weight for each in known])[0].move, len(known)


def _legal(rules: Rules, line: State, move: str) -> bool:
    try:
        rules.parse_move(line, move)
    except IllegalMoveError:
        return False
    return True
