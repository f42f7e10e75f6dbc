"""Sparse inputs: a position as the list of its features, for nets that are judged without onnxruntime.

A game offers such an encoder by two device functions in its own folder: one that lists a position's features, and one
that numbers a move's row in the policy (see :func:`make_sparse_encoder`). The planes hold the packed list, so that
everything that carries planes carries it: plane 0 the low and plane 1 the high bytes of number + 1, 0 = none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.jit import device
from .encoder import SPARSE_ENCODER, Encoder
from .factory import Function, Play, make_encoder


@device
def put(out, row, n, feature):
    """Make ``feature`` the n-th (from 0) of a position's list, in planes out[row] (u1[2 * H * W])."""
    out[row, n] = np.uint8((feature + 1) & 255)
    out[row, (out.shape[1] >> 1) + n] = np.uint8((feature + 1) >> 8)


def make_sparse_encoder(
    play: Play,
    list_features: Function,
    action_of: Function,
    key: Function,
    *,
    features: int,
    policy_features: int = 0,
    alike: tuple[int, int] = (1, 1),
    board: tuple[int, int],
    **fields: Any,
) -> Encoder:
    """The encoder of a game's sparse nets; ``fields`` as for ``make_encoder``.

    list_features(s, out, row): :func:`put` the features of record s, each in 0 .. features - 1, and return their
    number, at most H * W. The policy sees those below ``policy_features`` alone (0: all), which come first in the list.
    action_of(s, move) -> row of the policy (i64). key(s) -> u64 of all that the features and the legal moves show.
    alike: i kinds of each feature, which lie a part of the policy's features apart, and of the others likewise, and j
    neighbouring rows for each move: training learns what they share first. board: H, W.
    """
    places = board[0] * board[1]

    @device
    def encode_row(work, states, newest, oldest, history, out, row):
        for n in range(list_features(states[newest], out, row), places):
            out[row, n] = out[row, places + n] = 0

    @device
    def key_of(work, states, at, history, out, row):
        return key(states[at])

    return make_encoder(
        play,
        encode_row,
        action_of,
        key_of,
        name=SPARSE_ENCODER,
        planes=(2, *board),
        plane_scale=np.ones(2, np.float32),
        features=features,
        policy_features=policy_features or features,
        alike=alike,
        **fields,
    )
