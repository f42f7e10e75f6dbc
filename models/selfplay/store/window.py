"""The window of the newest self-play games that the learner samples from, as flat arrays of states.

New games replace the oldest. Its size is bounded in games and in bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import DataError, counted
from ....engine.games.base import Game
from ....engine.settings import setting
from ...data.dataset import Batch, Positions, Sampling, one_hot_result
from ..boards import Board
from .replay import GameRecord, line_of_game

HELD_OUT_GAMES = 200  # newest held-out games that the learner is measured on


@dataclass(frozen=True, slots=True)
class WindowConfig:
    """The size of the window."""

    games: int = setting(1_000_000, "games, at most (AlphaZero; AlphaGo Zero: 500,000)", low=1)
    start: int = setting(0, "the window grows from so many games; 0 = it has its full size at once", low=0)
    growth: float = setting(0.75, "exponent of the growth, 1 = linear", above=0, high=1)
    root_value: float = setting(
        0.0,
        "share of the value's target that is the root's value after the search, and not the game's result",
        low=0,
        high=1,
    )
    memory_mib: int = setting(4096, "memory in MiB: fewer games when they would take more; the run says so", low=1)
    held_out_every: int = setting(
        0, "every so many-th game is measured on and never trained on; 0 = none, as in the papers", low=0
    )


def window_games(config: WindowConfig, total: int) -> int:
    """Games in the window when ``total`` have been played.

    With ``start`` c and ``growth`` a: c (1 + 0.4 ((total / c)^a - 1) / a), KataGo's sublinear growth (Wu 2019,
    'Accelerating Self-Play Learning in Go', Appendix C), so that the first nets' games are soon dropped.
    """
    if not config.start or total <= config.start:
        return min(config.games, max(total, 1))
    c, a = config.start, config.growth
    return min(config.games, int(c * (1 + 0.4 * ((total / c) ** a - 1) / a)))


class Window(Positions):
    """Games in arrival order; a row is a position, drawn uniformly among those with a policy target."""

    def __init__(
        self,
        game: Game,
        games: int,
        memory_mib: int = 1 << 20,
        *,
        root_value: float = 0.0,
        territory: bool = False,
        sampling: Sampling = Positions.sampling,
    ) -> None:
        """``root_value``: see WindowConfig; ``territory``: keep who owns each point, and the lead."""
        empty = np.zeros(0, np.int64)
        super().__init__(
            game, np.zeros(0, game.state_dtype), empty, np.zeros((0, 1), np.uint16), np.zeros((0, 1), np.float32),
            np.zeros((0, 3), np.float32), np.zeros(0, np.float32), drawn=empty, sampling=sampling,
        )  # fmt: skip
        self.limit, self._root_value = games, np.float32(root_value)
        if territory:
            self.ownership = np.zeros((0, game.planes[1] * game.planes[2]), np.int8)
            self.score = np.zeros(0, np.float32)
        self._bytes = memory_mib << 20
        self._entry_moves = np.zeros(0, np.uint16)  # the policy targets end to end; row r's begin at _entries[r]
        self._entry_shares = np.zeros(0, np.float32)
        self._entries = np.zeros(1, np.int64)
        self._lengths: deque[int] = deque()  # of the games, oldest first
        self._start = self._end = 0  # rows in use
        self._entry_end = 0
        self.memory_bound = False  # whether memory, not ``limit``, bounded the window

    @property
    def games(self) -> int:
        return len(self._lengths)

    def add(self, records: list[GameRecord]) -> None:
        """Add games, drop the oldest beyond ``limit``. Errors: DataError for a game that cannot be replayed."""
        for record in records[-self.limit :]:
            if len(record.moves):
                self._append(record)
        self.trim()
        self.drawn = self._start + np.flatnonzero(np.diff(self._entries[self._start : self._end + 1]))
        self.description = f"{counted(len(self.drawn), 'position')} of {counted(self.games, 'self-play game')}"

    def trim(self) -> None:
        """Drop the oldest games beyond ``limit``."""
        row = self.states.itemsize + self.first.itemsize + self.wdl.itemsize * 3 + self.z.itemsize + 8
        if self.ownership is not None:
            row += self.ownership.shape[1] + 4
        while self._lengths:
            entries = self._entry_end - int(self._entries[self._start])
            too_big = (self._end - self._start) * row + entries * 6 > self._bytes and len(self._lengths) > 1
            self.memory_bound |= too_big
            if len(self._lengths) <= self.limit and not too_big:
                return
            self._start += self._lengths.popleft()

    def _append(self, record: GameRecord) -> None:
        n, entries = len(record.moves), len(record.target_moves)
        self._make_room(n, entries)
        begin, end = self._end, self._end + n
        line = line_of_game(self.game, record)
        self.states[begin:end] = states = line[:-1]
        self.first[begin:end] = begin
        sides = (self.game.side_to_move(states[0]) + np.arange(n)) % 2
        self.z[begin:end] = np.where(sides == 0, record.result, -record.result)
        self.wdl[begin:end] = one_hot_result(self.z[begin:end])
        if self._root_value:
            value = np.clip(record.values, -1, 1)
            draw = np.minimum(record.draws, 1 - abs(value))
            searched = np.stack([(1 + value - draw) / 2, draw, (1 - value - draw) / 2], axis=1)
            self.wdl[begin:end] += self._root_value * (searched - self.wdl[begin:end])
        self._append_territory(line[-1], record.reason, sides, begin, end)
        self._entries[begin + 1 : end + 1] = self._entry_end + np.cumsum(record.counts, dtype=np.int64)
        self._entry_moves[self._entry_end : self._entry_end + entries] = record.target_moves
        self._entry_shares[self._entry_end : self._entry_end + entries] = record.target_shares
        self._end, self._entry_end = end, self._entry_end + entries
        self._lengths.append(n)

    def _append_territory(self, end_state: Any, reason: str, sides: NDArray[np.int64], begin: int, end: int) -> None:
        """Who owns each point at a game's end, and by how many points, for the mover; unknown in a game given up."""
        if self.ownership is None or self.score is None:
            return
        territory = self.game.territory
        if territory is None or reason == "resigned":
            self.ownership[begin:end], self.score[begin:end] = self.UNKNOWN, np.nan
            return
        owner = territory.score(end_state)[1].astype(np.int64)
        black = self.OWNERSHIP_SCALE * ((owner == 0).astype(np.int8) - (owner == 1).astype(np.int8))
        signs = np.where(sides == 0, 1, -1)
        self.ownership[begin:end] = (signs[:, None] * black).astype(np.int8)
        self.score[begin:end] = signs * (int((owner == 0).sum()) - int((owner == 1).sum()))

    def _make_room(self, rows: int, entries: int) -> None:
        """Make room for a game: move the rows in use to the front, in arrays of twice the needed size."""
        if self._end + rows <= len(self.states) and self._entry_end + entries <= len(self._entry_moves):
            return
        start, end = self._start, self._end
        first_entry, entry_end = int(self._entries[start]), self._entry_end
        size = max(1024, 2 * (end - start + rows))
        entry_size = max(8192, 2 * (entry_end - first_entry + entries))

        def moved(old: NDArray[np.generic], begin: int, stop: int, length: int) -> NDArray[np.generic]:
            new = np.zeros((length, *old.shape[1:]), old.dtype)
            new[: stop - begin] = old[begin:stop]
            return new

        self.states = moved(self.states, start, end, size)  # type: ignore[assignment]
        self.first = moved(self.first - start, start, end, size)  # type: ignore[assignment]
        self.z = moved(self.z, start, end, size)  # type: ignore[assignment]
        self.wdl = moved(self.wdl, start, end, size)  # type: ignore[assignment]
        if self.ownership is not None and self.score is not None:
            self.ownership = moved(self.ownership, start, end, size)  # type: ignore[assignment]
            self.score = moved(self.score, start, end, size)  # type: ignore[assignment]
        self._entries = moved(self._entries - first_entry, start, end + 1, size + 1)  # type: ignore[assignment]
        self._entry_moves = moved(self._entry_moves, first_entry, entry_end, entry_size)  # type: ignore[assignment]
        self._entry_shares = moved(self._entry_shares, first_entry, entry_end, entry_size)  # type: ignore[assignment]
        self._start, self._end, self._entry_end = 0, end - start, entry_end - first_entry

    def targets(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """Policy targets of rows i8[B]: moves u2[B, K] and probabilities f4[B, K] that add up to 1."""
        begin, end = self._entries[rows], self._entries[rows + 1]
        places = np.arange(int((end - begin).max(initial=1)))
        used = begin[:, None] + places < end[:, None]
        where = np.where(used, begin[:, None] + places, begin[:, None])
        shares = np.where(used, self._entry_shares[where], np.float32(0))
        totals = shares.sum(axis=1, keepdims=True)
        if not (totals > 0).all():
            raise DataError("a position without a policy target was drawn; its game record is damaged")
        return self._entry_moves[where], (shares / totals).astype(np.float32)

    def draw(self, size: int, seed: int, step: int) -> Batch:
        """The positions of training step ``step``: each uniformly from the window, as in the papers."""
        random = np.random.Generator(np.random.PCG64([seed, step]))
        return self.batch(random.integers(len(self), size=size))


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
    def main(self) -> Window:
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
            return self.main.draw(size, seed, step)
        shares = np.cumsum(np.where([len(part) > 0 for part in self.parts], self._shares, 0.0))
        place = np.random.Generator(np.random.PCG64([seed, step, 1])).random() * shares[-1]
        return self.parts[int(np.searchsorted(shares, place, side="right"))].draw(size, seed, step)
