"""Our nets as Lc0's native files: those trained with Lc0's planes and of a shape that Lc0 knows.

One residual tower, with or without squeeze-excitation, the flat policy head and either value head become Lc0's
SE-ResNet with a dense policy. Batch normalisation is folded in already; so is the scale of our planes here. Numbers are
stored as Lc0's LINEAR16, steps of 1/65535 of a layer's range.
"""

from __future__ import annotations

import gzip
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError
from ...engine.nets.file.netfile import read_constants, read_outline_bytes
from ...engine.nets.file.protobuf import write_field
from ...engine.nets.netinfo import NetInfo
from ..net.onnxfile import read_nodes
from .lc0 import ACTIONS, PLANES
from .lc0_file import CLASSICAL_HEADS, DENSE_POLICY, MAGIC, SCALAR_VALUE, SE_HEADS, WDL_VALUE

Array = NDArray[np.float32]
MIN_VERSION = {1: 0, 2: 28, 3: 0}  # of Lc0, as Net.min_version
_STEPS = 65535
_USUAL_VALUE = (32, 128)  # filters and hidden units that some of Lc0's backends take for granted


def to_lc0(content: bytes) -> tuple[bytes, list[str]]:
    """A native file, gzipped, and notes, out of an ONNX file of ours. Errors: NetError when Lc0 knows no such net."""
    outline = read_outline_bytes(content)
    info = NetInfo.from_metadata(outline.metadata)
    if info.encoder != "lc0":
        raise NetError("this net does not know Lc0's planes; train one with --planes lc0")
    if info.quantisation != "fp32":
        raise NetError("this net is quantised; export the fp32 one")
    net = _Net(read_nodes(content), read_constants(content), info)
    weights, notes = net.weights()
    network = SE_HEADS if net.squeezed else CLASSICAL_HEADS
    wdl = info.value_head == "wdl"
    layout = {1: 1, 2: 2 if wdl else 1, 3: network, 4: DENSE_POLICY, 5: WDL_VALUE if wdl else SCALAR_VALUE, 6: 0}
    file = MAGIC + write_field(2, info.license) if info.license else MAGIC
    file += write_field(3, message(MIN_VERSION)) + write_field(4, message({1: 1, 2: layout}))
    file += write_field(10, message(weights))
    return gzip.compress(file, mtime=0), notes


class _Net:
    """The parts of a net of ours, by the names that the exporter gives them."""

    def __init__(self, nodes: list[tuple[str, str]], constants: dict[str, NDArray[Any]], info: NetInfo) -> None:
        self.names = {name for name, _ in nodes}
        self.constants, self.info = constants, info
        self.blocks = 0
        while f"tower.{self.blocks + 1}.first" in self.names:
            self.blocks += 1
        self.squeezed = "tower.1.squeeze.up" in self.names
        operators = {operator for _, operator in nodes}
        two_towers = any(name.startswith("value_tower.") for name in self.names)
        if not self.blocks or two_towers or "Gather" in operators:
            raise NetError("Lc0 knows no such network: it must be one residual tower (--kind dual-res, --history 8)")
        if "policy.weight" not in constants:
            raise NetError("Lc0 knows no such policy head; train with --policy-head flat")

    def array(self, name: str, *shape: int) -> Array:
        """A constant in its shape. Errors: NetError."""
        result = self.constants.get(name)
        fits = result is not None and result.dtype == np.float32 and (not shape or len(shape) == result.ndim)
        if result is None or not fits or any(a not in (b, -1) for a, b in zip(shape, result.shape, strict=False)):
            raise NetError(f"this net is not as az-engine exports them: {name!r} is missing or of another shape")
        return result

    def conv(self, name: str) -> dict[int, Any]:
        """A ConvBlock: weights and biases, nothing left to normalise."""
        weights = self.array(f"{name}.weight", -1, -1, -1, -1)
        return {1: weights, 2: self.array(f"{name}.bias", len(weights))}

    def weights(self) -> tuple[dict[int, Any], list[str]]:
        """The message Weights by field number, and notes."""
        first = self.conv("tower.0")
        scale = self.array("planes.scale").reshape(-1)
        if first[1].shape[1] != PLANES or len(scale) != PLANES:
            raise NetError(f"this net takes {first[1].shape[1]} planes, Lc0's have {PLANES}")
        first[1] = first[1] * scale[:, None, None]
        value = self.conv("value.block")
        hidden, out = self.dense("value.hidden"), self.dense("wdl" if self.info.value_head == "wdl" else "value.out")
        policy = self.conv("policy.block")
        logits = self.dense("policy")
        if len(logits[0]) != ACTIONS:
            raise NetError(f"this net has {len(logits[0])} actions, Lc0's have {ACTIONS}")
        notes = []
        sizes = (len(value[2]), len(hidden[1]))
        if sizes != _USUAL_VALUE:
            notes.append(
                f"the value head has {sizes[0]} filters and {sizes[1]} hidden units; Lc0's onnx backends expect "
                f"{_USUAL_VALUE[0]} and {_USUAL_VALUE[1]} (train with --value-filters 32 --value-hidden 128)"
            )
        weights = {
            1: first,
            2: [self.block(f"tower.{i + 1}") for i in range(self.blocks)],
            3: policy,
            4: logits[0],
            5: logits[1],
            6: value,
            7: hidden[0],
            8: hidden[1],
            9: out[0],
            10: out[1],
        }
        return weights, notes

    def dense(self, name: str) -> tuple[Array, Array]:
        """Weights [out, in] and biases of a fully connected layer."""
        weights = self.array(f"{name}.weight", -1, -1)
        return weights, self.array(f"{name}.bias", len(weights))

    def block(self, name: str) -> dict[int, Any]:
        """A residual block; what Lc0's squeeze-excitation adds beside its gate is nothing."""
        parts: dict[int, Any] = {1: self.conv(f"{name}.first"), 2: self.conv(f"{name}.second")}
        if self.squeezed:
            down, up = self.conv(f"{name}.squeeze.down"), self.conv(f"{name}.squeeze.up")
            nothing = {key: np.zeros_like(up[key]) for key in (1, 2)}
            parts[3] = {1: down[1], 2: down[2], 3: np.concatenate([up[1], nothing[1]])}
            parts[3][4] = np.concatenate([up[2], nothing[2]])
        return parts


def message(parts: dict[int, Any]) -> bytes:
    """A message by field number: arrays become layers, dicts messages, lists repeated fields, ints numbers."""
    out = b""
    for number, value in parts.items():
        for each in value if isinstance(value, list) else [value]:
            content = layer(each) if isinstance(each, np.ndarray) else message(each) if isinstance(each, dict) else each
            out += write_field(number, content)
    return out


def layer(values: Array) -> bytes:
    """A Layer message, LINEAR16. The range is never empty, even where all numbers are the same."""
    low, high = np.float32(values.min()), np.float32(values.max())
    if not high > low:
        high = np.float32(float(low) + max(abs(float(low)), 1.0))
    steps = np.round((values.ravel().astype(np.float64) - low) / (float(high) - float(low)) * _STEPS)
    numbers = np.clip(steps, 0, _STEPS).astype("<u2").tobytes()
    return b"\x0d" + struct.pack("<f", low) + b"\x15" + struct.pack("<f", high) + write_field(3, numbers)
