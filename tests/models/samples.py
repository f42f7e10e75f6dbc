"""What the tests of models/ share: the game, a small data set, small nets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from az_engine.engine.games import get_game
from az_engine.models.data.dataset import Positions
from az_engine.models.data.games import go as labelled_go
from az_engine.models.data.games.chess import read_folder, read_shard
from az_engine.models.data.shards import Records, TargetOptions
from az_engine.models.families.tower.config import TowerConfig

CHESS = get_game("chess")
GO = get_game("go")
GO19 = get_game("go19")
DATA = Path(__file__).parents[1] / "data"
SAMPLE = DATA / "chess_train_sample.npz"  # 15 games, two of them held out by their number
GO9_SAMPLE = DATA / "go9_train_sample.npz"  # 8 games, one of them held out
GO19_SAMPLE = DATA / "go19_train_sample.npz"  # the first 40 positions of 4 games, one of them held out


@cache
def sample_records() -> Records:
    """All records of the sample."""
    return read_shard(SAMPLE)


@cache
def sample_positions(options: TargetOptions | None = None) -> tuple[Positions, Positions]:
    """Training and held-out positions of the sample."""
    return read_folder(CHESS, [SAMPLE], options or TargetOptions())


def rows(count: int, data: Positions) -> Any:
    """``count`` indices spread over a data set."""
    return np.linspace(0, len(data) - 1, count).astype(np.int64)


def tiny(**changes: Any) -> TowerConfig:
    """A net of one block and eight filters."""
    settings: dict[str, Any] = {"blocks": 1, "filters": 8, "value_hidden": 16, **changes}
    return TowerConfig(CHESS.planes, CHESS.num_actions, **settings).seeing(CHESS.encoder)


def tiny_go(**changes: Any) -> TowerConfig:
    """A net of one block and eight filters for every size of board, with all outputs."""
    settings: dict[str, Any] = {
        "blocks": 1,
        "filters": 8,
        "policy_head": "pooled",
        "policy_filters": 6,
        "value_filters": 4,
        "value_hidden": 8,
        "history": 2,
        "ownership": True,
        "score": True,
        **changes,
    }
    return TowerConfig(GO.planes, GO.num_actions, **settings).seeing(GO.encoder)


@cache
def go_positions(size: int) -> tuple[Positions, Positions]:
    """Training and held-out positions of the samples of 9x9 and 19x19."""
    game, sample = {9: (GO, GO9_SAMPLE), 19: (GO19, GO19_SAMPLE)}[size]
    return labelled_go.read_folder(game, [sample], TargetOptions())
