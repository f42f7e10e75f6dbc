"""Lc0 net files for tests: random ones, written field by field as Lc0's net.proto says."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from az_engine.engine.nets.file.protobuf import write_field

Array = NDArray[np.float32]
LINEAR16, FLOAT16, BFLOAT16, FLOAT32 = 1, 2, 3, 4


def layer(values: Array, encoding: int = FLOAT32) -> bytes:
    """A Layer message."""
    flat = np.ascontiguousarray(values, np.float32).ravel()
    low, high = float(flat.min()), float(flat.max()) + 1e-3
    if encoding == LINEAR16:
        steps = np.round((flat - low) / (high - low) * 65535).astype("<u2")
        return b"\x0d" + struct.pack("<f", low) + b"\x15" + struct.pack("<f", high) + write_field(3, steps.tobytes())
    if encoding == FLOAT16:
        params = flat.astype("<f2").tobytes()
    elif encoding == BFLOAT16:
        params = (flat.view(np.uint32) >> 16).astype("<u2").tobytes()
    else:
        params = flat.astype("<f4").tobytes()
    return write_field(3, params) + write_field(4, encoding)


def write(parts: dict[int, Any], encoding: int = FLOAT32) -> bytes:
    """A message: arrays become layers, dicts messages, lists repeated fields, ints numbers."""
    out = b""
    for number, value in parts.items():
        for each in value if isinstance(value, list) else [value]:
            content = each
            if isinstance(each, dict):
                content = write(each, encoding)
            elif isinstance(each, np.ndarray):
                content = layer(each, encoding)
            out += write_field(number, content)
    return out


def net_file(weights: dict[int, Any], encoding: int = FLOAT32, **layout: int) -> bytes:
    """A whole file. layout: fields of NetworkFormat by name."""
    names = ("input", "output", "network", "policy", "value", "moves_left", "activation", "smolgen", "ffn", "embedding")
    fields = {names.index(name) + 1: value for name, value in {"input": 1, **layout}.items()}
    return (
        b"\x0d\xc0\x01\x00\x00"
        + write_field(2, "a licence")
        + write_field(3, write({2: 21, 3: 0}))
        + write_field(4, write({1: 1, 2: fields}))
        + write_field(10, write(weights, encoding))
    )


class Random:
    """Random weights of a size that keeps activations about 1."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def matrix(self, *shape: int) -> Array:
        values: Array = (self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        return values

    def vector(self, size: int) -> Array:
        return (self.rng.standard_normal(size) * 0.3).astype(np.float32)

    def conv(self, outputs: int, inputs: int, kernel: int, *, norm: bool = False) -> dict[int, Any]:
        parts: dict[int, Any] = {1: self.matrix(outputs, inputs, kernel, kernel), 2: self.vector(outputs)}
        if norm:
            parts |= {3: self.vector(outputs), 4: self.rng.uniform(0.3, 2, outputs).astype(np.float32)}
            parts |= {5: self.rng.uniform(0.5, 2, outputs).astype(np.float32), 6: self.vector(outputs)}
        return parts

    def dense(self, number: int, outputs: int, inputs: int) -> dict[int, Any]:
        return {number: self.matrix(outputs, inputs), number + 1: self.vector(outputs)}

    def norm(self, number: int, size: int) -> dict[int, Any]:
        return {number: self.rng.uniform(0.5, 1.5, size).astype(np.float32), number + 1: self.vector(size)}

    def encoder(self, width: int, hidden: int, smolgen: int, heads: int) -> dict[int, Any]:
        mha: dict[int, Any] = {}
        for number in (1, 3, 5, 7):
            mha |= self.dense(number, width, width)
        if smolgen:
            mha[9] = {1: self.matrix(4, width), **self.dense(2, 12, 256), **self.norm(4, 12)}
            mha[9] |= {**self.dense(6, heads * smolgen, 12), **self.norm(8, heads * smolgen)}
        ffn = {**self.dense(1, hidden, width), **self.dense(3, width, hidden)}
        return {1: mha, **self.norm(2, width), 4: ffn, **self.norm(5, width)}

    def value(self, width: int, outputs: int, *, convolution: bool) -> dict[int, Any]:
        """The weights of a value head outside value_heads."""
        parts = {**self.dense(7, 16, 64 * 4), **self.dense(9, outputs, 16)}
        return parts | ({6: self.conv(4, width, 1)} if convolution else self.dense(29, 4, width))
