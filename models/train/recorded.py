"""Training steps recorded as CUDA graphs: one launch instead of some thousand, which take longer than the work.

A graph is one shape of batch's. The first steps of each shape are taken plainly, for libraries choose their algorithms
in them and the optimiser makes its state.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..families.losses import TorchBatch
from ..net.batches import no_trials
from .learner import Learner

_PLAIN = 3  # steps of a shape before it is recorded


class _Recorded(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: TorchBatch  # that it reads
    loss: Tensor


class RecordedSteps:
    """Takes a learner's steps, on a CPU plainly."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._taken: dict[int, int] = {}  # plain steps by points of the board
        self._graphs: dict[int, _Recorded] = {}
        self._frozen = False
        if learner.on_gpu:
            self._stream: Any = torch.cuda.Stream(learner.device)  # type: ignore[no-untyped-call]
            self._pool: Any = torch.cuda.graph_pool_handle()

    def step_on(self, batch: TorchBatch) -> Tensor:
        """See :meth:`Learner.step_on`; batches of one size of board have one length."""
        learner, points = self.learner, batch.planes[0, 0].numel()
        if not learner.on_gpu or learner.config.optimiser == "sgd":  # torch's SGD reads its rate on the CPU
            return learner.step_on(batch)
        frozen = learner.progress >= learner.config.freeze
        if frozen != self._frozen:  # another way through the normalisation
            self._frozen = frozen
            self._graphs.clear()
        learner.set_rate()
        if self._taken.get(points, 0) < _PLAIN:
            self._taken[points] = self._taken.get(points, 0) + 1
            loss = self._plain(batch)
        else:
            if points not in self._graphs:
                self._graphs[points] = self._record(batch)
            graph, static, result = self._graphs[points]
            for field in fields(TorchBatch):
                theirs = getattr(batch, field.name)
                if theirs is not None:
                    getattr(static, field.name).copy_(theirs)
            graph.replay()
            loss = result.clone()
        learner.count(len(batch.planes))
        return loss

    def _plain(self, batch: TorchBatch) -> Tensor:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            loss = self.learner.descend(batch)
        torch.cuda.current_stream().wait_stream(self._stream)
        return loss

    def _record(self, batch: TorchBatch) -> _Recorded:
        values = (getattr(batch, field.name) for field in fields(TorchBatch))
        static = TorchBatch(*(None if value is None else value.clone() for value in values))  # type: ignore[arg-type]
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with no_trials(), torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            loss = self.learner.descend(static)
        return _Recorded(graph, static, loss)
