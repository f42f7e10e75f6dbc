"""Lc0's net files, .pb and .pb.gz, read into arrays.

A file is a protobuf message "Net": its format and its weights. Every tensor is a "Layer": bytes that are float32,
float16, bfloat16 or, by the usual encoding, 16-bit steps between a least and a greatest value. What a layer's shape is
follows from its place; the dimensions that a file may state are not to be trusted and not read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError
from ...engine.nets.file.protobuf import Damaged, read_fields, read_messages, read_number

Array = NDArray[np.float32]
MAGIC = b"\x0d\xc0\x01\x00\x00"
_MOST_FIELDS = 100_000  # of one file; the largest public nets have some 5,000
_LINEAR16, _FLOAT16, _BFLOAT16, _FLOAT32 = 1, 2, 3, 4

CLASSICAL, SE, CLASSICAL_HEADS, SE_HEADS, ONNX, ATTENTION, ATTENTION_HEADS = 1, 2, 3, 4, 5, 6, 7
DENSE_POLICY, CONVOLUTION_POLICY, ATTENTION_POLICY = 1, 2, 3
SCALAR_VALUE, WDL_VALUE = 1, 2
NO_EMBEDDING, POSITION_MAP, DENSE_EMBEDDING = 0, 1, 2

_LAYER = "layer"
_INT = "int"
Schema = dict[int, tuple[str, Any]]  # number: (name, kind); a name that ends in * is repeated


def _pair(name: str, number: int) -> Schema:
    """Weights and biases of one dense layer."""
    return {number: (f"{name}_w", _LAYER), number + 1: (f"{name}_b", _LAYER)}


def _layers(*names: str) -> Schema:
    """Layers numbered from 1 on."""
    return {i: (name, _LAYER) for i, name in enumerate(names, 1)}


_CONV = _layers("weights", "biases", "means", "variances", "gammas", "betas")
_RESIDUAL: Schema = {1: ("conv1", _CONV), 2: ("conv2", _CONV), 3: ("se", _layers("w1", "b1", "w2", "b2"))}
_FFN = {**_pair("dense1", 1), **_pair("dense2", 3)}
_SMOLGEN = _layers("compress", "dense1_w", "dense1_b", "ln1_g", "ln1_b", "dense2_w", "dense2_b", "ln2_g", "ln2_b")
_MHA: Schema = {
    **_layers("q_w", "q_b", "k_w", "k_b", "v_w", "v_b", "dense_w", "dense_b"),
    9: ("smolgen", _SMOLGEN),
    10: ("rpe_q", _LAYER),
    11: ("rpe_k", _LAYER),
    12: ("rpe_v", _LAYER),
}
_ENCODER: Schema = {1: ("mha", _MHA), **_pair("ln1", 2), 4: ("ffn", _FFN), **_pair("ln2", 5)}
_POLICY_HEAD: Schema = {
    **_pair("ip_pol", 1), **_pair("ip2_pol", 3), **_pair("ip3_pol", 5), 7: ("ip4_pol_w", _LAYER),
    8: ("pol_encoder*", _ENCODER), 9: ("pol_headcount", _INT), 10: ("policy1", _CONV), 11: ("policy", _CONV),
}  # fmt: skip
_VALUE_HEAD: Schema = {**_pair("ip_val", 1), **_pair("ip1_val", 3), **_pair("ip2_val", 5), 11: ("value", _CONV)}
_WEIGHTS: Schema = {
    1: ("input", _CONV), 2: ("residual*", _RESIDUAL), 3: ("policy", _CONV), **_pair("ip_pol", 4), 6: ("value", _CONV),
    **_pair("ip1_val", 7), **_pair("ip2_val", 9), 11: ("policy1", _CONV), 12: ("moves_left", _CONV),
    **_pair("ip1_mov", 13), **_pair("ip2_mov", 15), **_pair("ip2_pol", 17), **_pair("ip3_pol", 19),
    21: ("pol_encoder*", _ENCODER), 22: ("ip4_pol_w", _LAYER), 24: ("pol_headcount", _INT), **_pair("ip_emb", 25),
    27: ("encoder*", _ENCODER), 28: ("headcount", _INT), **_pair("ip_val", 29), **_pair("ip_mov", 31),
    33: ("ip_mult_gate", _LAYER), 34: ("ip_add_gate", _LAYER), 35: ("smolgen_w", _LAYER), **_pair("ip_emb_preproc", 37),
    **_pair("ip_emb_ln", 39), 41: ("ip_emb_ffn", _FFN), **_pair("ip_emb_ffn_ln", 42),
    44: ("value_heads", {1: ("winner", _VALUE_HEAD)}),
    45: ("policy_heads", {**_pair("ip_pol", 1), 3: ("vanilla", _POLICY_HEAD)}),
}  # fmt: skip
_NETWORK_FORMAT: Schema = {
    i: (name, _INT)
    for i, name in enumerate(
        ("input", "output", "network", "policy", "value", "moves_left", "activation", "smolgen", "ffn", "embedding"), 1
    )
}


@dataclass
class Weights:
    """One message of the file: its layers, messages, repeated messages and numbers by name."""

    values: dict[str, Any] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def part(self, name: str) -> Weights:
        """A message inside. Errors: NetError when the file lacks it."""
        if name not in self.values:
            raise NetError(f"this Lc0 net is incomplete: it lacks {name!r}")
        result: Weights = self.values[name]
        return result

    def parts(self, name: str) -> list[Weights]:
        """Repeated messages; empty when there are none."""
        results: list[Weights] = self.values.get(name, [])
        return results

    def number(self, name: str, default: int = 0) -> int:
        """A number."""
        return int(self.values.get(name, default))

    def array(self, name: str, *shape: int) -> Array:
        """A layer in its shape, one size being -1 if it is not known. Errors: NetError when it does not fit."""
        if name not in self.values:
            raise NetError(f"this Lc0 net is incomplete: it lacks {name!r}")
        values: Array = self.values[name]
        known = int(np.prod([size for size in shape if size >= 0]))
        if len(values) == 0 or known == 0 or (len(values) % known if -1 in shape else len(values) != known):
            raise NetError(f"this Lc0 net is damaged: {name!r} has {len(values)} numbers, which do not fit the others")
        return values.reshape(shape)


@dataclass
class Lc0Net:
    """A net file after the repairs that files of old need, see :func:`read_lc0`."""

    version: tuple[int, int, int]  # of Lc0, the least that reads it
    format: Weights
    weights: Weights


def read_lc0(content: bytes) -> Lc0Net:
    """The net of an unpacked file. Errors: NetError, one sentence."""
    try:
        return _repaired(_read(memoryview(content)))
    except (Damaged, struct.error):
        raise NetError("this Lc0 net is damaged or cut off; download it again") from None


def _read(data: memoryview) -> Lc0Net:
    version = Weights(_Reader().message(_only(data, 3), _INTS))
    layout = _only(_only(data, 4), 2)
    if next(read_messages(data, 11), None) is not None:
        raise NetError("this Lc0 file holds an ONNX net; take that out with leela2onnx, or give a net with weights")
    encoding = read_number(_only(data, 4), 1)
    if encoding not in (0, _LINEAR16):
        raise NetError(f"this Lc0 net's weights have the unknown encoding {encoding}; update az-engine to use it")
    reader = _Reader()
    format_ = Weights(reader.message(layout, _NETWORK_FORMAT))
    weights = Weights(reader.message(_only(data, 10), _WEIGHTS))
    if not weights.values:
        raise NetError("this Lc0 file holds no weights; download it again")
    return Lc0Net(tuple(version.number(name) for name in ("major", "minor", "patch")), format_, weights)  # type: ignore[arg-type]


_INTS: Schema = {1: ("major", _INT), 2: ("minor", _INT), 3: ("patch", _INT)}


def _only(data: memoryview, number: int) -> memoryview:
    return next(read_messages(data, number), memoryview(b""))


class _Reader:
    """Reads messages by their schema, with a bound on their number."""

    def __init__(self) -> None:
        self._fields = 0

    def message(self, data: memoryview, schema: Schema) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for number, value in read_fields(data):
            self._fields += 1
            if self._fields > _MOST_FIELDS:
                raise NetError(f"this Lc0 net has more than {_MOST_FIELDS:,} parts, which no real one has")
            name, kind = schema.get(number, ("", None))
            if kind is None:
                continue
            if (kind == _INT) != isinstance(value, int):
                raise Damaged
            if kind == _INT:
                results[name] = value
            elif kind == _LAYER:
                assert not isinstance(value, int)
                results[name] = _layer(value, name)
            elif name.endswith("*"):
                assert not isinstance(value, int)
                results.setdefault(name[:-1], []).append(Weights(self.message(value, kind)))
            else:
                assert not isinstance(value, int)
                results[name] = Weights(self.message(value, kind))
        return results


def _layer(data: memoryview, name: str) -> Array:
    """The numbers of one layer, flat. Errors: Damaged, NetError when some are not finite."""
    least = greatest = 0.0
    encoding, params = _LINEAR16, memoryview(b"")
    for number, value in read_fields(data):
        if number in (1, 2, 3) and isinstance(value, int):
            raise Damaged
        if number == 1:
            (least,) = struct.unpack("<f", value)  # type: ignore[arg-type]
        elif number == 2:
            (greatest,) = struct.unpack("<f", value)  # type: ignore[arg-type]
        elif number == 3:
            params = value  # type: ignore[assignment]
        elif number == 4 and isinstance(value, int):
            encoding = value or _LINEAR16
    if encoding not in (_LINEAR16, _FLOAT16, _BFLOAT16, _FLOAT32):
        raise NetError(f"a layer of this Lc0 net has the unknown encoding {encoding}; update az-engine to use it")
    if len(params) % (4 if encoding == _FLOAT32 else 2):
        raise Damaged
    if encoding == _FLOAT32:
        numbers = np.frombuffer(params, "<f4").astype(np.float32)
    elif encoding == _FLOAT16:
        numbers = np.frombuffer(params, "<f2").astype(np.float32)
    elif encoding == _BFLOAT16:
        numbers = (np.frombuffer(params, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        steps = np.frombuffer(params, "<u2").astype(np.float32) / np.float32(65535.0)
        numbers = np.float32(least) * (1 - steps) + np.float32(greatest) * steps
    if not np.isfinite(numbers).all():
        raise NetError(f"this Lc0 net's weights hold NaN or infinity (in {name!r}); it is damaged")
    return numbers


def _repaired(net: Lc0Net) -> Lc0Net:
    """Fill in what files of old leave out, as Lc0 does before it uses one."""
    values, weights = net.format.values, net.weights
    if not values:
        values.update(input=1, output=1, network=CLASSICAL_HEADS, policy=DENSE_POLICY, value=SCALAR_VALUE)
    network = values.get("network", CLASSICAL)
    if network in (CLASSICAL, SE):
        network += CLASSICAL_HEADS - CLASSICAL
        values.update(policy=DENSE_POLICY, value=SCALAR_VALUE)
    if network == SE_HEADS and "encoder" in weights:
        network = ATTENTION
        if "smolgen_w" in weights:
            values.update(ffn=8, smolgen=7)
    if network == 134:
        network = ATTENTION_HEADS
    if network == ATTENTION and "policy_heads" in weights and "value_heads" in weights:
        network, values["embedding"] = ATTENTION_HEADS, DENSE_EMBEDDING
    if network == ATTENTION:
        values.setdefault("embedding", POSITION_MAP)
    values["network"] = network
    return net
