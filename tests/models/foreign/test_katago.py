"""KataGo's nets: random ones against a slow network, damaged ones, and real ones against KataGo's own answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.games.go.encoders import katago
from az_engine.engine.nets.file.netfile import read_outline
from az_engine.models.foreign.families import convert_file
from az_engine.models.foreign.katago import BOARDS, ENCODER, ENCODER_SUICIDE, number_scale
from az_engine.models.foreign.katago_file import SPATIAL, read_katago
from az_engine.models.net.torchgraph import TorchGraph
from tests.engine.games.go.katago_rows import foreign, line_of, read_rows

from .katago_files import Layers, Writer, random_net, to_bytes
from .slow_katago import SlowNet

ATTENTION, FEED_FORWARD = "transformer_attention_block", "transformer_ffn_block"
NETS = (
    (0, 8, ("ordinary_block", "gpool_block"), "bn"),
    (1, 11, ("gpool_block", "ordinary_block"), "bn"),
    (2, 14, ("nested_bottleneck_block", "gpool_block"), "bn"),
    (3, 15, ("nested_bottleneck_block",), "rms"),
    (4, 16, (ATTENTION, FEED_FORWARD, ATTENTION), "rms over points"),
    (5, 17, (ATTENTION, "gpool_block", FEED_FORWARD, ATTENTION, ATTENTION), "rms"),
    (6, 17, ("ordinary_block", "nested_bottleneck_block", FEED_FORWARD), "bn"),
)


def random_planes(columns: int, rows: int, rules: str, seed: int) -> NDArray[np.uint8]:
    """Planes u1[8, 42, H, W] of a random game."""
    game = get_game(f"go{columns}x{rows}").using(ENCODER)
    board = "/".join([str(columns)] * rows)
    rng, line = np.random.default_rng(seed), game.parse_position(f"{board} b - 6.5 {rules}")[0]
    planes = np.empty((8, *game.planes), np.uint8)
    for row in range(len(planes)):
        for _ in range(4):
            line = game.play(line, int(rng.choice(game.legal_moves(line))))
        game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes[row : row + 1])
    return planes


def run(model: bytes, planes: NDArray[np.uint8]) -> dict[str, NDArray[np.float32]]:
    names = ["policy", "wdl", "ownership", "score", "doubts"]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, {"planes": planes}), strict=True))


def numbers_of(planes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """KataGo's numbers f8[B, 19]."""
    scale, offset = number_scale()
    numbers = planes[:, SPATIAL:, 0, 0].astype(np.float64) @ scale.T + offset
    numbers[:, 5] /= 40
    return np.asarray(numbers[:, :19])


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    e = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(("seed", "version", "kinds", "tip"), NETS)
@pytest.mark.parametrize(("columns", "rows"), [(5, 5), (9, 9), (7, 4)])
def test_random_nets(
    seed: int, version: int, kinds: tuple[str, ...], tip: str, columns: int, rows: int, tmp_path: Path
) -> None:
    net = random_net(seed, version, kinds, tip)
    path = tmp_path / "random.bin.gz"
    path.write_bytes(to_bytes(net))
    converted = convert_file(path)
    (tmp_path / "random.onnx").write_bytes(converted.model)
    read_outline(tmp_path / "random.onnx")  # refuses operators that no net needs
    for rules in ("chinese", "aga"):  # with simple ko a game may have no result
        planes = random_planes(columns, rows, rules, seed)
        numbers = numbers_of(planes)
        got = run(converted.model, planes)
        with torch.no_grad():
            slow = SlowNet(net)(torch.from_numpy(planes[:, :SPATIAL]).double(), torch.from_numpy(numbers))
        wanted = {name: y.numpy() for name, y in slow.items()}
        assert np.abs(got["policy"] - wanted["policy"]).max() < 1e-4
        assert np.abs(got["ownership"] - wanted["ownership"]).max() < 1e-4
        outcome = wanted["outcome"][:, [0, 2, 1]]
        if rules == "aga":
            outcome[:, 1] = -1e4
        chances = softmax(outcome)
        assert np.abs(softmax(got["wdl"]) - chances).max() < 1e-4
        board = wanted["lead"] * (1 - chances[:, 1]) - 20 * numbers[:, 5]
        assert np.abs(got["score"][:, 0] - board).max() < 1e-3
        with torch.inference_mode():
            by_torch = TorchGraph(onnx.load_model_from_string(converted.model))(torch.from_numpy(planes))
        for name, expected in got.items():
            assert np.abs(by_torch[name].numpy() - expected).max() < 1e-3, name


def test_torch_refuses_operators_that_it_does_not_know() -> None:
    node = onnx.helper.make_node("Erf", ["planes"], ["policy"])
    output = onnx.helper.make_tensor_value_info("policy", onnx.TensorProto.FLOAT, [1])
    with pytest.raises(NetError, match="Erf"):
        TorchGraph(onnx.helper.make_model(onnx.helper.make_graph([node], "net", [], [output])))


def test_text_says_the_same_as_binary(tmp_path: Path) -> None:
    net = random_net(7, 14, ("ordinary_block", "gpool_block"))
    models = []
    for name, text, packed in (("a.bin.gz", False, True), ("a.txt.gz", True, True), ("a.txt", True, False)):
        path = tmp_path / name
        path.write_bytes(to_bytes(net, text=text, packed=packed))
        models.append(run(convert_file(path).model, random_planes(5, 5, "aga", 1)))
    for model in models[1:]:
        assert all((model[name] == models[0][name]).all() for name in model)


def test_the_encoders_are_the_games() -> None:
    for size in BOARDS:
        assert set(katago.encoders(size, BOARDS[-1])) == {ENCODER, ENCODER_SUICIDE, katago.RULES}
    assert not katago.encoders(BOARDS[-1] + 1, 9)
    assert not katago.encoders(9, BOARDS[-1] + 1)


def test_what_is_said_of_a_net(tmp_path: Path) -> None:
    net = random_net(8, 15, ("ordinary_block", "nested_bottleneck_block"))
    for suicidal, encoder in ((0, ENCODER), (1, ENCODER_SUICIDE)):
        path = tmp_path / f"some{suicidal}.bin.gz"
        path.write_bytes(to_bytes(net | {"suicidal": suicidal}))
        converted = convert_file(path)
        info = converted.info
        assert (info.game, info.encoder, info.name) == ("go", encoder, f"some{suicidal}")
        assert info.boards == tuple(range(2, 20))
        assert info.architecture == "katago v15 2x8 conv nested-conv-gpool"
        assert converted.int8
        assert not any(name.startswith(("policy", "value")) for name in converted.int8)


def good() -> bytes:
    return Writer(random_net(9, 15, ("ordinary_block", "gpool_block", ATTENTION)), text=False).write()


def refuse(content: bytes, reason: str) -> None:
    with pytest.raises(NetError, match=reason) as caught:
        read_katago(content)
    assert "\n" not in str(caught.value)


def test_files_that_are_cut_off() -> None:
    content = good()
    for length in [*range(0, 400, 7), *range(400, len(content) - 2, 97)]:
        with pytest.raises(NetError) as caught:
            read_katago(content[:length])
        assert "\n" not in str(caught.value)


def test_files_that_lie() -> None:
    content = good()
    refuse(b"\x00\x01\x02" * 100, "not a KataGo net|damaged")
    refuse(content.replace(b"\n15\n", b"\n99\n", 1), "version 99; versions 8 to 17")
    refuse(content.replace(b"\n15\n", b"\n7\n", 1), "version 7; versions 8 to 17")
    refuse(content.replace(b"\n22\n19\n", b"\n23\n19\n", 1), "22 planes and 19 numbers")
    refuse(content.replace(b"gpool_block", b"warp_block"), "block of the kind 'warp_block'")
    refuse(content.replace(b"ACTIVATION_", b"ACTIVATION_X", 1), "activation 'ACTIVATION_X")
    refuse(content + b"more", "goes on behind its end")
    refuse(content.replace(b"trunk\n3\n", b"trunk\n100000\n"), "number of blocks")
    refuse(content.replace(b"\n5\n5\n22\n8\n1\n1\n", b"\n5\n5\n22\n999999999\n1\n1\n"), "outputs of 'layer1'")
    refuse(content.replace(b"\n5\n5\n22\n8\n1\n1\n", b"\n9\n9\n22\n4096\n1\n1\n"), "sizes .* do not fit")
    refuse(content.replace(b"\n5\n5\n22\n8\n1\n1\n", b"\n5\n5\n22\n8\n2\n2\n"), "dilated")
    refuse(content.replace(b"\n5\n5\n22\n8\n1\n1\n", b"\n4\n4\n22\n8\n1\n1\n"), "even size")


def test_nets_that_are_not_supported() -> None:
    net = random_net(10, 15, ("ordinary_block",))
    refuse(Writer(net | {"encoder": 1}, text=False).write(), "human SL")
    refuse(Writer(net | {"suicidal": 3}, text=False).write(), "a flag")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers(value: float) -> None:
    net = random_net(11, 14, ("ordinary_block",))
    net["policy"]["out"][0, 0, 0, 0] = value
    for text in (False, True):
        refuse(Writer(net, text=text).write(), "NaN or infinity")


def test_a_variance_below_zero() -> None:
    net: Layers = random_net(12, 8, ("ordinary_block",))
    net["tip"]["var"][0] = -1
    refuse(Writer(net, text=False).write(), "variance below zero")


REAL = (
    ("g170-b6c96-s175395328-d26788732.bin.gz", "katago_b6c96.jsonl.gz"),
    ("b7c96h6kv3qk32v16tflrs-fson-bnh.bin.gz", "katago_b7c96kv_transformer_9x9.jsonl.gz"),
    ("b10c384h6nbttflrs.bin.gz", "katago_b10c384_transformer_9x9.jsonl.gz"),
)


@pytest.mark.parametrize(("net", "answers"), REAL)
def test_katagos_own_answers(net: str, answers: str) -> None:
    """Tolerances are those of the answers, which were printed to six digits, leads to three."""
    model = convert_file(foreign(f"nets/{net}")).model
    for row in read_rows(foreign(answers)):
        game, line = line_of(row)
        game = game.using(ENCODER)
        planes = np.empty((1, *game.planes), np.uint8)
        game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes)
        got, sign = run(model, planes), 1 if row["to_play"] == "W" else -1
        policy = np.array([*(-1 if p is None else p for p in row["policy"]), row["pass"]])
        legal = policy >= 0
        assert np.abs(softmax(got["policy"][0][legal]) - policy[legal]).max() < 1e-5
        win, draw, loss = softmax(got["wdl"][0])
        assert abs((win if sign == 1 else loss) - row["whiteWin"]) < 1e-4
        assert abs(draw - row["noResult"]) < 1e-4
        assert np.abs(sign * got["ownership"].ravel() - row["own"]).max() < 1e-4
        lead = got["score"][0, 0] + 20 * numbers_of(planes)[0, 5]
        assert abs(sign * lead - row["whiteLead"]) < 2e-3
        score, stdev, *others = got["doubts"][0]
        assert abs(sign * score - row["whiteScoreSelfplay"]) < 2e-3
        assert score**2 + stdev**2 == pytest.approx(row["whiteScoreSelfplaySq"], rel=1e-4, abs=2e-2)
        wanted = [row[name] for name in ("varTimeLeft", "shorttermWinlossError", "shorttermScoreError")]
        assert (others or [-1, -1, -1]) == pytest.approx(wanted, abs=2e-3)
