"""What the tests of models/ share: the game, a small data set, small nets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from az_engine.engine.games import get_game
from az_engine.models.dataset import Positions
from az_engine.models.labelled import read_folder, read_shard
from az_engine.models.settings import NetConfig
from az_engine.models.shards import Records, TargetOptions

CHESS = get_game("chess")
SAMPLE = Path(__file__).parents[1] / "data" / "chess_train_sample.npz"  # 15 games, two of them held out by their number

torch.set_num_threads(1)


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


def tiny(**changes: Any) -> NetConfig:
    """A net of one block and eight filters."""
    settings: dict[str, Any] = {"blocks": 1, "filters": 8, "value_hidden": 16, **changes}
    return NetConfig(CHESS.planes, CHESS.num_actions, **settings)
