"""Quiescence: what an evaluation says of a position once the captures that lose nothing have been played.

A static evaluation is wrong where a man hangs. So the side to move may take it as it is or go on: with captures and
promotions to a queen that do not lose by static exchange, or, in check, with any move.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import borrow, device
from ..capabilities import Quiescence
from ..factory import Function
from .attacks import bit
from .exchanges import LOSES, exchange
from .rules import MAX_MOVES, generate, in_check, make, piece_at, sides

DEPTH = 6  # plies at most
MATED = -100_000  # the value of a side that is mated
FRAME = np.dtype(  # of one ply
    [
        ("moves", "u2", MAX_MOVES),  # that are still to be tried: the first ``count``
        ("count", "i8"),
        ("alpha", "i8"),
        ("beta", "i8"),
        ("best", "i8"),
        ("checked", "i1"),
    ],
    align=True,
)
_QUEEN = 4  # a promotion to it, as moves write it


@device
def _gain(s, move, enemy, checked):
    """The greater, the earlier a move is tried: by the man that it takes, then by the taker; -1: not at all."""
    target = np.int64((move >> 6) & 63)
    taker = piece_at(s, np.int64(move & 63))
    if enemy & bit(target):
        return 16 * (piece_at(s, target) + 1) + 8 - taker
    if move >> 12 == _QUEEN:
        return 16 * (_QUEEN + 1)
    if taker == 0 and target == np.int64(s.ep):
        return 16
    return 0 if checked else -1


@device
def _next_move(s, frame):
    """The best move of a ply that has not been tried, and is not tried again; -1 when none is left."""
    moves = borrow(frame.moves)
    enemy = sides(s)[1]
    while True:
        best, greatest = np.int64(-1), np.int64(-1)
        for k in range(frame.count):
            gain = _gain(s, np.int64(moves[k]), enemy, frame.checked)
            if gain > greatest:
                best, greatest = np.int64(k), np.int64(gain)
        if best < 0:
            return np.int64(-1)
        move = np.int64(moves[best])
        frame.count -= 1
        moves[best] = moves[frame.count]
        if frame.checked or exchange(s, move) != LOSES:
            return move


def make_quiet(evaluate: Function) -> Function:
    """The device function that resolves captures for evaluate(net, s, space) -> i64, the mover's view."""

    @device
    def quiet(net, line, frames, moves, space):
        """The value (i64) of line[0] for its side to move; line State[DEPTH + 1], frames FRAME[DEPTH + 1].

        moves u2[1, MAX_MOVES] and ``space`` are working space, the latter for ``evaluate``.
        """
        ply, entering, value = np.int64(0), True, np.int64(0)
        frames[0].alpha, frames[0].beta = 2 * MATED, -2 * MATED
        while True:
            s, frame, known = line[ply], frames[ply], False
            if entering:
                frame.checked, frame.best, frame.count = in_check(s), 2 * MATED, generate(s, moves, 0)
                if frame.count == 0:
                    value, known = np.int64(MATED + ply if frame.checked else 0), True
                elif not frame.checked or ply == DEPTH:
                    value = np.int64(evaluate(net, s, space))
                    known = value >= frame.beta or ply == DEPTH
                    frame.best, frame.alpha = value, max(frame.alpha, value)
                if not known:
                    for k in range(frame.count):
                        frame.moves[k] = moves[0, k]
            if not known:
                move = _next_move(s, frame)
                if move >= 0:
                    make(s, line[ply + 1], move)
                    frames[ply + 1].alpha, frames[ply + 1].beta = -frame.beta, -frame.alpha
                    ply, entering = ply + 1, True
                    continue
                value = np.int64(frame.best)
            while True:  # back to a ply that has more to try
                if ply == 0:
                    return value
                ply, value, entering = ply - 1, -value, False
                above = frames[ply]
                above.best, above.alpha = max(above.best, value), max(above.alpha, value)
                if value < above.beta:
                    break
                value = np.int64(above.best)

    return quiet


QUIESCENCE = Quiescence(make_quiet, DEPTH, FRAME, MATED)
