"""A first convolution that int8 suits: its planes are whole multiples of a step, so that bytes hold them exactly.

Weights that are rounded one by one change what the constant planes, such as komi, add to every point. So the rounding
error of each tap is carried over to the next one, and what is left of all, at the planes' means, goes into the bias.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from ...engine.errors import NetError

_MOST, _GREATEST = 127, 255  # of a weight's and a plane's byte
_TAPS = (4, 0, 1, 2, 3, 5, 6, 7, 8)  # of a 3x3 filter, the order in which their errors are carried over


class FirstLayer(NamedTuple):
    """A model with the rounded weights of its first convolution, and what its planes are made of."""

    model: onnx.ModelProto
    tensor: str  # the scaled planes
    greatest: float  # that a byte holds of them


def rounded_first(model: onnx.ModelProto, name: str, calibration: list[NDArray[np.uint8]]) -> FirstLayer:
    """For the convolution ``name``, 3x3, of planes.scaled; calibration: planes u1[N, C, H, W] of each size of board.

    Errors: NetError where a byte cannot hold the scaled planes exactly.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    nodes = {node.name: node for node in result.graph.node}
    stored = {each.name: each for each in result.graph.initializer}
    tensor, weight, bias = nodes[name].input
    scale = _values(stored, nodes["planes.scaled"].input[1]).ravel()
    gather = nodes.get("planes.used")
    used = np.arange(len(scale)) if gather is None else _values(stored, gather.input[1])
    step = float(scale.min())
    multiples = np.round(scale / step)
    greatest = np.max([planes.max(axis=(0, 2, 3))[used] for planes in calibration], axis=0) * multiples
    if not np.allclose(multiples * step, scale, rtol=1e-6) or greatest.max() > _GREATEST:
        raise NetError("the net's planes are no whole multiples of one step; its first layer cannot be int8")
    filters = _values(stored, weight)
    rounded = _rounded(filters)
    mean = np.mean([planes.mean(axis=(0, 2, 3), dtype=np.float64)[used] for planes in calibration], axis=0) * scale
    shift = ((filters - rounded).sum(axis=(2, 3), dtype=np.float64) * mean).sum(axis=1)
    for key, values in ((weight, rounded), (bias, _values(stored, bias) + shift)):
        stored[key].CopyFrom(numpy_helper.from_array(values.astype(np.float32), key))
    return FirstLayer(result, tensor, _GREATEST * step)


def _rounded(filters: NDArray[np.float32]) -> NDArray[np.float64]:
    """Filters f4[F, C, 3, 3] as multiples of each one's greatest weight / 127; sums over taps are kept within one."""
    unit = np.maximum(np.abs(filters).max(axis=(1, 2, 3)), 1e-12).astype(np.float64) / _MOST
    exact = filters.reshape(*filters.shape[:2], -1) / unit[:, None, None]
    whole, left = np.zeros(exact.shape), np.zeros(exact.shape[:2])
    for tap in _TAPS:
        wanted = exact[:, :, tap] + left
        whole[:, :, tap] = np.clip(np.round(wanted), -_MOST, _MOST)
        left = wanted - whole[:, :, tap]
    return np.asarray((whole * unit[:, None, None]).reshape(filters.shape), np.float64)


def _values(stored: dict[str, onnx.TensorProto], name: str) -> NDArray[np.float32]:
    return numpy_helper.to_array(stored[name])
