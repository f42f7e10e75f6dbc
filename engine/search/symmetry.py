"""Evaluating a position under a symmetry of the board (AlphaGo Zero, Methods, "Expand and evaluate").

d_i(p), v = f(d_i(s)), i drawn evenly: here by the position's key, so that an evaluation can be kept and found again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..games.base import Game

_GOLDEN = 0x9E3779B97F4A7C15


def has_symmetries(game: Game) -> bool:
    """Whether a game's board has more symmetries than the identity."""
    return len(game.action_images) > 1


def salt(seed: int) -> np.uint64:
    """What keys are to be XORed with: another draw of symmetries for each seed >= 0, and never the keys themselves."""
    return np.uint64((seed + 1) * _GOLDEN & (2**64 - 1))


def turn(
    game: Game,
    keys: NDArray[np.uint64],
    row: NDArray[np.int32],
    planes: NDArray[np.uint8],
    actions: NDArray[np.uint16],
) -> NDArray[np.uint8]:
    """Planes u1[K, C * H * W] as the net is to see them, each position under a symmetry that its key decides.

    keys u8[B], row i4[B]: the row of planes in which a position lies, rising, negative where it is not to be evaluated;
    actions u2[B, M]: turned in place, so that they find their logits in what the net says.
    """
    images, asked = game.action_images, row >= 0
    which = (keys[asked] % np.uint64(len(images))).astype(np.int64)
    actions[asked] = images[which[:, None], actions[asked]]
    boards = planes.reshape(len(planes), -1, *game.planes[1:])
    return game.transform(boards, which).reshape(planes.shape)
