"""Reading an ONNX file's outline without running it: enough to refuse a net before onnxruntime sees it.

onnxruntime takes an endless loop, a graph of a million nodes or weights in another file for what they are; a net of
ours needs none of these. So the protobuf is walked here, with bounds, and only plain operators on data inside the file
are let through.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NetError
from .onnx_fields import check_fields
from .protobuf import Damaged, read_fields, read_messages, read_number, read_text

EMBEDDED = Path(__file__).parents[3] / "models" / "nets"  # the nets inside the package
MAX_BYTES = 512 << 20
MAX_NODES = 5_000
OPERATORS = frozenset(
    """Abs Add AveragePool BatchNormalization BitShift BitwiseAnd Cast Clip Concat Constant ConstantOfShape Conv
    DequantizeLinear Div DynamicQuantizeLinear Elu Equal Erf Exp Expand Flatten Gather Gelu Gemm GlobalAveragePool
    GlobalMaxPool HardSigmoid HardSwish Identity LayerNormalization LeakyRelu Log LogSoftmax MatMul MatMulInteger
    Max MaxPool Min Mish Mul Neg PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear Reciprocal ReduceMax
    ReduceMean ReduceSum Relu Reshape Selu Shape Sigmoid Slice Softmax Softplus Split Sqrt Squeeze Sub Sum Swish
    Tanh Transpose Unsqueeze Where""".split()
)
FLOAT, UINT8, INT8, INT16, INT32, INT64, BOOL = 1, 2, 3, 5, 6, 7, 9  # ONNX element types
ELEMENTS = {"float32": FLOAT, "uint8": UINT8, "int8": INT8, "int16": INT16, "int32": INT32, "int64": INT64}
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


def _check_node(node: memoryview) -> None:
    operator, domain = read_text(node, 4), read_text(node, 7)
    if domain not in _STANDARD_DOMAINS or operator.decode("latin-1") not in OPERATORS:
        name = operator.decode("ascii", "replace")[:40]
        raise NetError(
            f"the net uses the operator {name!r}, which no net of ours needs; export it again with az-engine"
        )


def _tensor(info: memoryview) -> Tensor:
    element, shape = 0, []
    for kind in read_messages(info, 2):
        for tensor in read_messages(kind, 1):
            element = read_number(tensor, 1)
            for dimensions in read_messages(tensor, 2):
                for dimension in read_messages(dimensions, 1):
                    fixed = [v for n, v in read_fields(dimension) if n == 1 and isinstance(v, int)]
                    shape.append(fixed[0] if fixed else -1)
    return Tensor(read_text(info, 1).decode("utf-8", "replace"), element, tuple(shape))


def read_outline(path: Path) -> tuple[Outline, bytes]:
    """The outline of an ONNX file and its bytes.

    Errors: NetError when the file is missing, too large, damaged, or asks for more than a net needs.
    """
    content = read_net_file(path)
    try:
        return read_outline_bytes(content), content
    except NetError as error:
        raise NetError(f"{str(path)!r}: {error}") from None


def read_net_file(path: Path) -> bytes:
    """The bytes of a net file. Errors: NetError when it is missing, no ordinary file, or too large."""
    try:
        if not path.is_file():
            reason = "it is not an ordinary file" if path.exists() else "there is no such file"
            raise NetError(f"cannot read the net {str(path)!r}: {reason}")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise NetError(
                f"the net {str(path)!r} has {size >> 20} MB, more than the {MAX_BYTES >> 20} MB that are read"
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise NetError(f"cannot read the net {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error


def read_outline_bytes(content: bytes) -> Outline:
    """The outline of an ONNX file by its bytes. Errors: NetError as for :func:`read_outline`, but for the file."""
    try:
        return _read(memoryview(content))
    except Damaged:
        raise NetError("this is not an ONNX file or it is damaged; give a net made by az-engine train") from None


def _read(model: memoryview) -> Outline:
    check_fields(model)
    metadata: dict[str, str] = {}
    graph: memoryview | None = None
    for number, value in read_fields(model):
        if number == 7 and not isinstance(value, int):
            graph = value
        elif number == 14 and not isinstance(value, int):
            metadata[read_text(value, 1).decode("utf-8", "replace")] = read_text(value, 2).decode("utf-8", "replace")
    if graph is None:
        raise Damaged
    nodes = 0
    inputs, outputs = [], []
    for number, value in read_fields(graph):
        if isinstance(value, int):
            continue
        if number == 1:
            nodes += 1
            if nodes > MAX_NODES:
                raise NetError(f"the net has more than {MAX_NODES} nodes")
            _check_node(value)
        elif number == 11:
            inputs.append(_tensor(value))
        elif number == 12:
            outputs.append(_tensor(value))
    digest = hashlib.sha256(model).hexdigest()
    return Outline(metadata, tuple(inputs), tuple(outputs), nodes, digest)


def read_constants(content: bytes) -> dict[str, NDArray[Any]]:
    """Stored tensors of the kinds of ELEMENTS by name, of a checked ONNX file. Errors: NetError when one is cut."""
    results: dict[str, NDArray[Any]] = {}
    kinds = {number: name for name, number in ELEMENTS.items()}
    for stored in read_messages(next(read_messages(memoryview(content), 7)), 5):
        kind = kinds.get(read_number(stored, 2))
        raw = next(read_messages(stored, 9), None)
        if kind is None or raw is None:
            continue
        sizes = [value for number, value in read_fields(stored) if number == 1 and isinstance(value, int)]
        name = read_text(stored, 8).decode()
        try:
            results[name] = np.frombuffer(raw, kind).reshape(sizes)
        except ValueError:
            raise NetError(f"the net's constant {name[:60]!r} is damaged") from None
    return results
