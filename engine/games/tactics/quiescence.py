"""Quiescence: what an evaluation says of a position once the captures that lose nothing have been played.

A static evaluation is wrong where a piece hangs. So the side to move may take it as it is or go on: with the moves that
a game counts as gains and that do not lose by static exchange, or, in check, with any move. A game gives its own rules.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import borrow, device
from ..capabilities import Quiescence
from ..factory import Function

DEPTH = 6  # plies at most
MATED = -100_000  # the value of a side that is mated


def make_quiescence(
    generate: Function, in_check: Function, make: Function, gain: Function, loses: Function, *, max_moves: int
) -> Quiescence:
    """Quiescence by a game's device functions.

    generate(s, moves, 0) -> count writes the legal moves to moves[0]; in_check(s) is about the side to move; make(s, d,
    move) makes d the position after a move; gain(s, move, checked) -> i64 is the greater, the earlier a move is tried,
    and -1 for one that is not; loses(s, move) tells whether its exchange does.
    """
    frame_type = np.dtype(  # of one ply
        [
            ("moves", "u2", max_moves),  # that are still to be tried: the first ``count``
            ("count", "i8"),
            ("alpha", "i8"),
            ("beta", "i8"),
            ("best", "i8"),
            ("checked", "i1"),
        ],
        align=True,
    )

    next_move = _make_next_move(gain, loses)

    def make_quiet(evaluate: Function) -> Function:
        """The device function that resolves captures for evaluate(net, s, space) -> i64, the mover's view."""
        arrive = _make_arrive(generate, in_check, evaluate)

        @device
        def quiet(net, line, frames, moves, space):
            """The value (i64) of line[0] for its side to move; line State[DEPTH + 1], frames frame_type[DEPTH + 1].

            moves u2[1, max_moves] and ``space`` are working space, the latter for ``evaluate``.
            """
            ply, entering, value = np.int64(0), True, np.int64(0)
            frames[0].alpha, frames[0].beta = 2 * MATED, -2 * MATED
            while True:
                s, frame, known = line[ply], frames[ply], False
                if entering:
                    known, value = arrive(net, s, frame, ply, moves, space)
                if not known:
                    move = next_move(s, frame)
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

    return Quiescence(make_quiet, DEPTH, frame_type, MATED)


def _make_arrive(generate: Function, in_check: Function, evaluate: Function) -> Function:
    @device
    def arrive(net, s, frame, ply, moves, space):
        """(whether the value is known, value) of a position that is reached; else its frame holds what is to be tried.

        That a side has no move is seen where it may not or does not stop at the evaluation.
        """
        frame.checked, frame.best = in_check(s), 2 * MATED
        value = np.int64(frame.best)
        if not frame.checked:
            value = np.int64(evaluate(net, s, space))
            if value >= frame.beta or ply == DEPTH:
                return True, value
            frame.best, frame.alpha = value, max(frame.alpha, value)
        frame.count = generate(s, moves, 0)
        if frame.count == 0:
            return True, np.int64(MATED + ply if frame.checked else 0)
        if ply == DEPTH:
            return True, np.int64(evaluate(net, s, space))
        for k in range(frame.count):
            frame.moves[k] = moves[0, k]
        return False, value

    return arrive


def _make_next_move(gain: Function, loses: Function) -> Function:
    @device
    def next_move(s, frame):
        """The best move of a ply that has not been tried, and is not tried again; -1 when none is left."""
        moves = borrow(frame.moves)
        while True:
            best, greatest = np.int64(-1), np.int64(-1)
            for k in range(frame.count):
                gained = gain(s, np.int64(moves[k]), frame.checked)
                if gained > greatest:
                    best, greatest = np.int64(k), np.int64(gained)
            if best < 0:
                return np.int64(-1)
            move = np.int64(moves[best])
            frame.count -= 1
            moves[best] = moves[frame.count]
            if frame.checked or not loses(s, move):
                return move

    return next_move
