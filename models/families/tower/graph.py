"""The layers of a tower as nodes of an ONNX graph, batch normalisation folded in."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ....engine.nets.file.netfile import FLOAT
from ...net.onnxfile import GraphWriter
from ..losses import SCORE_UNIT
from ..network import array
from .layers import ConvBlock, ConvPolicy, FlatPolicy, Pool, PooledPolicy, ResidualBlock, SqueezeExcite, ValueOutput

# Nodes that stay fp32, see ``quantise``. On a trained 6x64 net with SE
# and 4,096 held-out positions, the first convolution and the value head in fp32 lower the mean error of the expected
# outcome from 0.022 to 0.007, and a percentile of 99.999 instead of 99.99 the policy's KL from 0.0009 to 0.0003, for
# 9 % of the speed. Squeeze-excitation in fp32, or minimum and maximum instead of percentiles, gained nothing. In Go,
# the pooled policy's last nodes in fp32, so that no logit is rounded, lower its KL on 9x9 from 0.013 to 0.0074 at no
# cost in speed, and a percentile of 99.9999 from there to 0.0039; of a Maia net it lowers it from 0.012 to 0.0085.
KEEP_FP32 = tuple(
    "planes. tower.0 tower.0. value_tower.0 value_tower.0. value. policy.planes policy.planes. policy.pool. "
    "policy.biased policy.relu board. ownership score wdl value".split()
)

FIRST = "tower.0"  # the first convolution, of the scaled planes


class TowerWriter(GraphWriter):
    """Writes the layers of a network; every method adds nodes and returns the name of the last one's result."""

    _sized = False  # whether "board.size" is in the graph

    def block(self, x: str, block: ConvBlock, name: str) -> str:
        """Convolution with its batch normalisation folded into weight and bias."""
        return self.layer(x, *folded(block), name, relu=block.relu)

    def layer(self, x: str, weight: Tensor, bias: Tensor, name: str, *, relu: bool = False) -> str:
        """Convolution of odd kernel, stride 1, same size."""
        x = self.conv(x, array(weight), array(bias), name)
        return self.node("Relu", [x], f"{name}.relu") if relu else x

    def linear(self, x: str, layer: nn.Linear, name: str) -> str:
        """Fully connected layer on [B, in]."""
        weight = self.constant(f"{name}.weight", array(layer.weight))
        bias = self.constant(f"{name}.bias", array(layer.bias))
        return self.node("Gemm", [x, weight, bias], name, transB=1)

    def one(self, x: str, layer: nn.Conv2d, name: str, *, relu: bool = False) -> str:
        """Convolution with a bias of its own."""
        assert layer.bias is not None
        return self.layer(x, layer.weight, layer.bias, name, relu=relu)

    def pool(self, x: str, name: str) -> str:
        """See :class:`Pool`; the board's size is read from the planes."""
        if not self._sized:
            self._sized = True
            axis = self.constant("board.axis", np.array([2], np.int64))
            shape = self.node("Shape", ["planes"], "board.shape")
            lines = self.node("Cast", [self.node("Gather", [shape, axis], "board.lines")], "board.n", to=FLOAT)
            centre = self.constant("board.centre", np.array([Pool.CENTRE], np.float32))
            spread = self.constant("board.spread", np.array([1 / Pool.SPREAD], np.float32))
            self.node("Mul", [self.node("Sub", [lines, centre], "board.less"), spread], "board.size")
        mean = self.node("GlobalAveragePool", [x], f"{name}.mean")
        sized = self.node("Mul", [mean, "board.size"], f"{name}.sized")
        most = self.node("GlobalMaxPool", [x], f"{name}.max")
        return self.node("Concat", [mean, sized, most], f"{name}.all", axis=1)

    def squeeze(self, x: str, block: SqueezeExcite, name: str) -> str:
        """Squeeze-excitation; its fully connected layers are 1x1 convolutions, so that no reshape is needed."""
        y = self.node("GlobalAveragePool", [x], f"{name}.mean")
        y = self.layer(y, block.down.weight[:, :, None, None], block.down.bias, f"{name}.down", relu=True)
        y = self.layer(y, block.up.weight[:, :, None, None], block.up.bias, f"{name}.up")
        y = self.node("Sigmoid", [y], f"{name}.gate")
        return self.node("Mul", [x, y], f"{name}.scaled")

    def tower(self, x: str, tower: nn.Sequential, name: str) -> str:
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


def folded(block: ConvBlock) -> tuple[Tensor, Tensor]:
    """Weight [out, in, k, k] and bias [out] of the convolution with its running statistics folded in."""
    norm = block.norm
    assert norm.running_mean is not None
    assert norm.running_var is not None
    gain = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    bias = norm.bias.double() - norm.running_mean.double() * gain
    return block.conv.weight.double() * gain[:, None, None, None], bias


def add_policy(graph: TowerWriter, x: str, head: ConvPolicy | FlatPolicy | PooledPolicy) -> None:
    """The policy head on the tower's result, giving "policy"."""
    y = graph.block(x, head.block, "policy.block")
    if isinstance(head, FlatPolicy):
        graph.linear(graph.node("Flatten", [y], "policy.flat", axis=1), head.out, "policy")
    elif isinstance(head, ConvPolicy):
        graph.node("Flatten", [graph.one(y, head.out, "policy.planes")], "policy", axis=1)
    else:
        board = graph.pool(graph.block(x, head.board, "policy.board"), "policy.pool")
        biased = graph.node("Add", [y, graph.one(board, head.bias, "policy.pool.bias")], "policy.biased")
        points = graph.one(graph.node("Relu", [biased], "policy.relu"), head.out, "policy.planes")
        passing = graph.one(board, head.pass_hidden, "policy.pool.hidden", relu=True)
        passing = graph.one(passing, head.pass_out, "policy.pool.pass")
        flat = [graph.node("Flatten", [y], f"{y}.flat", axis=1) for y in (points, passing)]
        graph.node("Concat", flat, "policy", axis=1)


def add_value(graph: TowerWriter, x: str, head: ValueOutput, name: str) -> None:
    """The value head on the tower's result, giving the output ``name`` and what else the head has."""
    features = graph.block(x, head.block, "value.block")
    y = features if head.pool is None else graph.pool(features, "value.pool")
    y = graph.linear(graph.node("Flatten", [y], "value.flat", axis=1), head.hidden, "value.hidden")
    hidden = graph.node("Relu", [y], "value.hidden.relu")
    if head.tanh:
        graph.node("Tanh", [graph.linear(hidden, head.out, "value.out")], name)
    else:
        graph.linear(hidden, head.out, name)
    if head.ownership is not None:
        owner = graph.node("Tanh", [graph.one(features, head.ownership, "value.ownership")], "value.owner")
        graph.node("Squeeze", [owner, graph.constant("value.owner.axis", np.array([1], np.int64))], "ownership")
    if head.score is not None:
        points = graph.constant("value.points", np.array([SCORE_UNIT], np.float32))
        graph.node("Mul", [graph.linear(hidden, head.score, "value.score"), points], "score")
