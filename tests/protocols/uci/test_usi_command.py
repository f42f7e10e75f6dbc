"""``az-engine usi`` as a process, with the real engine: start, end, the samples, malformed input."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.errors import IllegalMoveError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import State

from ..process import COMMAND, UsiProcess

pytestmark = pytest.mark.slow

QUICK = ("--weights-file", "uniform", "--hash", "16", "--threads", "1")
MOVE = r"(?:[1-9][a-i][1-9][a-i]\+?|[PLNSBRG]\*[1-9][a-i])"
INFO = re.compile(
    r"info depth \d+( seldepth \d+ multipv \d+)? score (cp -?\d+|mate -?\d+)"
    rf"( nodes \d+ nps \d+ hashfull \d+ time \d+ pv( {MOVE})+)?|info string \S.*"
)
ANSWER = re.compile(
    rf"bestmove (resign|win|{MOVE}( ponder {MOVE})?)|checkmate (nomate|timeout|notimplemented|{MOVE}( {MOVE})*)"
)
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


def samples(name: str) -> list[dict[str, Any]]:
    """The lines of a file of samples."""
    text = Path(__file__).parents[2].joinpath("data", name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


CASES, ENDINGS = samples("badinput_usi.jsonl"), samples("endings_shogi.jsonl")


@pytest.fixture(scope="module")
def engine() -> Iterator[UsiProcess]:
    """One process for all cases that leave it alive."""
    with UsiProcess(*QUICK) as process:
        process.ask(["usi", "isready"], timeout=120)
        process.ask(["go mate 10"], "checkmate", timeout=120)  # the first one may have to compile
        yield process


def check_lines(lines: list[str]) -> None:
    """Every line is one that USI knows."""
    for line in lines:
        known = line in ("readyok", "usiok", "") or line.startswith(("id ", "option "))
        assert known or ANSWER.fullmatch(line) or INFO.fullmatch(line), line
        assert line.isascii(), line


def answers(lines: list[str]) -> list[str]:
    """What was answered to each ``go``, without the ponder move."""
    return [line.split(" ponder ")[0] for line in lines if line.startswith(("bestmove", "checkmate"))]


def line_of(position: str) -> State:
    """The game that a good ``position`` command stands for."""
    game = get_game("shogi")
    root, _, moves = position.removeprefix("position ").partition(" moves")
    line = game.initial() if root == "startpos" else game.parse_position(root.removeprefix("sfen "))[0]
    for move in moves.split():
        line = game.play(line, game.parse_move(line, move))
    return line


def is_legal(line: State, text: str) -> bool:
    """Whether a move is."""
    try:
        get_game("shogi").parse_move(line, text)
    except IllegalMoveError:
        return False
    return True


# ----------------------------------------------------------------------------------------------------- start and end


def test_s2_s8_three_games_against_itself(engine: UsiProcess) -> None:
    for result in ("win", "lose", ""):
        engine.ask(["isready", "usinewgame", "isready"])
        moves: list[str] = []
        while len(moves) < 40:
            position = f"position startpos moves {' '.join(moves)}"
            lines = engine.ask([position, "go btime 0 wtime 0 byoyomi 1000 nodes 20"], "bestmove")
            check_lines(lines)
            (answer,) = answers(lines)
            line, move = line_of(position), answer.split()[1]
            assert is_legal(line, move), (position, answer)
            pv = next(text for text in reversed(lines) if " pv " in text).split(" pv ")[1].split()
            assert pv[0] == move
            for step in pv:
                line = get_game("shogi").play(line, get_game("shogi").parse_move(line, step))
            moves.append(move)
        # the opponent resigns while we ponder
        engine.ask([f"position startpos moves {' '.join(moves)}", "go ponder btime 0 wtime 0 byoyomi 1000"], "info")
        lines = engine.ask([f"gameover {result}", "isready"])
        assert len(answers(lines)) == 1
        check_lines(lines)


def test_s5_an_answer_comes_within_the_byoyomi(engine: UsiProcess) -> None:
    engine.send("setoption name NetworkDelay value 60", "setoption name NetworkDelay2 value 9000")
    engine.ask(["setoption name USI_Hash value 1024", "isready"])  # a full tree would answer early
    for clock, least in (("btime 0 wtime 0 byoyomi 10000", 500), ("byoyomi 10000", 500), ("btime 2000 wtime 2000", 0)):
        engine.ask(["usinewgame", "position startpos", "isready"])
        said = engine.ask([f"go {clock}"], "bestmove")
        spent = max(int(line.split(" time ")[1].split()[0]) for line in said if " time " in line)
        assert least <= spent < (2000 if least == 0 else 10_000), said
    engine.send("setoption name NetworkDelay value 120", "setoption name NetworkDelay2 value 1120")
    engine.ask(["setoption name USI_Hash value 16", "isready"])


# ------------------------------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_sample_of_malformed_commands(case: dict[str, Any], engine: UsiProcess) -> None:
    engine.ask(["stop", "usinewgame", "setoption name Threads value 1", "position startpos", "isready"])
    searches = [line for line in case["input"] if line.startswith("go")]
    lines = engine.ask([*case["input"], *case["then"], "isready"])
    while len(answers(lines)) < len(searches):
        lines += engine.until("checkmate" if "mate" in searches[-1] else "bestmove")
    lines += engine.ask(["isready"])
    check_lines(lines)
    replies = answers(lines)
    assert len(replies) == len(searches)
    told = [line for line in lines if line.startswith("info string ")]
    classes = {case["expect"][:2], *(also[:2] for also in case.get("also_ok") or [])}
    last = next((line for line in reversed(case["input"]) if line.startswith("position")), "position startpos")
    if any("checkmate" in wish for wish in case["assert"]):
        assert replies[0].startswith("checkmate ")
    elif "E3" in classes and replies[-1:] != ["bestmove resign"]:
        assert is_legal(line_of(last), replies[-1].split()[1])
    elif "E4" in classes:
        assert replies == ["bestmove resign"]
    elif "E1" in classes:
        assert told, lines
        assert replies in ([], ["bestmove resign"])
    else:
        assert "E2" in classes
        assert replies == []
    assert engine.complaints == b""


@pytest.mark.parametrize("case", ENDINGS, ids=lambda c: c["id"])
def test_sample_of_an_ending(case: dict[str, Any], engine: UsiProcess) -> None:
    expected = case["expect"]
    engine.ask(["usinewgame", "setoption name EnteringKingRule value CSARule27", "isready"])
    position = f"position sfen {case['sfen']} moves {' '.join(case['moves'])}"
    lines = engine.ask([position, "go nodes 20"], "bestmove")
    check_lines(lines)
    (answer,) = answers(lines)
    if case["id"] == "shogi-nyugyoku-black-in-check":  # S12: it has a third rook
        assert any("3 rooks" in line for line in lines)
        assert answer == "bestmove resign"
        return
    if expected.get("legal_moves") == 0:
        assert answer == "bestmove resign"
        assert "info depth 0 score mate -0" in lines
    elif expected.get("declaration_win_27_point"):
        assert answer == "bestmove win"
        lines = engine.ask(
            ["setoption name EnteringKingRule value NoEnteringKing", position, "go nodes 20"], "bestmove"
        )
        assert is_legal(line_of(position), answers(lines)[0].split()[1])
    else:
        assert is_legal(line_of(position), answer.split()[1])
    if "legal_moves" in expected:
        assert engine.ask(["go perft 1"], "Nodes")[-1] == f"Nodes searched: {expected['legal_moves']}"


# ----------------------------------------------------------------------------------------------------- malformed input


def test_the_engine_outlived_all_that(engine: UsiProcess) -> None:
    engine.ask(["setoption name EnteringKingRule value CSARule27", "usinewgame", "position startpos", "isready"])
    (answer,) = answers(engine.ask(["go nodes 20"], "bestmove"))
    assert is_legal(line_of("position startpos"), answer.split()[1])
    engine.send("quit")
    code, rest = engine.end()
    assert (code, rest) == (0, [])


@pytest.mark.parametrize("encoding", ["utf-8", "shift_jis"])
def test_a_net_at_a_japanese_path(encoding: str, engine: UsiProcess, tmp_path: Path) -> None:
    del engine
    path = bytes(tmp_path) + "/表示　将棋.onnx".encode(encoding)
    with UsiProcess(*QUICK) as process:
        process.raw(b"setoption name DNN_Model value " + path + b"\nisready\n")
        missing = process.until("readyok", timeout=60)
        with open(path, "wb") as file:  # noqa: PTH123  a name in bytes
            file.write(b"not a net")
        process.raw(b"setoption name DNN_Model value " + path + b"\nisready\ngo nodes 5\n")
        broken = process.until("bestmove", timeout=60)
        check_lines(missing + broken)
        assert sum(line.startswith("info string ") for line in missing + broken) >= 3
        process.send("quit")
        assert process.end()[0] == 0
        assert process.complaints == b""


def test_cshogi_plays_and_solves_with_it(tmp_path: Path, engine: UsiProcess) -> None:
    """Another program's client, which takes what comes after `isready` for Shift-JIS."""
    client_module = pytest.importorskip("cshogi.usi")
    del engine
    program = tmp_path / "az-engine-usi"
    command = shlex.join([*COMMAND, "usi", *QUICK])
    program.write_text(f"#!/bin/sh\ncd {shlex.quote(str(Path.cwd()))} && exec {command}\n")
    program.chmod(0o755)
    client = client_module.Engine(str(program))
    try:
        assert client.name.startswith("az-engine")
        client.setoption("USI_Ponder", "false")
        client.isready()
        client.usinewgame()
        moves: list[str] = []
        for _ in range(6):
            listener = client_module.InfoListener()
            client.position(moves)
            move, _ = client.go(byoyomi=1000, nodes=20, listener=listener.listen())
            assert is_legal(line_of(f"position startpos moves {' '.join(moves)}"), move)
            assert listener.pv[0] == move
            assert isinstance(listener.score, int)
            moves.append(move)
        assert client.go_mate(byoyomi=100)
    finally:
        process = client.proc
        process.communicate(b"quit\n", timeout=60)
    assert process.returncode == 0
