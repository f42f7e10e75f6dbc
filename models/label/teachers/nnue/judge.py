"""Positions judged by an evaluation net, once captures are played out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....engine.errors import OptionError
from .....engine.games.base import Game, State
from .....engine.games.capabilities import Quiescence
from .....engine.games.factory import Function
from .....engine.kernels.jit import assign, borrow, kernel
from ....data.shards import CUT, MATE
from . import stockfish, yaneuraou


class Family(NamedTuple):
    """The nets of one engine."""

    read: Callable[[Path], Any]  # the numbers in a file. Errors: DataError
    make_space: Callable[[], Any]
    evaluate: Function  # (numbers, s, space) -> i64 of the side to move
    pawn: int  # of what evaluate says to 100 centipawns


FAMILIES = {
    "chess": Family(stockfish.read_net, stockfish.make_space, stockfish.evaluate, stockfish.PAWN),
    "shogi": Family(yaneuraou.read_net, yaneuraou.make_space, yaneuraou.evaluate, yaneuraou.PAWN),
}  # by game


def family_of(game: str) -> Family:
    """Errors: OptionError for a game without such nets."""
    if game not in FAMILIES:
        raise OptionError(f"--nnue judges {' and '.join(FAMILIES)}; leave it out for {game}")
    return FAMILIES[game]


@cache
def _judge_kernel(quiescence: Quiescence, evaluate: Function) -> Callable[..., None]:
    quiet = quiescence.make(evaluate)

    @kernel
    def judge(net, states, line, frames, moves, space, out):
        """out i8[N] = the evaluation of State[N] once captures are resolved; the other arrays are working space."""
        net, states, line, frames = borrow(net), borrow(states), borrow(line), borrow(frames)
        moves, space = borrow(moves), borrow(space)
        for i in range(states.shape[0]):
            assign(line[0], states[i])
            out[i] = quiet(net, line, frames, moves, space)

    return judge


class NnueJudge:
    """Says what positions are worth by an evaluation net, once captures are resolved."""

    def __init__(self, path: Path, game: Game) -> None:
        """BLOCKS for seconds where kernels must be compiled. Errors: DataError, OptionError."""
        family, quiescence = family_of(game.name), game.quiescence
        assert quiescence is not None
        self._mated, self._pawn = quiescence.mated, family.pawn
        self._kernel = _judge_kernel(quiescence, family.evaluate)
        self._net, self._space = family.read(path), family.make_space()
        self._line = np.zeros(quiescence.depth + 1, game.state_dtype)
        self._frames = np.zeros(quiescence.depth + 1, quiescence.frame)
        self._moves = np.zeros((1, game.max_moves), np.uint16)

    def judge(self, states: State) -> NDArray[np.int64]:
        """Centipawns i8[N] of State[N] for the side to move; mates as records have them."""
        out = np.zeros(len(states), np.int64)
        self._kernel(self._net, states, self._line, self._frames, self._moves, self._space, out)
        plies = -self._mated - np.abs(out)
        scores = np.clip(np.sign(out) * (np.abs(out) * 100 // self._pawn), -CUT, CUT)
        result: NDArray[np.int64] = np.where(plies <= len(self._line), np.sign(out) * (MATE - (plies + 1) // 2), scores)
        return result
