"""What Go reads beside the net: ladders, which small nets play out although they work, and do not begin.

:mod:`ladders` plays every ladder to its end; what it finds bounds the priors of moves. A move that runs out of a ladder
that works gets next to none; one that runs out of a broken one, captures what would escape or begins a ladder that
works gets some for each stone at stake. The rest is the net's, and so are chains of one or two stones.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import device
from ..factory import Advisor
from ..leaves import MOST_ADVICE
from .ladders import LADDER, captures, catches, count, escapes, is_caught, point_of, prepare, set_up
from .state import EMPTY

_VAIN = np.float32(0.003)  # the most of a move that runs out of a ladder that works
_CATCH, _SAVE = np.float32(0.08), np.float32(0.15)  # the least, for each stone, of one that catches or saves a chain
_STONES = 4  # of a chain that count
_MATTERS = 3  # stones of a chain; of smaller ones the net judges better


@device
def _space():
    return np.empty(1, LADDER)


@device
def _note(t, leaves, b, known, cell, least, most):
    if known == MOST_ADVICE:
        return known
    advice = leaves.advice[b, known]
    advice.move, advice.least, advice.most = point_of(t, cell), least, most
    return known + 1


@device
def _advise_on(t, cell, turn, leaves, b, known):
    """Advise on the chain on a cell, whose stones are then ``done``; how many pieces are known."""
    liberties, stones = count(t, cell, 3)
    if liberties == 3:
        return known
    for i in range(stones):
        t.done[t.queue[i]] = 1
    if stones < _MATTERS:
        return known
    ours, first, second = t.colour[cell] == turn, np.int64(t.liberty[0]), np.int64(t.liberty[1])
    least = (_SAVE if ours else _CATCH) * np.float32(min(stones, _STONES))
    if liberties == 2:
        for k in range(0 if ours else 2):
            move = first if k == 0 else second
            if catches(t, cell, move):
                known = _note(t, leaves, b, known, move, least, np.float32(1))
    elif not is_caught(t, cell):
        if not ours or escapes(t, cell, first):
            known = _note(t, leaves, b, known, first, least, np.float32(1))
    elif ours and not captures(t, first, turn):
        known = _note(t, leaves, b, known, first, np.float32(0), _VAIN)
    return known


@device
def _advise(line, at, leaves, b, space):
    s, t, known = line[at], space[0], 0
    prepare(t, s)
    set_up(t, s)
    for cell in range(t.done.shape[0]):
        t.done[cell] = 0
    for row in range(1, t.rows + 1):
        for cell in range(row * t.stride, (row + 1) * t.stride - 1):
            if t.colour[cell] < EMPTY and not t.done[cell]:
                known = _advise_on(t, cell, np.int64(s.turn), leaves, b, known)
    return known


LADDERS = Advisor(_space, _advise)
