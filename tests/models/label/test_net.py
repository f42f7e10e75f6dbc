"""A net as a teacher: records say what it says of the positions, and the learner reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.errors import NetError
from az_engine.engine.games import get_game
from az_engine.engine.nets.onnx.evaluator import OnnxEvaluator
from az_engine.engine.nets.weights import dense_net
from az_engine.engine.search.mate import mating_move
from az_engine.models.data.formats import labels_of, shards_of
from az_engine.models.data.games.go import OWNERSHIP_UNIT, read_shard
from az_engine.models.data.games.shogi import FORMAT
from az_engine.models.data.shards import Records, TargetOptions
from az_engine.models.label.flags import Net
from az_engine.models.label.job import Job, Question
from az_engine.models.label.sources.games import PlayedGames
from az_engine.models.label.teachers.net import NetKind

from ...engine.games.shogi.test_checks import MATE_IN_THREE
from ..data.test_shogi import sfen_of
from ..families.test_tower import GO_INFO, lively
from ..samples import tiny_go
from .labelling import label, labelled
from .test_games_go import replayed

GO, SHOGI = get_game("go"), get_game("shogi")


SHOGI_NET = ("--net", "shogi-conv", "--max-plies", 20)


def shogi_records(out: Path, *words: object, games: int = 2) -> Records:
    return labelled(out, *SHOGI_NET, "--games", games, *words, game="shogi")


def evaluator(game: str) -> OnnxEvaluator:
    path = dense_net(game)
    assert path is not None
    return OnnxEvaluator(path, get_game(game), provider="cpu", batch_size=1)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.slow
def test_shogi_records_say_what_the_net_says_of_their_positions(tmp_path: Path) -> None:
    records = shogi_records(tmp_path, "--openings", "0,1,3")
    net, seen = evaluator("shogi"), 0
    assert net.history == 1  # so that the position alone is what the net sees
    for record in records[records["m1"] == 0]:
        line = SHOGI.parse_position(sfen_of(record))[0]
        if mating_move(SHOGI, line, 3) is not None:
            continue
        planes = np.zeros((1, *SHOGI.planes), np.uint8)
        SHOGI.encode(line, np.zeros(1, np.int64), np.zeros(1, np.int64), planes, 1)
        logits, value = net.evaluate(planes)
        moves = SHOGI.legal_moves(line)
        actions = np.zeros((1, len(moves)), np.int32)
        SHOGI.actions(line, np.zeros(1, np.int64), moves[None], actions)
        expected = dict(zip(moves.tolist(), softmax(logits[0, actions[0]]), strict=True))
        count = int(record["n"])
        assert count == min(8, len(moves))
        told = dict(zip(record["mv"][:count].tolist(), record["p"][:count] / 65535, strict=True))
        best = sorted(expected.values(), reverse=True)[:count]
        assert list(told.values()) == pytest.approx(best, abs=2e-4)
        assert told == pytest.approx({move: expected[move] for move in told}, abs=2e-4)
        assert record["rest"] / 65535 == pytest.approx(1 - sum(best), abs=2e-4)
        win, _, loss = softmax(value[0])
        assert record["q"] / 32767 == pytest.approx(win - loss, abs=2e-4)
        seen += 1
    assert seen > 20


@pytest.mark.slow
def test_go_records_say_what_the_net_says_of_their_positions(tmp_path: Path) -> None:
    label(tmp_path, "--game", "go", "--net", "default", "--games", 2, "--max-plies", 20, "--openings", "0,3")
    d, g = read_shard(next(tmp_path.glob("*.npz")), 81)
    assert len(replayed(d, g, 9)) == len(d)
    net, seen = evaluator("go"), 0
    game = GO.using(net.encoder)
    for row in g:
        line = GO.parse_position(f"{'/'.join(['9'] * 9)} b - {row['komi']:g} chinese-ogs")[0]
        for move in row["open"][: row["nopen"]]:
            line = GO.play(line, int(move))
        for record in d[d["game"] == row["game"]]:
            planes = np.zeros((1, *game.planes), np.uint8)
            newest = np.array([len(line) - 1], np.int64)
            game.encode(line, newest, np.zeros(1, np.int64), planes, net.history)
            logits, value = net.evaluate(planes)
            owners, score = net.estimate(planes)
            assert owners is not None
            assert score is not None
            legal = GO.legal_moves(line)
            policy = softmax(logits[0][legal])  # an action of Go is the move
            count = int(record["n"])
            assert record["p"][:count] / 65535 == pytest.approx(np.sort(policy)[::-1][:count], abs=2e-4)
            assert record["mv"][0] == legal[policy.argmax()]
            win, draw, _ = softmax(value[0])
            assert record["w"] / 65535 == pytest.approx(win + draw / 2, abs=2e-4)
            assert record["own"] == pytest.approx(OWNERSHIP_UNIT * owners[0].ravel(), abs=0.51)
            assert GO.territory is not None
            assert record["lead"] / 100 == pytest.approx(GO.territory.lead(line[-1], float(score[0])), abs=0.01)
            line = GO.play(line, int(record["played"]))
            seen += 1
    assert seen == len(d) > 15


def test_all_that_a_net_says_at_once() -> None:
    net = evaluator("go")
    planes = GO.using(net.encoder).start_planes()
    policy, value, owners, score = net.evaluate_all(planes)
    for one, other in zip((*net.evaluate(planes), *net.estimate(planes)), (policy, value, owners, score), strict=True):
        assert one is not None
        assert other is not None
        assert (one == other).all()


def test_a_short_mate_corrects_the_net() -> None:
    kind = NetKind(net=Net("default"))
    teacher = kind.open(Job(PlayedGames(), kind, "shogi", 8))
    line = SHOGI.parse_position(MATE_IN_THREE)[0]
    (teaching,) = teacher.teach([Question(line)])
    assert teaching.chance == 1
    row = labels_of("shogi").record(SHOGI, line, teaching)
    assert (int(row["n"][0]), int(row["p"][0, 0]), int(row["q"][0]), int(row["m1"][0])) == (1, 65535, 32767, 0)
    assert row["mv"][0, 0] == mating_move(SHOGI, line, 3)
    assert mating_move(SHOGI, line, 1) is None
    assert mating_move(GO, GO.initial(), 3) is None


@pytest.mark.slow
def test_moves_follow_the_policy_and_the_temperature(tmp_path: Path) -> None:
    quiet = shogi_records(tmp_path / "cold", "--temperatures", "0.01", "--blunders", "0", games=3)
    loud = shogi_records(tmp_path / "hot", "--temperatures", "3", "--blunders", "0", games=3)
    first = [float((records["played"] == records["mv"][:, 0]).mean()) for records in (quiet, loud)]
    assert first[0] == 1
    assert first[1] < 0.7
    again = shogi_records(tmp_path / "again", "--temperatures", "3", "--blunders", "0", games=3)
    assert {bytes(r) for r in again} == {bytes(r) for r in loud}


@pytest.mark.slow
def test_the_learner_reads_them(tmp_path: Path) -> None:
    shogi_records(tmp_path, games=1)
    shogi_records(tmp_path / "held", "--first-game", "9", games=1)
    held = next((tmp_path / "held").glob("*.npz")).rename(tmp_path / "holdout.npz")
    paths = [held, *tmp_path.glob("labelled*.npz")]
    train, heldout = shards_of("shogi").read_folder(SHOGI, paths, TargetOptions())
    lengths = [len(FORMAT.read(path)) for path in (paths[1], held)]
    assert [len(train.drawn), len(heldout.drawn)] == lengths


def test_a_net_that_cannot_be_used_is_refused_before_games_begin(tmp_path: Path) -> None:
    for net in (tmp_path / "nothing.onnx", dense_net("go")):
        with pytest.raises(NetError):
            label(tmp_path, "--game", "shogi", "--net", net)
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.slow
def test_torch_labels_as_onnxruntime_does(tmp_path: Path) -> None:
    info = replace(GO_INFO, boards=(9, 19), history=2)
    net = tmp_path / "net.onnx"
    net.write_bytes(lively(tiny_go()).to_onnx(info).SerializeToString())
    found = {}
    for provider in ("cpu", "torch"):
        out = tmp_path / provider
        words = ("--provider", provider, "--openings", "2", "--games", 2, "--max-plies", 20)
        label(out, "--game", "go", "--net", net, *words)
        found[provider] = read_shard(next(out.glob("*.npz")), 81)[0]
    ours, theirs = found["torch"], found["cpu"]
    assert len(ours) == len(theirs) == 36
    for name in ("mv", "played", "game"):
        assert np.array_equal(ours[name], theirs[name])
    assert np.abs(ours["p"].astype(int) - theirs["p"]).max() <= 7  # of 65535: 1e-4
