"""Distillation: networks are shown what the teacher looked at, in every symmetry; a short run ends with nets."""

from __future__ import annotations

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.games.go.encoders import katago
from az_engine.engine.games.go.notation import empty_board
from az_engine.models.distil.begin import seeing_rules
from az_engine.models.distil.command import network
from az_engine.models.distil.games import Games
from az_engine.models.distil.memory import Memory
from az_engine.models.distil.teacher import CpuTeacher
from az_engine.models.families import family_of
from az_engine.models.families.config import NetConfig
from az_engine.models.families.losses import TorchBatch
from az_engine.models.families.tower.config import TowerConfig
from az_engine.models.families.tower.network import TowerNetwork
from az_engine.models.foreign.families import convert_file
from az_engine.models.net.torchgraph import TorchGraph
from az_engine.models.train.checkpoint import Checkpoint
from az_engine.models.train.config import LearnerConfig
from az_engine.models.train.learner import Learner

from ..foreign.katago_files import random_net, to_bytes


def go(lines: int, encoder: str = katago.ENCODER) -> Game:
    return get_game("go").sized(lines).using(encoder)


def tower(config: NetConfig, game: Game) -> TowerNetwork:
    assert isinstance(config, TowerConfig)
    return TowerNetwork(config, game.encoder.plane_scale)


@pytest.mark.slow
def test_games_go_on_by_the_rules() -> None:
    game, random = go(7), np.random.default_rng(1)
    with ThreadPoolExecutor(2) as executor:
        games = Games(game, 12, executor, 2, seed=3)
        games.begin(None, None)
        seen, changed, ended = 0, 0, 0
        for _ in range(60):
            at = games.wait()
            for part in games.slices:
                for i in range(part.end - part.begin):
                    row = part.begin + i
                    if not at.usable[row]:
                        ended += 1
                        assert at.legal[row].sum() == 1
                        continue
                    line = part.line(i)
                    moves, _ = game.look(line)
                    assert set(np.flatnonzero(at.legal[row])) == set(moves.tolist())
                    shown = np.zeros((1, *game.planes), np.uint8)
                    game.encode(line, np.array([len(line) - 1]), np.array([0]), shown)
                    assert (shown[0] == at.planes[row]).all()
                    seen += 1
                    changed += len(set(line["komi"].tolist())) > 1
            chances = at.legal * random.random(at.legal.shape)
            games.begin(chances.argmax(1), random.normal(0, 3, 12).astype(np.float32))
        games.wait()
    assert seen > 300
    assert changed > 100
    assert ended > 5


@pytest.mark.parametrize("rules", ["chinese", "aga-button"])
def test_a_great_komi_never_seems_smaller_than_a_smaller_one(rules: str) -> None:
    for lines in (9, 10):
        theirs, own, seen = go(lines), go(lines, katago.RULES), []
        for komi in np.arange(-70, 70.5, 0.5):
            planes = [np.zeros((1, *g.planes), np.uint8) for g in (theirs, own)]
            for g, out in zip((theirs, own), planes, strict=True):
                g.encode(empty_board(lines, lines, komi, rules), np.array([0]), np.array([0]), out)
            assert (katago.planes_of_rules(planes[0], katago.HISTORY) == planes[1]).all()
            seen.append(int(planes[1][0, 27, 0, 0]))
        assert seen == sorted(seen, reverse=True)
        assert (seen[0], seen[-1]) == (254, 2)


def test_own_encoder_shows_komi_in_one_byte() -> None:
    for lines, komi in ((9, 6.5), (19, -20), (13, 300), (19, -300), (9, 0), (9, -0.5), (19, 63.5), (19, 64)):
        theirs, own = go(lines), go(lines, katago.RULES)
        start = empty_board(lines, lines, komi, "japanese")
        planes = [np.zeros((1, *g.planes), np.uint8) for g in (theirs, own)]
        for g, out in zip((theirs, own), planes, strict=True):
            g.encode(start, np.array([0]), np.array([0]), out)
        memory = Memory(1, own.encoder, katago.HISTORY, torch.device("cpu"))
        assert (memory.shown(torch.from_numpy(planes[0])).numpy() == planes[1]).all()
        assert (katago.planes_of_rules(planes[0], katago.HISTORY) == planes[1]).all()
        assert (planes[0][:, : katago.SPATIAL] == planes[1][:, : katago.SPATIAL]).all()
        assert planes[1][0, 27, 0, 0] == min(max(2, 128 - 2 * komi), 254)
        assert planes[1][0, 41, 0, 0] == min(max(0, 20 - 2 * komi), 40)


@pytest.mark.parametrize(
    ("lines", "shown"), [(9, {5: 5, 5.5: 6, 6: 6, 6.5: 6, 7: 7}), (10, {6: 6, 6.5: 7, 7: 7, 7.5: 7, 8: 8})]
)
@pytest.mark.parametrize("rules", ["chinese", "tromp-taylor"])
def test_komis_between_two_draws_look_alike(lines: int, shown: dict[float, int], rules: str) -> None:
    theirs, own = go(lines), go(lines, katago.RULES)
    for komi, seen in shown.items():
        for turn, sign in enumerate((-1, 1)):
            start = empty_board(lines, lines, komi, rules)
            start["turn"] = turn
            planes = [np.zeros((1, *g.planes), np.uint8) for g in (theirs, own)]
            for g, out in zip((theirs, own), planes, strict=True):
                g.encode(start, np.array([0]), np.array([0]), out)
            assert planes[1][0, 27, 0, 0] == 128 + sign * 2 * seen
            assert planes[1][0, 41, 0, 0] == 20 + sign * 2 * seen
            assert (katago.planes_of_rules(planes[0], katago.HISTORY) == planes[1]).all()


def test_memory_gives_back_what_was_said() -> None:
    game, count = go(5), 64
    random = torch.Generator().manual_seed(0)
    planes = torch.zeros((count, *game.planes), dtype=torch.uint8)
    planes[:, : katago.SPATIAL] = torch.randint(0, 2, (count, katago.SPATIAL, 5, 5), generator=random)
    planes[:, katago.SPATIAL + 5] = 4
    said = {
        "policy": torch.randn((count, 26), generator=random),
        "wdl": torch.randn((count, 3), generator=random),
        "score": torch.arange(count, dtype=torch.float32)[:, None],
        "ownership": torch.rand((count, 5, 5), generator=random) * 2 - 1,
    }
    memory = Memory(100, game.using(katago.RULES).encoder, katago.HISTORY, torch.device("cpu"))
    memory.add(planes, said, torch.arange(count) % 2 == 0)
    shown = memory.shown(planes)
    assert memory.count == count // 2
    batch = memory.draw(80)
    seen = set()
    for i in range(80):
        row = int(batch.score[i])  # type: ignore[index]
        assert row % 2 == 0
        symmetry = i // 10
        seen.add(symmetry)

        def turned(board: torch.Tensor, symmetry: int = symmetry) -> torch.Tensor:
            for bit, axis in ((1, -2), (2, -1)):
                board = board.flip(axis) if symmetry & bit else board
            return board.transpose(-1, -2) if symmetry & 4 else board

        assert (batch.planes[i, : katago.SPATIAL] == turned(shown[row, : katago.SPATIAL])).all()
        policy = said["policy"][row].softmax(0)
        expected = torch.cat([turned(policy[:-1].reshape(5, 5)).flatten(), policy[-1:]])
        assert torch.allclose(batch.probabilities[i], expected, atol=1e-3)
        assert torch.allclose(batch.wdl[i], said["wdl"][row].softmax(0))
        assert torch.allclose(batch.ownership[i], turned(said["ownership"][row]), atol=0.006)  # type: ignore[index]
    assert seen == set(range(8))


def test_a_net_that_sees_stones_begins_one_that_sees_komi_and_rules() -> None:
    """Its outputs are the net's own, but where the last move has captured."""
    stones, student = get_game("go").sized(9), go(9, katago.RULES)
    shape = {"policy_head": "pooled", "ownership": True, "score": True, "value_filters": 32, "value_hidden": 64}
    config = family_of("dual-res").configured(stones, {"blocks": 2, "filters": 16, "squeeze": 8, "history": 2, **shape})
    theirs = tower(config, stones)
    for layer in theirs.last_layers():
        torch.nn.init.normal_(layer.weight)
    tensors = {f"averaged.{name}": tensor for name, tensor in theirs.state_dict().items()}
    learner = Learner(student, network(2, 16, 8), LearnerConfig())
    learner.begin_from(seeing_rules(Checkpoint(0, tensors, {"net": config.to_json()}), student))
    random, line, captured = np.random.default_rng(5), stones.initial(), []
    seen, shown = np.zeros((60, *stones.planes), np.uint8), np.zeros((60, *student.planes), np.uint8)
    for i in range(60):
        at = np.array([len(line) - 1]), np.array([0])
        stones.encode(line, *at, seen[i : i + 1])
        student.encode(line, *at, shown[i : i + 1])
        captured.append(i > 0 and seen[i, :2].sum() != seen[i - 1, :2].sum() + 1)
        line = stones.play(line, int(random.choice(stones.look(line)[0][:-1])))
    with torch.no_grad():
        expected, ours = (
            each.eval().outputs(torch.from_numpy(planes))
            for each, planes in ((theirs, seen), (learner.averaged, shown))
        )
    quiet = ~torch.tensor(captured)
    assert 40 < quiet.sum() < 60
    for name in ("wdl", "score", "ownership"):
        assert torch.allclose(expected[name][quiet], ours[name][quiet], atol=1e-3), name
    assert torch.allclose(expected["policy"].all()[quiet], ours["policy"].all()[quiet], atol=1e-3)


def test_a_net_that_looks_at_all_planes_begins_one_that_looks_at_some() -> None:
    """As those of earlier versions did; the planes left out are empty, or nearly always."""
    student = go(9, katago.RULES)
    wide = tower(replace(network(2, 16, 8), used=()), student)
    saved = Checkpoint(0, {f"averaged.{k}": v for k, v in wide.state_dict().items()}, {"net": wide.config.to_json()})
    learner = Learner(student, network(2, 16, 8), LearnerConfig())
    learner.begin_from(seeing_rules(saved, student))
    shown, line = np.zeros((1, *student.planes), np.uint8), empty_board(9, 9, 7.5, "japanese")
    student.encode(student.play(line, 40), np.array([1]), np.array([0]), shown)
    with torch.no_grad():
        expected, ours = (each.eval().outputs(torch.from_numpy(shown)) for each in (wide, learner.averaged))
    assert torch.allclose(expected["policy"].all(), ours["policy"].all(), atol=1e-5)
    assert len(learner.network.config.used_planes) == 32


def test_a_teacher_on_a_cpu_says_what_torch_says(tmp_path: Path) -> None:
    """In float32 the same, of convolutions and of a transformer; in int8 nearly so, and with int8 in it."""
    random = torch.Generator().manual_seed(2)
    planes = torch.randint(0, 2, (6, katago.NUM_PLANES, 7, 7), generator=random, dtype=torch.uint8)
    planes[:, 0] = 1
    for kinds in (("ordinary_block",), ("transformer_attention_block", "transformer_ffn_block")):
        (tmp_path / "net.bin.gz").write_bytes(to_bytes(random_net(1, 15, kinds)))
        model = convert_file(tmp_path / "net.bin.gz").model
        with torch.no_grad():
            expected = TorchGraph(onnx.load_from_string(model)).eval()(planes)
        said = {exact: CpuTeacher(onnx.load_from_string(model), 1, exact=exact)(planes) for exact in (True, False)}
        assert said[True].keys() == expected.keys()
        for name, values in expected.items():
            assert torch.allclose(said[True][name], values, rtol=1e-4, atol=1e-4), name
        change = (said[False]["wdl"].softmax(1) - expected["wdl"].softmax(1)).abs().max()
        assert change < 0.1
        assert (change > 1e-5) == ("transformer_ffn_block" in kinds)


def test_a_great_channel_of_the_trunk_hides_no_others_in_int8(tmp_path: Path) -> None:
    net = random_net(1, 15, ("nested_bottleneck_block", "transformer_ffn_block"))
    _, block = net["blocks"][0]
    block["norm1"]["bias"] = np.ones(len(block["norm1"]["mean"]), np.float32)
    block["norm1"]["bias"][0], block["conv1"][:, :, 0] = 1e4, 0  # great, and without an effect
    (tmp_path / "net.bin.gz").write_bytes(to_bytes(net))
    model = convert_file(tmp_path / "net.bin.gz").model
    planes = torch.randint(0, 2, (6, katago.NUM_PLANES, 7, 7), dtype=torch.uint8)
    planes[:, 0] = 1
    said, expected = (CpuTeacher(onnx.load_from_string(model), 1, exact=exact)(planes) for exact in (False, True))
    change = (said["wdl"].softmax(1) - expected["wdl"].softmax(1)).abs().max()
    assert 1e-6 < change < 0.03


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(to_bytes(random_net(1, 15, ("ordinary_block", "gpool_block"))))
    return path


@pytest.mark.slow
def test_a_short_run_ends_with_nets_that_play(teacher: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = "--nets 1x8 --sizes 5:1,7:1 --minutes 0.2 --points 800 --least 32 --batch 2 --precision fp32"
    another = ["--other-teacher", f"7:{teacher}", "--apart", "15"]
    assert main(["distil", str(teacher), "--out", str(out), *another, *arguments.split()]) == 0
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["step"] > 0
    assert rows[-1]["playing"] > 0, "moves at which no teacher looks"
    one, other = (f"{out}/go-1x8-se16_{kind}.onnx visits=4" for kind in ("fp32", "int8"))
    players = ["-A", one, "-B", other, "--games", "2", "--out", str(tmp_path / "match")]
    assert main(["match", "--game", "go", "--size", "7", *players]) == 0


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("NET --nets 8by96", "8by96 is no list of networks"),
        ("NET --nets 1x8,2x8,1x8", "1x8,2x8,1x8 names a network twice"),
        ("NET --nets 0x8", "0x8 is no list of networks"),
        ("NET --sizes 20:1", "20:1 is no list of sizes"),
        ("NET --sizes 9:0", "9:0 is no list of sizes"),
        ("NET --sizes 9:-1", "9:-1 is no list of sizes"),
        ("NET --sizes 9:1,9:2", "names a size twice"),
        ("NET --other-teacher nine:NET", "nine:NET is no teacher of some sizes"),
        ("NET --other-teacher 9,19:", "9,19: is no teacher of some sizes"),
        ("NET --sizes 9,19 --other-teacher 7,9:NET", "--other-teacher looks at 7, which is not among --sizes"),
        ("NET --finish", "leave NET out"),
        ("NET --chances-only", "--chances-only changes the chances of a net; give it with --init"),
        ("--finish", "holds no net of az-engine distil"),
        ("NET --mean . .", "--mean trains no further; leave NET out"),
        ("--finish --mean . .", "give --finish or --mean, not both"),
        ("--mean .", "--mean needs two runs or more"),
        ("--mean . NONE", "NONE is no folder; give runs of az-engine distil"),
    ],
)
def test_wrong_requests_are_refused(
    flags: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):  # of the parser
        assert main(["distil", "--out", str(tmp_path / "run"), *flags.split()]) != 0
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("optimiser", ["muon", "adamw", "sgd"])
def test_chances_alone_learn(optimiser: Literal["muon", "adamw", "sgd"]) -> None:
    """Nothing else changes, not even the statistics of normalisation."""
    game = go(7, katago.RULES)
    settings = replace(LearnerConfig(), optimiser=optimiser, rate=0.05, warmup=1, freeze=0.0, weight_decay=0.1, ema=0.5)
    learner = Learner(game, network(1, 8, 4), settings, chances_only=True)
    before = {name: tensor.clone() for name, tensor in learner.averaged.state_dict().items()}
    planes = torch.randint(0, 2, (16, *game.planes), dtype=torch.uint8)
    batch = TorchBatch(
        planes, torch.arange(50).expand(16, -1), torch.full((16, 50), 0.02), None,
        torch.tensor([[0.9, 0.0, 0.1]]).repeat(16, 1), torch.full((16,), 0.8),
        torch.ones(16, 7, 7), torch.full((16,), 9.0), None, None,
    )  # fmt: skip
    losses = [float(learner.step_on(batch)) for _ in range(40)]
    assert losses[-1] < losses[0] - 0.1
    changed = {name for name, tensor in learner.averaged.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed == {"value.out.weight", "value.out.bias"}


def written(folder: Path, filters: int, weight: float, *, boards: tuple[int, ...] = (9,)) -> Path:
    """A run whose network has one weight everywhere."""
    game = go(9, "rules")
    learner = Learner(game, network(1, filters, 4), LearnerConfig())
    with torch.no_grad():
        for parameter in learner.averaged.parameters():
            parameter.fill_(weight)
    info = learner.net_info(game, name="go", boards=boards, trained_on=f"{weight} positions")
    folder.mkdir(parents=True)
    (folder / "go-1x8_fp32.onnx").write_bytes(learner.averaged.to_onnx(info).SerializeToString())
    return folder


def test_the_mean_of_runs_has_the_mean_of_their_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [written(tmp_path / str(weight), 8, weight) for weight in (0.1, 0.3)]
    out = tmp_path / "mean"
    assert main(["distil", "--mean", *map(str, runs), "--out", str(out), "--fp32"]) == 0
    mean, *others = (onnx.load(folder / "go-1x8_fp32.onnx") for folder in (out, *runs))
    for tensors in zip(*(model.graph.initializer for model in (mean, *others)), strict=True):
        ours, one, other = map(numpy_helper.to_array, tensors)
        np.testing.assert_allclose(ours, (one.astype(float) + other) / 2, rtol=1e-5)
    assert "mean of 2 networks: 0.1 positions; 0.3 positions" in {each.value for each in mean.metadata_props}
    assert main(["distil", "--mean", *map(str, runs), "--out", str(out)]) != 0
    assert "holds a run" in capsys.readouterr().err
    for second, said in (
        (written(tmp_path / "other", 4, 0.1), "is no network of the same shape"),
        (written(tmp_path / "sizes", 8, 0.1, boards=(7, 9)), "learned boards of 7,9 and 9 lines"),
        (tmp_path, "is not there"),
        (tmp_path / "none", "is no folder"),
    ):
        assert main(["distil", "--mean", str(runs[0]), str(second), "--out", str(tmp_path / "new")]) != 0
        assert said in " ".join(capsys.readouterr().err.split())
    assert not [*(tmp_path / "new").glob("*.onnx")]
    (runs[0] / "go-1x8_fp32.onnx").write_bytes(b"damaged")
    assert main(["distil", "--mean", *map(str, runs), "--out", str(tmp_path / "again")]) == 2
    assert "not an ONNX file or it is damaged" in capsys.readouterr().err


def test_a_run_is_not_overwritten(teacher: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in ("config.json", "go-1x8_fp32.onnx"):
        (tmp_path / file).write_text("{}")
        assert main(["distil", str(teacher), "--out", str(tmp_path)]) != 0
        said = " ".join(capsys.readouterr().err.split())
        assert "holds a run, which cannot be continued; give another folder" in said
        assert ("go-1x8_fp32.onnx to begin with its net" in said) == (file != "config.json")
        assert (tmp_path / file).read_text() == "{}"


@pytest.mark.slow
def test_memory_that_cannot_hold_what_a_size_waits_for_is_refused(
    teacher: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = "--nets 1x8 --sizes 5:1000,7:1 --minutes 0.2 --least 3000 --gib 0.5 --precision fp32"
    assert main(["distil", str(teacher), "--out", str(tmp_path / "run"), *arguments.split()]) != 0
    assert "--gib 0.5 has room for 1,605 positions of 7x7, and --least waits for 3,000" in capsys.readouterr().err


def test_a_run_that_learns_nothing_says_so(teacher: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    arguments = "--nets 1x8 --sizes 7 --minutes 0.03 --points 400 --precision fp32 --least 100000 --export-seconds 0.1"
    assert main(["distil", str(teacher), "--out", str(out), *arguments.split()]) != 0
    assert "nothing was learned: the teacher labelled" in capsys.readouterr().err
    assert not [*out.glob("*.onnx"), *out.glob("config.json")], "the same command may begin again"
