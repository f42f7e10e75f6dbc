"""Labelled records of ``az-engine label --game go`` as positions to learn from beside those that the teacher labels."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from ...engine.errors import DataError
from ...engine.games.base import Game
from ..data.dataset import Positions, Sampling
from ..data.formats import shards_of
from ..data.shards import TargetOptions, read_arrays
from ..families.losses import TorchBatch
from .config import Seen

if TYPE_CHECKING:
    from .memory import Memory

_AT_ONCE = 2048  # positions


def read_records(go: Game, folder: Path, seen: Seen) -> Positions:
    """The positions of a folder that are not held out, as the networks see them. Errors: DataError."""
    shards = sorted(folder.glob("*.npz"))
    if not shards:
        raise DataError(f"{folder} holds no .npz files of labelled Go records")
    records = read_arrays(shards[0], ("d",))[0].dtype
    if "stones" not in (records.names or ()):
        raise DataError(f"{shards[0]} holds no labelled Go records")
    game = go.sized(isqrt(records["stones"].itemsize)).using(seen.encoder)
    positions, _ = shards_of(go.name).read_folder(game, shards, TargetOptions(teacher=1.0, mask=False))
    if positions.ownership is None or positions.score is None:
        raise DataError(f"{folder} holds no owners and leads; label it with a net that tells them")
    return replace(positions, sampling=Sampling(history=seen.history))


def remember(memory: Memory, positions: Positions) -> None:
    """Put all positions into memory. BLOCKS. A draw counts half a win, as in what KataGo's nets say."""
    for begin in range(0, len(positions), _AT_ONCE):
        indices = np.arange(begin, min(begin + _AT_ONCE, len(positions)))
        batch = TorchBatch.of(positions.batch(indices), memory.device)
        policy = torch.zeros((len(indices), memory.actions), device=memory.device)
        policy.scatter_add_(1, batch.actions, batch.probabilities)
        assert batch.score is not None
        assert batch.ownership is not None
        memory.keep(batch.planes, policy, batch.wdl, batch.score, batch.ownership.flatten(1))
