"""A network run on batches of fixed shapes: on a GPU by CUDA graphs, on a CPU directly.

A batch is padded to the next of a few sizes. On a GPU each size has one recorded graph, so that a batch costs one
launch; on either, a position's outputs do not depend on the other rows as long as the size is the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..families.network import Network

STEPS = 8  # sizes that the greatest batch is divided into
_SLOTS = 2  # batches on their way at a time: one is filled while the other is computed
_WARM_UP = 3  # runs before a graph is recorded, in which the libraries choose their algorithms

Outputs = list[NDArray[np.float32]]


def sizes_of(greatest: int, steps: int = STEPS) -> list[int]:
    """The sizes of batches up to the greatest, rising."""
    return sorted({-(-greatest * step // steps) for step in range(1, steps + 1)})


class Buffers:
    """Room for one batch on its way, in memory that the CPU sees."""

    def __init__(self, size: int, planes: tuple[int, int, int], width: int, *, pinned: bool) -> None:
        self._planes = torch.zeros((size, *planes), dtype=torch.uint8, pin_memory=pinned)
        self._actions = torch.zeros((size, max(width, 1)), dtype=torch.int32, pin_memory=pinned)
        self.planes: NDArray[np.uint8] = self._planes.numpy()  # u1[size, C, H, W], to be filled in
        self.actions: NDArray[np.int32] = self._actions.numpy()  # i4[size, M], likewise, where policies are gathered
        self.outputs: list[Tensor] = []

    def tensors(self, size: int) -> tuple[Tensor, Tensor]:
        """The first ``size`` planes and actions."""
        return self._planes[:size], self._actions[:size]


class Batches:
    """Runs a network, at most two batches at a time."""

    def __init__(
        self,
        network: Network,
        planes: tuple[int, int, int],
        greatest: int,
        *,
        width: int = 0,
        steps: int = STEPS,
    ) -> None:
        """``network``: ready :meth:`~Network.to_play`; planes C, H, W; ``greatest``: rows of a batch; ``steps``: sizes.

        width M: policies are gathered at M actions of each row, 0 = given whole. On a GPU, blocks while graphs are
        recorded. Errors: RuntimeError of torch, as for too little memory.
        """
        self.greatest, self.sizes = greatest, sizes_of(greatest, steps)
        self._network, self._width = network, width
        self._device = next(network.parameters()).device
        self.on_gpu = self._device.type == "cuda"
        self.slots = [Buffers(greatest, planes, width, pinned=self.on_gpu) for _ in range(_SLOTS)]
        self._graphs: dict[int, _Graph] = {}
        if self.on_gpu:
            with torch.cuda.device(self._device):
                self._stream: Any = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
                pool = None
                for size in reversed(self.sizes):  # the greatest first: the others fit into its memory
                    graph = _Graph(self._compute, size, planes, width, self._device, self._stream, pool)
                    pool = pool or graph.pool
                    self._graphs[size] = graph

    @torch.inference_mode()
    def _compute(self, planes: Tensor, actions: Tensor) -> tuple[Tensor, ...]:
        policy, *others = self._network(planes)
        if self._width:
            policy = policy.gather(1, actions.long())
        return (policy, *others)

    def run(self, rows: int, slot: int = 0) -> Callable[[], Outputs]:
        """Begin a batch whose first ``rows`` rows are filled in in ``slots[slot]``; calling the result waits for it.

        The outputs f4[rows, ...], policy first, are views that hold until the slot's next batch.
        """
        size = next(size for size in self.sizes if size >= rows)
        buffers = self.slots[slot]
        if not self.on_gpu:
            outputs = self._compute(*buffers.tensors(size))
            return lambda: [y[:rows].numpy() for y in outputs]
        return self._graphs[size].launch(buffers, rows)


class _Graph:
    """One size of batch on a GPU: its tensors there, and the recorded work from planes to outputs."""

    def __init__(
        self,
        compute: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
        size: int,
        planes: tuple[int, int, int],
        width: int,
        device: torch.device,
        stream: Any,
        pool: Any,
    ) -> None:
        self._size, self._stream = size, stream
        self._planes = torch.zeros((size, *planes), dtype=torch.uint8, device=device)
        self._actions = torch.zeros((size, max(width, 1)), dtype=torch.int32, device=device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                compute(self._planes, self._actions)
        stream.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        # thread_local: other threads may take memory meanwhile
        with (
            no_trials(),
            torch.cuda.graph(self._graph, pool=pool, stream=stream, capture_error_mode="thread_local"),
        ):
            self._outputs = compute(self._planes, self._actions)
        self.pool = self._graph.pool()

    def launch(self, buffers: Buffers, rows: int) -> Callable[[], Outputs]:
        """See :meth:`Batches.run`. Work of one stream is done in order, so the graphs may share their memory."""
        planes, actions = buffers.tensors(self._size)
        if not buffers.outputs:
            buffers.outputs = [
                torch.empty((len(buffers.planes), *y.shape[1:]), dtype=y.dtype, pin_memory=True) for y in self._outputs
            ]
        done: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(self._stream):
            self._planes.copy_(planes, non_blocking=True)
            self._actions.copy_(actions, non_blocking=True)
            self._graph.replay()
            for host, y in zip(buffers.outputs, self._outputs, strict=True):
                host[: self._size].copy_(y, non_blocking=True)
            done.record()
        return lambda: _waited(done, buffers.outputs, rows)


@contextlib.contextmanager
def no_trials() -> Iterator[None]:
    """Let cuDNN take the algorithms that it chose before, and try none: a trial would break a recording."""
    before, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, False
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def _waited(done: Any, outputs: Sequence[Tensor], rows: int) -> Outputs:
    done.synchronize()
    return [y[:rows].numpy() for y in outputs]
