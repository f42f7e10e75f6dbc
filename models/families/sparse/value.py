"""The value of a sparse network in one kernel each way, on several threads side by side.

For positions this small, torch's passes over whole batches cost several times what the sums themselves do.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....engine.nets.families.sparse.integers import HIDDEN
from .kernels import divide, join, value_backward, value_forward

Array = NDArray[np.float32]
Rows = NDArray[np.int64]


class ValueWeights(NamedTuple):
    """The layers of a value V wide with U hidden units, HIDDEN to a bucket, for F features; also their gradients."""

    first: Array  # [F, V]
    bias: Array  # [V]
    hidden: Array  # [U, V / 2]
    hidden_bias: Array  # [U]
    out: Array  # [3, U]
    out_bias: Array  # [3]


class Joined(torch.autograd.Function):
    """A first layer [F, V] of its features' own parts [F, V] and what those share that are alike, rows of [S, V].

    It is within +-bound, in whole steps; a step of 0 leaves it unrounded.
    """

    @staticmethod
    def forward(context: Any, shared: Tensor, ours: Tensor, alike: Rows, bound: float, step: float) -> Tensor:
        tables = shared.detach().numpy(), ours.detach().numpy(), alike
        context.kept = *tables, np.float32(bound)
        out = torch.empty(ours.shape)
        join(*tables, np.float32(bound), np.float32(step), out.numpy())
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        shared, ours, alike, bound = context.kept
        parts = torch.zeros(shared.shape), torch.empty(ours.shape)
        divide(shared, ours, alike, bound, gradients[0].contiguous().numpy(), *(part.numpy() for part in parts))
        return *parts, None, None, None


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="value")


def _side_by_side(parts: int, count: int, work: Callable[[int, slice], None]) -> None:
    """work(part, slice) for so many parts of ``count`` rows, each on a thread of its own."""
    edges = [count * part // parts for part in range(parts + 1)]
    others = [_pool().submit(work, part, slice(edges[part], edges[part + 1])) for part in range(1, parts)]
    work(0, slice(edges[0], edges[1]))
    for other in others:
        other.result()


class SparseValue(torch.autograd.Function):
    """WDL logits [B, 3] of planes u1[B, 2 P] and the tensors of :class:`ValueWeights`, on so many threads."""

    @staticmethod
    def forward(context: Any, planes: Tensor, threads: int, *weights: Tensor) -> Tensor:
        rows, arrays = planes.numpy(), ValueWeights(*(w.detach().contiguous().numpy() for w in weights))
        sums = np.empty((len(rows), len(arrays.bias)), np.float32)
        units = np.empty((len(rows), HIDDEN), np.float32)
        out = torch.empty(len(rows), 3)
        logits = out.numpy()

        def work(_: int, part: slice) -> None:
            value_forward(rows[part], arrays, sums[part], units[part], logits[part])

        _side_by_side(threads, len(rows), work)
        context.threads, context.kept = threads, (rows, arrays, sums, units)
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, arrays, sums, units = context.kept
        gradient = gradients[0].contiguous().float().numpy()
        results: dict[int, ValueWeights] = {}

        def work(number: int, part: slice) -> None:
            results[number] = ValueWeights(*map(np.zeros_like, arrays))
            value_backward(rows[part], arrays, sums[part], units[part], gradient[part], results[number])

        _side_by_side(context.threads, len(rows), work)
        total = [torch.from_numpy(array) for array in results[0]]
        for number in range(1, len(results)):
            torch._foreach_add_(total, [torch.from_numpy(array) for array in results[number]])
        return None, None, *total
