"""KataGo's networks in torch, slowly and from the description of the format alone: no code of ours is used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .katago_files import Layers

ACTIVATIONS = {"RELU": torch.relu, "MISH": functional.mish, "SILU": functional.silu}


def t(values: Any) -> Tensor:
    return torch.from_numpy(np.asarray(values)).double()


class SlowNet:
    """One net on one size of board; planes [B, 22, N, N] and numbers [B, 19] are doubles."""

    def __init__(self, net: Layers) -> None:
        self.net = net
        self.act = ACTIVATIONS[net["activation"]]

    def norm(self, x: Tensor, layers: Layers) -> Tensor:
        scale, bias = (t(layers[name]) if name in layers else None for name in ("scale", "bias"))
        return functional.batch_norm(x, t(layers["mean"]), t(layers["var"]), scale, bias, eps=1e-3)

    def conv(self, x: Tensor, weights: Any) -> Tensor:
        return functional.conv2d(x, t(weights).permute(3, 2, 0, 1), padding=weights.shape[0] // 2)

    def pool(self, x: Tensor, *, value: bool = False) -> Tensor:
        mean, size = x.mean(dim=(2, 3)), math.sqrt(x.shape[2] * x.shape[3])  # as KataGo counts it
        third = mean * ((size - 14) ** 2 * 0.01 - 0.1) if value else x.amax(dim=(2, 3))
        return torch.cat([mean, mean * (size - 14) * 0.1, third], dim=1)

    def block(self, x: Tensor, kind: str, layers: Layers) -> Tensor:
        if kind == "transformer_ffn_block":
            y = rms(x, layers["norm"]).flatten(2).transpose(1, 2)
            y = (functional.silu(y @ t(layers["hidden"])) * (y @ t(layers["gate"]))) @ t(layers["out"])
            return x + y.transpose(1, 2).reshape(x.shape)
        if kind == "transformer_attention_block":
            return x + attention(rms(x, layers["norm"]), layers)
        y = self.act(self.norm(x, layers["norm1"]))
        if kind == "gpool_block":
            pooled = self.act(self.norm(self.conv(y, layers["pooled"]), layers["norm_pooled"]))
            y = self.conv(y, layers["regular"]) + (self.pool(pooled) @ t(layers["matrix"]))[:, :, None, None]
        else:
            y = self.conv(y, layers["conv1"])
        for inner in layers.get("inner", []):
            y = self.block(y, *inner)
        return x + self.conv(self.act(self.norm(y, layers["norm2"])), layers["conv2"])

    def __call__(self, planes: Tensor, numbers: Tensor) -> dict[str, Tensor]:
        """policy [B, N * N + 1], win, loss and no result as logits [B, 3], lead [B], ownership [B, N, N]."""
        net = self.net
        x = self.conv(planes, net["conv"]) + (numbers @ t(net["matrix"]))[:, :, None, None]
        for block in net["blocks"]:
            x = self.block(x, *block)
        tip = net["tip"]
        if "spatial" in tip:
            square = (x**2).mean(dim=(1, 2, 3) if tip["spatial"] else 1, keepdim=True)
            scale, bias = (t(tip[name])[:, None, None] for name in ("scale", "bias"))
            x = self.act(x / torch.sqrt(square + 1e-6) * scale + bias)
        else:
            x = self.act(self.norm(x, tip))
        return {**self.policy(x), **self.value(x)}

    def policy(self, x: Tensor) -> dict[str, Tensor]:
        head = self.net["policy"]
        pooled = self.pool(self.act(self.norm(self.conv(x, head["pooled"]), head["norm_pooled"])))
        y = self.conv(x, head["points"]) + (pooled @ t(head["matrix"]))[:, :, None, None]
        points = self.conv(self.act(self.norm(y, head["norm"])), head["out"])
        passing = pooled @ t(head["pass"][0])
        if len(head["pass"]) > 1:
            passing = self.act(passing + t(head["pass"][1])) @ t(head["pass"][2])
        return {"policy": torch.cat([points[:, 0].flatten(1), passing[:, :1]], dim=1)}

    def value(self, x: Tensor) -> dict[str, Tensor]:
        head = self.net["value"]
        y = self.act(self.norm(self.conv(x, head["conv"]), head["norm"]))
        hidden = self.act(self.pool(y, value=True) @ t(head["matrix"]) + t(head["bias"]))
        outcome = hidden @ t(head["outcome"]) + t(head["outcome_bias"])
        score = hidden @ t(head["score"]) + t(head["score_bias"])
        owner = torch.tanh(self.conv(y, head["ownership"]))[:, 0]
        return {"outcome": outcome, "lead": score[:, 2] * self.net["lead"], "ownership": owner}


def rms(x: Tensor, scale: Any) -> Tensor:
    return x / torch.sqrt((x**2).mean(dim=1, keepdim=True) + 1e-6) * t(scale)[:, None, None]


def attention(x: Tensor, layers: Layers) -> Tensor:
    """One query head after another."""
    heads, keys, size = layers["heads"], layers["keys"], x.shape[-1]
    tokens = x.flatten(2).transpose(1, 2)
    q, k, v = (tokens @ t(layers[name]) for name in ("q", "k", "v"))
    width = q.shape[-1] // heads
    mixed = []
    for head in range(heads):
        key = head * keys // heads
        own = slice(head * width, (head + 1) * width)
        a, b = (rotate(y, layers["rope"], key, size) for y in (q[..., own], k.chunk(keys, dim=-1)[key]))
        shares = torch.softmax(a @ b.transpose(1, 2) / math.sqrt(width), dim=-1)
        mixed.append(shares @ v.chunk(keys, dim=-1)[key])
    return (torch.cat(mixed, dim=-1) @ t(layers["out"])).transpose(1, 2).reshape(x.shape)


def rotate(x: Tensor, rope: Any, key: int, size: int) -> Tensor:
    """Channel pairs (2p, 2p + 1) turned by column * f0 + row * f1."""
    if rope is None:
        return x
    pairs = x.shape[-1] // 2
    y = x.clone()
    for p in range(pairs):
        if isinstance(rope, float):
            low = p < pairs // 2
            f = rope ** (-2 * (p if low else p - pairs // 2) / pairs)
            f0, f1 = (0.0, f) if low else (f, 0.0)
        else:
            f0, f1 = map(float, rope[key, p])
        for i in range(x.shape[1]):
            angle = (i % size) * f0 + (i // size) * f1
            a, b = x[:, i, 2 * p], x[:, i, 2 * p + 1]
            y[:, i, 2 * p] = a * math.cos(angle) - b * math.sin(angle)
            y[:, i, 2 * p + 1] = a * math.sin(angle) + b * math.cos(angle)
    return y
