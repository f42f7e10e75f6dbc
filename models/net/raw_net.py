"""A net without search: what it says of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError
from ...engine.games.base import Game, State
from ...engine.nets.onnx import OnnxEvaluator
from ...engine.nets.weights import load_evaluator


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a net says of a position, for the side to move."""

    moves: NDArray[np.uint16]  # [n] the legal moves
    policy: NDArray[np.float64]  # [n] their probabilities
    chance: float  # expected points, 0 to 1
    lead: float | None  # points ahead at the end, komi included; None: the net does not tell
    ownership: tuple[float, ...]  # of each point, 1 = surely the side to move's; empty: the net does not tell


class RawNet:
    """A net, asked about positions."""

    def __init__(self, weights: str, game: Game, batch_size: int = 1) -> None:
        """weights: as for ``WeightsFile``, "default" the net inside the package; batch_size: positions at a time.

        Errors: NetError.
        """
        net = "" if weights == "default" else weights
        self._evaluator = load_evaluator(net, game, provider="cpu", batch_size=batch_size)
        self._batch_size = batch_size
        self._game = game.using(self._evaluator.encoder)
        self.opinion(game.initial())  # whatever is wrong with the net shows before a game begins

    def opinion(self, line: State) -> Opinion:
        """What the net says of a line's last position. BLOCKS. Errors: NetError."""
        return self.opinions([line])[0]

    def opinions(self, lines: Sequence[State]) -> list[Opinion]:
        """What the net says of the last position of each line. BLOCKS. Errors: NetError."""
        said: list[Opinion] = []
        for i in range(0, len(lines), self._batch_size):
            said += self._of_batch(lines[i : i + self._batch_size])
        return said

    def _of_batch(self, lines: Sequence[State]) -> list[Opinion]:
        game, start = self._game, np.zeros(1, np.int64)
        planes = np.zeros((len(lines), *game.planes), np.uint8)
        for i, line in enumerate(lines):
            game.encode(line, start + len(line) - 1, start, planes[i : i + 1], self._evaluator.history)
        if isinstance(self._evaluator, OnnxEvaluator):
            logits, value, owners, score = self._evaluator.evaluate_all(planes)
        else:
            (logits, value), owners, score = self._evaluator.evaluate(planes), None, None
        said = []
        for i, line in enumerate(lines):
            moves = game.legal_moves(line)
            actions = np.zeros((1, len(moves)), np.int32)
            game.actions(line, start + len(line) - 1, moves[None], actions)
            policy, outcome = logits[i, actions[0]].astype(np.float64), value[i].astype(np.float64)
            if not (np.isfinite(policy).all() and np.isfinite(outcome).all()):
                raise NetError("the net's policy or value is not finite; use another net")
            lead = None
            if score is not None and game.territory is not None:
                lead = game.territory.lead(line[-1], float(score[i]))
            owned = () if owners is None else tuple(owners[i].ravel().tolist())
            said.append(Opinion(moves, _softmax(policy), _expected_points(outcome), lead, owned))
        return said


def _expected_points(value: NDArray[np.float64]) -> float:
    """0 to 1, of the logits of win, draw and loss, or of a value from -1 to 1."""
    if len(value) == 3:
        win, draw, _ = _softmax(value)
        return min(float(win + draw / 2), 1.0)
    return min(max(float((1 + value[0]) / 2), 0.0), 1.0)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())
