"""Nets that fail in the middle of a game, in every way that a net can."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.errors import NetError
from az_engine.engine.games.base import Game
from az_engine.engine.nets.evaluator import Evaluator, Interrupted, Output, Planes, UniformEvaluator
from az_engine.engine.nets.weights import load_evaluator

FAULTS = ("nan", "huge", "error", "late", "deaf")


class FailingNet(UniformEvaluator):
    """No net until its ``when``-th evaluation; from then on it fails.

    late: it computes without end, until it is interrupted or misses its deadline of 0.3 s; deaf: nothing ends it.
    """

    def __init__(self, game: Game, fault: str, when: int) -> None:
        super().__init__(game, 4)
        self.description = f"a net with the fault {fault}"
        self._fault, self._left = fault, when
        self._interrupted = threading.Event()

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        """Fail when it is time."""
        if self.fault is not None:
            raise self.fault
        self._left -= 1
        logits, values = (part.copy() for part in super().evaluate(planes, slot))
        if self._left >= 0:
            return logits, values
        if self._fault == "error":
            raise NetError("the net is broken")
        if self._fault in ("late", "deaf"):
            self._hang()
        return logits, np.full_like(values, {"nan": np.nan, "huge": 1e30}.get(self._fault, 0.0))

    def _hang(self) -> None:
        if self._fault == "late" and self._interrupted.wait(0.3):
            raise Interrupted("interrupted")
        self.fault = NetError("the net gave no answer and is given up")
        if self._fault == "late":
            raise self.fault
        threading.Event().wait(120.0)

    def interrupt(self) -> None:
        """Wake it, unless it is deaf."""
        self._interrupted.set()


def let_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a WeightsFile such as "nan-7" name a net that gives NaN from its eighth evaluation on."""

    def load(weights: str, game: Game, **settings: Any) -> Evaluator:
        fault, _, when = weights.partition("-")
        if fault in FAULTS:
            return FailingNet(game, fault, int(when))
        return load_evaluator(weights, game, **settings)

    monkeypatch.setattr(Engine.__init__, "__defaults__", (None, load))
