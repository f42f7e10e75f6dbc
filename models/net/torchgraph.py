"""An ONNX graph run by torch: nets of other programs on a GPU where onnxruntime has none.

Operators are run one by one, but for what torch has as one: attention, root mean square normalisation, mish and SiLU,
which the graphs hold in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from ...engine.errors import NetError
from .batches import no_trials

# beginnings of names of nodes that stay float32: whole numbers such as komi, and what the outputs are read from
EXACT = ("planes", "numbers", "entry.numbers", "board", "wdl", "score", "value.hidden", "policy.out", "policy.pass")
_FLOATING = (torch.float32, torch.bfloat16, torch.float16)


class _Node(NamedTuple):
    operator: str
    name: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, Any]


class TorchGraph(nn.Module):
    """planes u1[B, C, H, W] -> the outputs by name, float32."""

    def __init__(
        self,
        model: onnx.ModelProto,
        dtype: torch.dtype = torch.float32,
        trained: Callable[[str, Tensor], bool] = lambda name, values: False,
    ) -> None:
        """dtype: of what is not in EXACT. trained: whether a constant is a weight that learns, kept in float32.

        Errors: NetError for an operator that is not known here.
        """
        super().__init__()
        self.dtype, self.outputs = dtype, tuple(output.name for output in model.graph.output)
        constants = {
            each.name: torch.from_numpy(numpy_helper.to_array(each).copy()) for each in model.graph.initializer
        }
        nodes = [
            _Node(
                n.op_type,
                n.output[0],
                tuple(n.input),
                {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute},
            )
            for n in model.graph.node
        ]
        missing = {node.operator for node in nodes} - _OPERATORS.keys()
        if missing:
            raise NetError(f"torch cannot run this net: the operators {', '.join(sorted(missing))} are not known")
        self.nodes = _needed(_Joined(nodes, constants).nodes, self.outputs)
        self._names: dict[str, str] = {}  # of constants on the device
        self._sizes: dict[str, Tensor] = {}  # constants that are sizes, on the CPU
        self._of_shapes: dict[tuple[str, torch.Size], Tensor] = {}  # what is made of the planes' shape, on the device
        exact = {name for node in self.nodes if node.name.startswith(EXACT) for name in node.inputs}
        for number, (name, values) in enumerate(constants.items()):
            if values.dtype == torch.int64:
                self._sizes[name] = values
            elif trained(name, values):
                self.register_parameter(f"constant{number}", nn.Parameter(values))
                self._names[name] = f"constant{number}"
            else:
                kept = values if name in exact or values.dtype not in _FLOATING else values.to(dtype)
                self.register_buffer(f"constant{number}", kept)
                self._names[name] = f"constant{number}"

    def forward(self, planes: Tensor) -> dict[str, Tensor]:
        values: dict[str, Any] = {"planes": planes, **self._sizes}
        values.update((name, getattr(self, constant)) for name, constant in self._names.items())
        for node in self.nodes:
            requested = torch.float32 if node.name.startswith(EXACT) else self.dtype
            inputs = [_as(values[name], requested) if name else None for name in node.inputs]
            value = _OPERATORS[node.operator](inputs, node.attributes)
            if value.is_floating_point() and value.device != planes.device:
                key = node.name, planes.shape
                if key not in self._of_shapes:
                    self._of_shapes[key] = value.to(planes.device)
                value = self._of_shapes[key]
            values[node.name] = value
        return {name: values[name].float() for name in self.outputs}

    def weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        """(name in the graph, values) of what learns."""
        parameters = dict(self.named_parameters())
        return ((name, parameters[mine]) for name, mine in self._names.items() if mine in parameters)


class RecordedGraph:
    """A :class:`TorchGraph` for one shape of planes, recorded on a GPU at its first call."""

    def __init__(self, graph: TorchGraph, pool: Any = None) -> None:
        """pool: memory that several share, whose outputs then hold until one is called."""
        self._graph, self._pool = graph, pool
        self._recorded: Any = None
        self._planes = torch.empty(0)
        self._outputs: dict[str, Tensor] = {}

    @torch.inference_mode()
    def __call__(self, planes: Tensor) -> dict[str, Tensor]:
        """The outputs, which hold until the next call."""
        if self._recorded is None:
            self._planes = planes.clone()
            for _ in range(2):  # libraries choose their algorithms
                self._graph(self._planes)
            torch.cuda.synchronize()
            self._recorded = torch.cuda.CUDAGraph()
            with no_trials(), torch.cuda.graph(self._recorded, pool=self._pool, capture_error_mode="thread_local"):
                self._outputs = self._graph(self._planes)
        self._planes.copy_(planes)
        self._recorded.replay()
        return self._outputs


def _as(value: Tensor, dtype: torch.dtype) -> Tensor:
    return value.to(dtype) if value.dtype in _FLOATING and value.dtype != dtype else value


def _needed(nodes: Sequence[_Node], outputs: Sequence[str]) -> list[_Node]:
    """The nodes that the outputs come from, in order."""
    requested, kept = set(outputs), []
    for node in reversed(nodes):
        if node.name in requested:
            requested.update(node.inputs)
            kept.append(node)
    return kept[::-1]


class _Joined:
    """Nodes with those that torch has as one function joined."""

    def __init__(self, nodes: Sequence[_Node], constants: Mapping[str, Tensor]) -> None:
        self._made = {node.name: node for node in nodes}
        self._constants = constants
        self.nodes = [self._join(node) for node in nodes]

    def _join(self, node: _Node) -> _Node:
        for join in (self._gated, self._normalised, self._attended):
            result = join(node)
            if result is not None:
                return result
        return node

    def _maker(self, name: str, operator: str) -> _Node | None:
        node = self._made.get(name)
        return node if node is not None and node.operator == operator else None

    def _gated(self, node: _Node) -> _Node | None:
        """x * sigmoid(x), and x * tanh(softplus(x))."""
        if node.operator != "Mul":
            return None
        x, gate = node.inputs
        if (sigmoid := self._maker(gate, "Sigmoid")) and sigmoid.inputs[0] == x:
            return node._replace(operator="Silu", inputs=(x,))
        if (tanh := self._maker(gate, "Tanh")) and (soft := self._maker(tanh.inputs[0], "Softplus")):
            return node._replace(operator="Mish", inputs=(x,)) if soft.inputs[0] == x else None
        return None

    def _normalised(self, node: _Node) -> _Node | None:
        """x / sqrt(mean(x^2) + e) * w, the mean over the last axis."""
        if node.operator != "Mul" or node.inputs[1] not in self._constants:
            return None
        divided = self._maker(node.inputs[0], "Div")
        root = divided and self._maker(divided.inputs[1], "Sqrt")
        above = root and self._maker(root.inputs[0], "Add")
        mean = above and self._maker(above.inputs[0], "ReduceMean")
        if divided is None or above is None or mean is None or list(mean.attributes["axes"]) != [-1]:
            return None
        epsilon = float(self._constants[above.inputs[1]])
        return _Node("RootMeanSquare", node.name, (divided.inputs[0], node.inputs[1]), {"epsilon": epsilon})

    def _attended(self, node: _Node) -> _Node | None:
        """softmax(q k^T) v: queries q [B, G, Q, L, D] that are scaled already, keys k and values v [B, G, 1, L, D]."""
        shares = self._maker(node.inputs[0], "Softmax") if node.operator == "MatMul" else None
        scores = shares and self._maker(shares.inputs[0], "MatMul")
        turned = scores and self._maker(scores.inputs[1], "Transpose")
        if scores is None or turned is None:
            return None
        return node._replace(operator="Attention", inputs=(scores.inputs[0], turned.inputs[0], node.inputs[1]))


def _attention(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Queries [B, G, Q, L, D] over keys and values [B, G, 1, L, D]."""
    query, key, value = x
    if query.shape[2] == 1:
        query, key, value = (part[:, :, 0] for part in x)
    else:
        key, value = (part.expand(-1, -1, query.shape[2], -1, -1) for part in (key, value))
    y = functional.scaled_dot_product_attention(query, key, value, scale=1.0)
    return y.reshape(*x[0].shape[:-1], y.shape[-1])


def _conv(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    pads = attributes.get("pads", [0, 0, 0, 0])
    bias = x[2] if len(x) > 2 else None
    if bias is not None and x[1].shape[1:] == (1, 1, 1) and attributes.get("group", 1) > 1:  # of each channel alone
        return torch.addcmul(bias[:, None, None], x[0], x[1][:, 0])
    return functional.conv2d(x[0], x[1], bias, padding=tuple(pads[:2]), groups=attributes.get("group", 1))


def _gemm(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    y = x[0] @ (x[1].T if attributes.get("transB") else x[1])
    return y + x[2] if len(x) > 2 else y


def _reshape(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    return x[0].reshape([x[0].shape[i] if size == 0 else size for i, size in enumerate(x[1].tolist())])


def _slice(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    starts, stops, axes = (part.tolist() for part in x[1:4])
    y = x[0]
    for start, end, axis in zip(starts, stops, axes, strict=True):
        size = y.shape[axis]
        first, last = (min(max(at + size if at < 0 else at, 0), size) for at in (start, end))
        y = y.narrow(axis, first, last - first)
    return y


def _unsqueeze(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    y = x[0]
    for axis in sorted(x[1].tolist()):
        y = y.unsqueeze(axis)
    return y


def _cast(x: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    return x[0].float() if attributes["to"] == onnx.TensorProto.FLOAT else x[0].long()


def _keep(attributes: Mapping[str, Any]) -> bool:
    return bool(attributes.get("keepdims", 1))


_OPERATORS: Mapping[str, Callable[[Sequence[Any], Mapping[str, Any]], Any]] = {
    "Add": lambda x, a: x[0] + x[1],
    "Attention": _attention,
    "Cast": _cast,
    "Concat": lambda x, a: torch.cat(list(x), a["axis"]),
    "Conv": _conv,
    "Div": lambda x, a: x[0] / x[1],
    "Flatten": lambda x, a: x[0].flatten(1),
    "Gather": lambda x, a: x[0].index_select(a.get("axis", 0), x[1].reshape(-1).to(x[0].device)),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda x, a: x[0].mean((2, 3), keepdim=True),
    "GlobalMaxPool": lambda x, a: x[0].amax((2, 3), keepdim=True),
    "MatMul": lambda x, a: x[0] @ x[1],
    "Mish": lambda x, a: functional.mish(x[0]),
    "Mul": lambda x, a: x[0] * x[1],
    "Pow": lambda x, a: x[0] ** x[1],
    "ReduceMax": lambda x, a: x[0].amax(list(a["axes"]), keepdim=_keep(a)),
    "ReduceMean": lambda x, a: x[0].mean(list(a["axes"]), keepdim=_keep(a)),
    "Relu": lambda x, a: functional.relu(x[0]),
    "Reshape": _reshape,
    "RootMeanSquare": lambda x, a: functional.rms_norm(x[0], x[1].shape, x[1], a["epsilon"]),
    "Shape": lambda x, a: torch.tensor(x[0].shape),
    "Sigmoid": lambda x, a: torch.sigmoid(x[0]),
    "Silu": lambda x, a: functional.silu(x[0]),
    "Slice": _slice,
    "Softmax": lambda x, a: x[0].softmax(a.get("axis", -1)),
    "Softplus": lambda x, a: functional.softplus(x[0]),
    "Sqrt": lambda x, a: x[0].sqrt(),
    "Squeeze": lambda x, a: x[0].squeeze(tuple(x[1].tolist())),
    "Sub": lambda x, a: x[0] - x[1],
    "Tanh": lambda x, a: torch.tanh(x[0]),
    "Transpose": lambda x, a: x[0].permute(list(a["perm"])),
    "Unsqueeze": _unsqueeze,
}
