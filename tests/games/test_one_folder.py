"""One folder is enough: every command takes a game that nothing outside its folder knows."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from az_engine.commands import check
from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.games.outcome import LOSS, RUNNING
from az_engine.engine.nets.weights import load_evaluator
from az_engine.models.data.formats import labels_of
from az_engine.models.data.shards import TargetOptions, Teaching

from ..protocols.process import EngineProcess, UsiProcess
from . import DIRECTORY

pytestmark = pytest.mark.slow

GAME = get_game("connect_four")
NEW = ("connect_four", "tictactoe")
ENVIRONMENT = {"AZ_ENGINE_GAMES": str(DIRECTORY)}


def az_engine(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-m", "az_engine", *map(str, words)]
    environment = {**os.environ, **ENVIRONMENT, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("name", NEW)
def test_it_plays_over_its_protocol(name: str) -> None:
    """Whole games of random and of searched moves, from its own notation of positions, too."""
    game, rng = get_game(name), random.Random(1)
    flags = ("--game", name, "--weights-file", "uniform", "--hash", "16", "--threads", "1")
    with EngineProcess(*flags, env=ENVIRONMENT) as engine:
        greeting = engine.ask([game.protocol], "uciok")
        assert any("Hash" in line for line in greeting)
        assert not any(name in line for line in greeting for name in ("Chess960", "Elo", "MatePlies"))
        engine.ask(["isready"], timeout=200)
        for root in (None, game.format_position(game.play(game.initial(), 0)[-1])):
            line = game.initial() if root is None else game.parse_position(root)[0]
            moves: list[str] = []
            while game.outcome(line) == RUNNING:
                here = "startpos" if root is None else f"fen {root}"
                best = engine.ask([f"position {here} moves {' '.join(moves)}", "go nodes 30"], "bestmove")[-1].split()[
                    1
                ]
                legal = game.legal_moves(line)
                move = game.parse_move(line, best) if len(moves) % 2 else rng.choice(legal.tolist())
                assert game.parse_move(line, best) in legal
                moves.append(game.format_move(line[-1], move))
                line = game.play(line, move)
        assert "Nodes searched" in engine.ask(["position startpos", "go perft 2"], "Nodes")[-1]
        engine.send("quit")
        assert engine.end(10)[0] == 0


def test_the_wrong_protocol_is_told_in_one_sentence() -> None:
    for words, sentence in (
        (("usi", "--game", "connect_four"), "is played over UCI: start az-engine uci --game connect_four"),
        (("uci", "--game", "connect_four", "--chess960"), "--chess960 means nothing to connect_four"),
        (("uci", "--game", "ludo"), "no game is called 'ludo'"),
    ):
        done = az_engine(*words)
        assert done.returncode == 2
        assert done.stdout == ""
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


def of_protocol(folder: Path, protocol: str) -> dict[str, str]:
    """Write a game ``strange`` that is tic-tac-toe over another protocol; the environment that finds it."""
    (folder / "strange").mkdir(parents=True)
    text = f"class Strange(TicTacToe):\n    name, protocol = 'strange', {protocol!r}\n\n\nGAME = Strange()\n"
    (folder / "strange/__init__.py").write_text(f"from az_engine.engine.games.tictactoe import TicTacToe\n\n\n{text}")
    return {"AZ_ENGINE_GAMES": f"{DIRECTORY}{os.pathsep}{folder}"}


def test_it_may_be_played_over_usi(tmp_path: Path) -> None:
    """Its own notation of positions and moves, its own rules; no option of shogi."""
    environment, game = of_protocol(tmp_path, "usi"), get_game("tictactoe")
    line = game.play(game.initial(), 4)
    legal = {game.format_move(line[-1], int(move)) for move in game.legal_moves(line)}
    with UsiProcess("--game", "strange", "--weights-file", "uniform", "--hash", "16", env=environment) as engine:
        assert not any("EnteringKing" in text for text in engine.ask(["usi"], "usiok"))
        engine.ask(["isready", "usinewgame"], "readyok", timeout=200)
        for go in ("go nodes 30", "go btime 100 wtime 100 byoyomi 50"):
            position = f"position sfen {game.format_position(line[-1])}"
            assert engine.ask([position, go], "bestmove")[-1].split()[1] in legal
        assert engine.ask(["go mate 100"], "checkmate")[-1] == "checkmate notimplemented"
        engine.send("gameover draw", "quit")
        assert engine.end(10)[0] == 0


def test_gtp_plays_go_alone(tmp_path: Path) -> None:
    for name in ("strange", "go7"):
        done = az_engine("gtp", "--game", name, **of_protocol(tmp_path / name, "gtp"))
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            done.stderr
            == f"az-engine: az-engine gtp plays go alone, and boardsize sets the size: leave out --game {name}\n"
        )


def test_its_moves_are_judged_by_regret(tmp_path: Path) -> None:
    records = tmp_path / "games.tictactoe"
    records.write_text("position startpos moves b2 a1 c3\nposition startpos moves a1 b2 c3 a3\n")
    players = ("-P", "uniform visits=1", "-P", "uniform name=more visits=20000")
    judge = ("--judge", "uniform name=judge visits=20000", "--from-ply", 1, "--positions", 3, "--level", 100)
    done = az_engine("regret", "--game", "tictactoe", records, *players, *judge, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["player"], row["positions"]) for row in rows] == [("az-engine uniform", 3), ("more", 3)]
    assert rows[1]["loss"] < 1, "it sees to the end of every game"


def test_check_says_that_it_has_no_net(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check, "check_game", lambda *_: None)  # the games with a net inside: tests of the command
    args = argparse.Namespace(seconds=1.0, json=True, details=False, programs=False)
    assert check.main(args) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    text = "no net inside this package; make one with az-engine train --game tictactoe"
    assert {"what": "tictactoe", "status": "hint", "text": text} in rows


def test_its_positions_are_labelled_and_learned(tmp_path: Path) -> None:
    engine = f"{sys.executable} -m az_engine uci --game connect_four --weights-file uniform"
    data, run = tmp_path / "data", tmp_path / "run"
    words = ("--nodes", 20, "--games", 9, "--openings", "2,3", "--blunders", "0.1")
    labelled = az_engine("label", "--game", "connect_four", "--engine", engine, "--out", data, *words)
    assert labelled.returncode == 0, labelled.stderr
    small = ("--steps", 5, "--batch", 16, "--blocks", 1, "--filters", 8)
    trained = az_engine("train", "--game", "connect_four", "--supervised", data, "--out", run, *small)
    assert trained.returncode == 0, trained.stderr
    net = load_evaluator(str(run / "net_fp32.onnx"), GAME, provider="cpu", batch_size=1)
    assert net.info is not None
    assert net.info.game == "connect_four"


def test_labels_keep_what_was_taught(tmp_path: Path) -> None:
    """Written, read and encoded: the same positions, policies, chances and results."""
    form, line = labels_of("connect_four"), GAME.initial()
    rows = []
    for ply, move in enumerate([3, 3, 2, 2, 4, 4, 5]):  # the first player wins
        moves = np.array([move, 6], np.uint16)
        teaching = Teaching(moves, np.zeros(2, np.int64), (700, 200, 100), 1, np.array([0.75, 0.25]), 0.8)
        row = form.record(GAME, line, teaching)
        row["played"], row["z"] = form.code(line[-1], move), 1 if ply % 2 == 0 else -1
        rows.append(row)
        line = GAME.play(line, move)
    assert GAME.outcome(line) == LOSS
    for name, game in (("a.npz", 0), ("holdout.npz", 1)):
        records = np.concatenate(rows)
        records["game"] = game
        form.shards.write(tmp_path / name, records)
    train, held_out = form.shards.read_folder(GAME, sorted(tmp_path.iterdir()), TargetOptions(teacher=1.0))
    assert len(train) == len(held_out) == 7
    batch = train.batch(np.arange(7))
    planes = np.zeros((7, *GAME.planes), np.uint8)
    GAME.encode(line, np.arange(7), np.zeros(7, np.int64), planes)
    assert (batch.planes == planes).all()
    assert batch.probabilities[:, :2] == pytest.approx(np.tile([0.75, 0.25], (7, 1)), abs=1e-4)
    assert batch.actions[:, 0].tolist() == [3, 3, 2, 2, 4, 4, 5]
    assert batch.wdl == pytest.approx(np.tile([0.7, 0.2, 0.1], (7, 1)), abs=1e-4)
    assert batch.z.tolist() == [1, -1, 1, -1, 1, -1, 1]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("position", b"nonsense", "is not six rows"),
        ("played", 7, "a move is not legal"),
        ("mv", 9, "a move is not legal"),
        ("z", 2, "the result is not"),
        ("n", 0, "no labelled move"),
    ],
)
def test_damaged_labels_are_refused(field: str, value: int, words: str, tmp_path: Path) -> None:
    form = labels_of("connect_four")
    teaching = Teaching(np.array([3], np.uint16), np.zeros(1, np.int64), None, 1)
    records = form.record(GAME, GAME.initial(), teaching)
    form.shards.write(tmp_path / "holdout.npz", records)
    records["game"] = 1
    records[field] = value
    form.shards.write(tmp_path / "a.npz", records)
    with pytest.raises(DataError, match=words):
        form.shards.read_folder(GAME, sorted(tmp_path.iterdir()), TargetOptions())


def test_its_records_are_converted(tmp_path: Path) -> None:
    text = "position startpos moves d d c c e e f\n"
    source, target = tmp_path / "game.connect_four", tmp_path / "again.connect_four"
    source.write_text("startpos moves d d c c e e f\n")
    assert az_engine("convert", source).stdout == text
    done = az_engine("convert", source, target)
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_text() == text
    source.write_text("startpos moves d h\n")
    assert "'h' is not a legal move here" in az_engine("convert", source).stderr


@pytest.mark.parametrize("name", NEW)
def test_it_plays_a_match_to_the_end(name: str) -> None:
    players = ("-A", "uniform", "-B", "uniform name=other visits=5")
    done = az_engine(
        "match", "--game", name, *players, "--games", 2, "--visits", 10, "--openings", "random:2", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(done.stdout)[ending] for ending in ("wins", "draws", "losses")) == 2


def test_connect_four_is_short() -> None:
    files = (DIRECTORY / "connect_four").glob("*.py")
    assert sum(file.read_text().count("\n") for file in files) <= 180
