"""Writes and reads ONNX files without the onnx package, which only training installs.

A :class:`GraphWriter` collects nodes and constants; each method returns the name of its result, which is its node's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError
from ...engine.nets.file.netfile import ELEMENTS, FLOAT, UINT8
from ...engine.nets.file.protobuf import read_fields, read_messages, read_number, read_text, write_field
from ...engine.nets.netinfo import NetInfo

OPSET, IR_VERSION = 17, 8
NODE, TENSOR = 1, 5  # fields of a graph
Value = tuple[str, int, Sequence[int | str]]
_AS_FLOAT, _AS_INT, _AS_TEXT, _AS_INTS = 1, 2, 3, 7  # kinds of attributes


class GraphWriter:
    """One graph with the input "planes"."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """One operator of ONNX's default domain with one result. Attributes: int, float, str or a list of int."""
        content = b"".join(write_field(1, each) for each in inputs) + write_field(2, name) + write_field(3, name)
        content += write_field(4, operator)
        content += b"".join(write_field(5, _attribute(key, value)) for key, value in attributes.items())
        self._nodes.append(write_field(1, content))
        return name

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """A stored tensor of one of the kinds of ELEMENTS; the same name twice is the same tensor."""
        self._constants.setdefault(name, write_field(5, tensor(name, values)))
        return name

    def number(self, value: float) -> str:
        """A float32 constant without dimensions."""
        return self.constant(f"number.{value!r}", np.array(value, np.float32))

    def shape(self, *sizes: int) -> str:
        """Sizes for Reshape and other lists of int64."""
        return self.constant(f"sizes.{'.'.join(map(str, sizes))}", np.array(sizes, np.int64))

    def conv(self, x: str, weights: NDArray[np.float32], bias: NDArray[np.float32], name: str) -> str:
        """A convolution with weights [out, in, k, k] of odd k and bias [out], stride 1, same size."""
        kernel = weights.shape[-1]
        inputs = [x, self.constant(f"{name}.weight", weights), self.constant(f"{name}.bias", bias)]
        return self.node("Conv", inputs, name, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)

    def take(self, kept: Iterable[tuple[int, memoryview]], prefix: str) -> None:
        """Add nodes and stored tensors of another graph, see :func:`parts`, with ``prefix`` before their names."""
        self._nodes += [renamed(number, part, prefix) for number, part in kept]

    def graph_bytes(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> bytes:
        """A GraphProto; each value (name, element, dimensions behind the batch)."""
        graph = b"".join((*self._nodes, *self._constants.values())) + write_field(2, "az-engine")
        for number, values in ((11, inputs), (12, outputs)):
            graph += b"".join(write_field(number, value_info(n, kind, ["batch", *sizes])) for n, kind, sizes in values)
        return graph

    def to_bytes(
        self, info: NetInfo, outputs: dict[str, list[int | str]], ir_version: int = IR_VERSION, opset: int = OPSET
    ) -> bytes:
        """The model: "planes" as ``info`` says, float32 outputs with their dimensions behind the batch."""
        planes = [info.planes[0], *(("height", "width") if info.boards else info.planes[1:])]
        graph = self.graph_bytes([("planes", UINT8, planes)], [(name, FLOAT, sizes) for name, sizes in outputs.items()])
        return write_model(graph, info.to_metadata(), ir_version, opset)


def write_model(graph: bytes, metadata: dict[str, str], ir_version: int = IR_VERSION, opset: int = OPSET) -> bytes:
    model = write_field(1, ir_version) + write_field(2, "az-engine") + write_field(7, graph)
    model += write_field(8, write_field(1, "") + write_field(2, opset))
    for key, value in metadata.items():
        model += write_field(14, write_field(1, key) + write_field(2, value))
    return model


def tensor(name: str, values: NDArray[Any]) -> bytes:
    content = b"".join(write_field(1, size) for size in values.shape)
    content += write_field(2, ELEMENTS[values.dtype.name]) + write_field(8, name)
    return content + write_field(9, np.ascontiguousarray(values).tobytes())


def value_info(name: str, element: int, sizes: Sequence[int | str]) -> bytes:
    """A ValueInfoProto; a dimension that is a word is free."""
    dimensions = b"".join(write_field(1, write_field(2 if isinstance(size, str) else 1, size)) for size in sizes)
    kind = write_field(1, element) + write_field(2, dimensions)
    return write_field(1, name) + write_field(2, write_field(1, kind))


def read_opset(model: memoryview, least: int) -> int:
    """The version of ONNX's default domain that a net uses. Errors: NetError when it is older than ``least``."""
    versions = [read_number(each, 2) for each in read_messages(model, 8) if read_text(each, 1) in (b"", b"ai.onnx")]
    if not versions or min(versions) < least:
        raise NetError(f"this net is of ONNX operator set {min(versions, default=0)}; at least {least} is needed")
    return max(versions)


def _attribute(name: str, value: float | str | Sequence[int]) -> bytes:
    content = write_field(1, name)
    if isinstance(value, int):
        return content + write_field(3, value) + write_field(20, _AS_INT)
    if isinstance(value, float):
        return content + write_field(2, value) + write_field(20, _AS_FLOAT)
    if isinstance(value, str):
        return content + write_field(4, value) + write_field(20, _AS_TEXT)
    return content + b"".join(write_field(8, each) for each in value) + write_field(20, _AS_INTS)


def parts(graph: memoryview) -> Iterator[tuple[int, memoryview]]:
    """(field, content) of the nodes and stored tensors of a graph."""
    for number, value in read_fields(graph):
        if number in (NODE, TENSOR) and not isinstance(value, int):
            yield number, value


def needed_parts(graph: memoryview, results: set[bytes]) -> list[tuple[int, memoryview]]:
    """Those parts of a graph, in order, that the named results come from."""
    requested, kept = set(results), []
    for number, part in reversed(list(parts(graph))):  # what a node needs stands before it
        if number == NODE and requested.isdisjoint(bytes(name) for name in read_messages(part, 2)):
            continue
        if number == NODE:
            requested.update(bytes(name) for name in read_messages(part, 1))
        kept.append((number, part))
    return [(number, part) for number, part in reversed(kept) if number == NODE or read_text(part, 8) in requested]


def renamed(number: int, part: memoryview, prefix: str) -> bytes:
    """A node or stored tensor, as a field of a graph, with ``prefix`` before its names and those of its arrays."""
    names = (1, 2, 3) if number == NODE else (8,)
    out = b""
    for field, value in read_fields(part):
        content = value if isinstance(value, int) else bytes(value)
        if field in names and isinstance(content, bytes) and content:
            content = prefix.encode() + content
        out += write_field(field, content)
    return write_field(number, out)


def read_nodes(content: bytes) -> list[tuple[str, str]]:
    """(name of the first result, operator) of each node of a checked ONNX file."""
    graph = next(read_messages(memoryview(content), 7))
    return [(read_text(node, 2).decode(), read_text(node, 4).decode()) for node in read_messages(graph, 1)]
