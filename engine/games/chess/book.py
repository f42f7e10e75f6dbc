"""Polyglot books (.bin), read by python-chess."""

from __future__ import annotations

from pathlib import Path

import chess
import chess.polyglot
import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ..book import Book, BookMove
from .notation import format_fen

_ENTRY = 16  # bytes


class PolyglotBook(Book):
    """A book sorted by the keys of its positions."""

    def __init__(self, path: Path, *, chess960: bool) -> None:
        """Errors: OSError; OptionError when the file is no such book."""
        size = path.stat().st_size
        if size == 0 or size % _ENTRY:
            raise OptionError(f"this is no Polyglot book: its {size} bytes are no entries of {_ENTRY} bytes")
        self._reader = chess.polyglot.open_reader(path)
        self._chess960 = chess960

    def find(self, state: NDArray[np.void]) -> list[BookMove]:
        board = chess.Board(format_fen(state), chess960=self._chess960)
        return [BookMove(board.uci(each.move), each.weight) for each in self._reader.find_all(board)]
