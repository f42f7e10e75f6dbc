"""The client against engines that go wrong, and against a good one."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from az_engine.engine.errors import EngineProcessError
from az_engine.engine.limits import Limits
from az_engine.protocols import client as client_module
from az_engine.protocols.client import (
    EngineDied,
    EngineMisbehaved,
    EngineStalled,
    PvInfo,
    UciClient,
    go_command,
    parse_info,
)

BAD = str(Path(__file__).with_name("bad_engine.py"))
QUICK = Limits(movetime=10)


def bad(how: str, **settings: float) -> UciClient:
    """An engine that goes wrong that way."""
    return UciClient([sys.executable, BAD, how], **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "GRACE_S", 0.7)
    monkeypatch.setattr(client_module, "QUIT_S", 0.3)


def gone(pid: int) -> bool:
    """Whether a process has ended and been collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_game_with_a_good_engine() -> None:
    with bad("good") as engine:
        assert (engine.name, engine.author) == ("Bad One", "nobody")
        assert sorted(engine.offered) == ["Move Overhead", "Ponder"]
        engine.set_option("move overhead", 5)
        engine.set_option("Ponder", value=True)
        engine.new_game()
        for _ in range(3):
            answer = engine.play(None, ["e2e4"], QUICK)
            assert (answer.move, answer.ponder) == ("e2e4", "e7e5")
            assert 0.04 < answer.seconds < 0.5
            assert answer.lines == (
                PvInfo(1, 3, 5, -12, None, "upperbound", (1, 2, 997), 77, 9, 8, ("e2e4", "e7e5")),
                PvInfo(2, depth=3, mate=-2, pv=("d2d4",)),
            )
        pid = engine.pid
    assert gone(pid)


def test_thinking_beside_the_caller() -> None:
    with bad("good") as engine:
        engine.go(None, [], Limits(infinite=True))
        with pytest.raises(EngineProcessError, match="still thinking"):
            engine.go(None, [], QUICK)
        with pytest.raises(EngineProcessError, match="still thinking"):
            engine.ready()
        time.sleep(0.1)
        engine.stop()
        assert engine.wait().seconds > 0.1
        engine.go(None, [], Limits(ponder=True, time=(1000, 1000)))
        time.sleep(0.1)
        engine.ponderhit()
        assert engine.wait().seconds < 0.1
        engine.stop()
        with pytest.raises(EngineProcessError, match="not asked"):
            engine.wait()


def test_the_time_until_the_answer_is_taken_is_not_the_engines() -> None:
    with bad("good") as engine:
        engine.go(None, [], QUICK)
        time.sleep(0.4)
        assert engine.wait().seconds < 0.3


def test_no_move_is_an_answer() -> None:
    with bad("none") as engine:
        assert engine.play(None, [], QUICK).move is None


@pytest.mark.parametrize(
    ("how", "fault", "words"),
    [
        ("no start", EngineDied, "exit status 3"),
        ("die", EngineDied, "signal 9"),
        ("exit", EngineDied, "exit status 7.*cannot go on"),
        ("close stdout", EngineDied, "ended"),
        ("mute", EngineStalled, "uciok"),
        ("never ready", EngineStalled, "readyok"),
        ("hang", EngineStalled, "bestmove"),
        ("spam", EngineStalled, "bestmove"),
        ("illegal", EngineMisbehaved, "illegal move: bestmove e2e5"),
        ("nonsense", EngineMisbehaved, "illegal move: bestmove Nf3"),
        ("empty", EngineMisbehaved, "illegal move: bestmove"),
        ("twice", EngineMisbehaved, "nobody asked for"),
    ],
)
def test_faults_are_told_apart_and_leave_no_process(how: str, fault: type[EngineProcessError], words: str) -> None:
    board = chess.Board()
    legal: Callable[[str], bool] = lambda move: chess.Move.from_uci(move) in board.legal_moves  # noqa: E731
    engines = []

    def two_moves() -> None:
        engines.append(bad(how, start_s=1.5, ready_s=1.0))
        engines[0].play(None, [], QUICK, legal)
        engines[0].play(None, [], QUICK, legal)

    start = time.monotonic()
    with pytest.raises(fault, match=words) as caught:
        two_moves()
    assert type(caught.value) is fault
    assert "\n" not in str(caught.value)
    assert time.monotonic() - start < 30
    assert all(gone(engine.pid) for engine in engines)


def test_an_engine_deaf_to_stop_and_one_that_will_not_quit() -> None:
    engine = bad("deaf to stop")
    engine.go(None, [], Limits(infinite=True))
    engine.stop()
    with pytest.raises(EngineStalled):
        engine.wait()
    assert gone(engine.pid)
    engine = bad("will not quit")
    engine.close()
    assert gone(engine.pid)


def test_a_full_stderr_does_not_block_the_engine_and_its_last_line_is_kept() -> None:
    with bad("babble") as engine:
        assert engine.play(None, [], QUICK).move == "e2e4"
    with bad("complain") as engine:
        engine.kill()
        with pytest.raises(EngineDied, match="last words: no table base found"):
            engine.ready()


def test_unknown_options_and_programs() -> None:
    with pytest.raises(EngineProcessError, match="has no option 'Contempt'; it offers Move Overhead, Ponder"):
        UciClient([sys.executable, BAD, "good"], {"Contempt": 3})
    with pytest.raises(EngineProcessError, match="cannot be started: No such file"):
        UciClient("./no-such-engine --flag")
    with pytest.raises(EngineProcessError, match="cannot be started"):
        UciClient("")


def test_go_lines() -> None:
    assert go_command(Limits(time=(1, -2), increment=(0, 3), movestogo=4)) == "go wtime 1 btime -2 binc 3 movestogo 4"
    assert go_command(Limits(ponder=True, movetime=5)) == "go ponder movetime 5"
    assert (
        go_command(Limits(nodes=6, depth=7, mate=8, searchmoves=("e2e4",)))
        == "go nodes 6 depth 7 mate 8 searchmoves e2e4"
    )
    assert go_command(Limits()) == "go infinite"


def test_malformed_infos_are_passed_over() -> None:
    for line in (
        "info",
        "info depth 3",
        "info score cp",
        "info score cp x",
        "info depth",
        "bestmove e2e4",
        "",
        "info string score",
    ):
        assert parse_info(line) is None
    assert parse_info("info score mate 3 lowerbound currmove e2e4") == PvInfo(mate=3, bound="lowerbound")


@pytest.mark.skipif(
    shutil.which("stockfish", path=os.defpath + ":/usr/games") is None, reason="Stockfish is not installed"
)
def test_stockfish_plays() -> None:
    path = shutil.which("stockfish", path=os.defpath + ":/usr/games")
    assert path is not None
    with UciClient([path], {"Threads": 1, "Hash": 1, "MultiPV": 3, "UCI_ShowWDL": True}) as engine:
        engine.new_game()
        answer = engine.play("4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1", [], Limits(nodes=2000))
        assert answer.move is not None
        assert len(answer.lines) == 3
        assert answer.lines[0].wdl is not None
        assert sum(answer.lines[0].wdl) == 1000
