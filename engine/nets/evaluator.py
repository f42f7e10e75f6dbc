"""What the search needs of a net: planes to policy logits and a value, for a batch of positions.

An evaluator answers from the view of the side to move. Calls block and release the GIL; each search worker uses its own
``slot``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import NetError
from ..games.base import Game
from ..games.encoder import OWN_ENCODER
from .netinfo import NetInfo

Planes = NDArray[np.uint8]
Output = tuple[NDArray[np.float32], NDArray[np.float32]]


class Interrupted(NetError):
    """An evaluation was ended by :meth:`Evaluator.interrupt`; nothing is wrong with the net."""


class Evaluator(Protocol):
    """What the search needs of a net."""

    info: NetInfo | None  # None for an evaluator without a net
    batch_size: int  # leaves a call that suit it best
    history: int  # positions that its planes show
    encoder: str  # whose planes it takes and whose actions it gives, see Game.using
    description: str  # one line: the net and what runs it
    fault: NetError | None = None  # why the net is given up: it has missed a deadline

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        """planes u1[B, C * H * W] -> (logits f4[B, A], values f4[B, 3] WDL logits or f4[B, 1] in [-1, 1]).

        Errors: NetError when the net cannot be run or misses its deadline; Interrupted.
        """

    def interrupt(self) -> None:
        """End the evaluations that are under way, from any thread. Returns at once."""
        return


class UniformEvaluator(Evaluator):
    """No net: every move is as likely, every position even. For tests, benches and plain MCTS."""

    def __init__(self, game: Game, batch_size: int = 64) -> None:
        self.info: NetInfo | None = None
        self.batch_size = batch_size
        self.history = 1
        self.encoder = game.encoder.name
        self.description = "uniform (no net)"
        self._logits = np.zeros((1024, game.num_actions), np.float32)
        self._values = np.zeros((1024, 1), np.float32)

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        return self._logits[: len(planes)], self._values[: len(planes)]


class FunctionEvaluator(Evaluator):
    """A pure function of the planes instead of a net, for tests."""

    def __init__(self, function: Callable[[Planes], Output], batch_size: int = 8, history: int = 8) -> None:
        self.info: NetInfo | None = None
        self.batch_size = batch_size
        self.history = history
        self.encoder = OWN_ENCODER
        self.description = "function"
        self._function = function

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        return self._function(planes)
