"""A sparse net as an ONNX graph of whole numbers, which onnxruntime runs and the engine's kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.nets.families.sparse import integers
from ....engine.nets.families.sparse.integers import SparseNet, joined
from ....engine.nets.file.netfile import BOOL, FLOAT, INT32, INT64
from ...net.onnxfile import GraphWriter


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
        """The clipped products of a first layer: float32 [B, H / 2]. An int8 one is in units of COARSE.

        Features that it has no row for are zeros.
        """
        half = len(bias) // 2
        nothing = self.constant(f"{name}.nothing", np.zeros((1, len(bias)), np.float32))
        table = self.node("Concat", [self.whole(f"{name}_first", first), nothing], f"{name}.table", axis=0)
        last = self.constant(f"{name}.last", np.array([len(first)], np.int64))
        seen = self.node("Min", [features, last], f"{name}.seen")
        rows = self.node("Gather", [table, seen], f"{name}.rows", axis=0)
        axis = self.constant("axis", np.array([1], np.int64))
        sums = self.node("ReduceSum", [rows, axis], f"{name}.sums", keepdims=0)
        if first.dtype == np.int8:
            sums = self.node("Mul", [sums, self.number(float(integers.COARSE))], f"{name}.fine")
        biased = self.node("Add", [sums, self.whole(f"{name}_bias", bias)], f"{name}.biased")
        clipped = self.node("Clip", [biased, self.number(0.0), self.number(float(integers.UNIT))], f"{name}.clipped")
        sides = [
            self.node("Slice", [clipped, self.shape(start), self.shape(start + half), axis], f"{name}.{start}")
            for start in (0, half)
        ]
        product = self.node("Mul", sides, f"{name}.product")
        return self.shifted(product, integers.SHIFT, name)

    def shifted(self, x: str, bits: int, name: str) -> str:
        """Whole numbers of at least 0, shifted right."""
        scaled = self.node("Mul", [x, self.number(2.0**-bits)], f"{name}.scaled")
        return self.node("Cast", [self.node("Cast", [scaled], f"{name}.cut", to=INT32)], f"{name}.whole", to=FLOAT)

    def in_bucket(self, x: str, features: str, units: int) -> str:
        """Hidden units float32 [B, U], zero outside each position's bucket; features i64 [B, P]."""
        ours = self.constant("buckets", np.arange(units, dtype=np.int64) // integers.HIDDEN)
        listed = self.node("Cast", [self.node("Cast", [features], "listed.bits", to=BOOL)], "listed", to=INT64)
        count = self.node("ReduceSum", [listed, self.constant("axis", np.array([1], np.int64))], "count", keepdims=1)
        one, size = (self.constant(f"bucket.{n}", np.array([n], np.int64)) for n in (1, integers.BUCKET))
        least = self.node("Sub", [self.node("Max", [count, one], "count.least"), one], "count.before")
        last = self.constant("bucket.last", np.array([units // integers.HIDDEN - 1], np.int64))
        bucket = self.node("Min", [self.node("Div", [least, size], "bucket.any"), last], "bucket")
        kept = self.node("Cast", [self.node("Equal", [bucket, ours], "kept.bits")], "kept", to=FLOAT)
        return self.node("Mul", [x, kept], "hidden.kept")

    def layer(self, x: str, weight: NDArray[Any], bias: NDArray[Any], names: tuple[str, str]) -> str:
        return self.node("Gemm", [x, *map(self.whole, names, (weight, bias))], f"{names[0]}.sum", transB=1)


def graph_of(net: SparseNet, places: int) -> SparseWriter:
    """The graph of a net whose planes list up to ``places`` features."""

    def stored(units: NDArray[np.int8], rest: NDArray[np.int8]) -> NDArray[Any]:
        return joined(units, rest) if len(rest) else units

    graph = SparseWriter()
    features = graph.numbers(places)
    x = graph.products(features, stored(net.value_first, net.value_rest), net.value_bias, "value")
    x = graph.layer(x, net.hidden, net.hidden_bias, ("hidden", "hidden_bias"))
    most = graph.number(float((integers.HIDDEN_MOST << integers.HIDDEN_SHIFT) + 2**integers.HIDDEN_SHIFT - 1))
    x = graph.node("Clip", [x, graph.number(0.0), most], "hidden.clipped")
    x = graph.shifted(x, integers.HIDDEN_SHIFT, "hidden")
    if len(net.hidden) > integers.HIDDEN:
        x = graph.in_bucket(x, features, len(net.hidden))
    x = graph.layer(x, net.out, net.out_bias, ("out", "out_bias"))
    graph.node("Mul", [x, graph.number(float(integers.VALUE_SCALE))], "wdl")
    y = graph.products(features, stored(net.policy_first, net.policy_rest), net.policy_bias, "policy")
    y = graph.layer(y, net.rows, net.row_bias, ("rows", "row_bias"))
    graph.node("Mul", [y, graph.number(float(integers.POLICY_SCALE))], "policy")
    return graph
