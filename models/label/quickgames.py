"""Quick games of a net against itself, judged by an engine's evaluation net: labels from very many games.

A net that learns from the surroundings of some thousand games knows these games and errs in others. So here some
hundred positions come from each of very many games. A move is drawn from the net's policy and from its values of what
the few best moves lead to, without a search. At every ply some positions are kept that lie up to a few plies off the
game, where a search would look: drawn from the policy alone, so that blunders and their punishment are among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from ...engine.games.base import State
from ...engine.games.outcome import RUNNING
from ..data.formats import labels_of
from ..data.shards import Records
from .positions import PositionLabeller, last_first
from .recipe import Recipe
from .walks import draw_results

GAMES = 256  # of a task; game g of task i is game GAMES i + g
_COMPARED = 4  # moves of the highest policy whose positions are judged before one is played
_SHARPNESS = (3.0, 6.0, 10.0)  # weight of these values beside the policy's logarithm, one drawn per game
_DECIDED, _ENDED = 0.85, 0.15  # a game whose value is so high ends at each ply with that chance
_KEPT = 2  # positions kept of a ply
_DEPTHS = (0.15, 0.3, 0.25, 0.2, 0.1)  # chances that a kept one lies 0, 1, 2 ... plies off the game
_FLATNESS = 1.5  # T of policy^(1 / T), from which the moves off the game are drawn


class _Games(NamedTuple):
    """N games that are still played, and what the net says of their positions."""

    numbers: NDArray[np.int64]  # [N]
    states: State  # [N]
    rows: NDArray[Any]  # LEAF[N]
    moves: NDArray[np.uint16]  # [N, M], best first
    policy: NDArray[np.float32]  # [N, M], 0 beyond the last

    @property
    def running(self) -> NDArray[np.bool_]:
        """bool[N]: which are not over, by the rules or by a mate in sight."""
        return np.asarray((self.rows["outcome"] == RUNNING) & (self.rows["count"] > 0))

    def some(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> _Games:
        numbers, states, rows, moves, policy = self
        return _Games(numbers[which], states[which], rows[which], moves[which], policy[which])


class _Kept(NamedTuple):
    """N positions to be labelled, and what a record may hold of the net's opinion."""

    numbers: NDArray[np.int64]  # [N] of their games
    states: State  # [N]
    keys: NDArray[np.uint64]  # [N]
    moves: NDArray[np.uint16]  # [N, K]
    policy: NDArray[np.float32]  # [N, K]


class QuickGames:
    """Plays the games of a task and labels positions of them."""

    def __init__(self, recipe: Recipe) -> None:
        """BLOCKS. Errors: NetError, OptionError, DataError."""
        self._recipe, self._labeller = recipe, PositionLabeller(recipe)
        self._game = self._labeller.game
        starts = recipe.starts or (labels_of(recipe.game).start,)
        lines = [self._game.initial() if text is None else self._game.parse_position(text)[0] for text in starts]
        self._starts: State = np.concatenate([line[-1:] for line in lines])

    def walk(self, number: int) -> Records:
        """The records of a task, which depend on its number and the seed alone. BLOCKS. Errors: NetError, DataError."""
        recipe, random = self._recipe, np.random.Generator(np.random.PCG64([self._recipe.seed, number]))
        openings, temperatures, blunders, sharpness = (
            random.choice(each, GAMES) for each in (recipe.openings, recipe.temperatures, recipe.blunders, _SHARPNESS)
        )
        games = self._judged(np.arange(GAMES), random.choice(self._starts, GAMES))
        kept = [self._kept(games.some(np.zeros(0, np.int64)))]  # nothing yet
        for ply in range(recipe.max_plies):
            games = self._going(games, random)
            if not len(games.numbers):
                break
            begun = openings[games.numbers] <= ply
            kept += self._off(games.some(begun), random)
            at = games.numbers
            chosen = self._drawn(games, temperatures[at], sharpness[at], random)
            blind = ~begun | (random.random(len(at)) < blunders[at])
            counts = games.rows["count"][blind]
            chosen[blind] = (random.random(len(counts)) * counts).astype(np.int64)
            games = self._judged(at, self._after(games, chosen))
        return self._finished(kept, number, random)

    def _judged(self, numbers: NDArray[np.int64], states: State) -> _Games:
        leaves = self._labeller.look(states)
        width = max(int(leaves.rows["count"].max(initial=0)), self._labeller.form.lines)
        moves, policy = leaves.moves[:, :width], leaves.priors[:, :width]
        policy[np.arange(width) >= leaves.rows["count"][:, None]] = 0
        return _Games(numbers, states, leaves.rows, moves, policy)

    def _going(self, games: _Games, random: np.random.Generator) -> _Games:
        """Those that go on."""
        decided = np.abs(games.rows["value"]) > _DECIDED
        return games.some(games.running & ~(decided & (random.random(len(decided)) < _ENDED)))

    def _after(self, games: _Games, chosen: NDArray[np.int64]) -> State:
        """The positions after the chosen ones i8[N] of the moves."""
        every = np.arange(len(chosen))
        return self._game.after(games.states, every, games.moves[every, chosen])

    def _drawn(
        self,
        games: _Games,
        temperatures: NDArray[np.float64],
        sharpness: NDArray[np.float64],
        random: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Which of its moves each game goes on with: i8[N]."""
        there = np.arange(_COMPARED) < games.rows["count"][:, None]
        rows, columns = np.nonzero(there)
        next_rows = self._labeller.look(self._game.after(games.states, rows, games.moves[rows, columns])).rows
        over = next_rows["outcome"] != RUNNING
        values = np.where(over, next_rows["outcome"], next_rows["value"])  # for the other side
        scores = np.full(there.shape, -np.inf)
        scores[rows, columns] = np.log(np.maximum(games.policy[rows, columns], 1e-6)) / temperatures[rows]
        scores[rows, columns] -= sharpness[rows] * values
        chosen: NDArray[np.int64] = np.argmax(scores + random.gumbel(size=scores.shape), axis=1)
        return chosen

    def _off(self, games: _Games, random: np.random.Generator) -> list[_Kept]:
        """Positions up to a few plies off the games."""
        found, every = list[_Kept](), np.repeat(np.arange(len(games.numbers)), _KEPT)
        walks = games.some(every)
        depths = random.choice(len(_DEPTHS), len(every), p=_DEPTHS)
        for depth in range(len(_DEPTHS)):
            found.append(self._kept(walks.some(depths == depth)))
            further = depths > depth
            walks, depths = walks.some(further), depths[further]
            if not len(depths):
                break
            weights = walks.policy ** np.float32(1 / _FLATNESS)
            chosen = np.argmax(weights / random.standard_exponential(weights.shape), axis=1)
            walks = self._judged(walks.numbers, self._after(walks, chosen))
            running = walks.running
            walks, depths = walks.some(running), depths[running]
        return found

    def _kept(self, games: _Games) -> _Kept:
        lines = self._labeller.form.lines
        best = np.where(games.policy > 0, games.moves, 0)[:, :lines], games.policy[:, :lines].copy()
        return _Kept(games.numbers, games.states, games.rows["key"], *best)

    def _finished(self, kept: list[_Kept], number: int, random: np.random.Generator) -> Records:
        """The records of a task, each position once. Errors: DataError where there are none."""
        labeller, limit = self._labeller, self._recipe.judged_moves
        numbers, states, keys, moves, policy = map(np.concatenate, zip(*kept, strict=True))
        if not len(keys):
            raise DataError(
                "no quick game went on behind its opening; give shorter --openings, or --max-plies above them"
            )
        picked = random.permutation(len(keys))
        picked = picked[np.unique(keys[picked], return_index=True)[1]]
        if limit:
            picked = picked[np.argsort(numbers[picked], kind="stable")]
            first = np.searchsorted(numbers[picked], numbers[picked])
            picked = picked[np.arange(len(picked)) - first < limit]
            records = labeller.by_moves(states[picked])
        else:
            records = labeller.records(states[picked], moves[picked], policy[picked])
        records["game"] = number * GAMES + numbers[picked]
        records = last_first(records)
        draw_results(labeller.shards, records, random)
        return records
