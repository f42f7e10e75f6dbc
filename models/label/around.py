"""Sources that begin at labelled positions, and what all records of positions without games have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, OptionError
from ...engine.settings import setting
from ..data.dataset import HOLDOUT_EVERY, HOLDOUT_REST
from ..data.formats import labels_of
from ..data.shards import Records, ShardFormat, TargetOptions
from .job import Job, Say, Source

BEGUN = 256  # walks or searches of a task; number w of task i makes the records of game 256 i + w


def shard_format(game: str) -> ShardFormat:
    """The game's format of records, which hold the positions themselves. Errors: OptionError where they do not."""
    shards = labels_of(game).shards
    if not isinstance(shards, ShardFormat):
        raise OptionError(f"records of {game} hold no positions, only a game's moves; give --records instead")
    return shards


def last_first(records: Records) -> Records:
    """Records by their games, the last plies of each first: then none seems to go on with the one before."""
    return records[np.lexsort((-records["ply"].astype(np.int64), records["game"]))]


def draw_results(shards: ShardFormat, records: Records, random: np.random.Generator) -> None:
    """Set the results of positions whose games are not played, at random by the teacher's chances."""
    win, draw, _ = shards.chances(records, TargetOptions()).T
    drawn = random.random(len(records))
    records["z"] = np.where(drawn < win, 1, np.where(drawn < win + draw, 0, -1))


@dataclass(frozen=True, slots=True)
class Shard:
    """The positions of a shard at which work may begin: all but those held out."""

    path: Path
    count: int
    held_out: frozenset[int] | None  # numbers of games; None: every 50th
    within: float  # how far from 0.5 the expected points of a position are, at most


@dataclass(frozen=True)
class Around(Source):
    """A source that begins at labelled positions and leaves their games."""

    needs = ("around",)
    each = BEGUN
    alone = True

    around: tuple[Path, ...] = setting((), "begin at the positions of these folders of shards, or shards", flag=True)
    positions: int = setting(1_000_000, "label at least so many", 1, flag=True)
    shards: tuple[Shard, ...] = ()  # of ``around``
    behind: int = 0  # the first number above those of its games

    @property
    def near(self) -> float:
        """How far from 0.5 the expected points of the positions are, at most."""
        return 0.5

    @property
    def total(self) -> int:
        return self.positions

    def first_game(self, seed: int) -> int:
        return self.behind

    def prepared(self, job: Job, say: Say) -> Self:
        shards, behind = shards_at(shard_format(job.game_name), self.around, self.near)
        return replace(self, shards=shards, behind=behind)


def shards_at(form: ShardFormat, folders: Sequence[Path], within: float = 0.5) -> tuple[tuple[Shard, ...], int]:
    """The shards of folders, or single ones, to begin at, and the first number behind their games.

    within: see :class:`Shard`. Errors: DataError.
    """
    paths = [path for given in folders for path in (sorted(given.glob("*.npz")) if given.is_dir() else [given])]
    kept = [form.read(path)["game"] for path in paths if path.name.startswith("holdout")]
    held_out = frozenset(np.unique(np.concatenate(kept)).tolist()) if kept else None
    result, behind = [], max(held_out or {-1}) + 1
    for path in paths:
        if path.name.startswith("holdout"):
            continue
        records = form.read(path)
        behind = max(behind, int(records["game"].max(initial=0)) + 1)
        count = int(_allowed(form, records, held_out, within).sum())
        if count:
            result.append(Shard(path, count, held_out, within))
    if not result:
        names = ", ".join(map(str, folders))
        raise DataError(f"--around: {names} holds no labelled positions to begin at; give other data")
    return tuple(result), behind


def _allowed(form: ShardFormat, records: Records, held_out: frozenset[int] | None, within: float) -> NDArray[np.bool_]:
    """bool[N]: whether work may begin at the records."""
    if held_out is None:
        allowed = np.asarray(records["game"] % HOLDOUT_EVERY != HOLDOUT_REST)
    else:
        allowed = ~np.isin(records["game"], list(held_out))
    if within >= 0.5:
        return allowed
    points = form.chances(records, TargetOptions()) @ np.array([1.0, 0.5, 0.0])
    return np.asarray(allowed & (np.abs(points - 0.5) <= within))


@lru_cache(maxsize=1)
def _records_at(form: ShardFormat, shard: Shard) -> Records:
    records = form.read(shard.path)
    return records[_allowed(form, records, shard.held_out, shard.within)]


def begun_at(form: ShardFormat, shards: Sequence[Shard], seed: int, number: int) -> Records:
    """The records that task ``number`` begins at, BEGUN or fewer.

    An epoch of tasks begins at every record once, in an order that the seed draws: the shards in turn, and each of them
    by one task after another. Errors: DataError.
    """
    tasks = [-(-shard.count // BEGUN) for shard in shards]
    epoch, at = divmod(number, sum(tasks))
    for shard in np.random.default_rng([seed, epoch]).permutation(len(tasks)).tolist():
        if at < tasks[shard]:
            break
        at -= tasks[shard]
    records = _records_at(form, shards[shard])
    order = np.random.default_rng([seed, epoch, shard]).permutation(len(records))
    return records[order[at * BEGUN : (at + 1) * BEGUN]]
