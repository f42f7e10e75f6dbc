"""A net that makes the mistakes in a teacher's games, so that labels come from positions where such nets get to.

Labels of the positions that a learner itself reaches are what DAgger adds to imitation (Ross, Gordon and Bagnell 2011,
"A Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine.errors import NetError
from ..engine.evaluator import load_evaluator
from ..engine.games.base import Game, State


class Student:
    """A net without search, whose moves are drawn from its policy."""

    def __init__(self, weights: str, game: Game) -> None:
        """weights: a net as for ``WeightsFile``, "default" the one inside the package. Errors: NetError."""
        self._evaluator = load_evaluator("" if weights == "default" else weights, game, provider="cpu", batch_size=1)
        self._game = game.using(self._evaluator.encoder)
        self.policy(game.initial())  # whatever is wrong with the net shows before a game begins

    def policy(self, line: State) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """The legal moves u2 [n] after a line and their probabilities f8 [n]. Errors: NetError."""
        game, newest = self._game, np.array([len(line) - 1], np.int64)
        planes = np.zeros((1, *game.planes), np.uint8)
        game.encode(line, newest, np.zeros(1, np.int64), planes, self._evaluator.history)
        moves = game.legal_moves(line)
        actions = np.zeros((1, len(moves)), np.int32)
        game.actions(line, newest, moves[None], actions)
        logits = self._evaluator.evaluate(planes.reshape(1, -1))[0][0, actions[0]].astype(np.float64)
        if not np.isfinite(logits).all():
            raise NetError("the student's policy is not finite; use another net")
        weights = np.exp(logits - logits.max())
        return moves, weights / weights.sum()
