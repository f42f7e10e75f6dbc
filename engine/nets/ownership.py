"""Estimates of score and ownership by nets that have these outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..games.base import Game, State
from ..info import Estimate
from .evaluator import Evaluator
from .onnx import OnnxEvaluator
from .opinions import encode


class Outlook:
    """Estimates of a line's last position, the root, and of the positions after its moves.

    Evaluated once each, in small batches, so that the first results arrive early.
    """

    def __init__(self, game: Game, evaluator: Evaluator, line: State) -> None:
        """Evaluates nothing yet; an evaluator without these outputs never gives an estimate."""
        self._game, self._line = game.using(evaluator.encoder), line
        self._net = evaluator if isinstance(evaluator, OnnxEvaluator) and evaluator.extra else None
        self._planes: NDArray[np.uint8] | None = None  # of the root
        self._seen = 0  # symmetries of the root evaluated so far, and the sums over them
        self._owners: NDArray[np.float64] | None = None
        self._score: float | None = None
        self._after: dict[str, Estimate] = {}

    def root(self) -> Estimate | None:
        """The root's estimate, the mean over the symmetries evaluated so far; None before the first."""
        if not self._seen:
            return None
        territory = self._game.territory
        score = None
        if self._score is not None and territory is not None:
            score = territory.lead(self._line[-1], self._score / self._seen)
        return Estimate(score, None if self._owners is None else tuple((self._owners / self._seen).tolist()))

    def after(self, move: str) -> Estimate | None:
        """The estimate after a move, from the view of the root's mover; None before its evaluation."""
        return self._after.get(move)

    def ask(self, moves: Sequence[str], enough: Callable[[], bool]) -> None:
        """Evaluate the root, the positions after moves and the root's other symmetries, batch by batch.

        Ends when all is known or ``enough()`` is true. Blocks. Errors: NetError.
        """
        net = self._net
        if net is None:
            return
        if not self._seen and not enough():
            self._ask_root(net)
        new = [move for move in moves if move not in self._after]
        for start in range(0, len(new), net.batch_size):
            if enough():
                return
            self._ask_after(net, new[start : start + net.batch_size])
        while self._seen < len(self._game.symmetries or (1,)) and not enough():
            self._ask_root(net)

    def _ask_root(self, net: OnnxEvaluator) -> None:
        game = self._game
        which = np.arange(self._seen, min(self._seen + net.batch_size, len(game.symmetries or (1,))))
        if self._planes is None:
            self._planes = encode(game, [self._line], net.history)
        planes = np.repeat(self._planes, len(which), axis=0)
        ownership, score = net.estimate(planes if game.symmetries is None else game.symmetries.turn(planes, which))
        if ownership is not None:
            owners = ownership.reshape(len(which), -1)
            if game.symmetries is not None:
                owners = np.take_along_axis(owners, game.symmetries.points[which], axis=1)
            self._owners = owners.sum(axis=0, dtype=np.float64) + (0.0 if self._owners is None else self._owners)
        if score is not None:
            self._score = float(score.sum()) + (self._score or 0.0)
        self._seen += len(which)

    def _ask_after(self, net: OnnxEvaluator, moves: Sequence[str]) -> None:
        game, line = self._game, self._line
        lines = [game.play(line, game.parse_move(line, move)) for move in moves]
        ownership, score = net.estimate(encode(game, lines, net.history))
        for i, move in enumerate(moves):
            lead = None
            if score is not None and game.territory is not None:
                lead = -game.territory.lead(lines[i][-1], float(score[i]))
            owners = None if ownership is None else tuple((-ownership[i].ravel()).tolist())
            self._after[move] = Estimate(lead, owners)


def estimate(game: Game, evaluator: Evaluator, line: State) -> Estimate | None:
    """The estimate of a line's last position, the mean over its symmetries; None from a net without these outputs.

    Blocks for one evaluation of each. Errors: NetError.
    """
    outlook = Outlook(game, evaluator, line)
    outlook.ask((), lambda: False)
    return outlook.root()
