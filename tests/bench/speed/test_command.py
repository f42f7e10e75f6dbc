"""The bench commands, each on a small scale: what they print, in which form, and their exit status."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import Any

import pytest

from az_engine.bench.speed import rules, startup
from az_engine.bench.speed.search import random_planes
from az_engine.bench.speed.startup import dialogue
from az_engine.cli import main
from az_engine.engine.games import get_game
from az_engine.protocols.clients.process import EngineProcess

from ...fakes.program import COMMAND
from ...games import DIRECTORY

pytestmark = pytest.mark.slow


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["bench", *arguments, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for line in lines:
        assert {"what", "value", "unit"} <= set(line)
        assert line["value"] >= 0
        if "ratio" in line:
            assert {"peer", "peer_value"} <= set(line)
    return lines


def test_perft_speed(capsys: pytest.CaptureFixture[str]) -> None:
    peer = shlex.join([*COMMAND, "uci"])
    (figure,) = run_json(capsys, "perft", "--depth", "2", "--peer", peer)
    assert figure["ratio"] > 0
    assert "400 leaves" in figure["note"]


def test_perft_of_shogi(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cshogi", reason="cshogi, the peer, has no wheel for this machine")
    (figure,) = run_json(capsys, "perft", "--game", "shogi", "--depth", "3")
    assert "25,470 leaves" in figure["note"]
    assert figure["peer"].startswith("cshogi")
    assert figure["ratio"] > 0


FAIRY = shutil.which("fairy-stockfish", path=os.defpath + ":/usr/games")


@pytest.mark.skipif(FAIRY is None, reason="Fairy-Stockfish is not installed")
def test_perft_beside_a_usi_engine(capsys: pytest.CaptureFixture[str]) -> None:
    (figure,) = run_json(capsys, "perft", "--game", "shogi", "--depth", "3", "--peer", str(FAIRY))
    assert "25,470 leaves" in figure["note"]
    assert figure["peer"].startswith("fairy-stockfish")


def test_a_peer_that_counts_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    peer = shlex.join([*COMMAND, "uci"])
    assert main(["bench", "perft", "--depth", "3", "--peer", peer]) == 2
    assert "counts 400 leaves where we count 8,902" in capsys.readouterr().err


def test_perft_of_a_variant(capsys: pytest.CaptureFixture[str]) -> None:
    fen = "4k3/8/8/8/8/8/8/RK6 w A - 0 1"
    (figure,) = run_json(capsys, "perft", "--fen", fen, "--variant", "chess960", "--depth", "1")
    assert "12 leaves" in figure["note"]
    assert main(["bench", "perft", "--game", "shogi", "--variant", "chess960"]) == 2
    assert "shogi has no variant 'chess960'" in capsys.readouterr().err


def test_tree(capsys: pytest.CaptureFixture[str]) -> None:
    speed, size = run_json(capsys, "tree", "--simulations", "2000", "--rounds", "1")
    assert speed["unit"] == "simulations/s"
    assert 50 < size["value"] < 2000
    assert speed["peer"] == "the same without mates"
    assert "mates of up to 5 plies" in speed["note"]
    one, _ = run_json(capsys, "tree", "--simulations", "2000", "--rounds", "1", "--mate-plies", "1")
    assert "mates of up to 1 plies" in one["note"]
    none, _ = run_json(capsys, "tree", "--simulations", "2000", "--rounds", "1", "--mate-plies", "0")
    assert "peer" not in none


def test_search(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("search", "--rounds", "1", "--seconds", "0.1", "--batch", "4")
    figures = run_json(capsys, *words, "--net", "chess-conv")
    assert [figure["what"].split(",")[1] for figure in figures] == [" workers 1"] * 2 + [" workers 2"] * 2
    sparse = run_json(capsys, *words)
    assert [figure["what"] for figure in sparse] == [f"search, workers {n}" for n in (1, 2, 2)]
    assert [figure["peer"] for figure in sparse] == ["az-chess-6x64, as many workers"] * 2 + ["one worker"]
    for figure in (*figures, *sparse):
        assert figure["ratio"] == pytest.approx(figure["value"] / figure["peer_value"], rel=0.01, abs=1e-4)


@pytest.mark.parametrize("game", ["chess", "shogi", "go"])
def test_startup(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--game", game, "--net", "uniform", "--rounds", "1", "--stops", "3", "--no-cold")
    figures = {f["what"]: f["value"] for f in run_json(capsys, "startup", *small)}
    greeted, ready, stopped = dialogue(get_game(game)).what
    assert 0 < figures[greeted] < figures[f"{ready}, warm"] < figures["first move, warm"]
    assert 0 < figures[f"{stopped}, median"] <= figures[f"{stopped}, worst"]


def test_startup_measures_the_game_that_it_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    class Spy(EngineProcess):
        def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
            commands.append(command)
            super().__init__(command, environment=environment)

    monkeypatch.setenv("AZ_ENGINE_GAMES", str(DIRECTORY))
    monkeypatch.setattr(startup, "EngineProcess", Spy)
    run_json(capsys, "startup", "--game", "tictactoe", "--net", "uniform", "--rounds", "1", "--stops", "2", "--no-cold")
    assert len(commands) == 3
    assert {command[command.index("--game") + 1] for command in commands} == {"tictactoe"}


@pytest.mark.parametrize(("game", "depth"), [("chess", 6), ("shogi", 5), ("go", 4)])
def test_the_default_depth_of_perft(game: str, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_TRIAL_SECONDS", float("inf"))  # however slow the machine is
    assert rules.default_depth(get_game(game), get_game(game).initial()[-1]) == depth


@pytest.mark.parametrize(
    "arguments",
    [
        ["perft", "--depth", "0"],
        ["perft", "--fen", "x"],
        ["tree", "--rounds", "0"],
        ["tree", "--mate-plies", "8"],
        ["search", "--net", "uniform"],
        ["search", "--size", "9"],
        ["search", "--net", "/no/such.onnx"],
        ["startup", "--stops", "0"],
    ],
)
def test_faults_are_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tree", "--simulations", "500", "--rounds", "1"]) == 0
    assert "simulations/s" in capsys.readouterr().out


def test_random_planes() -> None:
    planes = random_planes(get_game("chess"), 5, 8)
    assert planes.shape == (5, 119, 8, 8)
    assert (planes[:, :6].sum(axis=(1, 2, 3)) >= 10).all()
    assert len({row.tobytes() for row in planes}) == 5
