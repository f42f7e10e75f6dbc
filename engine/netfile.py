"""Reading an ONNX file's outline without running it: enough to refuse a net before onnxruntime sees it.

onnxruntime takes an endless loop, a graph of a million nodes or weights in another file for what they are; a net of
ours needs none of these. So the protobuf is walked here, with bounds, and only plain operators on data inside the file
are let through.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import NetError

MAX_BYTES = 512 << 20
MAX_NODES = 5_000
OPERATORS = frozenset(
    """Abs Add AveragePool BatchNormalization BitShift BitwiseAnd Cast Clip Concat Constant ConstantOfShape Conv
    DequantizeLinear Div Elu Equal Erf Exp Expand Flatten Gather Gelu Gemm GlobalAveragePool GlobalMaxPool HardSigmoid
    HardSwish Identity LayerNormalization LeakyRelu Log LogSoftmax MatMul Max MaxPool Min Mish Mul Neg PRelu Pad Pow
    QLinearConv QLinearMatMul QuantizeLinear Reciprocal ReduceMax ReduceMean ReduceSum Relu Reshape Selu Shape Sigmoid
    Slice Softmax Softplus Split Sqrt Squeeze Sub Sum Swish Tanh Transpose Unsqueeze Where""".split()
)
_STANDARD_DOMAINS = (b"", b"ai.onnx")


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output: element type (ONNX number: 1 float32, 2 uint8) and dimensions, -1 where free."""

    name: str
    element: int
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """What a checked ONNX file says of itself."""

    metadata: dict[str, str]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nodes: int
    sha256: str


class _Damaged(Exception):
    """The bytes are not the protobuf they should be."""


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _Damaged
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(field number, value) of a protobuf message: an int for numbers, bytes for the rest."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise _Damaged
        if at + size > len(data):
            raise _Damaged
        yield number, data[at : at + size]
        at += size


def _messages(data: memoryview, number: int) -> Iterator[memoryview]:
    for n, value in _fields(data):
        if n == number:
            if isinstance(value, int):
                raise _Damaged
            yield value


def _text(data: memoryview, number: int) -> bytes:
    return next((bytes(m[:1000]) for m in _messages(data, number)), b"")


def _number(data: memoryview, number: int) -> int:
    return next((v for n, v in _fields(data) if n == number and isinstance(v, int)), 0)


def _check_tensor(tensor: memoryview) -> None:
    if _number(tensor, 14) == 1 or any(True for _ in _messages(tensor, 13)):
        raise NetError("the net keeps weights in another file, which is not read; save it as one ONNX file")


def _check_node(node: memoryview) -> None:
    operator, domain = _text(node, 4), _text(node, 7)
    if domain not in _STANDARD_DOMAINS or operator.decode("latin-1") not in OPERATORS:
        name = operator.decode("ascii", "replace")[:40]
        raise NetError(
            f"the net uses the operator {name!r}, which no net of ours needs; export it again with az-engine"
        )
    for attribute in _messages(node, 5):
        for number, value in _fields(attribute):
            if number in (6, 11):
                raise NetError("the net contains a graph inside a node, which no net of ours needs")
            if number == 5 and not isinstance(value, int):
                _check_tensor(value)


def _tensor(info: memoryview) -> Tensor:
    element, shape = 0, []
    for kind in _messages(info, 2):
        for tensor in _messages(kind, 1):
            element = _number(tensor, 1)
            for dimensions in _messages(tensor, 2):
                for dimension in _messages(dimensions, 1):
                    fixed = [v for n, v in _fields(dimension) if n == 1 and isinstance(v, int)]
                    shape.append(fixed[0] if fixed else -1)
    return Tensor(_text(info, 1).decode("utf-8", "replace"), element, tuple(shape))


def read_outline(path: Path) -> tuple[Outline, bytes]:
    """The outline of an ONNX file and its bytes.

    Errors: NetError when the file is missing, too large, damaged, or asks for more than a net needs.
    """
    try:
        if not path.is_file():
            reason = "it is not an ordinary file" if path.exists() else "there is no such file"
            raise NetError(f"cannot read the net {str(path)!r}: {reason}")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise NetError(
                f"the net {str(path)!r} has {size >> 20} MB, more than the {MAX_BYTES >> 20} MB that are read"
            )
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise NetError(f"cannot read the net {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return _read(memoryview(content)), content
    except _Damaged:
        raise NetError(f"{str(path)!r} is not an ONNX file or is damaged; give a net made by az-engine train") from None
    except NetError as error:
        raise NetError(f"{str(path)!r}: {error}") from None


def _read(model: memoryview) -> Outline:
    metadata: dict[str, str] = {}
    graph: memoryview | None = None
    for number, value in _fields(model):
        if number == 7 and not isinstance(value, int):
            graph = value
        elif number == 14 and not isinstance(value, int):
            metadata[_text(value, 1).decode("utf-8", "replace")] = _text(value, 2).decode("utf-8", "replace")
        elif number == 25:
            raise NetError("the net defines functions of its own, which no net of ours needs")
    if graph is None:
        raise _Damaged
    nodes = 0
    inputs, outputs = [], []
    for number, value in _fields(graph):
        if isinstance(value, int):
            continue
        if number == 1:
            nodes += 1
            if nodes > MAX_NODES:
                raise NetError(f"the net has more than {MAX_NODES} nodes")
            _check_node(value)
        elif number == 5:
            _check_tensor(value)
        elif number == 11:
            inputs.append(_tensor(value))
        elif number == 12:
            outputs.append(_tensor(value))
    digest = hashlib.sha256(model).hexdigest()
    return Outline(metadata, tuple(inputs), tuple(outputs), nodes, digest)
