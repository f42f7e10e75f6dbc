"""An evaluator without a net, for tests of the search."""

from __future__ import annotations

from collections.abc import Callable

from az_engine.engine.games.encoder import GAME_ENCODER
from az_engine.engine.nets.evaluator import Evaluator, Output, Planes
from az_engine.engine.nets.netinfo import NetInfo


class FunctionEvaluator(Evaluator):
    """A pure function of the planes instead of a net."""

    def __init__(self, function: Callable[[Planes], Output], batch_size: int = 8, history: int = 8) -> None:
        self.info: NetInfo | None = None
        self.batch_size = batch_size
        self.history = history
        self.encoder = GAME_ENCODER
        self.description = "function"
        self._function = function

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        return self._function(planes)
