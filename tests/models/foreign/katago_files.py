"""Small random nets in KataGo's file format, written from the description of the format alone.

A net is a dictionary of layers: arrays as the file has them (convolutions [y, x, in, out], matrices [in, out]),
normalisations as dictionaries, blocks as (kind, dictionary).
"""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

Layers = dict[str, Any]
KINDS = ("ordinary_block", "gpool_block", "nested_bottleneck_block", "transformer_attention_block")
WIDE, NARROW, HIDDEN, CHANNELS = 8, 4, 6, 8


class Random:
    """Draws layers."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.attentions = 0

    def array(self, *shape: int) -> NDArray[np.float32]:
        fan_in = int(np.prod(shape[:-1])) if len(shape) > 1 else 4
        return np.asarray(self.rng.standard_normal(shape) / np.sqrt(fan_in), np.float32)

    def conv(self, size: int, inputs: int, outputs: int) -> NDArray[np.float32]:
        return self.array(size, size, inputs, outputs)

    def norm(self, channels: int) -> Layers:
        drawn: Layers = {"mean": self.array(channels), "var": self.rng.uniform(0.3, 2, channels).astype(np.float32)}
        for name in ("scale", "bias"):
            if self.rng.random() < 0.7:
                drawn[name] = 1 + self.array(channels)
        return drawn

    def block(self, kind: str, width: int) -> tuple[str, Layers]:
        layers: Layers = {}
        if kind == "ordinary_block":
            layers = {"norm1": self.norm(width), "conv1": self.conv(3, width, WIDE), "norm2": self.norm(WIDE)}
            layers["conv2"] = self.conv(3, WIDE, width)
        elif kind == "gpool_block":
            layers = {"norm1": self.norm(width), "regular": self.conv(3, width, WIDE)}
            layers |= {"pooled": self.conv(3, width, NARROW), "norm_pooled": self.norm(NARROW)}
            layers |= {"matrix": self.array(3 * NARROW, WIDE), "norm2": self.norm(WIDE)}
            layers["conv2"] = self.conv(3, WIDE, width)
        elif kind == "nested_bottleneck_block":
            inner = [self.block(each, NARROW) for each in KINDS[:2]]
            layers = {"norm1": self.norm(width), "conv1": self.conv(1, width, NARROW), "inner": inner}
            layers |= {"norm2": self.norm(NARROW), "conv2": self.conv(1, NARROW, width)}
        elif kind == "transformer_ffn_block":
            layers = {"norm": 1 + self.array(width), "hidden": self.array(width, HIDDEN)}
            layers |= {"gate": self.array(width, HIDDEN), "out": self.array(HIDDEN, width)}
        else:
            heads, keys, wide, values = 4, 2, 4, 3
            layers = {"heads": heads, "keys": keys, "norm": 1 + self.array(width)}
            layers |= {"q": self.array(width, heads * wide), "k": self.array(width, keys * wide)}
            layers |= {"v": self.array(width, keys * values), "out": self.array(heads * values, width)}
            layers["rope"] = (100.0, self.array(keys, wide // 2, 2), None)[self.attentions % 3]
            self.attentions += 1
        return kind, layers


def random_net(seed: int, version: int, kinds: tuple[str, ...], tip: str = "bn") -> Layers:
    """A net of that version with those blocks; tip: the last normalisation, "bn", "rms" or "rms over points"."""
    r = Random(seed)
    outputs = 1 if version < 12 else 2 if version < 16 else 4 if version < 17 else 3
    rms = {"scale": 1 + r.array(CHANNELS), "bias": r.array(CHANNELS), "spatial": tip == "rms over points"}
    policy = {"points": r.conv(1, CHANNELS, WIDE), "pooled": r.conv(1, CHANNELS, NARROW), "outputs": outputs}
    policy |= {"norm_pooled": r.norm(NARROW), "matrix": r.array(3 * NARROW, WIDE), "norm": r.norm(WIDE)}
    policy |= {"out": r.conv(1, WIDE, outputs)}
    if version < 15:
        policy["pass"] = [r.array(3 * NARROW, outputs)]
    else:
        policy["pass"] = [r.array(3 * NARROW, HIDDEN), r.array(HIDDEN), r.array(HIDDEN, outputs)]
    scores = 4 if version < 9 else 6
    value = {"conv": r.conv(1, CHANNELS, NARROW), "norm": r.norm(NARROW), "matrix": r.array(3 * NARROW, HIDDEN)}
    value |= {"bias": r.array(HIDDEN), "outcome": r.array(HIDDEN, 3), "outcome_bias": r.array(3)}
    value |= {"score": r.array(HIDDEN, scores), "score_bias": r.array(scores), "ownership": r.conv(1, NARROW, 1)}
    return {
        "version": version,
        "activation": ("RELU", "MISH", "SILU")[seed % 3] if version >= 11 else "RELU",
        "suicidal": 0,
        "encoder": 0,
        "lead": 15.0 if version >= 13 else 20.0,
        "conv": r.conv(5, 22, CHANNELS),
        "matrix": r.array(19, CHANNELS),
        "blocks": [r.block(kind, CHANNELS) for kind in kinds],
        "tip": r.norm(CHANNELS) if tip == "bn" else rms,
        "policy": policy,
        "value": value,
    }


class Writer:
    """Writes the words of one net."""

    def __init__(self, net: Layers, *, text: bool) -> None:
        self.net, self.text, self.parts = net, text, list[bytes]()
        self.names = 0

    def words(self, *words: object) -> None:
        self.parts.append(("\n".join(map(str, words)) + "\n").encode())

    def name(self) -> str:
        self.names += 1
        return f"layer{self.names}"

    def array(self, values: NDArray[np.float32]) -> None:
        if self.text:
            self.words(" ".join(f"{v:.9g}" for v in values.ravel()))
        else:
            self.parts.append(b"@BIN@" + values.astype("<f4").tobytes() + b"\n")

    def conv(self, values: NDArray[np.float32]) -> None:
        self.words(self.name(), *values.shape, 1, 1)
        self.array(values)

    def matrix(self, values: NDArray[np.float32]) -> None:
        self.words(self.name(), *values.shape)
        self.array(values)

    def bias(self, values: NDArray[np.float32]) -> None:
        self.words(self.name(), len(values))
        self.array(values)

    def norm(self, layers: Layers) -> None:
        self.words(self.name(), len(layers["mean"]), 1e-3, int("scale" in layers), int("bias" in layers))
        for name in ("mean", "var", "scale", "bias"):
            if name in layers:
                self.array(layers[name])

    def activation(self) -> None:
        self.words(self.name())
        if self.net["version"] >= 11:
            self.words(f"ACTIVATION_{self.net['activation']}")

    def block(self, kind: str, layers: Layers) -> None:
        self.words(kind, self.name())
        if kind.startswith("transformer"):
            self.transformer(kind, layers)
            return
        if "inner" in layers:
            self.words(len(layers["inner"]))
        self.norm(layers["norm1"])
        self.activation()
        self.conv(layers["regular"] if kind == "gpool_block" else layers["conv1"])
        if kind == "gpool_block":
            self.conv(layers["pooled"])
            self.norm(layers["norm_pooled"])
            self.activation()
            self.matrix(layers["matrix"])
        for inner in layers.get("inner", []):
            self.block(*inner)
        self.norm(layers["norm2"])
        self.activation()
        self.conv(layers["conv2"])

    def transformer(self, kind: str, layers: Layers) -> None:
        width = len(layers["norm"])
        if kind == "transformer_ffn_block":
            self.words(width, layers["hidden"].shape[1], 1)
        else:
            heads, keys, rope = layers["heads"], layers["keys"], layers["rope"]
            sizes = layers["q"].shape[1] // heads, layers["v"].shape[1] // keys
            self.words(heads, keys, *sizes, int(rope is not None), int(isinstance(rope, np.ndarray)))
        self.words(self.name(), width, 1e-6)
        self.array(layers["norm"])
        for name in ("hidden", "gate") if kind == "transformer_ffn_block" else ("q", "k", "v"):
            self.matrix(layers[name])
        self.matrix(layers["out"])
        rope = layers.get("rope")
        if isinstance(rope, np.ndarray):
            self.words(self.name(), *rope.shape)
            self.array(rope)
        elif rope is not None:
            self.words(self.name(), rope)

    def write(self) -> bytes:
        net, version = self.net, self.net["version"]
        self.words("random", version, 22, 19)
        if version >= 13:
            self.words(20.0, 20.0, 20.0, net["lead"], 40.0, 0.25, 30.0)
        if version >= 15:
            self.words(net["encoder"], net["suicidal"], *[0] * 6)
        self.words("trunk", len(net["blocks"]), CHANNELS, WIDE, WIDE, NARROW, NARROW)
        if version >= 15:
            self.words(int("spatial" in net["tip"]), *[0] * 5)
        self.conv(net["conv"])
        self.matrix(net["matrix"])
        for block in net["blocks"]:
            self.block(*block)
        if "spatial" in net["tip"]:
            self.words(self.name(), CHANNELS, 1e-6, int(net["tip"]["spatial"]), 0)
            self.array(net["tip"]["scale"])
            self.array(net["tip"]["bias"])
        else:
            self.norm(net["tip"])
        self.activation()
        self.heads(version)
        return b"".join(self.parts)

    def heads(self, version: int) -> None:
        policy, value = self.net["policy"], self.net["value"]
        self.words("policy")
        if version >= 17:
            self.words(policy["outputs"], 0, 0, 0)
        self.conv(policy["points"])
        self.conv(policy["pooled"])
        self.norm(policy["norm_pooled"])
        self.activation()
        self.matrix(policy["matrix"])
        self.norm(policy["norm"])
        self.activation()
        self.conv(policy["out"])
        self.matrix(policy["pass"][0])
        if version >= 15:
            self.bias(policy["pass"][1])
            self.activation()
            self.matrix(policy["pass"][2])
        self.words("value")
        if version >= 17:
            self.words(0, 0, 0)
        self.conv(value["conv"])
        self.norm(value["norm"])
        self.activation()
        self.matrix(value["matrix"])
        self.bias(value["bias"])
        self.activation()
        for name in ("outcome", "score"):
            self.matrix(value[name])
            self.bias(value[f"{name}_bias"])
        self.conv(value["ownership"])


def to_bytes(net: Layers, *, text: bool = False, packed: bool = True) -> bytes:
    """The file."""
    content = Writer(net, text=text).write()
    return gzip.compress(content, mtime=0) if packed else content
