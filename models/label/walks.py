"""Short walks around positions of labelled games: labels in bulk.

A net learns most from many different positions. Each walk begins at a recorded position, leaves its game with another
move than the played one, and goes on for a few plies with moves of a net, sometimes with any legal move. All walks of a
task go on together. The net judges their positions without a search; or an engine does, with a search of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, NetError, OptionError
from ...engine.games import get_game
from ...engine.games.base import State
from ...engine.games.leaves import Leaves
from ...engine.games.mates import NO_MOVE
from ...engine.games.outcome import RUNNING
from ...engine.nets.opinions import expected_points, softmax
from ..data.dataset import HOLDOUT_EVERY, HOLDOUT_REST
from ..data.formats import labels_of
from ..data.shards import Records, ShardFormat, TargetOptions, Teaching
from ..net.providers import load_evaluator
from .bulk import BulkTeacher
from .recipe import NnueFile, Recipe, Source
from .teacher import MATE_PLIES, Engine, centipawns_of, mate_by

WALKS = 256  # of a task; walk w of task i is game WALKS i + w
PLIES = 6  # recorded of a walk


def sources_of(form: ShardFormat, folders: Sequence[Path], within: float = 0.5) -> tuple[tuple[Source, ...], int]:
    """The shards of folders, or single ones, that walks begin at, and the first number behind their games'.

    within: see :class:`Source`. Errors: DataError.
    """
    paths = [path for given in folders for path in (sorted(given.glob("*.npz")) if given.is_dir() else [given])]
    kept = [form.read(path)["game"] for path in paths if path.name.startswith("holdout")]
    held_out = frozenset(np.unique(np.concatenate(kept)).tolist()) if kept else None
    found, behind = [], max(held_out or {-1}) + 1
    for path in paths:
        if path.name.startswith("holdout"):
            continue
        records = form.read(path)
        behind = max(behind, int(records["game"].max(initial=0)) + 1)
        found.append(Source(path, int(_open_to_walks(form, records, held_out, within).sum()), held_out, within))
    if not any(source.count for source in found):
        names = ", ".join(map(str, folders))
        raise DataError(f"--around: {names} holds no labelled positions to begin at; give other data")
    return tuple(source for source in found if source.count), behind


def _open_to_walks(
    form: ShardFormat, records: Records, held_out: frozenset[int] | None, within: float
) -> NDArray[np.bool_]:
    """bool[N]: whether walks may begin at the records."""
    if held_out is None:
        allowed = np.asarray(records["game"] % HOLDOUT_EVERY != HOLDOUT_REST)
    else:
        allowed = ~np.isin(records["game"], list(held_out))
    if within >= 0.5:
        return allowed
    points = form.chances(records, TargetOptions()) @ np.array([1.0, 0.5, 0.0])
    return np.asarray(allowed & (np.abs(points - 0.5) <= within))


def shard_format(game: str) -> ShardFormat:
    """The game's format of records, which hold the positions themselves. Errors: OptionError where they do not."""
    shards = labels_of(game).shards
    if not isinstance(shards, ShardFormat):
        raise OptionError(f"--around: records of {game} hold no positions, only a game's moves; use --records instead")
    return shards


@lru_cache(maxsize=1)
def _starts(form: ShardFormat, source: Source) -> Records:
    records = form.read(source.path)
    return records[_open_to_walks(form, records, source.held_out, source.within)]


def starts_of(form: ShardFormat, recipe: Recipe, number: int) -> Records:
    """The records that the walks of task ``number`` begin at, WALKS or fewer.

    An epoch of tasks begins at every record once, in an order that the seed draws: the shards in turn, and each of them
    by one task after another. Errors: DataError.
    """
    tasks = [-(-source.count // WALKS) for source in recipe.around]
    epoch, at = divmod(number, sum(tasks))
    for shard in np.random.default_rng([recipe.seed, epoch]).permutation(len(tasks)).tolist():
        if at < tasks[shard]:
            break
        at -= tasks[shard]
    records = _starts(form, recipe.around[shard])
    order = np.random.default_rng([recipe.seed, epoch, shard]).permutation(len(records))
    return records[order[at * WALKS : (at + 1) * WALKS]]


class Walker:
    """Makes the walks of a task."""

    def __init__(self, recipe: Recipe) -> None:
        """BLOCKS. Errors: NetError, OptionError, EngineProcessError."""
        teacher, game = recipe.teacher, get_game(recipe.game)
        assert not isinstance(teacher, NnueFile)
        guide = recipe.student or "default" if isinstance(teacher, Engine) else teacher
        net = "" if guide == "default" else guide
        self._evaluator = load_evaluator(net, game, provider=recipe.provider, batch_size=WALKS)
        self._recipe, self._game = recipe, game.using(self._evaluator.encoder)
        self._form, self._shards = labels_of(recipe.game), shard_format(recipe.game)
        self._leaves: Leaves = self._game.encoder.make_leaves(WALKS)
        self._engine = BulkTeacher(teacher, game, self._form, recipe.lines) if isinstance(teacher, Engine) else None

    def close(self) -> None:
        """End the engine. BLOCKS."""
        if self._engine is not None:
            self._engine.close()

    def walk(self, number: int) -> Records:
        """The records of task ``number``, which depend on it and the seed alone; each position once. BLOCKS.

        With an engine they depend on its answers, too. Errors: NetError, DataError, EngineProcessError.
        """
        recipe, game = self._recipe, self._game
        random = np.random.Generator(np.random.PCG64([recipe.seed, number]))
        starts = starts_of(self._shards, recipe, number)
        lines = np.zeros((len(starts), PLIES + MATE_PLIES + 2), game.state_dtype)
        first = np.arange(len(starts), dtype=np.int64)
        lines[:, 0] = self._shards.to_states(game, starts, first)
        played = self._shards.to_moves(starts, starts["played"][:, None])
        temperatures = random.choice(recipe.temperatures, len(starts))
        blunders = random.choice(recipe.blunders, len(starts))
        going, records, keys = first, np.zeros(PLIES * len(starts), self._shards.dtype), list[int]()
        for ply in range(PLIES + 1):
            said = self._judge(lines, going, ply)
            going = said.walks
            blind = random.random(len(going)) < blunders[going]
            weights = said.policy ** (1 / temperatures[going, None])
            weights[blind] = said.policy[blind] > 0
            if ply == 0:
                weights[said.moves == played[going]] *= 1e-12  # played where there is no other move
            noise = random.exponential(size=weights.shape)
            chosen = np.argmax(weights / noise, axis=1)  # drawn in proportion to the weights
            taught = self._teachings(said, lines[going, ply]) if ply else []
            for i, walk in enumerate(going.tolist()):
                line, move = lines[walk], int(said.moves[i, chosen[i]])
                if ply:
                    row = self._form.record(game, line[: ply + 1], taught[i])
                    row["game"], row["rnd"] = number * WALKS + walk, blind[i]
                    row["played"] = self._form.code(line[ply], move)
                    records[len(keys)] = row[0]
                    keys.append(int(said.keys[i]))
                if ply < PLIES:
                    game.play_at(line, ply, move)
        return self._finished(records, keys, random)

    def _teachings(self, said: Judged, states: State) -> list[Teaching]:
        """The teacher's judgements of State[N], of which the net has said ``said``."""
        if self._engine is not None:
            return self._engine.judge(states)
        best = np.argsort(-said.policy, axis=1, kind="stable")[:, : self._recipe.lines]
        return [said.teaching(i, best[i], self._form.scale) for i in range(len(states))]

    def _judge(self, lines: State, walks: NDArray[np.int64], ply: int) -> Judged:
        """The net's opinions of lines[walks, ply], without those where the game is over. Errors: NetError."""
        leaves, game = self._leaves, self._game
        leaves.rows["slot"][: len(walks)], leaves.rows["root"], leaves.rows["length"] = walks, ply, 0
        game.encoder.describe(lines, leaves, len(walks), self._evaluator.history, MATE_PLIES * game.encoder.finds_mates)
        here = np.flatnonzero((leaves.rows["outcome"] == RUNNING)[: len(walks)])
        planes = np.ascontiguousarray(leaves.planes[here])
        logits, values = self._evaluator.evaluate(planes)
        if not (np.isfinite(logits).all() and np.isfinite(values).all()):
            raise NetError("the net's policy or value is not finite; use another net")
        count = leaves.rows["count"][here]
        legal = np.arange(int(count.max(initial=1))) < count[:, None]
        width = legal.shape[1]
        actions = np.where(legal, leaves.actions[here, :width], 0)
        policy = np.where(legal, np.take_along_axis(logits, actions.astype(np.int64), axis=1), -np.inf)
        return Judged(
            walks[here],
            np.where(legal, leaves.moves[here, :width], 0),
            softmax(policy),
            expected_points(values),
            leaves.rows["begin"][here],
            leaves.rows["key"][here],
        )

    def _finished(self, records: Records, keys: list[int], random: np.random.Generator) -> Records:
        """The records in their walks' order, each position once."""
        records = records[np.unique(np.array(keys, np.uint64), return_index=True)[1]]
        records = records[np.lexsort((records["ply"], records["game"]))]
        draw_results(self._shards, records, random)
        return records


def draw_results(shards: ShardFormat, records: Records, random: np.random.Generator) -> None:
    """Set the results of positions whose games are not played, at random by the teacher's chances."""
    win, draw, _ = shards.chances(records, TargetOptions()).T
    drawn = random.random(len(records))
    records["z"] = np.where(drawn < win, 1, np.where(drawn < win + draw, 0, -1))


@dataclass(frozen=True, slots=True)
class Judged:
    """A net's opinions of N positions, for the side to move; M the most moves of one."""

    walks: NDArray[np.int64]  # [N] whose positions they are
    moves: NDArray[np.uint16]  # [N, M] legal moves, then 0
    policy: NDArray[np.float64]  # [N, M] their probabilities, then 0
    chance: NDArray[np.float64]  # [N] expected points
    mates: NDArray[np.uint16]  # [N] the first move of a short mate, or NO_MOVE
    keys: NDArray[np.uint64]  # [N]

    def teaching(self, i: int, best: NDArray[np.int64], scale: float) -> Teaching:
        """What a record keeps of position i: the moves ``best`` with their probabilities, or a mate."""
        if self.mates[i] != NO_MOVE:
            return mate_by(int(self.mates[i]))
        best = best[self.policy[i, best] > 0]
        chance = float(self.chance[i])
        scores = np.full(len(best), centipawns_of(chance, scale), np.int64)
        return Teaching(self.moves[i, best], scores, None, 0, self.policy[i, best], chance)
