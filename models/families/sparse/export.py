"""A sparse network as an ONNX file of whole numbers: what ``engine.nets.sparse`` reads and onnxruntime runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....engine.errors import NetError
from ....engine.nets.families.sparse.integers import (
    BUCKET,
    COARSE,
    HIDDEN,
    HIDDEN_MOST,
    HIDDEN_ONE,
    HIDDEN_SHIFT,
    POLICY_SCALE,
    PRODUCT,
    ROW_UNIT,
    SHIFT,
    SMALL_UNIT,
    UNIT,
    VALUE_SCALE,
    SparseNet,
    joined,
    split,
)
from ....engine.nets.file.netfile import BOOL, FLOAT, INT32, INT64
from ....engine.nets.netinfo import NetInfo
from ....engine.nets.onnx.session import raw_session
from ...net.onnxfile import GraphWriter
from ...net.probes import check, run
from .network import SparseNetwork

TOLERANCE = 0.35  # greatest mean difference of a logit from torch's that counts as the same network


def integers(network: SparseNetwork) -> SparseNet:
    """The network in whole numbers. Errors: NetError when a weight is not finite."""
    if not all(bool(p.isfinite().all()) for p in network.parameters()):
        raise NetError("a weight is not finite; go on from an earlier checkpoint")

    def whole(tensor: Tensor, unit: float, kind: str) -> NDArray[Any]:
        bounds = np.iinfo(kind)
        rounded = np.rint(tensor.detach().cpu().double().numpy() * unit)
        return np.ascontiguousarray(np.clip(rounded, bounds.min, bounds.max).astype(kind))

    def first(tensor: Tensor) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        return split(np.concatenate([np.zeros((1, tensor.shape[1]), np.int16), whole(tensor, UNIT, "int16")]))

    value_first, value_rest = first(network.value_first)
    policy_first, policy_rest = first(network.policy_first)
    return SparseNet(
        value_first=value_first,
        value_rest=value_rest,
        policy_first=policy_first,
        policy_rest=policy_rest,
        value_bias=whole(network.value_bias, UNIT, "int16"),
        policy_bias=whole(network.policy_bias, UNIT, "int16"),
        hidden=whole(network.value_hidden.weight, SMALL_UNIT, "int16"),
        hidden_bias=whole(network.value_hidden.bias, PRODUCT * SMALL_UNIT, "int32"),
        out=whole(network.value_out.weight, SMALL_UNIT, "int16"),
        out_bias=whole(network.value_out.bias, HIDDEN_ONE * SMALL_UNIT, "int32"),
        rows=whole(network.rows, ROW_UNIT, "int8"),
        row_bias=whole(network.row_bias, PRODUCT * ROW_UNIT, "int32"),
    )


def weights(net: SparseNet, network: SparseNetwork) -> dict[str, Tensor]:
    """The state of ``network`` whose integers are those of ``net``, of the same sizes; the inverse of :func:`integers`.

    What is shared is the mean of what is alike.
    """
    kinds, per_move = network.alike

    def numbers(values: NDArray[Any], unit: float) -> Tensor:
        return torch.from_numpy(values.astype(np.float64) / unit).float()

    state = {
        "value_bias": numbers(net.value_bias, UNIT),
        "policy_bias": numbers(net.policy_bias, UNIT),
        "value_hidden.weight": numbers(net.hidden, SMALL_UNIT),
        "value_hidden.bias": numbers(net.hidden_bias, PRODUCT * SMALL_UNIT),
        "value_out.weight": numbers(net.out, SMALL_UNIT),
        "value_out.bias": numbers(net.out_bias, HIDDEN_ONE * SMALL_UNIT),
        "row_bias": numbers(net.row_bias, PRODUCT * ROW_UNIT),
    }
    firsts = {"value": joined(net.value_first, net.value_rest), "policy": joined(net.policy_first, net.policy_rest)}
    for name, first in firsts.items():
        rows = numbers(first[1:], UNIT)
        state[f"{name}_shared"] = rows.reshape(kinds, -1, rows.shape[1]).mean(0)
        state[f"{name}_own"] = rows - state[f"{name}_shared"].repeat(kinds, 1)
    rows = numbers(net.rows, ROW_UNIT)
    state["rows_shared"] = rows.reshape(-1, per_move, rows.shape[1]).mean(1)
    state["rows_own"] = rows - state["rows_shared"].repeat_interleave(per_move, 0)
    return state


class SparseWriter(GraphWriter):
    """Writes the parts of a sparse net; every method returns the name of its last node's result."""

    def whole(self, name: str, values: NDArray[Any]) -> str:
        """Stored integers as float32."""
        return self.node("Cast", [self.constant(name, values)], f"{name}.float", to=FLOAT)

    def numbers(self, places: int) -> str:
        """The numbers of the features that the planes list, 0 = none: int64 [B, P]."""
        flat = self.node("Reshape", ["planes", self.shape(-1, 2, places)], "planes.flat")
        pairs = self.node("Cast", [flat], "planes.bytes", to=INT64)
        axis = self.constant("axis", np.array([1], np.int64))
        powers = self.constant("powers", np.array([[1], [256]], np.int64))
        weighted = self.node("Mul", [pairs, powers], "planes.weighted")
        return self.node("ReduceSum", [weighted, axis], "features", keepdims=0)

    def products(self, features: str, first: NDArray[Any], bias: NDArray[Any], name: str) -> str:
        """The clipped products of a first layer: float32 [B, H / 2]. An int8 one is in units of COARSE."""
        half = len(bias) // 2
        rows = self.node("Gather", [self.whole(f"{name}_first", first), features], f"{name}.rows", axis=0)
        axis = self.constant("axis", np.array([1], np.int64))
        sums = self.node("ReduceSum", [rows, axis], f"{name}.sums", keepdims=0)
        if first.dtype == np.int8:
            sums = self.node("Mul", [sums, self.number(float(COARSE))], f"{name}.fine")
        biased = self.node("Add", [sums, self.whole(f"{name}_bias", bias)], f"{name}.biased")
        clipped = self.node("Clip", [biased, self.number(0.0), self.number(float(UNIT))], f"{name}.clipped")
        sides = [
            self.node("Slice", [clipped, self.shape(start), self.shape(start + half), axis], f"{name}.{start}")
            for start in (0, half)
        ]
        product = self.node("Mul", sides, f"{name}.product")
        return self.shifted(product, SHIFT, name)

    def shifted(self, x: str, bits: int, name: str) -> str:
        """Whole numbers of at least 0, shifted right."""
        scaled = self.node("Mul", [x, self.number(2.0**-bits)], f"{name}.scaled")
        return self.node("Cast", [self.node("Cast", [scaled], f"{name}.cut", to=INT32)], f"{name}.whole", to=FLOAT)

    def in_bucket(self, x: str, features: str, units: int) -> str:
        """Hidden units float32 [B, U], zero outside each position's bucket; features i64 [B, P]."""
        own = self.constant("buckets", np.arange(units, dtype=np.int64) // HIDDEN)
        listed = self.node("Cast", [self.node("Cast", [features], "listed.bits", to=BOOL)], "listed", to=INT64)
        count = self.node("ReduceSum", [listed, self.constant("axis", np.array([1], np.int64))], "count", keepdims=1)
        one, size = (self.constant(f"bucket.{n}", np.array([n], np.int64)) for n in (1, BUCKET))
        least = self.node("Sub", [self.node("Max", [count, one], "count.least"), one], "count.before")
        last = self.constant("bucket.last", np.array([units // HIDDEN - 1], np.int64))
        bucket = self.node("Min", [self.node("Div", [least, size], "bucket.any"), last], "bucket")
        kept = self.node("Cast", [self.node("Equal", [bucket, own], "kept.bits")], "kept", to=FLOAT)
        return self.node("Mul", [x, kept], "hidden.kept")

    def layer(self, x: str, weight: NDArray[Any], bias: NDArray[Any], names: tuple[str, str]) -> str:
        return self.node("Gemm", [x, *map(self.whole, names, (weight, bias))], f"{names[0]}.sum", transB=1)


def to_onnx(network: SparseNetwork, info: NetInfo) -> onnx.ModelProto:
    """The ONNX model of a network's current weights with ``info`` as its metadata. Errors: NetError."""

    def stored(units: NDArray[np.int8], rest: NDArray[np.int8]) -> NDArray[Any]:
        return joined(units, rest) if len(rest) else units

    net, graph = integers(network), SparseWriter()
    features = graph.numbers(info.planes[1] * info.planes[2])
    x = graph.products(features, stored(net.value_first, net.value_rest), net.value_bias, "value")
    x = graph.layer(x, net.hidden, net.hidden_bias, ("hidden", "hidden_bias"))
    most = graph.number(float((HIDDEN_MOST << HIDDEN_SHIFT) + 2**HIDDEN_SHIFT - 1))
    x = graph.shifted(graph.node("Clip", [x, graph.number(0.0), most], "hidden.clipped"), HIDDEN_SHIFT, "hidden")
    if len(net.hidden) > HIDDEN:
        x = graph.in_bucket(x, features, len(net.hidden))
    x = graph.layer(x, net.out, net.out_bias, ("out", "out_bias"))
    graph.node("Mul", [x, graph.number(float(VALUE_SCALE))], "wdl")
    y = graph.products(features, stored(net.policy_first, net.policy_rest), net.policy_bias, "policy")
    y = graph.layer(y, net.rows, net.row_bias, ("rows", "row_bias"))
    graph.node("Mul", [y, graph.number(float(POLICY_SCALE))], "policy")
    model = onnx.load_model_from_string(graph.to_bytes(info, {"policy": [info.actions], "wdl": [3]}))
    check(model)
    return model


@torch.no_grad()
def outputs(network: SparseNetwork, planes: NDArray[np.uint8]) -> list[NDArray[np.float32]]:
    """Logits f4[B, A] and WDL logits f4[B, 3] of the weights in float32, for planes u1[B, 2, H, W]."""
    policy, wdl = network(torch.from_numpy(planes))
    return [policy.all().numpy(), wdl.numpy()]


def parity(network: SparseNetwork, model: onnx.ModelProto, planes: NDArray[np.uint8]) -> float:
    """The greatest mean difference between torch's float32 and the file's whole numbers over both outputs.

    Errors: NetError when it is above TOLERANCE or not finite.
    """
    got = run(raw_session(model.SerializeToString()), planes)
    pairs = zip(outputs(network, planes), got, strict=True)
    difference = max(float(np.abs(mine - file).mean()) for mine, file in pairs)
    if not difference <= TOLERANCE:
        raise NetError(f"the exported net differs from the trained one by {difference:.2g}; it was not written")
    return difference
