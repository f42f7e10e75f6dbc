"""torch network -> ONNX file, with batch normalisation folded in and a parity check.

The graph is built node by node: it holds only plain operators of the default domain (OPERATORS), a dynamic batch
and the metadata of :class:`NetInfo`, and needs no exporter package.

Input  "planes"  uint8   [batch, C, H, W]
Output "policy"  float32 [batch, A] logits
Output "wdl"     float32 [batch, 3] logits of win, draw, loss for the side to move, or
       "value"   float32 [batch, 1] in [-1, 1], the same point of view
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from ..engine.errors import NetError
from ..engine.netinfo import NetInfo
from .network import ConvBlock, ConvPolicy, Network, ResidualBlock, SqueezeExcite

OPSET = 17
OPERATORS = frozenset(
    (
        *("Gather", "Cast", "Mul", "Conv", "Relu", "Add", "GlobalAveragePool", "Sigmoid", "Flatten", "Gemm", "Tanh"),
        *("QuantizeLinear", "DequantizeLinear"),
    )
)
TOLERANCE = 2e-4  # greatest difference of any output from torch's that counts as the same network


class GraphBuilder:
    """Collects the nodes and constants of one graph; every method adds nodes and returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """A stored tensor."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """One operator with one result of the node's own name."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x: str, weight: Tensor, bias: Tensor, name: str, *, relu: bool = False) -> str:
        """Convolution of odd kernel, stride 1, same size."""
        kernel = weight.shape[-1]
        inputs = [x, self.constant(f"{name}.weight", array(weight)), self.constant(f"{name}.bias", array(bias))]
        x = self.node("Conv", inputs, name, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)
        return self.node("Relu", [x], f"{name}.relu") if relu else x

    def block(self, x: str, block: ConvBlock, name: str) -> str:
        """Convolution with its batch normalisation folded into weight and bias."""
        weight, bias = folded(block)
        return self.conv(x, weight, bias, name, relu=block.relu)

    def linear(self, x: str, layer: nn.Linear, name: str) -> str:
        """Fully connected layer on [B, in]."""
        weight = self.constant(f"{name}.weight", array(layer.weight))
        bias = self.constant(f"{name}.bias", array(layer.bias))
        return self.node("Gemm", [x, weight, bias], name, transB=1)

    def squeeze(self, x: str, block: SqueezeExcite, name: str) -> str:
        """Squeeze-excitation; its fully connected layers are 1x1 convolutions, so that no reshape is needed."""
        y = self.node("GlobalAveragePool", [x], f"{name}.mean")
        y = self.conv(y, block.down.weight[:, :, None, None], block.down.bias, f"{name}.down", relu=True)
        y = self.conv(y, block.up.weight[:, :, None, None], block.up.bias, f"{name}.up")
        y = self.node("Sigmoid", [y], f"{name}.gate")
        return self.node("Mul", [x, y], f"{name}.scaled")

    def tower(self, x: str, tower: nn.Sequential, name: str) -> str:
        """All blocks of a tower."""
        for index, block in enumerate(tower):
            label = f"{name}.{index}"
            if isinstance(block, ResidualBlock):
                y = self.block(x, block.first, f"{label}.first")
                y = self.block(y, block.second, f"{label}.second")
                if block.squeeze is not None:
                    y = self.squeeze(y, block.squeeze, f"{label}.squeeze")
                x = self.node("Relu", [self.node("Add", [y, x], f"{label}.sum")], f"{label}.relu")
            else:
                assert isinstance(block, ConvBlock)
                x = self.block(x, block, label)
        return x


def array(tensor: Tensor) -> NDArray[Any]:
    """The tensor as float32 array."""
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def folded(block: ConvBlock) -> tuple[Tensor, Tensor]:
    """Weight [out, in, k, k] and bias [out] of the convolution with its running statistics folded in."""
    norm = block.norm
    assert norm.running_mean is not None
    assert norm.running_var is not None
    gain = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    bias = norm.bias.double() - norm.running_mean.double() * gain
    return block.conv.weight.double() * gain[:, None, None, None], bias


def to_onnx(network: Network, info: NetInfo) -> onnx.ModelProto:
    """The ONNX model of ``network`` (its current weights and running statistics) with ``info`` as its metadata."""
    config = network.config
    channels, height, width = config.planes
    graph = GraphBuilder()
    x = "planes"
    if len(config.used_planes) < channels:
        used = graph.constant("used", np.asarray(config.used_planes, np.int64))
        x = graph.node("Gather", [x, used], "planes.used", axis=1)
    x = graph.node("Cast", [x], "planes.float", to=TensorProto.FLOAT)
    x = graph.node("Mul", [x, graph.constant("planes.scale", array(network.scale))], "planes.scaled")

    shared = graph.tower(x, network.tower, "tower")
    own = shared if network.value_tower is None else graph.tower(x, network.value_tower, "value_tower")

    policy = network.policy
    y = graph.block(shared, policy.block, "policy.block")
    if isinstance(policy, ConvPolicy):
        assert policy.out.bias is not None
        graph.conv(y, policy.out.weight, policy.out.bias, "policy.planes")
        graph.node("Flatten", ["policy.planes"], "policy", axis=1)
    else:
        graph.linear(graph.node("Flatten", [y], "policy.flat", axis=1), policy.out, "policy")

    y = graph.block(own, network.value.block, "value.block")
    y = graph.linear(graph.node("Flatten", [y], "value.flat", axis=1), network.value.hidden, "value.hidden")
    y = graph.node("Relu", [y], "value.hidden.relu")
    head = config.value_head
    if network.value.tanh:
        graph.node("Tanh", [graph.linear(y, network.value.out, "value.out")], head)
    else:
        graph.linear(y, network.value.out, head)

    outputs = [("policy", config.actions), (head, 3 if head == "wdl" else 1)]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "az-engine",
            [helper.make_tensor_value_info("planes", TensorProto.UINT8, ["batch", channels, height, width])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in outputs],
            graph.constants,
        ),
        producer_name="az-engine",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
    )
    helper.set_model_props(model, info.to_metadata())
    check(model)
    return model


def check(model: onnx.ModelProto) -> None:
    """That the model is valid ONNX and holds only the operators that the engine lets in. Errors: NetError."""
    onnx.checker.check_model(model)
    foreign = {node.op_type for node in model.graph.node if node.domain or node.op_type not in OPERATORS}
    if foreign:
        raise NetError(f"the exported graph has operators that the engine refuses: {', '.join(sorted(foreign))}")


def session(model: onnx.ModelProto | Path, *, threads: int = 1) -> onnxruntime.InferenceSession:
    """An onnxruntime session on the CPU with ``threads`` threads that do not spin."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(
    running: onnxruntime.InferenceSession, planes: NDArray[np.uint8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Policy logits [B, A] and value output [B, 3 or 1] of planes u8 [B, C, H, W], evaluated 64 at a time."""
    parts = [running.run(None, {"planes": planes[i : i + 64]}) for i in range(0, len(planes), 64)]
    return np.concatenate([p for p, _ in parts]), np.concatenate([v for _, v in parts])


def parity(network: Network, model: onnx.ModelProto, planes: NDArray[np.uint8]) -> float:
    """The greatest absolute difference between torch (evaluation mode, float32) and onnxruntime over all outputs.

    Errors: NetError when it is above TOLERANCE times the outputs' own size (at least 1) or not finite.
    """
    training = network.training
    network.eval()
    with torch.no_grad():
        expected = [y.cpu().numpy() for y in network(torch.from_numpy(planes).to(network.scale.device))]
    network.train(training)
    got = run(session(model), planes)
    size = max(1.0, *(float(np.abs(y).max()) for y in expected))
    worst = max(float(np.abs(a - b).max()) for a, b in zip(expected, got, strict=True))
    if not worst <= TOLERANCE * size:
        raise NetError(f"the exported net differs from the trained one by {worst:.2g}; it was not written")
    return worst
