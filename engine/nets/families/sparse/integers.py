"""A sparse net: shallow, judged by a kernel of our own in integers, bit for bit as onnxruntime judges its file.

Two first layers, for value and policy, sum the int8 rows of the position's features, in units of COARSE. Those of older
files are int16; then the kernel also sums what the units leave over. The sums are clipped to 0 .. 255, and one half is
multiplied by the other, p = a b >> 8. A hidden layer and an output layer make the WDL logits of the value's products: K
of both lie in the file, its buckets, and the number of features chooses one. The logit of a move is the product of its
int8 row and the policy's products. onnxruntime does the same in float32, where all these whole numbers are exact.

The encoders are ``games.sparse``'s; ``models.families.sparse`` trains such nets and writes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....errors import NetError
from ....games.encoder import Encoder
from ....kernels.jit import borrow, device, kernel
from ...file.netfile import read_constants

WIDEST = 1024  # layer
BUCKETS = 16  # output layers that a value may have
UNIT = 255  # of a first layer's sums: clipped to 0 .. UNIT, which stands for 0 .. 1
COARSE_SHIFT = 2
COARSE = 1 << COARSE_SHIFT  # unit of an int8 first layer
SHIFT = 8  # of the products of two clipped sums: they become 0 .. 254
PRODUCT = UNIT * UNIT / 2**SHIFT  # what a product of 1 is
ROW_UNIT = 64  # of a policy row's weights
SMALL_UNIT = 128  # of the value's other weights
HIDDEN_SHIFT = 7  # of the sums that become the value's hidden units
HIDDEN_MOST = 254  # the greatest hidden unit
HIDDEN_ONE = PRODUCT * SMALL_UNIT / 2**HIDDEN_SHIFT  # what a hidden unit of 1 is

# Bounds of the weights. A first layer's: 64 features and a bias stay within an int16; the others': float32 is exact up
# to a width of 512, beyond it where read_net finds that it is.
FIRST_BOUND, SMALL_BOUND, OUT_BOUND = 1.9, 1.98, 15.0
HIDDEN = 32  # the value's hidden units
BUCKET = 4  # features to a bucket: 1 to 4 of them belong to the first, more than 4 K - 4 to the last
POLICY_SCALE = np.float32(1 / (PRODUCT * ROW_UNIT))
VALUE_SCALE = np.float32(1 / (HIDDEN_ONE * SMALL_UNIT))
_FIRST = "value_first", "policy_first"
_EXACT = 2**24  # whole numbers below it are exact in float32


class SparseNet(NamedTuple):
    """The integers of a net whose policy is H wide, its value V, a multiple of H, in K buckets, for F features, A rows.

    Row 0 of a first layer is no feature: zeros. Its rest is empty where whole units say all. The policy sees the first
    P of the features.
    """

    value_first: NDArray[np.int8]  # [1 + F, V], in units of COARSE
    value_rest: NDArray[np.int8]  # [1 + F, V] or [0, V]
    value_bias: NDArray[np.int16]  # [V]
    policy_first: NDArray[np.int8]  # [1 + P, H], in units of COARSE
    policy_rest: NDArray[np.int8]  # [1 + P, H] or [0, H]
    policy_bias: NDArray[np.int16]  # [H]
    hidden: NDArray[np.int16]  # [K HIDDEN, V / 2]
    hidden_bias: NDArray[np.int32]  # [K HIDDEN]
    out: NDArray[np.int16]  # [3, K HIDDEN]
    out_bias: NDArray[np.int32]  # [3]
    rows: NDArray[np.int8]  # [A, H / 2]
    row_bias: NDArray[np.int32]  # [A]


KINDS = dict.fromkeys(SparseNet._fields, "int8") | dict.fromkeys(("hidden_bias", "out_bias", "row_bias"), "int32")
KINDS |= dict.fromkeys(("value_bias", "policy_bias", "hidden", "out"), "int16")


def blank_net() -> SparseNet:
    """A net of the least size, which says nothing: for the types of its arrays."""
    sizes = {name: (1,) if name.endswith("bias") else (1, 1) for name in SparseNet._fields}
    return SparseNet(**{name: np.zeros(size, KINDS[name]) for name, size in sizes.items()})


def split(first: NDArray[np.int16]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """A first layer [1 + F, V] in units of COARSE, and its rest."""
    units = (first + COARSE // 2) // COARSE
    rest = (first - units * COARSE).astype(np.int8)
    return units.astype(np.int8), rest if rest.any() else rest[:0]


def joined(units: NDArray[np.int8], rest: NDArray[np.int8]) -> NDArray[np.int16]:
    """The inverse of :func:`split`."""
    first = units.astype(np.int16) * COARSE
    return first + rest if len(rest) else first


def read_net(content: bytes, encoder: Encoder) -> SparseNet:
    """The integers in a checked ONNX file. Errors: NetError when they are not those of a sparse net for the encoder.

    The value sees all features, in older files the policy's alone.
    """
    constants = read_constants(content)
    value, width, units = (
        constants[name].size if name in constants else 0 for name in ("value_bias", "policy_bias", "hidden_bias")
    )
    half = width // 2
    for name in _FIRST:
        if name in constants and constants[name].dtype == np.int8:
            constants[name] = constants[name].astype(np.int16) * COARSE
    rows = constants["value_first"].shape[:1] if "value_first" in constants else ()
    wrong = [] if rows in ((1 + encoder.policy_features,), (1 + encoder.features,)) else ["value_first"]
    shapes = {
        "value_first": (*rows, value),
        "value_bias": (value,),
        "policy_first": (1 + encoder.policy_features, width),
        "policy_bias": (width,),
        "hidden": (units, value // 2),
        "hidden_bias": (units,),
        "out": (3, units),
        "out_bias": (3,),
        "rows": (encoder.num_actions, half),
        "row_bias": (encoder.num_actions,),
    }
    kinds = KINDS | dict.fromkeys(_FIRST, "int16")
    wrong += [
        n for n in shapes if n not in constants or constants[n].shape != shapes[n] or constants[n].dtype != kinds[n]
    ]
    if not all(32 <= wide <= WIDEST and wide % 32 == 0 for wide in (value, width)) or value % width:
        wrong.append("its width")
    if not HIDDEN <= units <= BUCKETS * HIDDEN or units % HIDDEN:
        wrong.append("the number of its buckets")
    if wrong:
        raise NetError(f"this is no sparse net for the game: {wrong[0]} does not fit; export it again")
    arrays = {name: np.array(constants[name], order="C") for name in shapes}

    def size(name: str) -> NDArray[np.int64]:
        return np.abs(arrays[name].astype(np.int64))

    sums = (
        HIDDEN_MOST * size("hidden").sum(axis=1) + size("hidden_bias"),
        HIDDEN_MOST * size("out").reshape(3, -1, HIDDEN).sum(axis=2).max(axis=1) + size("out_bias"),
        HIDDEN_MOST * size("rows").sum(axis=1) + size("row_bias"),
    )
    most = max(int(size(name).max()) for name in (*_FIRST, "value_bias", "policy_bias"))
    if most > round(FIRST_BOUND * UNIT) or max(map(np.max, sums)) >= _EXACT:
        raise NetError("a weight of this sparse net is too large for its integers; export it again with az-engine")
    if any(arrays[name][0].any() for name in _FIRST):
        raise NetError("this sparse net gives weight to no feature; export it again with az-engine")
    value_first, value_rest = split(arrays.pop("value_first"))
    policy_first, policy_rest = split(arrays.pop("policy_first"))
    return SparseNet(value_first, value_rest, policy_first=policy_first, policy_rest=policy_rest, **arrays)


@device
def _feature(planes, row, n, rows):
    """The n-th feature that planes[row] lists; 0 behind the last of those that a layer of ``rows`` sees."""
    places = planes.shape[1] >> 1
    if n >= places:
        return np.int64(0)
    feature = np.int64(planes[row, n]) + (np.int64(planes[row, places + n]) << 8)
    return feature if feature < rows else np.int64(0)


@device
def _add_rows(planes, row, first, sums):
    """Add the rows i1 of the features that planes[row] lists to sums i2[H]. Returns their number."""
    rows = first.shape[0]
    n, count, a = 0, 0, _feature(planes, row, 0, rows)
    while a:  # four at a time: the sums are loaded and stored less often; row 0 is zero
        b = _feature(planes, row, n + 1, rows)
        c = _feature(planes, row, n + 2, rows) if b else 0
        d = _feature(planes, row, n + 3, rows) if c else 0
        for i in range(sums.shape[0]):
            sums[i] += np.int16(first[a, i]) + np.int16(first[b, i]) + np.int16(first[c, i]) + np.int16(first[d, i])
        n += 4
        count += 1 + (b > 0) + (c > 0) + (d > 0)
        a = _feature(planes, row, n, rows) if d else np.int64(0)
    return count


@device
def _products(planes, row, first, rest, bias, sums, out):
    """out i2[H / 2] = the clipped products of the features that planes[row] lists; sums i2[H] is working space.

    Returns the number of features.
    """
    width = bias.shape[0]
    half = width >> 1
    for i in range(width):
        sums[i] = 0
    count = _add_rows(planes, row, first, sums[:width])
    for i in range(width):
        sums[i] = np.int16((sums[i] << COARSE_SHIFT) + bias[i])
    if rest.shape[0]:
        _add_rows(planes, row, rest, sums[:width])
    for i in range(half):
        left = np.int32(min(max(sums[i], np.int16(0)), np.int16(UNIT)))
        right = np.int32(min(max(sums[half + i], np.int16(0)), np.int16(UNIT)))
        out[i] = np.int16(np.int32(left * right) >> np.int32(SHIFT))
    return count


@device
def _dot(weights, row, start, products):
    """The product i4 of weights[row, start : start + N] and products i2[N]."""
    total = np.int32(0)
    for i in range(products.shape[0]):
        total = np.int32(total + np.int32(np.int32(weights[row, start + i]) * np.int32(products[i])))
    return total


@device
def bucket_start(count, units):
    """The first of a bucket's hidden units, of ``units`` in all, for a position of ``count`` features."""
    return min(max(count - 1, 0) // BUCKET * HIDDEN, units - HIDDEN)


@device
def value_of(net, planes, row, space, wdl):
    """wdl f4[3] = the WDL logits of the features that planes[row] lists. space: see :func:`make_space`."""
    sums, products, _, hidden = space
    count = _products(planes, row, net.value_first, net.value_rest, net.value_bias, sums, products)
    start = bucket_start(count, net.hidden_bias.shape[0])
    for j in range(HIDDEN):
        total = np.int32(_dot(net.hidden, start + j, 0, products) + net.hidden_bias[start + j])
        hidden[j] = min(max(total >> np.int32(HIDDEN_SHIFT), 0), HIDDEN_MOST)
    for k in range(3):
        wdl[k] = np.float32(_dot(net.out, k, start, hidden) + net.out_bias[k]) * VALUE_SCALE


@device
def policy_of(net, planes, row, space, actions, b, count, logits):
    """logits[b, :count] f4 = those of actions[b] in the position whose features planes[row] lists."""
    sums, _, products, _ = space
    _products(planes, row, net.policy_first, net.policy_rest, net.policy_bias, sums, products)
    for k in range(count):
        action = np.int64(actions[b, k])
        logits[b, k] = np.float32(_dot(net.rows, action, 0, products) + net.row_bias[action]) * POLICY_SCALE


@device
def make_space(net):
    """Working space: sums i2[max(V, H)], products i2[V / 2] and i2[H / 2], hidden units i2[HIDDEN]."""
    value, width = net.value_bias.shape[0], net.policy_bias.shape[0]
    products = np.empty(value >> 1, np.int16), np.empty(width >> 1, np.int16)
    return np.empty(max(value, width), np.int16), products[0], products[1], np.empty(HIDDEN, np.int16)


@kernel
def evaluate_all(net, planes, policy, wdl):
    """policy f4[B, A] and wdl f4[B, 3] = the logits of planes u1[B, 2 P], and all rows of moves."""
    net, planes = borrow(net), borrow(planes)
    space = make_space(net)
    actions = np.arange(policy.shape[1]).reshape(1, -1)
    for b in range(planes.shape[0]):
        value_of(net, planes, b, space, wdl[b])
        policy_of(net, planes, b, space, actions, 0, policy.shape[1], policy[b : b + 1])
