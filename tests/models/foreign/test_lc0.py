"""Lc0's nets: read, converted and run, against slow_lc0.py and, where the nets are at hand, Lc0's own numbers."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from az_engine.engine.errors import NetError
from az_engine.engine.nets.file.protobuf import write_field
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.models.foreign.families import convert_file
from az_engine.models.foreign.source import Converted

from . import slow_lc0
from .lc0_files import BFLOAT16, FLOAT16, FLOAT32, LINEAR16, Random, net_file

VECTORS = np.load(Path(__file__).parents[2] / "data" / "lc0_vectors.npz", allow_pickle=False)
FOLDER = os.environ.get("AZ_ENGINE_FOREIGN", "")
WIDTH, HEADS = 8, 2


def boards(count: int = 5) -> NDArray[np.uint8]:
    planes = (np.random.default_rng(3).random((count, 112, 8, 8)) < 0.1).astype(np.uint8)
    planes[:, 109] = 30
    return planes


def converted(content: bytes, folder: Path) -> Converted:
    (folder / "net.pb").write_bytes(content)
    return convert_file(folder / "net.pb")


def said(net: Converted, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    policy, value = raw_session(net.model).run(["policy", net.info.value_head], {"planes": planes})
    return policy, value


def convolution_net(
    *, norm: bool = False, squeeze: bool = False, policy: int = 2, value: int = 2, encoders: int = 0
) -> dict[int, Any]:
    random = Random(7)
    block: dict[int, Any] = {n: random.conv(WIDTH, WIDTH, 3, norm=norm) for n in (1, 2)}
    if squeeze:
        block[3] = {**random.dense(1, 4, WIDTH), **random.dense(3, 2 * WIDTH, 4)}
    weights: dict[int, Any] = {1: random.conv(WIDTH, 112, 3, norm=norm), 2: [block, block]}
    weights |= random.value(WIDTH, 3 if value == 2 else 1, convolution=True)
    if policy == 1:
        weights |= {3: random.conv(6, WIDTH, 1, norm=norm), **random.dense(4, 1858, 6 * 64)}
    elif policy == 2:
        weights |= {11: random.conv(WIDTH, WIDTH, 3, norm=norm), 3: random.conv(80, WIDTH, 3)}
    else:
        weights |= {**random.dense(4, WIDTH, WIDTH), **random.dense(17, WIDTH, WIDTH), **random.dense(19, WIDTH, WIDTH)}
        weights |= {22: random.matrix(4, WIDTH), 24: HEADS}
        weights[21] = [random.encoder(WIDTH, 12, 0, HEADS) for _ in range(encoders)]
    return weights


def slow_convolution(weights: dict[int, Any], planes: NDArray[np.uint8], policy: int, *, mish: bool) -> tuple[Any, Any]:
    act = slow_lc0.ACTIVATIONS[1 if mish else 2]
    x = slow_lc0.convolution_body(slow_lc0.t(planes), weights, act)
    if policy == 1:
        logits = slow_lc0.dense(act(slow_lc0.conv(x, weights[3])).flatten(1), weights, 4)
    elif policy == 2:
        logits = slow_lc0.convolution_policy(x, weights, act)
    else:
        selu, tokens = slow_lc0.ACTIVATIONS[6], x.flatten(2).transpose(1, 2)
        inner = selu(slow_lc0.dense(tokens, weights, 4))
        for part in weights[21]:
            inner = slow_lc0.encoder(inner, part, HEADS, 1.0, 1e-6, selu, None)
        inner_weights = {**weights, 4: np.eye(WIDTH), 5: np.zeros(WIDTH)}
        numbers = {"query": 17, "key": 19, "promotion": 22}
        logits = slow_lc0.attention_policy(inner, inner_weights, 4, numbers, lambda x: x)
    return logits.numpy(), slow_lc0.value(x, weights, act).numpy()


@pytest.mark.parametrize("mish", [False, True])
@pytest.mark.parametrize(
    ("policy", "value", "norm", "squeeze", "encoders"),
    [
        (1, 1, True, False, 0),
        (2, 2, False, True, 0),
        (2, 2, True, True, 0),
        (3, 2, False, True, 0),
        (3, 1, True, False, 2),
    ],
)
def test_convolution_nets(
    tmp_path: Path, policy: int, value: int, norm: bool, squeeze: bool, encoders: int, mish: bool
) -> None:
    weights = convolution_net(norm=norm, squeeze=squeeze, policy=policy, value=value, encoders=encoders)
    net = converted(net_file(weights, network=4, policy=policy, value=value, activation=int(mish)), tmp_path)
    assert net.info.architecture == f"lc0 2x{WIDTH} {'se' if squeeze else 'plain'}"
    assert (net.info.encoder, net.info.actions, net.info.value_head) == ("lc0", 1858, "wdl" if value == 2 else "value")
    assert dict(net.info.search)["policy_temperature"] == 1.359
    planes = boards()
    for ours, theirs in zip(said(net, planes), slow_convolution(weights, planes, policy, mish=mish), strict=True):
        assert theirs.std() > 0.002
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("embedding", [1, 2])
@pytest.mark.parametrize("smolgen", [0, 4])
@pytest.mark.parametrize("gates", [False, True])
def test_attention_nets(tmp_path: Path, embedding: int, smolgen: int, gates: bool) -> None:
    random, new = Random(11), embedding == 2
    extra = 5
    weights: dict[int, Any] = random.dense(25, WIDTH, 112 + (extra if new else 64))
    if new:
        weights |= {**random.dense(37, 64 * extra, 64 * 12), **random.norm(39, WIDTH), **random.norm(42, WIDTH)}
        weights[41] = {**random.dense(1, 10, WIDTH), **random.dense(3, WIDTH, 10)}
    if gates:
        weights |= {33: random.matrix(WIDTH, 64), 34: random.matrix(WIDTH, 64)}
    if smolgen:
        weights[35] = random.matrix(4096, smolgen)
    weights |= {27: [random.encoder(WIDTH, 12, smolgen, HEADS) for _ in range(3)], 28: HEADS}
    layout = {"embedding": embedding, "ffn": 8, "smolgen": 7, "activation": 1}
    policy = {**random.dense(3, WIDTH, WIDTH), **random.dense(5, WIDTH, WIDTH), 7: random.matrix(4, WIDTH)}
    shared = random.dense(1, WIDTH, WIDTH)
    value = random.value(WIDTH, 3, convolution=False)
    if new:  # several heads in one file
        head = {1: value[29], 2: value[30], 3: value[7], 4: value[8], 5: value[9], 6: value[10]}
        content = net_file(
            {**weights, 44: {1: head}, 45: {**shared, 3: policy}}, network=6, policy=3, value=2, **layout
        )
    else:
        one = {4: shared[1], 5: shared[2], 17: policy[3], 18: policy[4], 19: policy[5], 20: policy[6], 22: policy[7]}
        content = net_file({**weights, **value, **one}, network=6, policy=3, value=2, **layout)
    net = converted(content, tmp_path)
    assert net.info.architecture == f"lc0 3x{WIDTH} attention"
    planes, act = boards(), slow_lc0.ACTIVATIONS[1]
    with torch.no_grad():
        x = slow_lc0.attention_body(slow_lc0.t(planes), weights, layout, act)
        numbers = {"query": 3, "key": 5, "promotion": 7}
        logits = slow_lc0.attention_policy(x, {**policy, 1: shared[1], 2: shared[2]}, 1, numbers, act)
        expected = logits.numpy(), slow_lc0.value(x, value, act).numpy()
    for ours, theirs in zip(said(net, planes), expected, strict=True):
        assert theirs.std() > 0.01
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize(
    ("encoding", "tolerance"), [(LINEAR16, 2e-3), (FLOAT16, 5e-3), (BFLOAT16, 0.1), (FLOAT32, 0.0)]
)
def test_encodings(tmp_path: Path, encoding: int, tolerance: float) -> None:
    weights = convolution_net(squeeze=True)
    nets = [converted(net_file(weights, each, network=4, policy=2, value=2), tmp_path) for each in (FLOAT32, encoding)]
    (policy, wdl), (again, wdl_again) = (said(net, boards()) for net in nets)
    assert np.abs(policy - again).max() <= tolerance * np.abs(policy).max()
    assert np.abs(wdl - wdl_again).max() <= tolerance * np.abs(wdl).max()


def test_packed_and_old_files(tmp_path: Path) -> None:
    weights = convolution_net(norm=True, squeeze=True, policy=1, value=1)
    plain = converted(net_file(weights, network=4, policy=1, value=1), tmp_path)
    old = converted(net_file(weights, network=2), tmp_path)  # from before there were fields for the heads
    (tmp_path / "best.net.pb.gz").write_bytes(gzip.compress(net_file(weights, network=2)))
    packed = convert_file(tmp_path / "best.net.pb.gz")
    assert (packed.info.name, old.info.name) == ("best.net", "net")
    for other in (old, packed):
        for ours, theirs in zip(said(other, boards()), said(plain, boards()), strict=True):
            assert (ours == theirs).all()


def refusal(content: bytes, folder: Path) -> str:
    with pytest.raises(NetError) as caught:
        converted(content, folder)
    text = str(caught.value)
    assert "\n" not in text
    assert 20 < len(text) < 400
    return text


GOOD = net_file(convolution_net(squeeze=True), network=4, policy=2, value=2)


@pytest.mark.parametrize(
    ("layout", "word"),
    [
        ({"input": 3}, "input planes of format 3"),
        ({"network": 9}, "network format 9"),
        ({"network": 5}, "network format 5"),
        ({"policy": 8}, "policy format 8"),
        ({"value": 3}, "value format 3"),
        ({"activation": 5}, "activation"),
        ({"network": 6}, "lacks"),
        ({"network": 7}, "lacks"),
        ({"policy": 1}, "do not fit"),
        ({"value": 1}, "do not fit"),
    ],
)
def test_unknown_formats(tmp_path: Path, layout: dict[str, int], word: str) -> None:
    content = net_file(convolution_net(squeeze=True), **{"network": 4, "policy": 2, "value": 2, **layout})
    assert word in refusal(content, tmp_path)


def bomb() -> bytes:
    return gzip.compress(b"\x0d\xc0\x01\x00\x00" + bytes(600 << 20), 9)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (lambda: GOOD[:5], "no weights"),
        (lambda: GOOD[: len(GOOD) // 2], "cut off"),
        (lambda: GOOD[:-1], "cut off"),
        (lambda: b"\x0d\xc0\x01\x00\x01" + GOOD[5:], "no net"),
        (lambda: gzip.compress(GOOD)[:-20], "cut off"),
        (lambda: gzip.compress(GOOD)[:-8] + b"8 others", "damaged"),
        (lambda: gzip.compress(b"hello"), "no net"),
        (lambda: b"", "no net"),
        pytest.param(bomb, "unpacks to more", marks=pytest.mark.slow),
        (lambda: GOOD[:5] + write_field(10, write_field(2, b"") * 200_000), "parts"),
        (lambda: GOOD[:5] + write_field(10, write_field(5, write_field(4, 9))), "encoding 9"),
        (lambda: GOOD + write_field(11, b"onnx"), "ONNX"),
    ],
)
def test_hostile_files(tmp_path: Path, content: Callable[[], bytes], word: str) -> None:
    assert word in refusal(content(), tmp_path)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("encoding", [FLOAT16, FLOAT32])
def test_weights_that_are_not_finite(tmp_path: Path, number: float, encoding: int) -> None:
    weights = convolution_net()
    weights[1][1][0, 0, 0, 0] = number
    assert "NaN" in refusal(net_file(weights, encoding, network=4, policy=2, value=2), tmp_path)


def test_absurd_and_inconsistent_sizes(tmp_path: Path) -> None:
    for number, size in ((2, 3), (3, 7), (8, 5), (9, 17)):  # a tower, biases, hidden layers that do not fit
        weights = convolution_net()
        if number == 2:
            weights[2][0] = {**weights[2][0], 1: {1: np.ones(size, np.float32)}}
        elif number == 3:
            weights[3] = {**weights[3], 2: np.ones(size, np.float32)}
        else:
            weights[number] = np.ones(size, np.float32)
        assert "fit" in refusal(net_file(weights, network=4, policy=2, value=2), tmp_path)


def test_noise_never_crashes(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        content = bytearray(GOOD)
        for at in rng.integers(5, 400, size=3):
            content[at] = rng.integers(256)
        with contextlib.suppress(NetError):
            converted(bytes(content), tmp_path)


needs_nets = pytest.mark.skipif(
    not FOLDER,
    reason="set AZ_ENGINE_FOREIGN to a folder whose nets/ holds maia-1900.pb.gz and the random nets of the vectors",
)


def vector_planes() -> NDArray[np.uint8]:
    """Planes u1[N, 112, 8, 8] as Lc0 made them."""
    squares = (VECTORS["mask"][:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    planes: NDArray[np.uint8] = (squares * VECTORS["val"][:, :, None]).astype(np.uint8)
    return planes.reshape(-1, 112, 8, 8)


def probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    e = np.exp(logits.astype(np.float64))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@needs_nets
def test_maia_says_what_lc0_says() -> None:
    policy, wdl = said(convert_file(Path(FOLDER) / "nets" / "maia-1900.pb.gz"), vector_planes())
    counts = [len(words.split()) for words in VECTORS["legal"]]
    rows = np.repeat(np.arange(len(counts)), counts)
    assert np.abs(policy[rows, VECTORS["index"]] - VECTORS["logit"]).max() < 2e-3
    assert np.abs(probabilities(wdl) - VECTORS["wdl"]).max() < 1e-4


@needs_nets
@pytest.mark.parametrize("name", ["resnet_lin16", "att_map", "att_dense"])
def test_random_nets_say_what_lc0_says(name: str) -> None:
    rows = np.searchsorted(VECTORS["id"], VECTORS[f"{name}_id"])
    assert (VECTORS["id"][rows] == VECTORS[f"{name}_id"]).all()
    policy, wdl = said(convert_file(Path(FOLDER) / "nets" / f"random_{name}.pb.gz"), vector_planes()[rows])
    win, draw, loss = probabilities(wdl).T
    assert np.abs(policy - VECTORS[f"{name}_policy"]).max() < 2e-3
    assert np.abs(win - loss - VECTORS[f"{name}_q"]).max() < 1e-4
    assert np.abs(draw - VECTORS[f"{name}_d"]).max() < 1e-4
