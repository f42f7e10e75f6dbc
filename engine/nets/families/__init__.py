"""Families of nets that onnxruntime does not run alone: one folder each, named as the encoder in its files' metadata.

A folder offers ``FAMILY``, a :class:`Family`; nothing else lists families. Files that name another encoder run in
onnxruntime.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..evaluator import CompiledNet
from ..onnx.evaluator import OnnxEvaluator


@dataclass(frozen=True, slots=True)
class Family:
    """How one family of nets plays."""

    open: Callable[..., OnnxEvaluator]  # the evaluator of a file; called as OnnxEvaluator is
    blank: CompiledNet  # a net of the least size: the device functions, and the types of the weights


@cache
def find_family(encoder: str) -> Family | None:
    """The family whose files name ``encoder``; None where onnxruntime runs them."""
    if encoder not in {module.name for module in pkgutil.iter_modules(__path__) if module.ispkg}:
        return None
    family: Family = importlib.import_module(f"{__name__}.{encoder}").FAMILY
    return family
