"""Lc0's nets as ONNX graphs: convolution and attention bodies, every policy head, and both kinds of value.

The graph takes "planes" of the encoder "lc0" as they are and gives "policy", logits of the 1,858 moves, and "wdl" or
"value". Formulas are Lc0's; batch normalisation and the factors of residuals are folded into weights. Of a file with
several heads the ones called vanilla and winner are taken; the moves-left head has no use here.

Inside, x is an image [B, C, 8, 8] or tokens [B, 64, C].
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError
from ...engine.nets.file.netfile import FLOAT
from ...engine.nets.netinfo import NetInfo
from ..net.onnxfile import GraphWriter
from .lc0_file import (
    ATTENTION,
    ATTENTION_HEADS,
    ATTENTION_POLICY,
    CLASSICAL_HEADS,
    CONVOLUTION_POLICY,
    DENSE_EMBEDDING,
    DENSE_POLICY,
    MAGIC,
    NO_EMBEDDING,
    POSITION_MAP,
    SCALAR_VALUE,
    SE_HEADS,
    WDL_VALUE,
    Array,
    Lc0Net,
    Weights,
    read_lc0,
)
from .source import Converted, Source

PLANES, ACTIONS = 112, 1858
_SEARCH = (("c_puct", 1.745), ("c_base", 38739.0), ("c_factor", 3.894), ("policy_temperature", 1.359))  # Lc0 0.32's
_SQUARES = 64
_POLICY_PLANES = 80
_COUNT_PLANE = 109
_PIECE_PLANES = 12  # of the newest position, which the dense embedding sees whole
_BN_EPSILON, _LN_EPSILON, _NEW_LN_EPSILON = 1e-5, 1e-6, 1e-3
_DEFAULT, _MISH, _RELU, _NONE, _TANH, _SIGMOID, _SELU, _SWISH, _RELU_SQUARED = range(9)  # activations
_BISHOP, _ROOK, _QUEEN = 1, 2, 3
_DIRECTIONS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))  # (file, rank), N NE E SE ...
_KNIGHTS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def moves() -> Iterator[tuple[int, int, int]]:
    """(from, to, promotion) of each action in turn, as the mover sees the board; promotion 0 or one of the three."""
    for source in range(_SQUARES):
        for target in range(_SQUARES):
            files, ranks = abs((source & 7) - (target & 7)), abs((source >> 3) - (target >> 3))
            if source != target and (files == 0 or ranks == 0 or files == ranks or files * ranks == 2):
                yield source, target, 0
    for file in range(8):
        for target in range(max(file - 1, 0), min(file + 1, 7) + 1):
            for piece in (_QUEEN, _ROOK, _BISHOP):
                yield 48 + file, 56 + target, piece


def convolution_map() -> NDArray[np.int64]:
    """i8[1858]: where the convolution head's [80 * 64] outputs hold each action."""
    results = []
    for source, target, piece in moves():
        files, ranks = (target & 7) - (source & 7), (target >> 3) - (source >> 3)
        if piece:
            plane = 64 + 3 * (files + 1) + {_ROOK: 0, _BISHOP: 1, _QUEEN: 2}[piece]
        elif abs(files * ranks) == 2:
            plane = 56 + _KNIGHTS.index((files, ranks))
        else:
            distance = max(abs(files), abs(ranks))
            plane = 7 * _DIRECTIONS.index((files // distance, ranks // distance)) + distance - 1
        results.append(plane * _SQUARES + source)
    return np.array(results, np.int64)


def attention_map() -> NDArray[np.int64]:
    """i8[1858]: where the attention head's [64 * 64 + 8 * 24] outputs hold each action."""
    results = []
    for source, target, piece in moves():
        if piece:
            results.append(4096 + (source - 48) * 24 + (target - 56) * 3 + _QUEEN - piece)
        else:
            results.append(64 * source + target)
    return np.array(results, np.int64)


def position_map() -> Array:
    """f4[64, 64]: 1 where a queen or a knight on one square attacks another on the empty board, -1 on the diagonal."""
    table = -np.eye(_SQUARES, dtype=np.float32)
    for source, target, piece in moves():
        if not piece:
            table[source, target] = 1
    return table


def plane_scale() -> Array:
    """f4[1, 112, 1, 1]: brings the count of plies to the size of the other planes, as eight bits want it.

    The first layer's weights take it back.
    """
    scale = np.ones((1, PLANES, 1, 1), np.float32)
    scale[0, _COUNT_PLANE] = 1 / 100
    return scale


def folded(block: Weights, channels: int, kernel: int) -> tuple[Array, Array]:
    """Weights [out, in, k, k] and biases [out] of a convolution with its normalisation folded in."""
    weights = block.array("weights", -1, channels, kernel, kernel).astype(np.float64)
    size = len(weights)
    bias = block.array("biases", size).astype(np.float64) if "biases" in block else np.zeros(size)
    if "means" in block:
        gain = block.array("gammas", size).astype(np.float64) if "gammas" in block else np.ones(size)
        gain = gain / np.sqrt(block.array("variances", size).astype(np.float64) + _BN_EPSILON)
        shift = block.array("betas", size) if "betas" in block else 0.0
        bias = (bias - block.array("means", size)) * gain + shift
        weights *= gain[:, None, None, None]
    return weights.astype(np.float32), bias.astype(np.float32)


class Lc0Graph:
    """Writes the graph of one net."""

    def __init__(self, net: Lc0Net) -> None:
        """Errors: NetError when the net is of a kind that is not known."""
        self.net, self.weights = net, net.weights
        self.network, self.policy, self.value = (net.format.number(name) for name in ("network", "policy", "value"))
        self._check_format()
        self.attention = self.network in (ATTENTION, ATTENTION_HEADS)
        self.blocks = self.weights.parts("encoder" if self.attention else "residual")
        self.value_head = "wdl" if self.value == WDL_VALUE else "value"
        self.activation = _MISH if net.format.number("activation") == 1 else _RELU
        self.width = 0  # channels of the body, once it is written
        self.graph = GraphWriter()

    def _check_format(self) -> None:
        known = net = self.net.format
        planes = known.number("input", 1)
        if planes != 1:
            raise NetError(
                f"this Lc0 net takes input planes of format {planes}; only the classical ones, format 1, are made here"
            )
        if self.network not in (CLASSICAL_HEADS, SE_HEADS, ATTENTION, ATTENTION_HEADS):
            raise NetError(f"this Lc0 net has the unknown network format {self.network}; update az-engine to use it")
        if self.policy not in (DENSE_POLICY, CONVOLUTION_POLICY, ATTENTION_POLICY):
            raise NetError(f"this Lc0 net has the unknown policy format {self.policy}; update az-engine to use it")
        if self.value not in (SCALAR_VALUE, WDL_VALUE):
            raise NetError(f"this Lc0 net has the unknown value format {self.value}; update az-engine to use it")
        if net.number("activation") not in (0, 1):
            raise NetError("this Lc0 net has an unknown activation; update az-engine to use it")

    @property
    def architecture(self) -> str:
        """In a few words, as "lc0 6x64 se"; known once the graph is written."""
        kind = "attention" if self.attention else "se" if any("se" in block for block in self.blocks) else "plain"
        return f"lc0 {len(self.blocks)}x{self.width} {kind}"

    def facts(self) -> list[str]:
        """What the net is, a line each; known once the graph is written."""
        policies = {DENSE_POLICY: "dense", CONVOLUTION_POLICY: "convolution", ATTENTION_POLICY: "attention"}
        activation = "mish" if self.activation == _MISH else "relu"
        body = "encoder layers" if self.attention else "residual blocks"
        value = "win, draw, loss" if self.value_head == "wdl" else "one number"
        return [
            f"body: {len(self.blocks)} {body} of {self.width} channels, {activation}",
            f"policy: {policies[self.policy]}; value: {value}",
        ]

    def write(self) -> None:
        """All nodes. Errors: NetError when the file's sizes do not fit together."""
        x = self.graph.node("Cast", ["planes"], "planes.float", to=FLOAT)
        x = self.attention_body(x) if self.attention else self.convolution_body(x)
        self.policy_head(x)
        self.value_outputs(x)

    def to_bytes(self, info: NetInfo) -> bytes:
        """The model, after :meth:`write`."""
        return self.graph.to_bytes(info, {"policy": [ACTIONS], self.value_head: [3 if self.value_head == "wdl" else 1]})

    # ------------------------------------------------------------------ parts

    def act(self, x: str, kind: int = _DEFAULT) -> str:
        """An activation; 0 is the net's own."""
        node = self.graph.node
        kind = kind or self.activation
        plain = {_RELU: "Relu", _TANH: "Tanh", _SIGMOID: "Sigmoid"}
        if kind in plain:
            return node(plain[kind], [x], f"{x}.act")
        if kind == _NONE:
            return x
        if kind == _MISH:
            soft = node("Tanh", [node("Softplus", [x], f"{x}.softplus")], f"{x}.tanh")
            return node("Mul", [x, soft], f"{x}.act")
        if kind == _SELU:
            return node("Selu", [x], f"{x}.act", alpha=1.6732632423543772, gamma=1.0507009873554805)
        if kind == _SWISH:
            return node("Mul", [x, node("Sigmoid", [x], f"{x}.sigmoid")], f"{x}.act")
        if kind == _RELU_SQUARED:
            y = node("Relu", [x], f"{x}.relu")
            return node("Mul", [y, y], f"{x}.act")
        raise NetError(f"this Lc0 net has the unknown activation {kind}; update az-engine to use it")

    def conv(self, x: str, block: Weights, channels: int, kernel: int, name: str) -> str:
        """A convolution of the file, same size."""
        return self.graph.conv(x, *folded(block, channels, kernel), name)

    def dense(self, x: str, part: Weights, layer: str, width: int, name: str, gain: float = 1.0) -> tuple[str, int]:
        """A dense layer on the last axis, times ``gain``; returns its name and its size."""
        weights = part.array(f"{layer}_w", -1, width) * np.float32(gain)
        y = self.graph.node("MatMul", [x, self.graph.constant(f"{name}.weight", weights.T)], f"{name}.product")
        if f"{layer}_b" in part:
            bias = part.array(f"{layer}_b", len(weights)) * np.float32(gain)
            y = self.graph.node("Add", [y, self.graph.constant(f"{name}.bias", bias)], name)
        return y, len(weights)

    def norm(self, x: str, part: Weights, gamma: str, beta: str, width: int, epsilon: float, name: str) -> str:
        """Layer normalisation over the last axis."""
        scale = self.graph.constant(f"{name}.scale", part.array(gamma, width))
        inputs = [x, scale, self.graph.constant(f"{name}.shift", part.array(beta, width))]
        return self.graph.node("LayerNormalization", inputs, name, axis=-1, epsilon=epsilon)

    def reshape(self, x: str, name: str, *sizes: int) -> str:
        """The same numbers in another shape; one size may be -1."""
        return self.graph.node("Reshape", [x, self.graph.shape(*sizes)], name)

    def tokens(self, x: str, channels: int, name: str) -> str:
        """An image as tokens [B, 64, C]."""
        flat = self.reshape(x, f"{name}.flat", -1, channels, _SQUARES)
        return self.graph.node("Transpose", [flat], name, perm=[0, 2, 1])

    # ------------------------------------------------------------------ bodies

    def convolution_body(self, x: str) -> str:
        """Planes to an image."""
        node = self.graph.node
        weights, bias = folded(self.weights.part("input"), PLANES, 3)
        x = node("Mul", [x, self.graph.constant("planes.scale", plane_scale())], "planes.scaled")
        weights = weights / plane_scale()[0]
        self.width = channels = len(weights)
        x = self.act(self.graph.conv(x, weights, bias, "input"))
        for i, block in enumerate(self.blocks):
            name = f"block.{i}"
            y = self.act(self.conv(x, block.part("conv1"), channels, 3, f"{name}.first"))
            y = self.conv(y, block.part("conv2"), channels, 3, f"{name}.second")
            if "se" in block:
                y = self.squeeze(y, block.part("se"), channels, f"se.{i}")
            x = self.act(node("Add", [x, y], f"{name}.sum"))
        return x

    def squeeze(self, x: str, part: Weights, channels: int, name: str) -> str:
        """x * sigmoid(a) + b, where a and b are two dense layers on the means of x."""
        node = self.graph.node
        hidden = len(part.array("b1", -1))
        y = node("GlobalAveragePool", [x], f"{name}.mean")
        y = self.graph.conv(y, part.array("w1", hidden, channels, 1, 1), part.array("b1", hidden), f"{name}.down")
        y = self.act(y)
        up, bias = part.array("w2", 2, channels, hidden, 1, 1), part.array("b2", 2, channels)
        gate = node("Sigmoid", [self.graph.conv(y, up[0], bias[0], f"{name}.up")], f"{name}.gate")
        scaled = node("Mul", [x, gate], f"{name}.scaled")
        return node("Add", [scaled, self.graph.conv(y, up[1], bias[1], f"{name}.shift")], name)

    def attention_body(self, x: str) -> str:
        """Planes to tokens."""
        node, weights = self.graph.node, self.weights
        embedding = self.net.format.number("embedding")
        if embedding not in (NO_EMBEDDING, POSITION_MAP, DENSE_EMBEDDING):
            raise NetError(f"this Lc0 net has the unknown embedding {embedding}; update az-engine to use it")
        new = embedding == DENSE_EMBEDDING
        epsilon = _NEW_LN_EPSILON if new else _LN_EPSILON
        t, width = self.tokens(x, PLANES, "squares"), PLANES
        if embedding == POSITION_MAP:
            table = self.graph.constant("positions", position_map()[None])
            zero = self.graph.number(0.0)  # adds the batch's size to the table
            first = node("ReduceMean", [t], "squares.mean", axes=[2], keepdims=1)
            spread = node("Add", [table, node("Mul", [first, zero], "squares.zero")], "positions.batch")
            t, width = node("Concat", [t, spread], "squares.placed", axis=2), PLANES + _SQUARES
        elif new:
            limits = [self.graph.shape(*bounds) for bounds in ((0,), (_PIECE_PLANES,), (2,))]
            pieces = self.reshape(node("Slice", [t, *limits], "pieces"), "pieces.flat", -1, _SQUARES * _PIECE_PLANES)
            seen, size = self.dense(pieces, weights, "ip_emb_preproc", _SQUARES * _PIECE_PLANES, "pieces.dense")
            if size % _SQUARES:
                raise NetError("this Lc0 net is damaged: its embedding does not fit the board")
            seen = self.reshape(seen, "pieces.squares", -1, _SQUARES, size // _SQUARES)
            t, width = node("Concat", [t, seen], "squares.placed", axis=2), PLANES + size // _SQUARES
        t, width = self.dense(t, weights, "ip_emb", width, "embedding")
        self.width = width
        t = self.act(t)
        if new:
            t = self.norm(t, weights, "ip_emb_ln_w", "ip_emb_ln_b", width, epsilon, "embedding.norm")
        for operator, gate in (("Mul", "ip_mult_gate"), ("Add", "ip_add_gate")):
            if gate in weights:
                values = self.graph.constant(gate, weights.array(gate, width, _SQUARES).T)
                t = node(operator, [t, values], f"embedding.{gate}")
        alpha = (2.0 * max(len(self.blocks), 1)) ** -0.25
        if new:
            y = self.feed_forward(t, weights.part("ip_emb_ffn"), width, alpha, self.ffn_activation, "embedding.ffn")
            t = node("Add", [t, y], "embedding.sum")
            t = self.norm(t, weights, "ip_emb_ffn_ln_w", "ip_emb_ffn_ln_b", width, epsilon, "embedding.out")
        heads = weights.number("headcount")
        for i, block in enumerate(self.blocks):
            t = self.encoder(t, block, width, heads, alpha, epsilon, self.ffn_activation, f"encoder.{i}")
        return t

    @property
    def ffn_activation(self) -> int:
        """The activation of feed-forward parts."""
        return self.net.format.number("ffn")

    def feed_forward(self, x: str, part: Weights, width: int, gain: float, activation: int, name: str) -> str:
        """Two dense layers with an activation between, times ``gain``."""
        y, hidden = self.dense(x, part, "dense1", width, f"{name}.first")
        y, _ = self.dense(self.act(y, activation), part, "dense2", hidden, f"{name}.second", gain)
        return y

    def encoder(
        self, t: str, block: Weights, width: int, heads: int, alpha: float, epsilon: float, activation: int, name: str
    ) -> str:
        """One encoder layer: attention and a feed-forward part, each added and normalised."""
        node, mha = self.graph.node, block.part("mha")
        if any(part in mha for part in ("rpe_q", "rpe_k", "rpe_v")):
            raise NetError("this Lc0 net encodes relative positions, which Lc0 itself does not run")
        q_width = len(mha.array("q_b", -1))
        if heads < 1 or q_width % heads:
            raise NetError(f"this Lc0 net is damaged: {heads} heads do not share {q_width} channels")
        depth = q_width // heads
        parts = {}
        for key, turn in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            gain = 1 / math.sqrt(depth) if key == "q" else 1.0
            y, size = self.dense(t, mha, key, width, f"{name}.{key}", gain)
            if size != q_width:
                raise NetError(f"this Lc0 net is damaged: {key!r} has {size} channels instead of {q_width}")
            split = self.reshape(y, f"{name}.{key}.heads", -1, _SQUARES, heads, depth)
            parts[key] = node("Transpose", [split], f"{name}.{key}.turned", perm=turn)
        scores = node("MatMul", [parts["q"], parts["k"]], f"{name}.scores")
        if "smolgen" in mha:
            scores = node("Add", [scores, self.smolgen(t, mha.part("smolgen"), width, heads, name)], f"{name}.biased")
        y = node("MatMul", [node("Softmax", [scores], f"{name}.weights", axis=-1), parts["v"]], f"{name}.mixed")
        y = node("Transpose", [y], f"{name}.mixed.turned", perm=[0, 2, 1, 3])
        y = self.reshape(y, f"{name}.mixed.flat", -1, _SQUARES, q_width)
        y, _ = self.dense(y, mha, "dense", q_width, f"{name}.out", alpha)
        t = node("Add", [t, y], f"{name}.sum")
        t = self.norm(t, block, "ln1_w", "ln1_b", width, epsilon, f"{name}.norm1")
        y = self.feed_forward(t, block.part("ffn"), width, alpha, activation, f"{name}.ffn")
        t = node("Add", [t, y], f"{name}.ffn.sum")
        return self.norm(t, block, "ln2_w", "ln2_b", width, epsilon, f"{name}.norm2")

    def smolgen(self, t: str, part: Weights, width: int, heads: int, name: str) -> str:
        """What a layer adds to its attention scores: [B, heads, 64, 64] out of all squares together."""
        name = f"{name}.smolgen"
        kind = self.net.format.number("smolgen")
        y, size = self.dense(t, Weights({"compress_w": part.array("compress", -1)}), "compress", width, f"{name}.0")
        y, size = self.reshape(y, f"{name}.flat", -1, _SQUARES * size), _SQUARES * size
        for i in (1, 2):
            y, size = self.dense(y, part, f"dense{i}", size, f"{name}.{i}")
            y = self.norm(self.act(y, kind), part, f"ln{i}_g", f"ln{i}_b", size, _NEW_LN_EPSILON, f"{name}.norm{i}")
        if size % heads:
            raise NetError(f"this Lc0 net is damaged: {heads} heads do not share {size} numbers")
        y = self.reshape(y, f"{name}.heads", -1, heads, size // heads)
        shared = self.weights.array("smolgen_w", _SQUARES * _SQUARES, size // heads)
        y = self.graph.node("MatMul", [y, self.graph.constant("smolgen.weight", shared.T)], f"{name}.all")
        return self.reshape(y, name, -1, heads, _SQUARES, _SQUARES)

    # ------------------------------------------------------------------ heads

    def policy_head(self, x: str) -> None:
        """The output "policy" from the body's result."""
        node, channels = self.graph.node, self.width
        head = self._head("policy_heads", "vanilla")
        if self.policy == ATTENTION_POLICY:
            self.attention_policy(x if self.attention else self.tokens(x, channels, "policy.squares"), head)
        elif self.attention:
            raise NetError("this Lc0 net joins an attention body to another policy head, which is not known")
        elif self.policy == CONVOLUTION_POLICY:
            y = self.act(self.conv(x, head.part("policy1"), channels, 3, "policy.first"))
            weights, bias = folded(head.part("policy"), channels, 3)
            if len(weights) != _POLICY_PLANES:
                raise NetError(f"this Lc0 net is damaged: its policy has {len(weights)} planes, not {_POLICY_PLANES}")
            y = node("Flatten", [self.graph.conv(y, weights, bias, "policy.planes")], "policy.flat", axis=1)
            node("Gather", [y, self.graph.constant("policy.map", convolution_map())], "policy", axis=1)
        else:
            y = self.act(self.conv(x, head.part("policy"), channels, 1, "policy.planes"))
            y = node("Flatten", [y], "policy.flat", axis=1)
            weights, bias = head.array("ip_pol_w", ACTIONS, -1), head.array("ip_pol_b", ACTIONS)
            inputs = [y, self.graph.constant("policy.weight", weights), self.graph.constant("policy.bias", bias)]
            node("Gemm", inputs, "policy", transB=1)

    def _head(self, group: str, name: str) -> Weights:
        """The head of that name with what the heads share, or, in a file of one head, all weights."""
        if self.network != ATTENTION_HEADS:
            return self.weights
        heads = self.weights.part(group)
        return Weights({**heads.values, **heads.part(name).values})

    def attention_policy(self, t: str, head: Weights) -> None:
        """The policy as the attention of squares left to squares reached, from tokens."""
        node = self.graph.node
        kind = _DEFAULT if self.attention else _SELU
        t, width = self.dense(t, head, "ip_pol", self.width, "policy.embedding")
        t = self.act(t, kind)
        ffn = self.ffn_activation if self.attention else _SELU
        for i, block in enumerate(head.parts("pol_encoder")):
            heads = head.number("pol_headcount")
            t = self.encoder(t, block, width, heads, 1.0, _LN_EPSILON, ffn, f"policy.encoder.{i}")
        depth = len(head.array("ip2_pol_b", -1))
        query, _ = self.dense(t, head, "ip2_pol", width, "policy.query", 1 / math.sqrt(depth))
        key, size = self.dense(t, head, "ip3_pol", width, "policy.key")
        if size != depth:
            raise NetError(f"this Lc0 net is damaged: its policy has queries of {depth} and keys of {size}")
        turned = node("Transpose", [key], "policy.key.turned", perm=[0, 2, 1])
        plain = node("MatMul", [query, turned], "policy.pairs")
        # promotions: from rank 7 to rank 8, and an offset by the square of rank 8 for each of queen, rook and bishop
        last = node("Slice", [key, *(self.graph.shape(*b) for b in ((56,), (64,), (1,)))], "policy.last")
        offset = head.array("ip4_pol_w", 4, depth)
        offsets = (offset[:3] + offset[3:]).T
        extra = node("MatMul", [last, self.graph.constant("policy.offsets", offsets)], "policy.extra")
        extra = self.reshape(extra, "policy.extra.squares", -1, 1, 8, 3)
        bounds = (self.graph.shape(*b) for b in ((48, 56), (56, 64), (1, 2)))
        steps = self.reshape(node("Slice", [plain, *bounds], "policy.steps"), "policy.steps.squares", -1, 8, 8, 1)
        promotions = node("Add", [steps, extra], "policy.promotions")
        flat = [
            self.reshape(plain, "policy.pairs.flat", -1, _SQUARES * _SQUARES),
            self.reshape(promotions, "policy.promotions.flat", -1, 8 * 24),
        ]
        every = node("Concat", flat, "policy.all", axis=1)
        node("Gather", [every, self.graph.constant("policy.map", attention_map())], "policy", axis=1)

    def value_outputs(self, x: str) -> None:
        """The output "wdl" or "value" from the body's result."""
        node, head = self.graph.node, self._head("value_heads", "winner")
        if self.attention:
            y, size = self.dense(x, head, "ip_val", self.width, "value.planes")
            y = self.reshape(self.act(y), "value.flat", -1, _SQUARES * size)
        else:
            weights, bias = folded(head.part("value"), self.width, 1)
            size = len(weights)
            y = node("Flatten", [self.act(self.graph.conv(x, weights, bias, "value.planes"))], "value.flat", axis=1)
        y, hidden = self.dense(y, head, "ip1_val", _SQUARES * size, "value.hidden")
        outputs = 3 if self.value_head == "wdl" else 1
        weights, bias = head.array("ip2_val_w", outputs, hidden), head.array("ip2_val_b", outputs)
        inputs = [self.act(y), self.graph.constant("value.weight", weights), self.graph.constant("value.bias", bias)]
        if self.value_head == "wdl":
            node("Gemm", inputs, "wdl", transB=1)
        else:
            node("Tanh", [node("Gemm", inputs, "value.out", transB=1)], "value")


def recognises(content: bytes) -> bool:
    """Whether an unpacked file is an Lc0 net."""
    return content.startswith(MAGIC)


def convert(content: bytes, source: Source) -> Converted:
    """The net in an unpacked file. Errors: NetError, one sentence."""
    net = read_lc0(content)
    graph = Lc0Graph(net)
    graph.write()
    info = source.described(
        NetInfo(
            game="chess",
            encoder="lc0",
            planes=(PLANES, 8, 8),
            actions=ACTIONS,
            planes_version=1,
            moves_version=1,
            value_head=graph.value_head,
            architecture=graph.architecture,
            history=8,
            search=_SEARCH,
        )
    )
    version = ".".join(map(str, net.version))
    kept = ("se.",)  # costs next to nothing, and nearly halves the error of the value in Maia's net
    facts = (f"family: Lc0 {version} and later, {PLANES} planes, {ACTIONS} actions, 8 positions", *graph.facts())
    return Converted(graph.to_bytes(info), info, facts, kept)
