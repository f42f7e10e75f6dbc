"""The evaluator of sparse nets: kernels of our own evaluate them, and onnxruntime is their reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from ....errors import NetError
from ....games.base import Game
from ...evaluator import CompiledNet, Evaluator, NetFunctions, Output, Planes
from ...file.netfile import EMBEDDED
from ...onnx.evaluator import OnnxEvaluator
from ...positions import random_planes
from .integers import SparseNet, evaluate_all, make_space, policy_of, read_net, value_of

_BATCH = 32  # leaves at a time where Python looks at each
_TRIED = 64  # positions on which kernel and file are compared before the net is used
_FUNCTIONS = NetFunctions(make_space, value_of, policy_of)


def first_features(planes: Planes, rows: int) -> Planes:
    """The planes u1[B, 2, ...] of those listed features that a first layer of so many rows sees."""
    numbers = planes[:, :1] + (planes[:, 1:].astype(np.uint16) << 8)
    return np.where(numbers < rows, planes, np.uint8(0))


def compiled(net: SparseNet) -> CompiledNet:
    """A net for the search's kernels."""
    return CompiledNet(_FUNCTIONS, net)


class SparseEvaluator(OnnxEvaluator):
    """A sparse net; its file runs in onnxruntime only to be compared with the kernels."""

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
        self.compiled = compiled(self._net)
        if self.path.parent == EMBEDDED:
            return
        planes = random_planes(self._game, _TRIED, 1)
        expected, got = OnnxEvaluator.evaluate(self, planes), self.evaluate(planes)
        if any((a != b).any() for a, b in zip(expected, got, strict=True)):
            raise NetError("the graph of this sparse net says something else than its weights; export it again")

    @cached_property
    def _net(self) -> SparseNet:
        return read_net(self._model, self._game.encoder)

    def for_file(self, planes: Planes) -> Planes:
        """The planes without the features that the file has no row for: an older graph would fail."""
        return first_features(planes, len(self._net.value_first))

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        policy = np.empty((len(planes), self._game.num_actions), np.float32)
        wdl = np.empty((len(planes), 3), np.float32)
        evaluate_all(self._net, planes.reshape(len(planes), -1), policy, wdl)
        return policy, wdl

    def bind(self, planes: Planes, slot: int = 0) -> Callable[[int], Output]:
        return Evaluator.bind(self, planes, slot)
