"""Lc0's networks in torch, slowly and from the description of the format alone: no code of ours is used.

Each takes the weights as tests write them (see lc0_files), by field number, and planes u1[B, 112, 8, 8].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

Activation = Callable[[Tensor], Tensor]
Parts = dict[int, Any]
ACTIVATIONS: dict[int, Activation] = {
    1: functional.mish, 2: torch.relu, 3: lambda x: x, 4: torch.tanh, 5: torch.sigmoid, 6: functional.selu,
    7: functional.silu, 8: lambda x: torch.relu(x) ** 2,
}  # fmt: skip


def t(values: Any) -> Tensor:
    return torch.from_numpy(np.asarray(values)).double()


def conv(x: Tensor, part: Parts) -> Tensor:
    weights = t(part[1])
    y = functional.conv2d(x, weights, t(part[2]), padding=weights.shape[-1] // 2)
    if 3 in part:
        y = functional.batch_norm(y, t(part[3]), t(part[4]), t(part[5]), t(part[6]), eps=1e-5)
    return y


def dense(x: Tensor, parts: Parts, number: int) -> Tensor:
    y = x @ t(parts[number]).T
    return y + t(parts[number + 1]) if number + 1 in parts else y


def norm(x: Tensor, parts: Parts, number: int, epsilon: float) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], t(parts[number]), t(parts[number + 1]), epsilon)


def convolution_body(planes: Tensor, weights: Parts, act: Activation) -> Tensor:
    x = act(conv(planes, weights[1]))
    for block in weights[2]:
        y = conv(act(conv(x, block[1])), block[2])
        if 3 in block:
            se = {1: block[3][1], 2: block[3][2], 3: block[3][3], 4: block[3][4]}
            z = dense(act(dense(y.mean(dim=(2, 3)), se, 1)), se, 3)
            gate, shift = z.chunk(2, dim=1)
            y = y * torch.sigmoid(gate)[:, :, None, None] + shift[:, :, None, None]
        x = act(x + y)
    return x


def moves() -> list[tuple[int, int, str]]:
    found = []
    for source in range(64):
        for target in range(64):
            df, dr = abs(source % 8 - target % 8), abs(source // 8 - target // 8)
            if source != target and (df * dr == 0 or df == dr or {df, dr} == {1, 2}):
                found.append((source, target, ""))
    for file in range(8):
        found += [(48 + file, 56 + to, p) for to in (file - 1, file, file + 1) if 0 <= to < 8 for p in "qrb"]
    return found


def convolution_policy(x: Tensor, weights: Parts, act: Activation) -> Tensor:
    y = conv(act(conv(x, weights[11])), weights[3])
    steps = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
    jumps = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
    planes: dict[tuple[int, int, str], int] = {}
    for d, (df, dr) in enumerate(steps):
        planes |= {(df * k, dr * k, ""): 7 * d + k - 1 for k in range(1, 8)}
    planes |= {(df, dr, ""): 56 + i for i, (df, dr) in enumerate(jumps)}
    planes |= {(df, 1, p): 64 + 3 * (df + 1) + "rbq".index(p) for df in (-1, 0, 1) for p in "rbq"}
    columns = [y[:, planes[to % 8 - at % 8, to // 8 - at // 8, p], at // 8, at % 8] for at, to, p in moves()]
    return torch.stack(columns, dim=1)


def encoder(x: Tensor, part: Parts, heads: int, alpha: float, epsilon: float, ffn: Activation, extra: Any) -> Tensor:
    mha = part[1]
    q, k, v = (dense(x, mha, n).reshape(len(x), 64, heads, -1).transpose(1, 2) for n in (1, 3, 5))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    if 9 in mha:
        smolgen, (shared, act) = mha[9], extra
        y = (x @ t(smolgen[1]).T).flatten(1)
        y = norm(act(dense(y, smolgen, 2)), smolgen, 4, 1e-3)
        y = norm(act(dense(y, smolgen, 6)), smolgen, 8, 1e-3)
        scores = scores + (y.reshape(len(x), heads, -1) @ t(shared).T).reshape(len(x), heads, 64, 64)
    mixed = (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2)
    x = norm(x + alpha * dense(mixed, mha, 7), part, 2, epsilon)
    y = dense(ffn(dense(x, part[4], 1)), part[4], 3)
    return norm(x + alpha * y, part, 5, epsilon)


def attention_policy(x: Tensor, parts: Parts, embedding: int, numbers: dict[str, int], act: Activation) -> Tensor:
    """embedding: field of ip_pol; numbers: those of query, key and promotion."""
    p = act(dense(x, parts, embedding))
    q, k = dense(p, parts, numbers["query"]), dense(p, parts, numbers["key"])
    pairs = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    offsets = k[:, 56:] @ t(parts[numbers["promotion"]]).T
    columns = []
    for source, target, piece in moves():
        logit = pairs[:, source, target]
        if piece:
            logit = logit + offsets[:, target - 56, "qrb".index(piece)] + offsets[:, target - 56, 3]
        columns.append(logit)
    return torch.stack(columns, dim=1)


def attention_body(planes: Tensor, weights: Parts, layout: dict[str, int], act: Activation) -> Tensor:
    x = planes.flatten(2).transpose(1, 2)
    ffn = ACTIVATIONS.get(layout.get("ffn", 0), act)
    new = layout["embedding"] == 2
    epsilon = 1e-3 if new else 1e-6
    if new:
        men = x[:, :, :12].flatten(1)
        x = torch.cat([x, dense(men, weights, 37).reshape(len(x), 64, -1)], dim=2)
    else:
        table = -torch.eye(64, dtype=torch.float64)
        for source, target, piece in moves():
            if not piece:
                table[source, target] = 1
        x = torch.cat([x, table.expand(len(x), 64, 64)], dim=2)
    x = act(dense(x, weights, 25))
    if new:
        x = norm(x, weights, 39, 1e-3)
    if 33 in weights:
        x = x * t(weights[33]).T + t(weights[34]).T
    alpha = (2 * len(weights[27])) ** -0.25
    if new:
        y = dense(ffn(dense(x, weights[41], 1)), weights[41], 3)
        x = norm(x + alpha * y, weights, 42, 1e-3)
    extra = (weights.get(35), ACTIVATIONS.get(layout.get("smolgen", 0), act))
    for part in weights[27]:
        x = encoder(x, part, weights[28], alpha, epsilon, ffn, extra)
    return x


def value(x: Tensor, weights: Parts, act: Activation) -> Tensor:
    """WDL logits, or one number after tanh."""
    y = act(conv(x, weights[6])).flatten(1) if 6 in weights else act(dense(x, weights, 29)).flatten(1)
    y = dense(act(dense(y, weights, 7)), weights, 9)
    return torch.tanh(y) if y.shape[1] == 1 else y
