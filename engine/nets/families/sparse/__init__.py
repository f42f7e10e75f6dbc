"""Sparse nets: shallow, evaluated by kernels of our own in integers, bit for bit as onnxruntime evaluates the file."""

from __future__ import annotations

from .. import Family
from .evaluator import SparseEvaluator, compiled
from .integers import blank_net

FAMILY = Family(open=SparseEvaluator, blank=compiled(blank_net()))
