"""Evaluating a position under a symmetry of the board (AlphaGo Zero, Methods, "Expand and evaluate").

d_i(p), v = f(d_i(s)), i drawn evenly: here by the position's key, so that an evaluation can be kept and found again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...games.capabilities import Symmetries
from ...games.leaves import Leaves

_GOLDEN = 0x9E3779B97F4A7C15


def salt(seed: int) -> np.uint64:
    """A value to XOR keys with, never 0: each seed >= 0 draws other symmetries."""
    return np.uint64((seed + 1) * _GOLDEN & (2**64 - 1))


def turn(symmetries: Symmetries, leaves: Leaves, count: int, planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Planes u1[K, C * H * W] as the net is to see them, each position under a symmetry that its leaf's key decides.

    The actions of the ``count`` leaves that lie in them are turned in place, so that they find their logits in what the
    net says.
    """
    evaluated = np.flatnonzero(leaves.rows["row"][:count] >= 0)  # their rows are 0 .. K - 1
    which = (leaves.rows["key"][evaluated] % np.uint64(len(symmetries))).astype(np.int64)
    leaves.actions[evaluated] = symmetries.actions[which[:, None], leaves.actions[evaluated]]
    boards = planes.reshape(len(planes), -1, symmetries.points.shape[1], 1)
    return symmetries.turn(boards, which).reshape(planes.shape)
