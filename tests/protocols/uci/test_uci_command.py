"""``az-engine uci`` as a process, with the real engine: start, end, malformed input."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.engine
import pytest

from ..process import COMMAND, EngineProcess

pytestmark = pytest.mark.slow

CASES = [
    json.loads(line)
    for line in Path(__file__)
    .parents[2]
    .joinpath("data", "badinput_uci.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
QUICK = ("--weights-file", "uniform", "--hash", "16", "--threads", "1")
INFO = re.compile(
    r"info depth \d+( seldepth \d+ multipv \d+)? score (cp -?\d+|mate -?\d+)"
    r"( nodes \d+ nps \d+ hashfull \d+( tbhits \d+)? time \d+ pv( [a-h][1-8][a-h][1-8][nbrq]?)+)?|info string \S.*"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineProcess]:
    """One process for all cases that leave it alive."""
    with EngineProcess(*QUICK) as process:
        process.ask(["uci", "isready"], timeout=120)
        yield process


def check_lines(lines: list[str]) -> None:
    """Every line is one that UCI knows."""
    for line in lines:
        assert (
            line in ("readyok", "uciok", "") or line.startswith(("bestmove ", "id ", "option ")) or INFO.fullmatch(line)
        ), line


def answers(lines: list[str]) -> list[str]:
    """The moves given."""
    return [line.split()[1] for line in lines if line.startswith("bestmove")]


# ----------------------------------------------------------------------------------------------------- start and end


def test_a_limit_of_depth_ends_where_nothing_deepens() -> None:
    """A draw is known and takes nearly all visits beside a line that tables call lost: the mean depth stayed at 1."""
    with EngineProcess("--threads", "1") as process:
        position = "position fen 7k/8/8/8/8/8/r7/K7 w - - 0 1"
        process.ask(["setoption name MultiPV value 5", position, "isready"], timeout=300)
        assert answers(process.ask(["go depth 3"], "bestmove", timeout=120)) == ["a1a2"]


def test_a_game_against_itself_is_legal() -> None:
    board = chess.Board()
    with EngineProcess(*QUICK) as process:
        process.ask(["isready"], timeout=120)
        while not board.is_game_over(claim_draw=True) and board.ply() < 60:
            moves = " ".join(move.uci() for move in board.move_stack)
            lines = process.ask([f"position startpos moves {moves}", "go nodes 30"], "bestmove")
            check_lines(lines)
            pv = next(line for line in reversed(lines) if " pv " in line).split(" pv ")[1].split()
            after = board.copy()
            for move in pv:
                after.push_uci(move)
            board.push_uci(answers(lines)[0])
            assert pv[0] == board.peek().uci()


@pytest.mark.parametrize(
    ("number", "flags", "least"),
    [
        (signal.SIGTERM, QUICK, 1),
        (signal.SIGINT, QUICK, 1),
        (signal.SIGTERM, ("--hash", "1", "--threads", "1"), 10_000),
    ],
    ids=["SIGTERM", "SIGINT", "full tree"],
)
def test_signals_end_it_cleanly(number: int, flags: tuple[str, ...], least: int, engine: EngineProcess) -> None:
    del engine
    with EngineProcess(*flags) as process:
        process.ask(["isready"])
        process.send("go infinite")
        while not (found := re.search(r" nodes (\d+)", process.until("info", 60.0)[-1])) or int(found[1]) < least:
            continue
        process.process.send_signal(number)
        code, rest = process.end()
        assert process.complaints == b""
    assert code == 0
    assert len(answers(rest)) == 1


def test_a_gui_that_stops_reading_and_goes_away(engine: EngineProcess) -> None:
    del engine
    program = [sys.executable, "-m", "az_engine", "uci", *QUICK]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"isready\ngo infinite\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_quit_while_the_net_is_loaded(tmp_path: Path) -> None:
    """With no compiled kernels at hand, loading takes many seconds: quit does not wait for all of it."""
    with EngineProcess(env={"AZ_ENGINE_CACHE": str(tmp_path / "cache")}) as process:
        process.ask(["uci", "isready", "go nodes 10", "isready"], "uciok")
        process.until("info", timeout=60)
        process.send("quit")
        code, rest = process.end()
    assert code == 0
    assert len(answers(rest)) == 1


def test_everything_is_logged_with_times_and_files_are_not_quoted(tmp_path: Path, engine: EngineProcess) -> None:
    del engine
    log, secret = tmp_path / "a b.log", tmp_path / "secret"
    secret.write_text("root:hunter2:0:0\n")
    with EngineProcess(*QUICK) as process:
        process.ask(["isready"])
        said = process.ask(
            [f"setoption name LogFile value {log}", f"setoption name WeightsFile value {secret}", "isready"]
        ) + process.ask([f"setoption name LogFile value {secret}", "isready", "go nodes 5"], "bestmove")
        process.send("quit")
        assert process.end()[0] == 0
        assert b"hunter2" not in process.complaints
    assert "hunter2" not in "".join(said)
    assert any(line.startswith("info string ") and "secret" in line for line in said)
    written = [line[24:] for line in log.read_text().splitlines()]
    assert written[0] == f"< setoption name WeightsFile value {secret}"
    assert "> readyok" in written
    assert secret.read_text().startswith("root:hunter2:0:0\n")


# ----------------------------------------------------------------------------------------------------- malformed input


def board_of(lines: list[str]) -> chess.Board:
    """The position that the last good ``position`` line sets up."""
    board = chess.Board()
    for line in lines:
        words = line.split()
        if words[:1] != ["position"]:
            continue
        cut = words.index("moves") if "moves" in words else len(words)
        board = chess.Board() if words[1:2] == ["startpos"] else chess.Board(" ".join(words[2:cut]))
        for move in words[cut + 1 :]:
            board.push_uci(move)
    return board


@pytest.mark.parametrize("case", [c for c in CASES if c.get("input", ["quit"]) != ["quit"]], ids=lambda c: c["id"])
def test_sample_of_malformed_commands(case: dict[str, Any], engine: EngineProcess) -> None:
    engine.ask(["stop", "ucinewgame", "setoption name Threads value 1", "position startpos", "isready"])
    lines = engine.ask([*case["input"], "isready"])
    if case["expect"].startswith("E3") and not answers(lines):
        if "stop" in case["then"] or any("ponder" in line or "infinite" in line for line in case["input"]):
            engine.send("stop")
        lines += engine.until("bestmove")
    while len(answers(lines)) < sum(line.startswith("go") for line in case["input"]):
        lines += engine.until("bestmove")
    lines += engine.ask([*case["then"], "isready"])
    engine.send("setoption name WeightsFile value uniform")
    check_lines(lines)
    moves = answers(lines)
    assert len(moves) == sum(line.startswith("go") for line in case["input"])
    told = [line for line in lines if line.startswith("info string ")]
    classes = [case["expect"][:2], *(also[:2] for also in case.get("also_ok") or [])]
    if "E1" in classes:
        if "E3" not in classes:
            assert told, lines
            assert all(move == "(none)" for move in moves) or case["input"][0].startswith(
                ("setoption", "position startpos")
            )
    elif "E3" in classes:
        assert chess.Move.from_uci(moves[-1]) in board_of(case["input"]).legal_moves
    elif "E4" in classes:
        assert moves == ["(none)"]
    assert engine.complaints == b""


def test_a_refused_position_is_never_answered_with_a_move(engine: EngineProcess) -> None:
    for case in CASES:
        refused = case["expect"].startswith("E1") and not case.get("also_ok")
        if refused and [line.split()[0] for line in case.get("input", [])] == ["position", "position", "go"]:
            assert answers(engine.ask(case["input"], "bestmove")) == ["(none)"], case["id"]


@pytest.mark.parametrize("case", [c for c in CASES if "input" not in c], ids=lambda c: c["id"])
def test_sample_of_raw_bytes(case: dict[str, Any], engine: EngineProcess) -> None:
    del engine
    data = b"".join(base64.b64decode(text) * count for text, count in case.get("input_b64_runs", []))
    data = data or base64.b64decode(case["input_b64"])
    with EngineProcess(*QUICK) as process:
        process.ask(["isready"])
        process.raw(data)
        if data.endswith(b"isready\n"):
            lines = process.until("readyok")
            check_lines(lines)
            assert ("E1" in case["expect"]) == (len(lines) > 1)
            status = Path(f"/proc/{process.process.pid}/status")
            if status.exists():
                assert int(re.findall(r"VmRSS:\s+(\d+) kB", status.read_text())[0]) < 600 * 1024
        process.stdin.close()
        code, rest = process.end()
        assert process.complaints == b""
    check_lines(rest)
    assert code == 0
    assert len(answers(rest)) == data.count(b"go ")


def test_the_engine_outlived_all_that(engine: EngineProcess) -> None:
    engine.ask(["setoption name UCI_Chess960 value false", "ucinewgame", "position startpos", "isready"])
    (move,) = answers(engine.ask(["go nodes 20"], "bestmove"))
    assert chess.Move.from_uci(move) in chess.Board().legal_moves
    engine.send("quit")
    code, rest = engine.end()
    assert (code, rest) == (0, [])


def test_python_chess_plays_and_analyses_with_it(caplog: pytest.LogCaptureFixture) -> None:
    """Another program's client, which logs whatever it does not expect."""
    with chess.engine.SimpleEngine.popen_uci([*COMMAND, "uci", *QUICK], timeout=120) as client:
        client.configure({"Hash": 8, "Move Overhead": 50})
        board = chess.Board()
        for _ in range(6):
            played = client.play(board, chess.engine.Limit(nodes=40), info=chess.engine.INFO_ALL, ponder=True)
            assert played.move is not None
            assert played.move in board.legal_moves
            assert played.info["nodes"] >= 40
            board.push(played.move)
        clock = chess.engine.Limit(white_clock=1.0, black_clock=1.0, white_inc=0.05, black_inc=0.05)
        in_time = client.play(board, clock).move
        assert in_time is not None
        assert in_time in board.legal_moves
        lines = client.analyse(board, chess.engine.Limit(depth=2), multipv=4)
        assert [line["multipv"] for line in lines] == [1, 2, 3, 4]
        with client.analysis(board) as endless:
            assert next(endless)["pv"]
        special = chess.Board("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", chess960=True)
        unusual = client.play(special, chess.engine.Limit(nodes=40)).move
        assert unusual is not None
        assert unusual in special.legal_moves
        client.ping()
    said = [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"]
    assert said == []


def test_a_net_whose_name_is_too_long_for_a_file_is_refused_with_a_sentence() -> None:
    lines = f"uci\nsetoption name WeightsFile value {'x' * 300}\nisready\nposition startpos\ngo nodes 1\n"
    command = [sys.executable, "-m", "az_engine", "uci"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert "File name too long" in done.stdout
    assert "internal error" not in done.stdout
    assert re.search(r"^bestmove [a-h][1-8]", done.stdout, re.MULTILINE)


def test_the_engine_is_loaded_while_a_gui_starts_up() -> None:
    with EngineProcess(*QUICK) as engine:
        engine.ask(["uci"], "uciok", 60)
        while not engine.until("info", 120)[-1].startswith("info string playing with"):  # before isready
            pass
        engine.send("quit")
