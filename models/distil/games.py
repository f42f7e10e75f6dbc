"""Games that show a net what it must know: of every strength, komi and rule set, played by a teacher's policy.

Many games of one size run side by side; each step encodes the position after the moves chosen for all of them. A game
draws its rules, its komi, how widely it chooses moves and how many of them at random, and handicap stones. Some begin
with a fight, and most are as games are: at a usual komi, moves near the best.
"""

from __future__ import annotations

import contextlib
import re
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import PositionError
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.kernels.jit import kernel
from .fights import fight, territories

_RULES = {  # how often a game has them
    "tromp-taylor": 0.2, "chinese-ogs": 0.2, "chinese": 0.1, "aga": 0.05, "new-zealand": 0.05, "japanese": 0.35,
    "aga-button": 0.02, "stone-scoring": 0.015, "ancient-territory": 0.015,
}  # fmt: skip
_KOMI = (5.5, 6.0, 6.5, 7.0, 7.0, 7.5, 7.5, 8.5, 0.5)  # of half of the games at their start
_USUAL = 0.6  # chance that a game is as games are
_CHANGE = 0.15  # chance that komi changes before a move of the others ...
_FAIR, _SPREAD = 0.75, 6.0  # ... mostly to what is fair, give or take so many points
_WIDE = (-30.0, 40.0)  # ... else to anything in here
_MOST = 63.5  # greatest komi that a byte of half points shows
_HANDICAP, _STONES = 0.1, (2, 9)
_FIGHT, _DIVIDED = 0.4, 0.6  # chance that a game begins with a fight, and that this is on a divided board
_TEMPERATURES, _USUAL_TEMPERATURES = (0.15, 0.5, 0.8, 1.0, 1.2), (0.1, 0.2, 0.4, 0.6, 0.8)
_BLUNDERS, _USUAL_BLUNDERS = (0.0, 0.0, 0.0, 0.03, 0.1, 0.3), (0.0, 0.0, 0.02)  # chance that a move is any legal one
_OPENING = 0.05  # of the board's points: mean number of first moves drawn widely
_LONGEST = 1.35  # of the board's points, moves of a game


@dataclass(slots=True)
class Positions:
    """The positions of G games, one each; views that hold until the next step."""

    planes: NDArray[np.uint8]  # [G, C, H, W] of the encoder katago-v7
    legal: NDArray[np.uint8]  # [G, A], 1 = legal
    usable: NDArray[np.bool_]  # [G], False where a game has just ended
    temperatures: NDArray[np.float32]  # [G] of the next choice


class Games:
    """``count`` games of one size, in slices that run side by side."""

    def __init__(self, game: Game, count: int, executor: Executor, slices: int, seed: int) -> None:
        """game: with the encoder katago-v7."""
        self.game = game
        self._executor = executor
        size = -(-count // slices)
        bounds = [(i, min(i + size, count)) for i in range(0, count, size)]
        self.planes = np.zeros((count, *game.planes), np.uint8)
        self.legal = np.zeros((count, game.num_actions), np.uint8)
        self.usable = np.zeros(count, bool)
        self.temperatures = np.ones(count, np.float32)
        self.slices = [_Slice(self, begin, end, [seed, begin]) for begin, end in bounds]
        self._under_way: list[Future[None]] = []

    def begin(self, moves: NDArray[np.int64] | None, leads: NDArray[np.float32] | None) -> None:
        """Play moves i8[G], chosen among the legal ones; leads f4[G]: of the side to move on the board, in points.

        Returns at once; None at the start.
        """
        self._under_way = [
            self._executor.submit(
                part.step,
                None if moves is None else moves[part.begin : part.end],
                None if leads is None else leads[part.begin : part.end],
            )
            for part in self.slices
        ]

    def wait(self) -> Positions:
        """The positions after the moves that were begun. BLOCKS."""
        for future in self._under_way:
            future.result()
        return Positions(self.planes, self.legal, self.usable, self.temperatures)


@kernel
def _mark_legal(actions: Any, counts: Any, legal: NDArray[np.uint8]) -> None:
    """legal u1[G, A] = 1 at the first counts i4[G] of actions u2[G, M], at the pass where there are none, else 0."""
    for g in range(legal.shape[0]):
        for action in range(legal.shape[1]):
            legal[g, action] = 0
        for k in range(counts[g]):
            legal[g, actions[g, k]] = 1
        if counts[g] == 0:
            legal[g, legal.shape[1] - 1] = 1


def _with_stones(start: str, board: NDArray[np.uint8], side: str) -> str:
    """An empty board's position, see engine.games.go.notation, with stones u1[H, W] and a side to move."""
    rows = "/".join("".join("XO."[stone] for stone in row) for row in board)
    rows = re.sub(r"\.+", lambda empty: str(len(empty[0])), rows)
    return f"{rows} {side} {start.split(maxsplit=2)[2]}"


class _Slice:
    def __init__(self, games: Games, begin: int, end: int, seed: list[int]) -> None:
        self.begin, self.end = begin, end
        self._games, self._game = games, games.game
        self._random = np.random.default_rng(seed)
        count, encoder = end - begin, games.game.encoder
        self._points = games.game.num_actions - 1
        self._longest = int(_LONGEST * self._points) + 10
        self._states = np.zeros((count, self._longest + 2), games.game.state_dtype)
        self._at = np.zeros(count, np.int64)
        self._leaves = encoder.make_leaves(count)._replace(planes=games.planes[begin:end].reshape(count, -1))
        self._leaves.rows["slot"] = np.arange(count)
        self._leaves.rows["outcome"] = RUNNING
        self._rows = np.arange(count)
        self._over, self._usual = np.ones(count, bool), np.zeros(count, bool)
        self._temperature, self._blunders = np.ones(count, np.float32), np.zeros(count)
        self._opening, self._handicap = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._end = np.zeros(count, np.int64)
        self._first = True

    def line(self, i: int) -> State:
        """State[n + 1] of its i-th game, up to the position shown."""
        return self._states[i, : self._at[i] + 1]

    def step(self, moves: NDArray[np.int64] | None, leads: NDArray[np.float32] | None) -> None:
        leaves, rows, states = self._leaves, self._rows, self._states
        going = ~self._over
        if moves is not None and leads is not None:
            chosen = moves.copy()
            blunders = np.flatnonzero(going & (self._random.random(len(rows)) < self._blunders))
            counts = leaves.rows["count"][blunders]
            chosen[blunders] = leaves.moves[blunders, (self._random.random(len(blunders)) * counts).astype(np.int64)]
            self._change_komi(going, leads)
            leaves.paths[:, 0] = chosen
        for i in np.flatnonzero(self._over):
            self._restart(int(i))
        self._take_turns(going)
        leaves.rows["root"], leaves.rows["length"] = self._at, going
        self._game.encoder.describe(states, leaves, len(rows), self._game.history, 0)
        self._at += going
        now = states[rows, self._at]
        ended = (leaves.rows["outcome"] != RUNNING) | (now["passes"] >= 2) | (self._at >= self._end)
        self._over, span = ended, slice(self.begin, self.end)
        games = self._games
        games.usable[span] = ~ended
        _mark_legal(leaves.actions, np.where(ended, 0, leaves.rows["count"]), games.legal[span])
        games.temperatures[span] = np.where(self._at < self._opening, 1.5, self._temperature)

    def _change_komi(self, going: NDArray[np.bool_], leads: NDArray[np.float32]) -> None:
        """Draw a new komi in some of the games that go on."""
        changed = np.flatnonzero(going & ~self._usual & (self._random.random(len(going)) < _CHANGE))
        if not len(changed):
            return
        turn = self._states["turn"][changed, self._at[changed]]
        random, count = self._random, len(changed)
        fair = np.where(turn == 0, leads[changed], -leads[changed]) + _SPREAD * random.standard_normal(count)
        komi = np.where(random.random(count) < _FAIR, fair, random.uniform(*_WIDE, count))
        most = min(_MOST, self._points / 2)
        self._states["komi"][changed, self._at[changed]] = np.round(2 * np.clip(komi, -most, most))

    def _restart(self, i: int) -> None:
        """Begin a game anew."""
        random = self._random
        name = random.choice(list(_RULES), p=np.array(list(_RULES.values())))
        usual = self._usual[i] = random.random() < _USUAL
        komi = random.choice(_KOMI) if usual or random.random() < 0.5 else np.round(2 * random.uniform(*_WIDE)) / 2
        most = min(_MOST, self._points / 2)
        _, rows, columns = self._game.planes
        territory = self._game.territory
        assert territory is not None
        start = territory.start(columns, rows, float(np.clip(komi, -most, most)), str(name))
        fights = random.random() < _FIGHT
        self._states[i, 0] = self._fight(start) if fights else self._game.parse_position(start)[0][-1]
        self._at[i] = 0
        self._temperature[i] = random.choice(_USUAL_TEMPERATURES if usual else _TEMPERATURES)
        self._blunders[i] = random.choice(_USUAL_BLUNDERS if usual else _BLUNDERS)
        self._opening[i] = 0 if fights else random.exponential(_OPENING * self._points)
        self._handicap[i] = 0
        if random.random() < _HANDICAP and not fights:
            most_stones = max(2, min(_STONES[1], self._points // 20))
            self._handicap[i] = random.integers(_STONES[0], most_stones + 1)
        longest = self._longest if not self._first else int(random.integers(1, self._longest))
        self._end[i] = longest
        if i == len(self._rows) - 1:
            self._first = False

    def _fight(self, start: str) -> np.void:
        """The State of an empty board's position with a fight on it."""
        random, lines = self._random, self._game.planes[1]
        found: np.void | None = None
        while found is None:
            with contextlib.suppress(PositionError):  # a chain has no liberty
                board = territories(lines, random) if random.random() < _DIVIDED else fight(lines, random)
                text = _with_stones(start, board, "bw"[random.integers(2)])
                found = self._game.parse_position(text)[0][-1]
        return found

    def _take_turns(self, going: NDArray[np.bool_]) -> None:
        """Let black play on where it is to have handicap stones: white's move becomes a change of the side to move."""
        turn = self._states["turn"][self._rows, self._at]
        again = np.flatnonzero(going & (self._handicap > 1) & (turn == 1))
        self._leaves.paths[again, 0] = self._points + 1
        self._handicap[again] -= 1
