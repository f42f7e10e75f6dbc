"""Our nets as files of Lc0 and dlshogi: read back they say the same, and what cannot be said is refused."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import chess
import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray

from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.models.families.tower.config import TowerConfig
from az_engine.models.families.tower.network import TowerNetwork
from az_engine.models.foreign.lc0_file import read_lc0

LC0, DLSHOGI = get_game("chess").using("lc0"), get_game("shogi").using("dlshogi-119")


def net(game: Game, path: Path, **settings: Any) -> Path:
    """A network with random weights and statistics, written as az-engine train writes it."""
    torch.manual_seed(1)
    config = TowerConfig(game.planes, game.num_actions, blocks=2, filters=8, value_hidden=16, **settings).seeing(
        game.encoder
    )
    network = TowerNetwork(config, game.encoder.plane_scale)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    for name, buffer in network.named_buffers():
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2)
        elif name.endswith("running_mean"):
            buffer.normal_(std=0.3)
    info = NetInfo(
        game=game.name,
        encoder=game.encoder.name,
        planes=game.planes,
        actions=game.num_actions,
        planes_version=1,
        moves_version=1,
        value_head=config.value_head,
        history=min(config.history, game.history),
        license="GPL-3.0-or-later",
    )
    path.write_bytes(network.eval().to_onnx(info).SerializeToString())
    return path


def boards(game: Game) -> NDArray[np.uint8]:
    return (np.random.default_rng(4).random((5, *game.planes)) < 0.2).astype(np.uint8)


@pytest.mark.parametrize("value_head", ["wdl", "value"])
@pytest.mark.parametrize("squeeze", [0, 4])
def test_to_lc0_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str], value_head: str, squeeze: int) -> None:
    source = net(
        LC0, tmp_path / "net.onnx", policy_head="flat", policy_filters=4, squeeze=squeeze, value_head=value_head
    )
    file, again = tmp_path / "net.pb.gz", tmp_path / "again.onnx"
    assert main(["export", str(source), "--to", "lc0", "-o", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "read back: logits differ at most by" in shown
    assert "expect 32 and 128" in shown
    assert main(["import", str(file), "-o", str(again), "--quiet"]) == 0
    planes = boards(LC0)
    for name in ("policy", value_head):
        ours, theirs = (raw_session(str(path)).run([name], {"planes": planes})[0] for path in (source, again))
        assert np.abs(ours).max() > 0.1
        assert np.abs(ours - theirs).max() < 2e-3 * max(1.0, float(np.abs(ours).max()))
    assert OnnxEvaluator(again, get_game("chess")).encoder == "lc0"


def test_the_lc0_file_keeps_the_formats_own_rules(tmp_path: Path) -> None:
    file = tmp_path / "net.pb.gz"
    source = net(LC0, tmp_path / "net.onnx", policy_head="flat", policy_filters=4, squeeze=4)
    assert main(["export", str(source), "--to", "lc0", "-o", str(file)]) == 0
    content = gzip.decompress(file.read_bytes())
    assert content.startswith(b"\x0d\xc0\x01\x00\x00")
    assert b"GPL-3.0-or-later" in content[:40]
    found = read_lc0(content)
    assert found.version == (0, 28, 0)
    layout = {"input": 1, "output": 2, "network": 4, "policy": 1, "value": 2, "moves_left": 0}
    assert {name: found.format.number(name) for name in layout} == layout
    blocks = found.weights.parts("residual")
    assert len(blocks) == 2
    assert "means" not in blocks[0].part("conv1")
    assert blocks[0].part("se").array("w2", 2, 8, 4)[1].any(axis=0).sum() <= 4  # nothing but steps round zero ...
    assert np.abs(blocks[0].part("se").array("w2", 2, 8, 4)[1]).max() < 1e-4  # ... for what is added beside the gate


@pytest.mark.parametrize("value_head", ["wdl", "value"])
def test_to_dlshogi(tmp_path: Path, capsys: pytest.CaptureFixture[str], value_head: str) -> None:
    source, file = net(DLSHOGI, tmp_path / "net.onnx", value_head=value_head), tmp_path / "out.onnx"
    assert main(["export", str(source), "--to", "dlshogi", "-o", str(file)]) == 0
    assert "read back" in capsys.readouterr().out
    model = onnx.load(file)
    onnx.checker.check_model(model)
    assert (model.ir_version, model.opset_import[0].version) == (8, 13)
    shapes = {
        each.name: [d.dim_value for d in each.type.tensor_type.shape.dim][1:]
        for each in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {"input1": [62, 9, 9], "input2": [119, 9, 9], "output_policy": [2187], "output_value": [1]}
    planes = boards(DLSHOGI)
    feed = {"input1": planes[:, :62].astype(np.float32), "input2": planes[:, 62:].astype(np.float32)}
    policy, chance = raw_session(str(file)).run(["output_policy", "output_value"], feed)
    ours, value = raw_session(str(source)).run(["policy", value_head], {"planes": planes})
    np.testing.assert_allclose(policy, ours, atol=1e-5)
    if value_head == "wdl":
        win, draw, _ = np.exp(value).T / np.exp(value).sum(axis=1)
        np.testing.assert_allclose(chance[:, 0], win + draw / 2, atol=1e-6)
    else:
        np.testing.assert_allclose(chance, (value + 1) / 2, atol=1e-6)


@pytest.mark.parametrize(
    ("to", "game", "settings", "word"),
    [
        ("lc0", "chess", {}, "--planes lc0"),
        ("dlshogi", "chess", {}, "--planes dlshogi"),
        ("lc0", "lc0", {"policy_head": "flat", "kind": "sep-res"}, "one residual tower"),
        ("lc0", "lc0", {"policy_head": "flat", "kind": "dual-conv"}, "one residual tower"),
    ],
)
def test_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], to: str, game: str, settings: dict[str, Any], word: str
) -> None:
    source = net(LC0 if game == "lc0" else get_game(game), tmp_path / "net.onnx", **settings)
    assert main(["export", str(source), "--to", to, "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert word in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_training_with_other_planes(tmp_path: Path) -> None:
    """From games to a file of Lc0's."""
    rng, games = random.Random(1), ""
    for _ in range(120):
        board, result = chess.Board(), rng.choice(["1-0", "0-1", "1/2-1/2"])
        for _ in range(30):
            board.push(rng.choice(list(board.legal_moves)))
            if board.is_game_over():
                break
        games += f'[Event "?"]\n[Result "{result}"]\n\n{chess.Board().variation_san(board.move_stack)} {result}\n\n'
    (tmp_path / "games.pgn").write_text(games)
    arguments = ["--planes", "lc0", "--policy-head", "flat", "--blocks", "1", "--filters", "8", "--squeeze", "4"]
    length = ["--steps", "20", "--batch", "16", "--threads", "1", "--name", "tiny"]
    out = tmp_path / "run"
    assert main(["train", "--supervised", str(tmp_path), "--out", str(out), *arguments, *length]) == 0
    (fp32,) = out.glob("**/*_fp32.onnx")
    assert main(["export", str(fp32), "--to", "lc0", "-o", str(tmp_path / "tiny.pb.gz")]) == 0
    assert main(["train", "--supervised", str(tmp_path), "--out", str(out), "--planes", "nobodys", *length]) == 2
