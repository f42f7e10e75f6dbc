"""A net without search: what it says of one position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.errors import NetError
from ..engine.evaluator import OnnxEvaluator, load_evaluator
from ..engine.games.base import Game, State


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a net says of a position, for the side to move."""

    moves: NDArray[np.uint16]  # [n] the legal moves
    policy: NDArray[np.float64]  # [n] their probabilities
    chance: float  # expected points, 0 to 1
    lead: float | None  # points ahead at the end, komi included; None: the net does not tell
    ownership: tuple[float, ...]  # of each point, 1 = surely the side to move's; empty: the net does not tell


class RawNet:
    """A net, asked about one position at a time."""

    def __init__(self, weights: str, game: Game) -> None:
        """weights: a net as for ``WeightsFile``, "default" the one inside the package. Errors: NetError."""
        self._evaluator = load_evaluator("" if weights == "default" else weights, game, provider="cpu", batch_size=1)
        self._game = game.using(self._evaluator.encoder)
        self.opinion(game.initial())  # whatever is wrong with the net shows before a game begins

    def opinion(self, line: State) -> Opinion:
        """What the net says of a line's last position. BLOCKS. Errors: NetError."""
        game, newest = self._game, np.array([len(line) - 1], np.int64)
        planes = np.zeros((1, *game.planes), np.uint8)
        game.encode(line, newest, np.zeros(1, np.int64), planes, self._evaluator.history)
        moves = game.legal_moves(line)
        actions = np.zeros((1, len(moves)), np.int32)
        game.actions(line, newest, moves[None], actions)
        if isinstance(self._evaluator, OnnxEvaluator):
            logits, value, owners, score = self._evaluator.evaluate_all(planes)
        else:
            (logits, value), owners, score = self._evaluator.evaluate(planes), None, None
        policy, outcome = logits[0, actions[0]].astype(np.float64), value[0].astype(np.float64)
        if not (np.isfinite(policy).all() and np.isfinite(outcome).all()):
            raise NetError("the net's policy or value is not finite; use another net")
        if len(outcome) == 3:
            win, draw, _ = _softmax(outcome)
            chance = float(win + draw / 2)
        else:
            chance = float((1 + outcome[0]) / 2)
        return Opinion(
            moves,
            _softmax(policy),
            min(max(chance, 0.0), 1.0),
            None if score is None else game.lead(line[-1], float(score[0])),
            () if owners is None else tuple(owners[0].ravel().tolist()),
        )


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())
