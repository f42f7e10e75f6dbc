"""What files know of a game: its opening book and its endgame tables, opened when they are first wanted."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from .base import Game, State
from .book import BookReader
from .capabilities import Tablebase
from .outcome import DRAW, LOSS

NO_BOOK = ("", "no_book")  # the second is what GUIs of YaneuraOu set
_NEAR = 3  # pieces more than the tables have, so that leaves of the search may be found in them


class Databases:
    """One engine's. In its methods ``messages`` gets sentences for the user."""

    def __init__(self) -> None:
        self._book: tuple[str, BookReader] | None = None  # with its path
        self._opened: tuple[str, int, bool] | None = None  # what the tables depend on
        self.tables: Tablebase | None = None  # those that were opened last
        self.near = 0  # pieces on the board from which on a search may find their positions
        self.problems: list[str] = []  # what is wrong with the tables, also found later; emptied by whoever shows it

    def book_move(
        self, game: Game, line: State, path: str, *, best: bool, seed: int, messages: list[str]
    ) -> str | None:
        """The book's move at the end of a line; None in a game without books, or where it has none.

        best, seed: see :meth:`BookReader.move`.
        """
        if path in NO_BOOK or game.open_book is None:
            return None
        if self._book is None or self._book[0] != path:
            self._book = path, BookReader(path, game.open_book)
        reader = self._book[1]
        known = reader.problem
        result = reader.move(game, line, best=best, seed=seed)
        if reader.problem != known:
            messages.append(reader.problem)
        if result is None:
            return None
        move, number = result
        messages.append(f"{move} is from the book, which has {number} move{'s' * (number > 1)} here")
        return move

    def open_tables(self, game: Game, path: str, *, most_pieces: int, rule50: bool) -> None:
        """Open the game's endgame tables, if it has some and ``most_pieces`` is not 0; ``path``: folders.

        Blocks for a tenth of a second or more, once.
        """
        requested = path, most_pieces, rule50
        if game.open_tables is None or not most_pieces:
            self._opened, self.tables, self.near = None, None, 0
        elif self._opened != requested:
            folders = [folder for folder in path.split(os.pathsep) if folder]
            self._opened, self.tables = requested, game.open_tables(folders, most_pieces=most_pieces, rule50=rule50)
            self.near, self.problems = self.tables.most_pieces + _NEAR, self.tables.problems

    def at_root(
        self, game: Game, line: State, moves: NDArray[np.uint16]
    ) -> tuple[Tablebase | None, dict[int, tuple[int, int]] | None]:
        """The tables, if a search from the end of a line may meet their positions, and what they know of moves u2[K].

        The latter by move: outcome and rank; None for a root that they do not have.
        """
        tables = self.tables
        if tables is None or game.count_pieces(line[-1]) > self.near:
            return None, None
        tables.hits = 0
        ranked = tables.rank_moves(line, moves)
        if ranked is None:
            return tables, None
        return tables, _with_draws(game, line, dict(zip(moves.tolist(), ranked, strict=True)))


def _with_draws(game: Game, line: State, known: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """What tables know of moves, where those that repeat a position too often are draws: tables see no history."""
    drawn = {move for move, (code, _) in known.items() if code != DRAW and game.outcome(game.play(line, move)) == DRAW}
    if not drawn:
        return known
    above = 1 + 2 * max((rank for code, rank in known.values() if code == LOSS), default=-1)
    return {m: (DRAW, above) if m in drawn else (code, 2 * rank) for m, (code, rank) in known.items()}
