"""The working arrays of B leaves: filled in by selection, the game's kernels, the position cache and the net.

Kernels take them as one argument. Row b of every array belongs to leaf b, except that the cache packs the planes to
evaluate to the front.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAF = np.dtype(
    [
        # filled in by selection
        ("slot", "i4"),  # the game it belongs to, states[slot]; 0 when there is one
        ("root", "i4"),  # number of the search's root in states[slot]
        ("node", "i4"),  # of its tree
        ("top", "i4"),  # the node of its tree from which its visit is in flight
        ("length", "i4"),  # moves from the root
        # by the game
        ("count", "i4"),  # legal moves; -1 once its evaluation has failed
        ("key", "u8"),  # of all that the planes show
        ("outcome", "i1"),  # outcome code, of its side to move
        ("end", "i2"),  # plies to the end where it is forced, -1 where the rules end the game here
        ("begin", "u2"),  # first move of a short mate
        ("pattern", "u2"),  # number of what it looks like around the last move; 0 = none
        ("advised", "u2"),  # pieces of advice on its moves
        # by the cache and the net
        ("row", "i4"),  # of planes where its planes lie for the net, -1 = not to be evaluated
        ("value", "f4"),  # in [-1, 1], of its side to move
        ("draw", "f4"),  # chance of a draw
        ("utility", "f4"),  # of the score: what a search adds to the value where leads count, too
    ],
    align=True,
)


ADVICE = np.dtype([("move", "u2"), ("least", "f4"), ("most", "f4")], align=True)  # bounds of a move's prior
MOST_ADVICE = 32  # pieces of advice on a leaf


class Leaves(NamedTuple):
    """B leaves."""

    rows: NDArray[Any]  # LEAF[B]
    paths: NDArray[np.uint16]  # u2[B, D], moves from the root
    planes: NDArray[np.uint8]  # u1[B, C * H * W]
    moves: NDArray[np.uint16]  # u2[B, M], legal moves
    actions: NDArray[np.uint16]  # u2[B, M], their policy indices
    priors: NDArray[np.float32]  # f4[B, M]
    advice: NDArray[Any]  # ADVICE[B, K], what the game reads beside the net


def make_leaves(size: int, moves: int, width: int, depth: int = 1) -> Leaves:
    """Room for ``size`` leaves of up to ``depth`` plies below their roots, ``moves`` moves, ``width`` bytes of planes.

    At first every leaf is the root of game 0.
    """
    rows = np.zeros(size, LEAF)
    rows["end"] = -1
    return Leaves(
        rows,
        np.zeros((size, depth), np.uint16),
        np.zeros((size, width), np.uint8),
        np.zeros((size, moves), np.uint16),
        np.zeros((size, moves), np.uint16),
        np.zeros((size, moves), np.float32),
        np.zeros((size, MOST_ADVICE), ADVICE),
    )
