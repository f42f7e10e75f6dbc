"""A teacher: torch's on a GPU; on a CPU onnxruntime's, with most of a transformer's trunk in int8."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor

from ...engine.kernels.cache import cores
from ...engine.nets.onnx.session import raw_session
from ..net.quantise import quiet
from ..net.torchgraph import RecordedGraph, TorchGraph

Teacher = Callable[[Tensor], dict[str, Tensor]]  # planes u1[B, C, H, W] -> outputs, which hold until the next call
_TRUNK = "block"  # beginning of the names of what is computed in int8; heads stay float32 ...
_UNEVEN = "first.conv"  # ... as does what begins a block: its greatest inputs leave int8 no steps for the others


def teachers(model: onnx.ModelProto, device: torch.device, *, exact: bool) -> Callable[[], Teacher]:
    """Makes a teacher for each size of board; on a CPU one for all, on half of the cores: torch gets the others.

    model: of a KataGo net as converted, changed here; exact: in float32. Errors: NetError.
    """
    if device.type == "cpu":
        threads = (cores() + 1) // 2
        torch.set_num_threads(max(1, cores() - threads))
        teacher = CpuTeacher(model, threads, exact=exact)
        return lambda: teacher
    graph = TorchGraph(model, torch.float32 if exact else torch.bfloat16).to(device).eval()
    pool = torch.cuda.graph_pool_handle()
    return lambda: RecordedGraph(graph, pool)


class CpuTeacher:
    """planes u1[B, C, H, W] -> the outputs by name, float32."""

    def __init__(self, model: onnx.ModelProto, threads: int, *, exact: bool) -> None:
        """model: changed here; exact: all of it in float32. Errors: NetError."""
        self._outputs = [output.name for output in model.graph.output]
        self._session = raw_session(model.SerializeToString() if exact else _in_int8(model), threads)

    def __call__(self, planes: Tensor) -> dict[str, Tensor]:
        """BLOCKS, without Python's lock."""
        values = self._session.run(self._outputs, {"planes": planes.numpy()})
        return {name: torch.from_numpy(value) for name, value in zip(self._outputs, values, strict=True)}


def _in_int8(model: onnx.ModelProto) -> bytes:
    """The model with the trunk's matrix products in int8: weights by column, inputs by what a batch of them spans."""
    constants = {each.name for each in model.graph.initializer}
    products = [
        node
        for node in model.graph.node
        if node.op_type == "MatMul"
        and node.output[0].startswith(_TRUNK)
        and not node.output[0].endswith(_UNEVEN)
        and node.input[1] in constants
    ]
    if not products:
        return bytes(model.SerializeToString())
    for node in products:
        node.name = node.output[0]
    with tempfile.TemporaryDirectory() as folder, quiet():
        target = Path(folder) / "int8.onnx"
        quantize_dynamic(
            model,
            target,
            op_types_to_quantize=["MatMul"],
            nodes_to_quantize=[node.name for node in products],
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
        return target.read_bytes()
