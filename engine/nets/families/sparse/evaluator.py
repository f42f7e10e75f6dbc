"""The evaluator of sparse nets: a kernel of our own judges, and onnxruntime is its reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ....errors import NetError
from ....games.base import Game
from ...evaluator import Evaluator, Output, Planes
from ...file.netfile import EMBEDDED
from ...onnx.evaluator import OnnxEvaluator
from ...positions import random_planes
from .integers import judge_all, read_sparse_net

_BATCH = 32  # leaves at a time where no kernel searches by itself
_TRIED = 64  # positions on which kernel and file are compared before the net is used


class SparseEvaluator(OnnxEvaluator):
    """A sparse net. Searches that can give their leaves to kernels use ``sparse``; onnxruntime is its reference."""

    def __init__(
        self,
        path: str | Path,
        game: Game,
        *,
        provider: str = "cpu",
        batch_size: int = 0,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Blocks while the net loads and, unless it is the package's, is compared with its file. Errors: NetError."""
        super().__init__(path, game, provider="cpu", batch_size=batch_size or _BATCH, tell=tell)
        self.sparse = read_sparse_net(self._model, self._game.encoder.features, self._game.num_actions)
        if self.path.parent == EMBEDDED:
            return
        planes = random_planes(self._game, _TRIED, 1)
        expected, got = OnnxEvaluator.evaluate(self, planes), self.evaluate(planes)
        if any((a != b).any() for a, b in zip(expected, got, strict=True)):
            raise NetError("the graph of this sparse net says something else than its weights; export it again")

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        policy = np.empty((len(planes), self._game.num_actions), np.float32)
        wdl = np.empty((len(planes), 3), np.float32)
        judge_all(self.sparse, planes.reshape(len(planes), -1), policy, wdl)
        return policy, wdl

    def bind(self, planes: Planes, slot: int = 0) -> Callable[[int], Output]:
        return Evaluator.bind(self, planes, slot)
