"""Calls of a net on memory that onnxruntime knows beforehand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluator import Output


class Binding:
    """What a net on the CPU answers to the first rows of one array, which stays where it is.

    ``session.run`` makes arrays, looks names up and compares types at each call. All of it is Python's or waits for
    memory, for the net has just emptied the processor's caches: 2% of the time of a small net. Here it is done once for
    each number of rows.
    """

    def __init__(self, session: Any, planes: NDArray[np.uint8], outputs: dict[str, int]) -> None:
        """``planes`` u1[B, C, H, W]; outputs: names and widths of policy and value."""
        self._session, self._planes = session, planes
        self._answers = {name: np.empty((len(planes), width), np.float32) for name, width in outputs.items()}
        self._calls: dict[int, tuple[Callable[[Any], None], Output]] = {}

    def run(self, count: int, options: Any) -> Output:
        """Logits f4[K, A] and values f4[K, 3 or 1] for the first K rows; the next call overwrites them.

        options: onnxruntime's RunOptions. Errors: onnxruntime's. Not safe to use from two threads at once.
        """
        known = self._calls.get(count)
        if known is None:
            known = self._calls[count] = self._bind(count)
        call, answers = known
        call(options)
        return answers

    def _bind(self, count: int) -> tuple[Callable[[Any], None], Output]:
        binding, planes = self._session.io_binding(), self._planes[:count]
        binding.bind_input("planes", "cpu", 0, np.uint8, planes.shape, planes.ctypes.data)
        policy, value = (answers[:count] for answers in self._answers.values())
        for name, answers in zip(self._answers, (policy, value), strict=True):
            binding.bind_output(name, "cpu", 0, np.float32, answers.shape, answers.ctypes.data)
        return _caller(self._session, binding), (policy, value)


def _caller(session: Any, binding: Any) -> Callable[[Any], None]:
    """What runs a binding, given options: without the function of onnxruntime's that is written in Python, if it can.

    That one looks after GPUs, for as long as three of our kernels take.
    """
    inner, bound = getattr(session, "_sess", None), getattr(binding, "_iobinding", None)
    if inner is None or bound is None or not hasattr(inner, "run_with_iobinding"):
        return partial(session.run_with_iobinding, binding)
    return partial(inner.run_with_iobinding, bound)
