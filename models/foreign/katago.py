"""KataGo's nets as ONNX graphs: convolution, pooling, nested and transformer blocks, the four heads.

The graph takes "planes" of the encoder "katago-v7" and serves every board up to 19x19. Its outputs are those of our own
nets: the policy without optimism and with the pass last; the outcome as logits of win, draw and loss, where a game
without result counts as a draw; ownership; and the lead on the board, komi left out, for komi is among the planes.

Inside, x is either an image [B, C, H, W] or, where there are transformer blocks, tokens [B, H * W, C].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.nets.file.netfile import FLOAT
from ...engine.nets.netinfo import NetInfo
from ..net.onnxfile import GraphWriter, read_nodes
from .katago_file import GLOBALS, SPATIAL, begins_a_net, read_katago
from .katago_layers import (
    IDENTITY,
    MISH,
    RELU,
    Array,
    Attention,
    Block,
    FeedForward,
    KatagoNet,
    Nested,
    Norm,
    NormConv,
    Ordinary,
    Pooled,
    RootMeanSquare,
)
from .source import Converted, Source

ENCODER, ENCODER_SUICIDE = "katago-v7", "katago-v7-suicide"  # the second sees areas as if suicide were legal
_SEARCH = (  # KataGo 1.16's
    ("c_puct", 1.0),
    ("c_base", 500.0),
    ("c_factor", 0.45),
    ("fpu_value", 0.2),
    ("fpu_root_value", 0.1),
)
BOARDS = range(2, 20)
_PLANES, _HISTORY, _MAX_LINES = 42, 5, BOARDS[-1]  # of the encoders
_KOMI, _SUPERKO, _SUPERKO_KIND, _TERRITORY, _PARITY = 5, 6, 7, 9, 18  # among the numbers
_KOMI_OFFSET, _KOMI_UNIT = 1024, 40.0  # half points: in the planes, and as 1 to the net
_NEVER = -1e4  # logit of what cannot be
_CENTRE, _SPREAD, _WIDTH_SQUARE = 14.0, 10.0, 0.1  # of the board's size as pools read it


def number_scale() -> tuple[Array, Array]:
    """(S f4[20, 20], o f4[20]): S @ the encoder's planes 22 to 41 + o are KataGo's 19 numbers, and a 0.

    Number 5, own komi, is in half points: all are whole or half numbers, so that nothing is lost.
    """
    scale, offset = np.zeros((GLOBALS + 1, GLOBALS + 1), np.float32), np.zeros(GLOBALS + 1, np.float32)
    for number in range(GLOBALS):
        scale[number, number if number < _KOMI else number + 1] = 1
    scale[_KOMI, _KOMI : _KOMI + 2], offset[_KOMI] = (256, 1), -_KOMI_OFFSET
    for number in (_SUPERKO_KIND, _PARITY):  # -0.5, 0 or 0.5
        scale[number, number + 1], offset[number] = 0.5, -0.5
    return scale, offset


def recognises(content: bytes) -> bool:
    """Whether an unpacked file is KataGo's."""
    return begins_a_net(content)


def convert(content: bytes, source: Source) -> Converted:
    """The net in an unpacked file. Errors: NetError, one sentence."""
    net = read_katago(content)
    info = source.described(
        NetInfo(
            game="go",
            encoder=ENCODER_SUICIDE if net.suicidal else ENCODER,
            planes=(_PLANES, _MAX_LINES, _MAX_LINES),
            actions=_MAX_LINES**2 + 1,
            planes_version=1,
            moves_version=1,
            value_head="wdl",
            architecture=describe(net),
            history=_HISTORY,
            boards=tuple(BOARDS),
            search=_SEARCH,
        )
    )
    graph = GraphWriter()
    _Writer(graph, net).write()
    outputs: dict[str, list[int | str]] = {
        "policy": ["actions"],
        "wdl": [3],
        "ownership": ["height", "width"],
        "score": [1],
        "doubts": [5 if net.version >= 9 else 2],
    }
    facts = (
        f"family: KataGo, version {net.version}, boards of 2x2 to 19x19, ownership and score",
        f"net: {net.name}, {describe(net)}, policy without optimism",
    )
    model = graph.to_bytes(info, outputs)
    return Converted(model, info, facts, int8=suited_to_int8(model))


def suited_to_int8(model: bytes) -> tuple[str, ...]:
    """The nodes of a converted net that int8 suits: those of blocks, but for what stands in for a normalisation."""
    return tuple(
        name
        for name, operator in read_nodes(model)
        if operator in ("Conv", "Relu") and name.startswith("block") and not name.endswith("norm")
    )


def describe(net: KatagoNet) -> str:
    """The architecture in a few words, as "katago v8 6x96 conv gpool"."""
    kinds = sorted({_kind(block) for block in net.blocks})
    return f"katago v{net.version} {len(net.blocks)}x{net.channels} {' '.join(kinds)}"


def _kind(block: Block) -> str:
    if isinstance(block, Nested):
        return "nested-" + "-".join(sorted({_kind(inner) for inner in block.blocks}))
    return {Ordinary: "conv", Pooled: "gpool", Attention: "attention", FeedForward: "ffn"}[type(block)]


def _has_attention(blocks: tuple[Block, ...]) -> bool:
    return any(
        isinstance(block, Attention | FeedForward) or (isinstance(block, Nested) and _has_attention(block.blocks))
        for block in blocks
    )


def _filled(values: Array, axis: int) -> Array:
    """The array with zeros behind it on that axis, up to a multiple of four."""
    sizes = [(0, -n % 4 if i == axis else 0) for i, n in enumerate(values.shape)]
    return np.pad(values, sizes)


class _Writer:
    def __init__(self, graph: GraphWriter, net: KatagoNet) -> None:
        self.graph, self.net = graph, net
        self.tokens = _has_attention(net.blocks)

    # ------------------------------------------------------------------ small parts

    def node(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        return self.graph.node(operator, inputs, name, **attributes)

    def constant(self, name: str, values: Any) -> str:
        return self.graph.constant(name, np.asarray(values, np.float32))

    def activate(self, x: str, kind: str) -> str:
        if kind == IDENTITY:
            return x
        if kind == RELU:
            return self.node("Relu", [x], f"{x}.relu")
        if kind == MISH:
            soft = self.node("Tanh", [self.node("Softplus", [x], f"{x}.softplus")], f"{x}.tanh")
            return self.node("Mul", [x, soft], f"{x}.mish")
        return self.node("Mul", [x, self.node("Sigmoid", [x], f"{x}.sigmoid")], f"{x}.silu")

    def per_channel(self, values: Array) -> Array:
        """Shaped so that it is added to or multiplied with x."""
        return values if self.tokens else values[:, None, None]

    def conv(self, x: str, weights: Array, name: str, bias: Array | None = None) -> str:
        """A convolution of x; on tokens a larger kernel goes by way of an image."""
        pads = [weights.shape[2] // 2, weights.shape[3] // 2] * 2
        if self.tokens and weights.shape[2:] == (1, 1):
            y = self.node("MatMul", [x, self.constant(f"{name}.weight", weights[:, :, 0, 0].T)], name)
            return y if bias is None else self.node("Add", [y, self.constant(f"{name}.bias", bias)], f"{name}.biased")
        if self.tokens:
            x = self.to_image(x, f"{name}.image")
        inputs = [x, self.constant(f"{name}.weight", weights)]
        if bias is not None:
            inputs.append(self.constant(f"{name}.bias", bias))
        y = self.node("Conv", inputs, name, kernel_shape=list(weights.shape[2:]), pads=pads)
        return self.to_tokens(y, f"{name}.tokens") if self.tokens else y

    def to_tokens(self, x: str, name: str) -> str:
        flat = self.node("Reshape", [x, self.graph.shape(0, 0, -1)], f"{name}.flat")
        return self.node("Transpose", [flat], name, perm=[0, 2, 1])

    def to_image(self, x: str, name: str) -> str:
        turned = self.node("Transpose", [x], f"{name}.turned", perm=[0, 2, 1])
        shape = self.node("Concat", [self.graph.shape(0, 0), "board.lines"], f"{name}.shape", axis=0)
        return self.node("Reshape", [turned, shape], name)

    def norm(self, x: str, norm: Norm | RootMeanSquare, name: str) -> str:
        if isinstance(norm, RootMeanSquare):
            return self.root_mean_square(x, norm, name)
        scale, shift = norm.scale, norm.shift
        if self.tokens:
            y = self.node("Mul", [x, self.constant(f"{name}.scale", scale)], f"{name}.scaled")
            return self.node("Add", [y, self.constant(f"{name}.shift", shift)], name)
        weights = self.constant(f"{name}.scale", scale[:, None, None, None])
        inputs = [x, weights, self.constant(f"{name}.shift", shift)]
        return self.node("Conv", inputs, name, kernel_shape=[1, 1], group=len(scale))  # stays in onnxruntime's layout

    def root_mean_square(self, x: str, norm: RootMeanSquare, name: str) -> str:
        axes = ([1, 2] if self.tokens else [1, 2, 3]) if norm.spatial else [-1 if self.tokens else 1]
        square = self.node("Pow", [x, self.graph.number(2.0)], f"{name}.square")
        mean = self.node("ReduceMean", [square], f"{name}.mean", axes=axes, keepdims=1)
        above = self.node("Add", [mean, self.graph.number(norm.epsilon)], f"{name}.above")
        y = self.node("Div", [x, self.node("Sqrt", [above], f"{name}.root")], f"{name}.divided")
        y = self.node("Mul", [y, self.constant(f"{name}.scale", self.per_channel(norm.scale))], f"{name}.scaled")
        if norm.shift is None:
            return y
        return self.node("Add", [y, self.constant(f"{name}.shift", self.per_channel(norm.shift))], name)

    def pool(self, x: str, second: str, name: str) -> str:
        """[B, 3 * C]: mean; mean * (size of the board); mean * (the number ``second``), or the maximum without one."""
        if self.tokens:
            mean = self.node("ReduceMean", [x], f"{name}.mean", axes=[1], keepdims=0)
        else:
            average = self.node("GlobalAveragePool", [x], f"{name}.average")
            mean = self.node("Flatten", [average], f"{name}.mean", axis=1)
        parts = [mean, self.node("Mul", [mean, "board.width"], f"{name}.sized")]
        if second:
            parts.append(self.node("Mul", [mean, second], f"{name}.sized2"))
        elif self.tokens:
            parts.append(self.node("ReduceMax", [x], f"{name}.max", axes=[1], keepdims=0))
        else:
            most = self.node("GlobalMaxPool", [x], f"{name}.most")
            parts.append(self.node("Flatten", [most], f"{name}.max", axis=1))
        return self.node("Concat", parts, name, axis=1)

    def matrix(self, x: str, weights: Array, name: str, bias: Array | None = None) -> str:
        """A fully connected layer on [B, in]."""
        inputs = [x, self.constant(f"{name}.weight", weights)]
        if bias is not None:
            inputs.append(self.constant(f"{name}.bias", bias))
        return self.node("Gemm", inputs, name)

    def spread(self, x: str, name: str) -> str:
        """[B, C] so that it is added to every point of x."""
        return self.node("Unsqueeze", [x, self.graph.shape(*([1] if self.tokens else [2, 3]))], name)

    def norm_conv(self, x: str, part: NormConv, name: str, after: Norm | None = None) -> str:
        """normalise, activate, convolve; ``after``, a normalisation of the result, is put into the weights."""
        y = self.activate(self.norm(x, part.norm, f"{name}.norm"), part.activation)
        return self.folded(y, part.conv, after, f"{name}.conv")

    def folded(self, x: str, weights: Array, after: Norm | None, name: str) -> str:
        """A convolution and the normalisation of its result as one."""
        if after is None:
            return self.conv(x, weights, name)
        return self.conv(x, weights * after.scale[:, None, None, None], name, after.shift)

    # ------------------------------------------------------------------ blocks

    def block(self, x: str, block: Block, name: str) -> str:
        """x and what the block adds to it."""
        if isinstance(block, Ordinary):
            y = self.norm_conv(x, block.first, f"{name}.first", block.second.norm)
            y = self.conv(self.activate(y, block.second.activation), block.second.conv, f"{name}.second.conv")
        elif isinstance(block, Pooled):
            y = self.pooled(x, block, name)
        elif isinstance(block, Nested):
            y = self.norm_conv(x, block.first, f"{name}.first")
            for i, inner in enumerate(block.blocks):
                y = self.block(y, inner, f"{name}.{i}")
            y = self.norm_conv(y, block.last, f"{name}.last")
        elif isinstance(block, Attention):
            y = self.attention(x, block, name)
        else:
            y = self.feed_forward(x, block, name)
        return self.node("Add", [x, y], name)

    def pooled(self, x: str, block: Pooled, name: str) -> str:
        x = self.activate(self.norm(x, block.norm, f"{name}.norm"), block.activation)
        after = block.last.norm
        regular = self.folded(x, block.regular, after, f"{name}.regular")
        pooled = self.folded(x, block.pooled, block.pooled_norm, f"{name}.pooled")
        pooled = self.pool(self.activate(pooled, block.pooled_activation), "", f"{name}.pool")
        bias = self.spread(self.matrix(pooled, block.matrix * after.scale, f"{name}.bias"), f"{name}.bias.spread")
        y = self.node("Add", [regular, bias], f"{name}.biased")
        return self.conv(self.activate(y, block.last.activation), block.last.conv, f"{name}.last.conv")

    def attention(self, x: str, block: Attention, name: str) -> str:
        """Rotated, grouped-query attention; queries [B, G, Q, L, D] share the G key heads' keys [B, G, 1, D, L]."""
        x = self.norm(x, block.norm, f"{name}.norm")
        group = block.heads // block.key_heads
        width = block.query.shape[1] // block.heads
        query, key = block.query / np.float32(np.sqrt(width)), block.key
        if block.frequencies is not None:  # the first of each pair of channels before the second ones
            half_points = np.concatenate([np.arange(0, width, 2), np.arange(1, width, 2)])
            query = query.reshape(-1, block.heads, width)[:, :, half_points].reshape(query.shape)
            key = key.reshape(-1, block.key_heads, width)[:, :, half_points].reshape(key.shape)
        parts = {}
        for what, weights, heads in (("query", query, group), ("key", key, 1), ("value", block.value, 1)):
            y = self.node("MatMul", [x, self.constant(f"{name}.{what}.weight", weights)], f"{name}.{what}.all")
            shape = self.graph.shape(0, -1, block.key_heads, heads, weights.shape[1] // (block.key_heads * heads))
            y = self.node("Reshape", [y, shape], f"{name}.{what}.heads")
            parts[what] = self.node("Transpose", [y], f"{name}.{what}", perm=[0, 2, 3, 1, 4])
        if block.frequencies is not None:
            angles = self.angles(block.frequencies, name)
            for what in ("query", "key"):
                parts[what] = self.rotate(parts[what], angles, width // 2, f"{name}.{what}")
        keys = self.node("Transpose", [parts["key"]], f"{name}.key.turned", perm=[0, 1, 2, 4, 3])
        scores = self.node("MatMul", [parts["query"], keys], f"{name}.scores")
        shares = self.node("Softmax", [scores], f"{name}.shares", axis=-1)
        y = self.node("MatMul", [shares, parts["value"]], f"{name}.mixed")
        y = self.node("Transpose", [y], f"{name}.mixed.turned", perm=[0, 3, 1, 2, 4])
        y = self.node("Reshape", [y, self.graph.shape(0, -1, block.out.shape[0])], f"{name}.mixed.flat")
        return self.node("MatMul", [y, self.constant(f"{name}.out.weight", block.out)], f"{name}.out")

    def angles(self, frequencies: Array, name: str) -> list[str]:
        """Cosines and sines [G or 1, 1, L, pairs] of the board's points."""
        rows, columns = np.mgrid[:_MAX_LINES, :_MAX_LINES].astype(np.float64)
        f = frequencies.astype(np.float64)
        table = columns[None, :, :, None] * f[:, None, None, :, 0] + rows[None, :, :, None] * f[:, None, None, :, 1]
        results = []
        for what, values in (("cos", np.cos(table)), ("sin", np.sin(table))):
            whole = self.constant(f"{name}.{what}.table", values)
            inputs = [whole, self.graph.shape(0, 0), "board.lines", self.graph.shape(1, 2)]
            cut = self.node("Slice", inputs, f"{name}.{what}.cut")
            results.append(self.node("Reshape", [cut, self.graph.shape(len(f), 1, -1, f.shape[1])], f"{name}.{what}"))
        return results

    def rotate(self, x: str, angles: list[str], half: int, name: str) -> str:
        """Each pair (a, b) of channels turned by its angle; the pairs' first channels come before the second ones."""
        cos, sin = angles
        axis = self.graph.shape(-1)
        bounds = [self.graph.shape(i) for i in (0, half, 2 * half)]
        a = self.node("Slice", [x, bounds[0], bounds[1], axis], f"{name}.a")
        b = self.node("Slice", [x, bounds[1], bounds[2], axis], f"{name}.b")
        ac, bs, bc, as_ = (
            self.node("Mul", [y, angle], f"{y}.{what}") for y, angle, what in
            ((a, cos, "cos"), (b, sin, "sin"), (b, cos, "cos"), (a, sin, "sin"))
        )  # fmt: skip
        turned = [self.node("Sub", [ac, bs], f"{name}.first"), self.node("Add", [bc, as_], f"{name}.second")]
        return self.node("Concat", turned, f"{name}.rotated", axis=-1)

    def feed_forward(self, x: str, block: FeedForward, name: str) -> str:
        x = self.norm(x, block.norm, f"{name}.norm")
        hidden, gate = (
            self.node("MatMul", [x, self.constant(f"{name}.{what}.weight", weights)], f"{name}.{what}")
            for what, weights in (("hidden", block.hidden), ("gate", block.gate))
        )
        y = self.node("Mul", [self.activate(hidden, "silu"), gate], f"{name}.gated")
        return self.node("MatMul", [y, self.constant(f"{name}.out.weight", block.out)], f"{name}.out")

    # ------------------------------------------------------------------ ends

    def write(self) -> None:
        self.board()
        x = self.entry()
        for i, block in enumerate(self.net.blocks):
            x = self.block(x, block, f"block{i}")
        x = self.activate(self.norm(x, self.net.tip, "tip"), self.net.tip_activation)
        self.policy(x)
        self.value(x)

    def board(self) -> None:
        """What the board's size means to pools and rotations."""
        shape = self.node("Shape", ["planes"], "board.shape")
        lines = self.node("Gather", [shape, self.graph.shape(2, 3)], "board.lines")
        rows, columns = (self.node("Gather", [lines, self.graph.shape(i)], f"board.side{i}") for i in range(2))
        points = self.node("Mul", [rows, columns], "board.points")
        points = self.node("Cast", [points], "board.area", to=FLOAT)
        size = self.node("Sqrt", [points], "board.size")  # as KataGo counts it: that of a square with as many points
        size = self.node("Sub", [size, self.graph.number(_CENTRE)], "board.less")
        size = self.node("Mul", [size, self.graph.number(1 / _SPREAD)], "board.width")
        square = self.node("Mul", [size, size], "board.square")
        self.node("Sub", [square, self.graph.number(_WIDTH_SQUARE)], "board.width2")

    def entry(self) -> str:
        """The first sum: a convolution of the planes, and a matrix of the numbers behind them.

        Channels are filled up to a multiple of four, which is what onnxruntime's own layout wants.
        """
        used = -(-SPATIAL // 4) * 4
        bounds = [[self.graph.shape(n) for n in (*ranges, 1)] for ranges in ((0, used), (SPATIAL, _PLANES))]
        planes = self.node("Slice", ["planes", *bounds[0]], "planes.spatial")
        numbers = self.node("Slice", ["planes", *bounds[1]], "planes.numbers")
        planes, numbers = (self.node("Cast", [part], f"{part}.float", to=FLOAT) for part in (planes, numbers))
        scale, offset = number_scale()
        matrix = _filled(self.net.matrix, axis=0)
        matrix[_KOMI] /= _KOMI_UNIT
        tokens, self.tokens = self.tokens, False
        self.numbers = self.conv(numbers, scale[:, :, None, None], "numbers.all", offset)
        x = self.conv(planes, _filled(self.net.conv, axis=1), "entry.planes")
        y = self.conv(self.numbers, matrix.T[:, :, None, None], "entry.numbers")
        x, self.tokens = self.node("Add", [x, y], "entry"), tokens
        return self.to_tokens(x, "entry.tokens") if tokens else x

    def policy(self, x: str) -> None:
        """[B, N * N + 1] logits, the pass last; the first of the file's outputs is the policy without optimism."""
        head = self.net.policy
        pooled = self.folded(x, head.pooled, head.pooled_norm, "policy.pooled")
        pooled = self.pool(self.activate(pooled, head.pooled_activation), "", "policy.pool")
        bias = self.spread(self.matrix(pooled, head.matrix * head.norm.scale, "policy.bias"), "policy.bias.spread")
        y = self.node("Add", [self.folded(x, head.points, head.norm, "policy.wide"), bias], "policy.biased")
        points = self.conv(self.activate(y, head.activation), head.out[:1], "policy.out")
        points = self.node("Flatten", [points], "policy.points", axis=1)
        if len(head.passing) == 1:
            passing = self.matrix(pooled, head.passing[0][:, :1], "policy.pass")
        else:
            first, first_bias, activation, second = head.passing
            hidden = self.activate(self.matrix(pooled, first, "policy.pass.hidden", first_bias), activation)
            passing = self.matrix(hidden, second[:, :1], "policy.pass")
        self.node("Concat", [points, passing], "policy", axis=1)

    def value(self, x: str) -> None:
        """Outcome, ownership and score."""
        head = self.net.value
        y = self.activate(self.folded(x, head.conv, head.norm, "value.features"), head.activation)
        hidden = self.matrix(self.pool(y, "board.width2", "value.pool"), head.matrix, "value.hidden", head.bias)
        hidden = self.activate(hidden, head.hidden_activation)
        owner = self.node("Tanh", [self.conv(y, head.ownership, "ownership.logits")], "ownership.owner")
        if self.tokens:
            owner = self.to_image(owner, "ownership.image")
        self.node("Squeeze", [owner, self.graph.shape(1)], "ownership")

        order = [0, 2, 1]  # the file has the loss before no result
        logits = self.matrix(hidden, head.outcome[:, order], "wdl.logits", head.outcome_bias[order])
        numbers = self.node("GlobalMaxPool", [self.numbers], "numbers.point")
        numbers = self.node("Flatten", [numbers], "numbers", axis=1)
        # no result is possible with simple ko or territory alone
        weights = np.zeros((GLOBALS + 1, 3), np.float32)
        weights[_SUPERKO, 1], weights[_TERRITORY, 1] = 1, -1
        barred = self.node("Relu", [self.matrix(numbers, weights, "wdl.barred.sum")], "wdl.barred")
        never = self.node("Mul", [barred, self.graph.number(_NEVER)], "wdl.penalty")
        wdl = self.node("Add", [logits, never], "wdl")

        shares = self.node("Softmax", [wdl], "score.shares", axis=1)
        counted = self.matrix(shares, np.array([[1], [0], [1]], np.float32), "score.counted")  # 1 - no result
        scale = np.float32(self.net.scales.lead)
        lead = self.matrix(hidden, head.score[:, 2:3] * scale, "score.lead", head.score_bias[2:3] * scale)
        lead = self.node("Mul", [lead, counted], "score.expected")
        half = np.zeros((GLOBALS + 1, 1), np.float32)
        half[_KOMI] = 0.5
        self.node("Sub", [lead, self.matrix(numbers, half, "score.komi")], "score")
        self.doubts(hidden, counted)

    def doubts(self, hidden: str, counted: str) -> None:
        """Score and its standard deviation; from version 9 on the time left, errors of outcome and score."""
        head, scales, version = self.net.value, self.net.scales, self.net.version

        def number(column: int, name: str, scale: float = 1.0) -> str:
            part = slice(column, column + 1)
            weights, bias = head.score[:, part] * np.float32(scale), head.score_bias[part] * np.float32(scale)
            return self.matrix(hidden, weights, f"doubts.{name}", bias)

        def positive(column: int, name: str, factor: float, *, inner: float = 1.0, root: bool = False) -> str:
            x = self.node("Softplus", [number(column, name, inner)], f"doubts.{name}.positive")
            x = self.node("Mul", [x, self.graph.number(factor)], f"doubts.{name}.scaled")
            return self.node("Sqrt", [x], f"doubts.{name}.root") if root else x

        def error(column: int, name: str, square: float, plain: float) -> str:
            if version >= 14:
                return positive(column, name, math.sqrt(square), inner=0.5)
            return positive(column, name, square if version >= 10 else plain, root=version >= 10)

        mean, spread = number(0, "score", scales.mean), positive(1, "spread", scales.stdev)
        expected = self.node("Mul", [mean, counted], "doubts.mean")
        squares = [self.node("Mul", [x, x], f"{x}.square") for x in (mean, spread, expected)]
        both = self.node("Mul", [self.node("Add", squares[:2], "doubts.squares"), counted], "doubts.squares.counted")
        variance = self.node("Relu", [self.node("Sub", [both, squares[2]], "doubts.difference")], "doubts.variance")
        outputs = [expected, self.node("Sqrt", [variance], "doubts.stdev")]
        if version >= 9:
            outputs.append(positive(3, "time", scales.time))
            outputs += [error(4, "outcome", scales.outcome_error, 1.0), error(5, "points", scales.score_error, 10.0)]
        self.node("Concat", outputs, "doubts", axis=1)
