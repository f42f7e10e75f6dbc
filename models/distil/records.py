"""Labelled records of ``az-engine label --game go`` as positions to learn from beside those that the teacher labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...engine.errors import DataError
from ...engine.games.base import Game
from ..data.dataset import Positions, Sampling
from ..data.formats import shards_of
from ..data.shards import TargetOptions, read_arrays
from ..families.losses import TorchBatch
from .config import HISTORY, RULES

if TYPE_CHECKING:
    from .memory import Memory

_AT_ONCE = 2048  # positions


def read_records(go: Game, folder: Path) -> Positions:
    """The positions of a folder that are not held out, as our nets see them. Errors: DataError."""
    shards = sorted(folder.glob("*.npz"))
    if not shards:
        raise DataError(f"{folder} holds no .npz files of labelled Go records")
    records = read_arrays(shards[0], ("d",))[0].dtype
    if "stones" not in (records.names or ()):
        raise DataError(f"{shards[0]} holds no labelled Go records")
    game = go.sized(isqrt(records["stones"].itemsize)).using(RULES)
    positions, _ = shards_of(go.name).read_folder(game, shards, TargetOptions(teacher=1.0, mask=False))
    if positions.ownership is None or positions.score is None:
        raise DataError(f"{folder} holds no owners and leads; label it with a net that tells them")
    return replace(positions, sampling=Sampling(history=HISTORY))


def remember(memory: Memory, positions: Positions, draws: Callable[[Tensor], Tensor] | None) -> None:
    """Put all positions into memory. BLOCKS.

    draws: of planes u1[B, C, H, W], the chances of a draw f4[B], which the records do not tell apart; None: none.
    """
    for batch, drawable in _batches(positions, memory.device):
        wdl = batch.wdl
        if draws is not None and drawable.any():
            most = 2 * torch.minimum(wdl[:, 0], wdl[:, 2])
            drawn = torch.minimum(draws(batch.planes), most) * drawable
            wdl = torch.stack([wdl[:, 0] - drawn / 2, drawn, wdl[:, 2] - drawn / 2], 1)
        policy = torch.zeros((len(wdl), memory.actions), device=memory.device)
        policy.scatter_add_(1, batch.actions, batch.probabilities)
        assert batch.score is not None
        assert batch.ownership is not None
        memory.keep(batch.planes, policy, wdl, batch.score, batch.ownership.flatten(1))


def _batches(positions: Positions, device: torch.device) -> Iterator[tuple[TorchBatch, Tensor]]:
    """All positions once, and whether komi makes draws possible, bool[B]."""
    for begin in range(0, len(positions), _AT_ONCE):
        indices = np.arange(begin, min(begin + _AT_ONCE, len(positions)))
        komi = positions.states["komi"][positions.drawn[indices]]
        yield TorchBatch.of(positions.batch(indices), device), torch.from_numpy(komi % 2 == 0).to(device)
