"""How a game of territory is expected to end: what a net says of a position beside policy and value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .evaluator import Evaluator, OnnxEvaluator
from .games.base import Game, State
from .info import Estimate


def can_estimate(evaluator: Evaluator) -> bool:
    """Whether the evaluator says more than policy and value."""
    return isinstance(evaluator, OnnxEvaluator) and bool(evaluator.extra)


def estimate(game: Game, evaluator: Evaluator, line: State) -> Estimate | None:
    """The end expected from a line's last position, the mean over the game's symmetries; None when the net is silent.

    Blocks for one evaluation. Errors: NetError.
    """
    if not isinstance(evaluator, OnnxEvaluator) or not evaluator.extra:
        return None
    game = game.using(evaluator.encoder)
    images = game.action_images
    planes = np.repeat(_planes(game, [line], evaluator.history), len(images), axis=0)
    ownership, score = evaluator.estimate(game.transform(planes, np.arange(len(images))))
    owners = None
    if ownership is not None:
        points = ownership[0].size
        turned_back = np.take_along_axis(ownership.reshape(len(images), points), images[:, :points], axis=1)
        owners = tuple(turned_back.mean(axis=0).tolist())
    return Estimate(None if score is None else game.lead(line[-1], float(score.mean())), owners)


def leads(game: Game, evaluator: Evaluator, line: State, moves: list[int]) -> list[float] | None:
    """By how many points the side to move leads after each of its moves; None when the net does not say.

    Blocks for one evaluation. Errors: NetError.
    """
    if not isinstance(evaluator, OnnxEvaluator) or "score" not in evaluator.extra or not moves:
        return None
    game = game.using(evaluator.encoder)
    after = [game.play(line, move) for move in moves]
    _, score = evaluator.estimate(_planes(game, after, evaluator.history))
    assert score is not None
    return [-game.lead(longer[-1], points) for longer, points in zip(after, score.tolist(), strict=True)]


def _planes(game: Game, lines: list[State], history: int) -> NDArray[np.uint8]:
    """Planes u1[B, C, H, W] of the last positions of B lines."""
    planes = np.zeros((len(lines), *game.planes), np.uint8)
    for row, line in enumerate(lines):
        newest = np.array([len(line) - 1], np.int64)
        game.encode(line, newest, np.zeros(1, np.int64), planes[row : row + 1], history)
    return planes
