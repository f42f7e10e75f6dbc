"""Quick games of a net against itself, without a search: positions from very many games.

A net that learns from the surroundings of some thousand games knows these games and errs in others. So here some
hundred positions come from each of very many games. A move is drawn from the net's policy and from its values of what
the few best moves lead to, without a search. At every ply some positions are kept that lie up to a few plies off the
game, where a search would look: drawn from the policy alone, so that blunders and their punishment are among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import DataError
from ....engine.games.base import State
from ....engine.games.outcome import RUNNING
from ....engine.settings import setting
from ...data.shards import Records
from ..around import draw_results, last_first, shard_format
from ..flags import Net
from ..guide import Guide
from ..job import Job, Labelling, Say, Source, Teacher
from ..starts import STARTS, read_starts

GAMES = 256  # of a task; game g of task i is game GAMES i + g
FIRST, SEEDS, OF_A_SEED = 1 << 31, 64, 1 << 25  # first number of these games; of a seed, so many
_COMPARED = 4  # moves of the highest policy whose positions are judged before one is played
_SHARPNESS = (3.0, 6.0, 10.0)  # weight of these values beside the policy's logarithm, one drawn per game
_DECIDED, _ENDED = 0.85, 0.15  # a game whose value is so high ends at each ply with that chance
_KEPT = 2  # positions kept of a ply
_DEPTHS = (0.15, 0.3, 0.25, 0.2, 0.1)  # chances that a kept one lies 0, 1, 2 ... plies off the game
_FLATNESS = 1.5  # T of policy^(1 / T), from which the moves off the game are drawn


@dataclass(frozen=True)
class QuickGames(Source):
    meaning = "quick games of a net, without a search: where --nnue is the teacher and no other flag chooses"
    each = GAMES
    alone = True

    positions: int = setting(1_000_000, "label at least so many", 1, flag=True)
    student: Net = setting(Net("default"), "the net that plays", flag=True)
    openings: tuple[int, ...] = setting(
        (0, 1, 2, 3, 4, 6, 8), "random plies before a game, drawn per game", 0, flag=True
    )
    temperatures: tuple[float, ...] = setting(
        (0.7, 1.0, 1.5), "T of policy^(1 / T), one drawn per game", above=0, flag=True
    )
    blunders: tuple[float, ...] = setting((0.02,), "chances of a random move, drawn per game", 0, 1, flag=True)
    starts: str = setting("", STARTS, flag=True)
    max_plies: int = setting(0, "plies after which a game ends; 0 = the game's own number", 0, flag=True)
    begun_at: tuple[str, ...] = ()  # the positions of ``starts``

    @property
    def total(self) -> int:
        return self.positions

    def first_game(self, seed: int) -> int:
        return FIRST + seed % SEEDS * OF_A_SEED

    def prepared(self, job: Job, say: Say) -> Self:
        shard_format(job.game_name)
        return replace(self, begun_at=read_starts(job.game, self.starts))

    def open(self, job: Job) -> Labelling:
        return Players(self, job).records


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


class Players:
    """Plays the games of a task and picks positions of them."""

    def __init__(self, source: QuickGames, job: Job) -> None:
        """BLOCKS. Errors: NetError, OptionError."""
        self._source, self._seed, self._most = source, job.seed, job.teacher.most
        self._shards, self._width = shard_format(job.game_name), job.form.lines
        self._guide = Guide(source.student, job)
        self._game = self._guide.game
        self._max_plies = source.max_plies or job.form.max_plies
        starts = source.begun_at or (job.form.start,)
        lines = [self._game.initial() if text is None else self._game.parse_position(text)[0] for text in starts]
        self._starts: State = np.concatenate([line[-1:] for line in lines])

    def records(self, number: int, teacher: Teacher) -> Records:
        """The records of a task. BLOCKS. Errors: AzError."""
        source, random = self._source, np.random.Generator(np.random.PCG64([self._seed, number]))
        openings, temperatures, blunders, sharpness = (
            random.choice(each, GAMES) for each in (source.openings, source.temperatures, source.blunders, _SHARPNESS)
        )
        games = self._judged(np.arange(GAMES), random.choice(self._starts, GAMES))
        kept = [self._kept(games.some(np.zeros(0, np.int64)))]  # nothing yet
        for ply in range(self._max_plies):
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
        return self._finished(kept, number, teacher, random)

    def _judged(self, numbers: NDArray[np.int64], states: State) -> _Games:
        leaves = self._guide.look(states)
        width = max(int(leaves.rows["count"].max(initial=0)), self._width)
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
        present = np.arange(_COMPARED) < games.rows["count"][:, None]
        rows, columns = np.nonzero(present)
        after = self._game.after(games.states, rows, games.moves[rows, columns])
        next_rows = self._guide.look(after, values=True).rows
        over = next_rows["outcome"] != RUNNING
        values = np.where(over, next_rows["outcome"], next_rows["value"])  # for the other side
        scores = np.full(present.shape, -np.inf)
        scores[rows, columns] = np.log(np.maximum(games.policy[rows, columns], 1e-6)) / temperatures[rows]
        scores[rows, columns] -= sharpness[rows] * values
        chosen: NDArray[np.int64] = np.argmax(scores + random.gumbel(size=scores.shape), axis=1)
        return chosen

    def _off(self, games: _Games, random: np.random.Generator) -> list[_Kept]:
        """Positions up to a few plies off the games."""
        result, every = list[_Kept](), np.repeat(np.arange(len(games.numbers)), _KEPT)
        rollouts = games.some(every)
        depths = random.choice(len(_DEPTHS), len(every), p=_DEPTHS)
        for depth in range(len(_DEPTHS)):
            result.append(self._kept(rollouts.some(depths == depth)))
            further = depths > depth
            rollouts, depths = rollouts.some(further), depths[further]
            if not len(depths):
                break
            weights = rollouts.policy ** np.float32(1 / _FLATNESS)
            chosen = np.argmax(weights / random.standard_exponential(weights.shape), axis=1)
            rollouts = self._judged(rollouts.numbers, self._after(rollouts, chosen))
            running = rollouts.running
            rollouts, depths = rollouts.some(running), depths[running]
        return result

    def _kept(self, games: _Games) -> _Kept:
        lines = self._width
        best = np.where(games.policy > 0, games.moves, 0)[:, :lines], games.policy[:, :lines].copy()
        return _Kept(games.numbers, games.states, games.rows["key"], *best)

    def _finished(self, kept: list[_Kept], number: int, teacher: Teacher, random: np.random.Generator) -> Records:
        """The records of a task, each position once. Errors: DataError where there are none."""
        numbers, states, keys, moves, policy = map(np.concatenate, zip(*kept, strict=True))
        if not len(keys):
            raise DataError(
                "no quick game went on behind its opening; give shorter --openings, or --max-plies above them"
            )
        picked = random.permutation(len(keys))
        picked = picked[np.unique(keys[picked], return_index=True)[1]]
        if self._most:
            picked = picked[np.argsort(numbers[picked], kind="stable")]
            first = np.searchsorted(numbers[picked], numbers[picked])
            picked = picked[np.arange(len(picked)) - first < self._most]
        records = teacher.records(states[picked], moves[picked], policy[picked])
        records["game"] = number * GAMES + numbers[picked]
        records = last_first(records)
        draw_results(self._shards, records, random)
        return records


SOURCE = QuickGames
