"""The eight symmetries of the board (AlphaGo Zero, Methods: dihedral reflections and rotations).

Symmetry k = 4 * mirrored + quarter turns. Planes and actions are numbered by the same points, so one table serves both.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

COUNT = 8


@cache
def action_images(size: int) -> NDArray[np.int32]:
    """i4[8, N * N + 1]: the image of each action under each symmetry; the pass stays. Symmetry 0 changes nothing."""
    points = np.arange(size * size, dtype=np.int32).reshape(size, size)
    images = np.empty((COUNT, size * size + 1), np.int32)
    for k in range(COUNT):
        turned = np.rot90(points[:, ::-1] if k >= 4 else points, k % 4)  # turned[image] = point
        images[k, turned.ravel()] = points.ravel()
        images[k, -1] = size * size
    return images


def transform(planes: NDArray[np.uint8], which: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Planes u1[B, C, N, N] each under its symmetry which i8[B]; a new array."""
    result = np.empty_like(planes)
    for k in np.unique(which):
        rows = which == k
        chosen = planes[rows]
        result[rows] = np.rot90(chosen[..., ::-1] if k >= 4 else chosen, k % 4, axes=(-2, -1))
    return result
