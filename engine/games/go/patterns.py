"""Local patterns: positions of one pattern have had the same last two moves, and look alike around the last one."""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from ...kernels.splitmix import chain
from .state import EDGE, EMPTY

_REACH = 2  # points around the last move: a square of 5x5
_MANY = 2  # pseudo-liberties of a chain that are as good as more


@device
def pattern(work, states, at):
    """The number of the pattern of states[at], 1 .. 65,535; 0 where no move led there. work: as for ``rules.PLAY``."""
    s = states[at]
    if s.last == 0 or at == 0:
        return 0
    b, before = work[0][0].board, np.uint64(states[at - 1].last)
    key = chain(chain(np.uint64(s.turn) + np.uint64(1), np.uint64(s.last)), before)
    p, columns, rows = np.int64(s.last) - 1, np.int64(s.columns), np.int64(s.rows)
    if p < b.points:
        for row in range(p // columns - _REACH, p // columns + _REACH + 1):
            for column in range(p % columns - _REACH, p % columns + _REACH + 1):
                contents = np.int64(EDGE)
                if 0 <= row < rows and 0 <= column < columns:
                    q = row * columns + column
                    contents = np.int64(b.colour[q])
                    if contents < EMPTY:
                        contents += 8 if b.liberties[b.head[q]] >= _MANY else 4
                key = chain(key, np.uint64(contents))
    key = chain(key, np.uint64(p))
    return np.int64(max(key >> np.uint64(48), np.uint64(1)))
