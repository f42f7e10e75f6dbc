"""A net that is a pure function of the planes: noise seeded by their bytes. No two positions look alike to it."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Function = Callable[[NDArray[np.uint8]], tuple[NDArray[np.float32], NDArray[np.float32]]]


def pure_net(actions: int, *, wdl: bool = False, seed: int = 0, spread: float = 1.5) -> Function:
    """planes u1[B, C * H * W] -> (logits f4[B, A], WDL logits f4[B, 3] or values f4[B, 1])."""

    def evaluate(planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        logits = np.empty((len(planes), actions), np.float32)
        values = np.empty((len(planes), 3 if wdl else 1), np.float32)
        for row, position in enumerate(planes):
            rng = np.random.default_rng(zlib.crc32(position.tobytes(), seed))
            logits[row] = rng.standard_normal(actions, np.float32) * spread
            values[row] = rng.standard_normal(3, np.float32) if wdl else rng.uniform(-1, 1)
        return logits, values

    return evaluate
