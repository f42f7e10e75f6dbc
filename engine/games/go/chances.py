"""Chances to win at a komi that a net does not see.

A net that sees neither komi nor rules has learned one komi. Its chances hold for that one; for others they follow from
its score, how many points the side to move will be ahead on the board, and from how sure it is of the points' owners.
The final lead is taken for a logistic random number on the numbers of the board's parity: with every point owned, one
side can lead on 81 points by 5 or 7, not by 6. Near the komi that the net has learned, the mean is moved so that its
own chance comes out; farther away the score alone counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_NEAR = 1 / 30  # of the board's points: so near the komi that it has learned, the net's own chance counts
_SURE, _UNSURE = 0.7, 0.57  # scale of the final lead: of a board whose owners are known, and for each point of spread
_TYPICAL = 0.04  # scale where the net does not tell owners, for each point of the board
_LEAST = 1e-4  # chances that are distinguished

Floats = NDArray[np.float64]


def thresholds(komi: Floats, points: int) -> tuple[Floats, Floats]:
    """(above, below): leads of more than the first win at a komi, of less than the second lose; between them a draw."""
    above = points % 2 + 2 * np.floor((komi - points % 2) / 2) + 1
    return above, above - 2.0 * (above - 1 == komi)


def chances(
    komi: Floats, learned: Floats, points: int, values: Floats, scores: Floats | None, owners: Floats | None
) -> tuple[Floats, Floats]:
    """Values f8[B] in [-1, 1] and chances of a draw f8[B] at a komi f8[B]; like the rest, for the side to move.

    komi: the lead on the board, of so many points, that makes a draw; learned f8[B]: the same of the net's komi; values
    f8[B]: the net's; scores f8[B], its lead on the board, and owners f8[B, P] in [-1, 1]: where the net has them.
    """
    spread = None if owners is None else np.sqrt((1 - owners * owners).clip(0).sum(axis=1))
    scale = np.full(len(komi), _TYPICAL * points) if spread is None else _SURE + _UNSURE * spread
    above, below = thresholds(komi, points)
    usual = np.add(*thresholds(learned, points)) / 2
    p = ((1 + values) / 2).clip(_LEAST, 1 - _LEAST)
    mean = usual + scale * np.log(p / (1 - p))
    if scores is None and owners is not None:
        scores = owners.sum(axis=1)
    reach = _NEAR * points

    def short(threshold: Floats) -> Floats:
        """By how many scales the mean falls short of a threshold: never less for a greater one."""
        if scores is None:
            return np.asarray((threshold - mean) / scale)
        near = np.exp(-(np.abs(threshold - usual) - 1).clip(0) / reach)
        return np.asarray((threshold - scores - near * (mean - scores).clip(-reach, reach)) / scale)

    win, loss = _beyond(-short(above)), _beyond(short(below))
    return win - loss, np.where(above > below, 1 - win - loss, 0.0)


def _beyond(x: Floats) -> Floats:
    """The logistic distribution's 1 / (1 + exp(-x))."""
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))
