"""What a learner learns from: batches of encoded positions with their targets.

A :class:`Dataset` hands out batches by index. :class:`Positions` is the one used for every source whose games are known
move by move (labelled records, PGN, later self-play): it keeps the games as flat arrays of the game's own states and
encodes a batch on request, history included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from ...engine.games.base import Game

HOLDOUT_EVERY, HOLDOUT_REST = 50, 7  # without an own hold-out, the games with number % 50 == 7 are it


@dataclass(frozen=True, slots=True)
class Batch:
    """B positions and what the network should say of them; every value is the side to move's."""

    planes: NDArray[np.uint8]  # [B, C, H, W]
    # [B, K] with a target probability; padded with any valid action of probability 0; K = 0: no policy is requested
    actions: NDArray[np.int32]
    probabilities: NDArray[np.float32]  # [B, K], each row adds up to 1
    legal: NDArray[np.int32] | None  # [B, M] legal actions, padded with -1; None when unknown
    wdl: NDArray[np.float32]  # [B, 3] chances of win, draw and loss
    z: NDArray[np.float32]  # [B] the game's result, +1 won, 0 drawn, -1 lost
    # where a game does not say it, NaN; where none does, None:
    ownership: NDArray[np.float32] | None = None  # [B, H, W] whose a point will be, +1 the mover's
    score: NDArray[np.float32] | None = None  # [B] lead on the board in points, komi left out
    # after one of the moves of F of the positions, see Sampling.follow; its own side's view:
    after: NDArray[np.uint8] | None = None  # planes [F, C, H, W]
    after_wdl: NDArray[np.float32] | None = None  # [F, 3] chances of win, draw and loss

    def __len__(self) -> int:
        return len(self.planes)


class Dataset(Protocol):
    """Anything that a learner can sample from."""

    @property
    def description(self) -> str:
        """One sentence: what the positions are."""

    @property
    def parts(self) -> tuple[Positions, ...]:
        """The positions by size of board, one part for each size."""

    def __len__(self) -> int:
        """Number of positions that may be drawn."""

    def draw(self, size: int, seed: int, step: int) -> Batch:
        """The ``size`` positions of training step ``step`` (from 0), all on boards of one size.

        They depend on the arguments alone. Callable from any thread. Errors: DataError.
        """


@dataclass(frozen=True, slots=True)
class Sampling:
    """What batches show of positions."""

    symmetries: bool = False  # each position under one of the game's symmetries, drawn at random
    policy: bool = True  # the policy's targets and the legal actions
    follow: bool = False  # also positions after one of their moves, drawn at random, where the data have their values
    history: int | None = None  # positions encoded, at most; None: as many as the game's planes hold


@dataclass(eq=False)
class Positions:
    """Games as flat arrays of states, one row a position, the positions of a game consecutive and in order.

    states: State [N], normalised, with their repetitions. first: i8 [N], the row where each row's game begins.
    moves: u2 [N, K] with probabilities f4 [N, K]; a row's unused places repeat a valid move with probability 0.
    wdl: f4 [N, 3]. z: f4 [N]. drawn: i8 [len], the rows that may be drawn (None = all).
    lines: f4 [L, K, 3], win, draw and loss after each move of the rows line_rows i8 [L], ascending; the mover's view,
    NaN where unknown.
    ownership: i1 [N, H * W] in 1/OWNERSHIP_SCALE, or UNKNOWN, and score: f4 [N], as in Batch, where the data have them.
    """

    OWNERSHIP_SCALE: ClassVar[int] = 100
    UNKNOWN: ClassVar[int] = -128  # ownership of all points of a game without an end on the board

    game: Game
    states: NDArray[np.void]
    first: NDArray[np.int64]
    moves: NDArray[np.uint16]
    probabilities: NDArray[np.float32]
    wdl: NDArray[np.float32]
    z: NDArray[np.float32]
    drawn: Any = None
    description: str = ""
    mask: bool = True  # whether batches carry the legal actions
    ownership: NDArray[np.int8] | None = None
    score: NDArray[np.float32] | None = None
    lines: NDArray[np.float32] | None = None
    line_rows: NDArray[np.int64] | None = None
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        if self.drawn is None:
            self.drawn = np.arange(len(self.states), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.drawn)

    @property
    def parts(self) -> tuple[Positions, ...]:
        return (self,)

    @property
    def board(self) -> str:
        """The size of its boards, e.g. "9x9"."""
        return "x".join(map(str, self.game.planes[1:]))

    def draw(self, size: int, seed: int, step: int) -> Batch:
        return self.batch(batch_indices(len(self), size, seed, step))

    def batch(self, indices: NDArray[np.int64]) -> Batch:
        """The positions ``indices`` i8 [B], each in 0 .. len - 1. Callable from any thread. Errors: DataError."""
        rows = self.drawn[indices]
        size, sampling = len(rows), self.sampling
        planes = np.zeros((size, *self.game.planes), np.uint8)
        self.game.encode(self.states, rows, self.first[rows], planes, sampling.history or self.game.history)
        legal = None
        if sampling.policy:
            moves, probabilities = self.targets(rows)
            actions = np.zeros(moves.shape, np.int32)
            self.game.actions(self.states, rows, moves, actions)
            legal = self._legal(rows, actions) if self.mask else None
        else:
            actions, probabilities = np.zeros((size, 0), np.int32), np.zeros((size, 0), np.float32)
        owner, unknown = None, np.zeros(0, bool)
        if self.ownership is not None:
            owner = self.ownership[rows].reshape(size, 1, *self.game.planes[1:])
            unknown = owner[:, 0, 0, 0] == self.UNKNOWN
        turning = self.game.symmetries if sampling.symmetries else None
        if turning is not None:
            # drawn from the batch's own indices: the same batch is the same again, another epoch's batches are others
            which = np.random.default_rng(indices.tolist()).integers(len(turning), size=size)
            planes = turning.turn(planes, which)
            actions = turning.actions[which[:, None], actions]
            if legal is not None:
                legal = np.where(legal < 0, np.int32(-1), turning.actions[which[:, None], legal])
            if owner is not None:
                owner = turning.turn(owner, which)
        owners = None
        if owner is not None:
            owners = owner[:, 0].astype(np.float32) / np.float32(self.OWNERSHIP_SCALE)
            owners[unknown] = np.nan
        score = None if self.score is None else self.score[rows]
        after = self._after(rows, indices) if sampling.follow else (None, None)
        return Batch(planes, actions, probabilities, legal, self.wdl[rows], self.z[rows], owners, score, *after)

    def _after(
        self, rows: NDArray[np.int64], indices: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8] | None, NDArray[np.float32] | None]:
        """Planes [F, C, H, W] and chances [F, 3] after one of the moves with known chances, of F rows that have any.

        None where the data know no chances after moves.
        """
        if self.lines is None or self.line_rows is None:
            return None, None
        at = np.searchsorted(self.line_rows, rows)
        present = at < len(self.line_rows)
        present[present] = self.line_rows[at[present]] == rows[present]
        rows, lines = rows[present], self.lines[at[present]]
        known = ((self.probabilities[rows] > 0) & np.isfinite(lines[:, :, 0])).sum(axis=1)
        rows, lines, known = rows[known > 0], lines[known > 0], known[known > 0]
        line = (np.random.default_rng(indices[:8].tolist()).random(len(rows)) * known).astype(np.int64)
        states = self.game.after(self.states, rows, self.moves[rows, line])
        planes = np.zeros((len(rows), *self.game.planes), np.uint8)
        places = np.arange(len(rows))
        self.game.encode(states, places, places, planes, 1)
        return planes, lines[places, line, ::-1]

    def targets(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """Policy targets of rows i8 [B]: moves u2 [B, K] and their probabilities f4 [B, K]."""
        return self.moves[rows], self.probabilities[rows]

    def _legal(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Legal actions [B, M] of the rows, padded with -1. Errors: DataError when a target is not among them."""
        legal = np.full((len(rows), self.game.max_moves), -1, np.int32)
        counts = np.zeros(len(rows), np.int32)
        self.game.legal_actions(self.states, rows, legal, counts)
        legal = legal[:, : max(1, int(counts.max()))].copy()
        legal[np.arange(legal.shape[1]) >= counts[:, None]] = -1
        known = (actions[:, :, None] == legal[:, None, :]).any(axis=2).all(axis=1)
        if not known.all():
            state = self.states[rows[int(np.argmin(known))]]
            position = self.game.format_position(state)
            raise DataError(f"a labelled move is not legal in {position}; the data set is damaged, make it again")
        return legal


class Mixture:
    """Data sets of one game on boards of different sizes; every batch comes from one of them.

    shares: of the steps that draw from each part; they add up to 1.
    """

    def __init__(self, parts: tuple[Positions, ...], shares: tuple[float, ...]) -> None:
        self.parts = parts
        self.description = "; ".join(
            f"{part.board}: {part.description}, {share:.0%} of the steps"
            for part, share in zip(parts, shares, strict=True)
        )
        self._shares = np.array(shares)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def draw(self, size: int, seed: int, step: int) -> Batch:
        """See :class:`Dataset`. The parts take turns evenly."""
        at = step % len(self._turns)
        part = int(self._turns[at])
        earlier = step // len(self._turns) * int((self._turns == part).sum()) + int((self._turns[:at] == part).sum())
        return self.parts[part].draw(size, seed, earlier)

    @cached_property
    def _turns(self) -> NDArray[np.int64]:
        """Which part each of 100 steps in a row draws from: always the one that lags most behind its share."""
        drawn, turns = np.zeros(len(self.parts)), np.zeros(100, np.int64)
        for step in range(len(turns)):
            turns[step] = np.argmax(self._shares * (step + 1) - drawn)
            drawn[turns[step]] += 1
        return turns


def games_begin(game_ids: NDArray[Any], plies: NDArray[Any]) -> NDArray[np.int64]:
    """For each row the row where its game begins: i8 [N].

    A new game begins where the id changes or the ply does not follow the one before.
    """
    new = np.ones(len(game_ids), bool)
    new[1:] = (game_ids[1:] != game_ids[:-1]) | (plies[1:].astype(np.int64) != plies[:-1].astype(np.int64) + 1)
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0)).astype(np.int64)


def spread(length: int, count: int) -> NDArray[np.int64]:
    """``count`` indices (or all) spread evenly over 0 .. length - 1: i8 [n]."""
    return np.linspace(0, length - 1, min(length, count)).astype(np.int64)


def one_hot_result(z: NDArray[Any]) -> NDArray[np.float32]:
    """Results z in {+1, 0, -1} [N] as certain win, draw, loss: f4 [N, 3]."""
    return np.eye(3, dtype=np.float32)[1 - z.astype(np.int64)]


@lru_cache(maxsize=2)
def epoch_order(length: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch visits the positions: a permutation that depends on its arguments alone."""
    return np.random.Generator(np.random.PCG64([seed, epoch])).permutation(length)


def batch_indices(length: int, batch: int, seed: int, step: int) -> NDArray[np.int64]:
    """The positions of training step ``step`` (from 0): i8 [batch], through one permuted epoch after another."""
    start, missing = step * batch, batch
    parts: list[NDArray[np.int64]] = []
    while missing > 0:
        epoch, offset = divmod(start, length)
        parts.append(epoch_order(length, seed, epoch)[offset : offset + missing])
        start += len(parts[-1])
        missing -= len(parts[-1])
    return np.concatenate(parts)
