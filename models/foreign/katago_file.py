"""KataGo's net files, .bin.gz and .txt.gz, read into arrays.

Unpacked, a file is a list of words separated by white space: names, sizes, and arrays, which are words, too, or the
mark @BIN@ followed by raw float32. Each layer is its name, its sizes and its arrays. Files are not trusted:
every size is bounded before anything is made of it, and nothing may be left over.

What the layers are is in :mod:`katago_layers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ...engine.errors import NetError
from .katago_layers import (
    IDENTITY,
    MISH,
    RELU,
    SILU,
    Array,
    Attention,
    Block,
    FeedForward,
    KatagoNet,
    Nested,
    Norm,
    NormConv,
    Ordinary,
    PolicyHead,
    Pooled,
    RootMeanSquare,
    Scales,
    ValueHead,
)

VERSIONS = range(8, 18)
SPATIAL, GLOBALS = 22, 19  # the planes and numbers of "inputs V7", which these versions take

_MOST_CHANNELS, _MOST_KERNEL, _MOST_BLOCKS, _MOST_WORD = 4096, 9, 500, 200
_TEXT_NUMBER = 40  # the longest number as text, and the space behind it
_BINARY = b"@BIN@"
_WORD = re.compile(rb"\s*(\S{1,%d})(?=\s)" % _MOST_WORD)
_SPACE = re.compile(rb"\s*")
_HEAD = re.compile(rb"\s*\S{1,%d}\s+[0-9]{1,4}\s+[0-9]{1,4}\s+[0-9]{1,4}\s" % _MOST_WORD)
_ACTIVATIONS = {
    "ACTIVATION_IDENTITY": IDENTITY,
    "ACTIVATION_RELU": RELU,
    "ACTIVATION_MISH": MISH,
    "ACTIVATION_SILU": SILU,
}


def begins_a_net(content: bytes) -> bool:
    """Whether a file begins as KataGo's do: with a name, a version and the sizes of the inputs."""
    return _HEAD.match(content) is not None


def read_katago(content: bytes) -> KatagoNet:
    """The net in an unpacked file. Errors: NetError, one sentence."""
    return _Reader(content).net()


class _Reader:
    """Takes one layer after another from the words of a file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._version = 0
        self._blocks = 0

    # ------------------------------------------------------------------ words and arrays

    def word(self) -> str:
        match = _WORD.match(self._content, self._at)
        if match is None:
            raise NetError("the KataGo net ends too early or is damaged; fetch the file again")
        self._at = match.end()
        return match[1].decode("utf-8", "replace")

    def integer(self, what: str, least: int, most: int) -> int:
        """The next word, a whole number from ``least`` to ``most``."""
        word = self.word()
        if not re.fullmatch(r"-?[0-9]{1,9}", word, re.ASCII) or not least <= int(word) <= most:
            raise NetError(f"the KataGo net gives {word[:30]!r} as {what}, which must be from {least} to {most}")
        return int(word)

    def real(self, what: str) -> float:
        """The next word, a finite number."""
        word = self.word()
        try:
            value = float(word)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise NetError(f"the KataGo net gives {word[:30]!r} as {what}, which must be a number")
        return value

    def size(self, what: str) -> int:
        return self.integer(what, 1, _MOST_CHANNELS)

    def zeros(self, count: int) -> None:
        """Numbers that later versions may give a meaning; now they are 0."""
        for _ in range(count):
            if self.word() != "0":
                raise NetError("the KataGo net uses a feature that is not known here; update az-engine to use it")

    def array(self, name: str, *shape: int) -> Array:
        """float32 numbers of that shape."""
        count = int(np.prod(shape, dtype=np.int64))
        space = _SPACE.match(self._content, self._at)
        assert space is not None  # it matches anything
        at = space.end()
        if self._content.startswith(_BINARY, at):
            at += len(_BINARY)
            self._at = at + 4 * count
            if self._at > len(self._content):
                raise NetError(f"the KataGo net ends within {name!r}; fetch the file again")
            values = np.frombuffer(self._content, "<f4", count, at).astype(np.float32)
        else:
            values = self._text_array(name, count, at)
        if not np.isfinite(values).all():
            raise NetError(f"the KataGo net has NaN or infinity in {name!r}; it is damaged")
        return values.reshape(shape)

    def _text_array(self, name: str, count: int, at: int) -> Array:
        end = min(at + _TEXT_NUMBER * count, len(self._content))
        words = self._content[at:end].split(None, count) if 2 * count <= end - at + 1 else []
        if len(words) < count or (len(words) == count and end < len(self._content)):
            raise NetError(f"the KataGo net ends within {name!r} or is damaged there; fetch the file again")
        self._at = end - len(words[count]) if len(words) > count else end
        try:
            return np.array([float(word) for word in words[:count]], np.float32)
        except ValueError:
            raise NetError(f"the KataGo net has something that is no number in {name!r}; it is damaged") from None

    # ------------------------------------------------------------------ layers

    def conv(self, inputs: int | None = None, outputs: int | None = None) -> Array:
        """A convolution [out, in, height, width]; sizes other than those expected are refused."""
        name = self.word()
        height, width = (self.integer(f"the kernel of {name!r}", 1, _MOST_KERNEL) for _ in range(2))
        shape = self.size(f"the inputs of {name!r}"), self.size(f"the outputs of {name!r}")
        if height % 2 == 0 or width % 2 == 0:
            raise NetError(f"the KataGo net has a kernel of even size in {name!r}, which none has")
        if [self.integer(f"the dilation of {name!r}", 1, 99) for _ in range(2)] != [1, 1]:
            raise NetError(f"the KataGo net has a dilated convolution, {name!r}, which is not supported")
        self._expect(name, shape, (inputs, outputs))
        return np.ascontiguousarray(self.array(name, height, width, *shape).transpose(3, 2, 0, 1))

    def matrix(self, inputs: int | None = None, outputs: int | None = None) -> Array:
        """A fully connected layer [in, out] without bias."""
        name = self.word()
        shape = self.size(f"the inputs of {name!r}"), self.size(f"the outputs of {name!r}")
        self._expect(name, shape, (inputs, outputs))
        return self.array(name, *shape)

    def bias(self, count: int) -> Array:
        name = self.word()
        self._expect(name, (self.size(f"the size of {name!r}"),), (count,))
        return self.array(name, count)

    @staticmethod
    def _expect(name: str, shape: tuple[int, ...], requested: tuple[int | None, ...]) -> None:
        if any(n is not None and n != got for got, n in zip(shape, requested, strict=True)):
            raise NetError(f"the KataGo net's layer {name!r} has sizes {shape} that do not fit the layer before")

    def norm(self, channels: int) -> Norm:
        name = self.word()
        self._expect(name, (self.size(f"the size of {name!r}"),), (channels,))
        epsilon = self.real(f"epsilon of {name!r}")
        has_scale, has_bias = (self.integer(f"a flag of {name!r}", 0, 1) for _ in range(2))
        mean, variance = (self.array(name, channels).astype(np.float64) for _ in range(2))
        gamma = self.array(name, channels) if has_scale else 1.0
        beta = self.array(name, channels) if has_bias else 0.0
        if not (variance + epsilon > 0).all():
            raise NetError(f"the KataGo net has a variance below zero in {name!r}; it is damaged")
        scale = gamma / np.sqrt(variance + epsilon)
        return Norm(scale.astype(np.float32), (beta - mean * scale).astype(np.float32))

    def activation(self) -> str:
        name = self.word()
        if self._version < 11:
            return RELU
        kind = self.word()
        if kind not in _ACTIVATIONS:
            raise NetError(f"the KataGo net has the activation {kind[:40]!r} in {name!r}, which is not known here")
        return _ACTIVATIONS[kind]

    def norm_conv(self, channels: int, outputs: int | None) -> NormConv:
        """A normalisation, an activation and a convolution."""
        return NormConv(self.norm(channels), self.activation(), self.conv(channels, outputs))

    def positive(self, name: str) -> float:
        value = self.real(f"epsilon of {name!r}")
        if not 0 < value < 1:
            raise NetError(f"the KataGo net gives {value} as epsilon of {name!r}, which must be between 0 and 1")
        return value

    # ------------------------------------------------------------------ blocks

    def block(self, channels: int, depth: int = 0) -> Block:
        """One residual block of the trunk."""
        kind, _name = self.word(), self.word()
        readers: dict[str, Callable[[int], Block]] = {
            "ordinary_block": self._ordinary,
            "gpool_block": self._pooled,
            "transformer_attention_block": self._attention,
            "transformer_ffn_block": self._feed_forward,
        }
        self._blocks += 1
        if self._blocks > _MOST_BLOCKS:
            raise NetError(f"the KataGo net has more than {_MOST_BLOCKS} blocks; none has")
        if kind == "nested_bottleneck_block" and depth < 2:
            return self._nested(channels, depth)
        if kind not in readers:
            raise NetError(f"the KataGo net has a block of the kind {kind[:40]!r}, which is not known here")
        return readers[kind](channels)

    def _ordinary(self, channels: int) -> Ordinary:
        first = self.norm_conv(channels, None)
        return Ordinary(first, self.norm_conv(first.conv.shape[0], channels))

    def _pooled(self, channels: int) -> Pooled:
        norm, activation = self.norm(channels), self.activation()
        regular, pooled = self.conv(channels), self.conv(channels)
        wide, narrow = regular.shape[0], pooled.shape[0]
        pooled_norm, pooled_activation = self.norm(narrow), self.activation()
        matrix = self.matrix(3 * narrow, wide)
        last = self.norm_conv(wide, channels)
        return Pooled(norm, activation, regular, pooled, pooled_norm, pooled_activation, matrix, last)

    def _nested(self, channels: int, depth: int) -> Nested:
        count = self.integer("the number of inner blocks", 1, _MOST_BLOCKS)
        first = self.norm_conv(channels, None)
        middle = first.conv.shape[0]
        blocks = tuple(self.block(middle, depth + 1) for _ in range(count))
        return Nested(first, blocks, self.norm_conv(middle, channels))

    def _root_mean_square(self, channels: int) -> RootMeanSquare:
        name = self.word()
        self._expect(name, (self.size(f"the size of {name!r}"),), (channels,))
        return RootMeanSquare(self.positive(name), self.array(name, channels), None, spatial=False)

    def _attention(self, channels: int) -> Attention:
        heads, key_heads = self.integer("heads", 1, 256), self.integer("key heads", 1, 256)
        query_width, value_width = (
            self.integer("the query's width", 1, 1024),
            self.integer("the value's width", 1, 1024),
        )
        rotated, learnt = self.integer("rope", 0, 1), self.integer("learnable rope", 0, 1)
        if heads % key_heads or query_width % 2:
            raise NetError(f"the KataGo net has {heads} heads of width {query_width} for {key_heads} keys: unsupported")
        norm = self._root_mean_square(channels)
        query = self.matrix(channels, heads * query_width)
        key = self.matrix(channels, key_heads * query_width)
        value = self.matrix(channels, key_heads * value_width)
        out = self.matrix(heads * value_width, channels)
        frequencies = self._rope(key_heads, query_width // 2, learnt) if rotated else None
        return Attention(norm, heads, key_heads, query, key, value, out, frequencies)

    def _rope(self, key_heads: int, pairs: int, learnt: int) -> Array:
        name = self.word()
        if learnt:
            shape = tuple(self.integer(f"a size of {name!r}", 1, 1024) for _ in range(3))
            self._expect(name, shape, (key_heads, pairs, 2))
            return self.array(name, *shape)
        theta = self.real(f"theta of {name!r}")
        if not 1 <= theta <= 1e9 or pairs % 2:
            raise NetError(f"the KataGo net gives {theta} as theta of {name!r}, which is not supported")
        falling = theta ** (-2.0 * np.arange(pairs // 2) / pairs)
        frequencies = np.zeros((1, pairs, 2), np.float32)
        frequencies[0, : pairs // 2, 1] = falling  # rows
        frequencies[0, pairs // 2 :, 0] = falling  # columns
        return frequencies

    def _feed_forward(self, channels: int) -> FeedForward:
        ours, hidden = self.size("the width"), self.integer("the hidden width", 1, 4 * _MOST_CHANNELS)
        self._expect("transformer_ffn_block", (ours,), (channels,))
        if self.integer("the gate", 0, 1) != 1:
            raise NetError("the KataGo net has a feed-forward block without a gate, which is not supported")
        norm = self._root_mean_square(channels)
        first, gate = self.matrix(channels, hidden), self.matrix(channels, hidden)
        return FeedForward(norm, first, gate, self.matrix(hidden, channels))

    # ------------------------------------------------------------------ the whole

    def net(self) -> KatagoNet:
        name = self.word()
        version = self.word()
        if not re.fullmatch(r"[0-9]{1,4}", version, re.ASCII) or not name.isprintable():
            raise NetError("this is not a KataGo net (.bin.gz or .txt.gz): it does not begin with a name and a version")
        if int(version) not in VERSIONS:
            raise NetError(
                f"this KataGo net is of version {version}; versions {VERSIONS[0]} to {VERSIONS[-1]} are supported"
            )
        self._version = int(version)
        if (self.word(), self.word()) != (str(SPATIAL), str(GLOBALS)):
            raise NetError(f"this KataGo net does not take {SPATIAL} planes and {GLOBALS} numbers; it is damaged")
        scales = Scales()
        if self._version >= 13:
            self.real("a multiplier")  # of an output that is none of play's
            scales = Scales(*(self.real("a multiplier") for _ in scales))
        suicidal = self._extras() if self._version >= 15 else False
        conv, matrix, blocks, tip, tip_activation = self._trunk()
        channels = conv.shape[0]
        policy, value = self._policy(channels), self._value(channels)
        if self._content[self._at :].strip():
            raise NetError("the KataGo net goes on behind its end; it is damaged or of a kind not known here")
        return KatagoNet(
            name, self._version, suicidal, scales, conv, matrix, blocks, tip, tip_activation, policy, value
        )

    def _extras(self) -> bool:
        if self.integer("the kind of player encoder", 0, 99) > 0:
            raise NetError("this KataGo net imitates players of a given rank (human SL), which is not supported")
        suicidal = self.integer("a flag", 0, 1) == 1
        self.zeros(6)
        return suicidal

    def _trunk(self) -> tuple[Array, Array, tuple[Block, ...], Norm | RootMeanSquare, str]:
        self.word()
        count, channels = self.integer("the number of blocks", 1, _MOST_BLOCKS), self.size("the trunk's width")
        for _ in range(4):  # widths that the layers state again
            self.integer("a width", 0, _MOST_CHANNELS)
        kind = self.integer("the kind of the trunk's last normalisation", 0, 1) if self._version >= 15 else 0
        self.zeros(5 if self._version >= 15 else 0)
        conv, matrix = self.conv(SPATIAL, channels), self.matrix(GLOBALS, channels)
        blocks = tuple(self.block(channels) for _ in range(count))
        tip = self._tip(channels) if kind else self.norm(channels)
        return conv, matrix, blocks, tip, self.activation()

    def _tip(self, channels: int) -> RootMeanSquare:
        name = self.word()
        self._expect(name, (self.size(f"the size of {name!r}"),), (channels,))
        epsilon = self.positive(name)
        spatial = self.integer(f"a flag of {name!r}", 0, 1)
        if self.integer(f"the groups of {name!r}", 0, _MOST_CHANNELS) > 0:
            raise NetError(f"the KataGo net normalises groups of channels in {name!r}, which is not supported")
        return RootMeanSquare(epsilon, self.array(name, channels), self.array(name, channels), spatial == 1)

    def _policy(self, channels: int) -> PolicyHead:
        self.word()
        outputs = 1 if self._version < 12 else 2 if self._version < 16 else 4
        if self._version >= 17:
            outputs = self.integer("the policy's outputs", 1, 64)
            self.zeros(3)
        points = self.conv(channels)
        pooled = self.conv(channels)
        wide, narrow = points.shape[0], pooled.shape[0]
        pooled_norm, pooled_activation = self.norm(narrow), self.activation()
        matrix = self.matrix(3 * narrow, wide)
        norm, activation = self.norm(wide), self.activation()
        out = self.conv(wide, outputs)
        passing: tuple[Array] | tuple[Array, Array, str, Array]
        if self._version < 15:
            passing = (self.matrix(3 * narrow, outputs),)
        else:
            first = self.matrix(3 * narrow)
            hidden = first.shape[1]
            passing = (first, self.bias(hidden), self.activation(), self.matrix(hidden, outputs))
        return PolicyHead(points, pooled, pooled_norm, pooled_activation, matrix, norm, activation, out, passing)

    def _value(self, channels: int) -> ValueHead:
        self.word()
        if self._version >= 17:
            self.zeros(3)
        conv = self.conv(channels)
        width = conv.shape[0]
        norm, activation = self.norm(width), self.activation()
        matrix = self.matrix(3 * width)
        hidden = matrix.shape[1]
        bias, hidden_activation = self.bias(hidden), self.activation()
        outcome, outcome_bias = self.matrix(hidden, 3), self.bias(3)
        scores = 4 if self._version < 9 else 6
        score, score_bias = self.matrix(hidden, scores), self.bias(scores)
        return ValueHead(
            conv, norm, activation, matrix, bias, hidden_activation, outcome, outcome_bias, score, score_bias,
            self.conv(width, 1),
        )  # fmt: skip
