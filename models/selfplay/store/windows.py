"""The newest games of a run on all of its boards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...data.dataset import Batch
from ..boards import Board
from .replay import GameRecord
from .window import Window, WindowConfig, window_games


class Windows:
    """The windows of a run's boards; each batch comes from one of them, drawn by the boards' shares.

    With one board it draws what the window itself does.
    """

    def __init__(self, boards: Sequence[Board], config: WindowConfig, make: Callable[[Board], Window]) -> None:
        """``config``: of the whole; each board's window has its share, and grows with the games on that board."""
        self.parts = tuple(make(board) for board in boards)
        self._lines = [board.lines for board in boards]
        self._shares = np.array([board.share for board in boards])
        self._configs = [
            replace(config, games=max(1, round(config.games * board.share)), start=round(config.start * board.share))
            for board in boards
        ]
        self._came = [0] * len(boards)

    @property
    def description(self) -> str:
        if len(self.parts) == 1:
            return self.parts[0].description
        return "; ".join(f"{part.board}: {part.description}" for part in self.parts)

    @property
    def own(self) -> Window:
        """That of the run's own board."""
        return self.parts[0]

    @property
    def games(self) -> int:
        return sum(part.games for part in self.parts)

    @property
    def memory_bound(self) -> bool:
        return any(part.memory_bound for part in self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def limit(self) -> int:
        """Games in them, at most."""
        return sum(part.limit for part in self.parts)

    def add(self, records: list[GameRecord], kept: list[GameRecord]) -> None:
        """Add those of ``records``, all games that came, that are ``kept`` for training; see :meth:`Window.add`.

        All are on boards of the run. Errors: DataError.
        """
        for record in records:
            self._came[self._lines.index(record.board)] += 1
        for i, part in enumerate(self.parts):
            part.limit = window_games(self._configs[i], self._came[i])
            part.add([record for record in kept if record.board == self._lines[i]])

    def draw(self, size: int, seed: int, step: int) -> Batch:
        """The positions of training step ``step``, all on one board, by the arguments and the games alone."""
        if len(self.parts) == 1:
            return self.own.draw(size, seed, step)
        shares = np.cumsum(np.where([len(part) > 0 for part in self.parts], self._shares, 0.0))
        place = np.random.Generator(np.random.PCG64([seed, step, 1])).random() * shares[-1]
        return self.parts[int(np.searchsorted(shares, place, side="right"))].draw(size, seed, step)
