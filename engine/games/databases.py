"""What files know of a game: its opening book and its endgame tables, opened when they are first wanted."""

from __future__ import annotations

import os

from .base import Game, State
from .book import BookReader
from .capabilities import Tablebase

_NO_BOOK = ("", "no_book")  # the second is what GUIs of YaneuraOu set
_NEAR = 3  # men more than the tables have, so that leaves of the search may be found in them
_FEW_MEN = 3 + _NEAR  # for the tables inside the package


class Databases:
    """One engine's. In its methods ``messages`` gets sentences for the user."""

    def __init__(self) -> None:
        self._book: tuple[str, BookReader] | None = None  # with its path
        self._tables: tuple[tuple[str, int, bool], Tablebase] | None = None  # with what they depend on
        self._untold: list[str] = []  # what is wrong with them

    def book_move(
        self, game: Game, line: State, path: str, *, best: bool, seed: int, messages: list[str]
    ) -> str | None:
        """The book's move at the end of a line; None in a game without books, or where it has none.

        best, seed: see :meth:`BookReader.move`.
        """
        if path in _NO_BOOK or game.open_book is None:
            return None
        if self._book is None or self._book[0] != path:
            self._book = path, BookReader(path, game.open_book)
        reader = self._book[1]
        known = reader.problem
        found = reader.move(game, line, best=best, seed=seed)
        if reader.problem != known:
            messages.append(reader.problem)
        if found is None:
            return None
        move, number = found
        messages.append(f"{move} is from the book, which has {number} move{'s' * (number > 1)} here")
        return move

    def tables(
        self, game: Game, line: State, path: str, *, most_men: int, rule50: bool, messages: list[str]
    ) -> Tablebase | None:
        """The endgame tables, where a position of theirs may be near. path: folders, none = those of the package."""
        if game.open_tables is None or (not path and game.men(line[-1]) > _FEW_MEN):
            return None
        tables = self.open_tables(game, path, most_men=most_men, rule50=rule50)
        if tables is None:
            return None
        messages.extend(self._untold)
        self._untold.clear()
        return tables if game.men(line[-1]) <= tables.most_men + _NEAR else None

    def open_tables(self, game: Game, path: str, *, most_men: int, rule50: bool) -> Tablebase | None:
        """The endgame tables; None without. Blocks for a tenth of a second or more when it opens them, once."""
        if game.open_tables is None or not most_men:
            return None
        wanted = path, most_men, rule50
        if self._tables is None or self._tables[0] != wanted:
            folders = [folder for folder in path.split(os.pathsep) if folder]
            self._tables = wanted, game.open_tables(folders, most_men=most_men, rule50=rule50)
            self._untold = list(self._tables[1].problems)
        return self._tables[1]
