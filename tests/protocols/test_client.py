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

from az_engine.engine.errors import EngineProcessError, OptionError
from az_engine.engine.limits import Limits
from az_engine.protocols.clients import base, client_of, process, uci_client_of
from az_engine.protocols.clients.base import PvInfo
from az_engine.protocols.clients.gtp import GtpClient
from az_engine.protocols.clients.process import (
    EngineDied,
    EngineFlooded,
    EngineMisbehaved,
    EngineProcess,
    EngineStalled,
)
from az_engine.protocols.clients.uci import LONG_MATE, UciClient, parse_info
from az_engine.protocols.clients.usi import UsiClient

from ..fakes.clock import FakeClock
from ..fakes.program import COMMAND

INFOS = (
    "info depth 3 seldepth 5 multipv 1 score cp -12 upperbound nodes 77 nps 9 time 8 wdl 1 2 997 pv e2e4 e7e5",
    "info depth x score cp 1",
    "info string score cp 5",
    "info depth 3 multipv 2 score mate -2 pv d2d4",
)
OFFERS = ("Move Overhead type spin default 1 min 0 max 9", "Ponder type check default false")
ANSWERS = {"uci": "e2e4 ponder e7e5", "usi": "7g7f ponder 3c3d"}
QUICK = Limits(movetime=10)
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


def command(*more: str, protocol: str = "uci") -> list[str]:
    """Starts an engine that always gives the same answer."""
    infos = [f"--info={line}" for line in INFOS]
    return [*COMMAND, protocol, ANSWERS[protocol], *infos, *(f"--offers={line}" for line in OFFERS), *more]


def good(protocol: str = "uci", *more: str) -> UciClient:
    """An engine that does nothing wrong."""
    return uci_client_of(protocol)(command(*more, protocol=protocol))


def bad(fault: str, protocol: str = "uci", **settings: float) -> UciClient:
    """An engine that goes wrong in that way; "go=" and a text is its answer."""
    words = command("--complaint=cannot go on\n", f"--fault={fault}", protocol=protocol)
    return uci_client_of(protocol)(words, **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "GRACE_S", 60.0)  # but for engines that never answer
    monkeypatch.setattr(process, "FLOOD", 200)  # lines: a busy machine writes and reads few in that time
    monkeypatch.setattr(process, "QUIT_S", 0.3)


def gone(pid: int) -> bool:
    """Whether a process has ended and been collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_raw_lines_and_their_times(tmp_path: Path) -> None:
    seen: list[str] = []
    environment = os.environ | {"AZ_TEST_NAME": "here"}
    show = "import os, sys; print('dir', os.getcwd(), os.environ['AZ_TEST_NAME'], flush=True); sys.stdin.readline()"
    with EngineProcess([sys.executable, "-c", show], str(tmp_path), environment) as pipes:
        line, came = pipes.until("dir", 30, seen.append)
        assert seen == [line] == [f"dir {tmp_path} here"]
        assert 0 < came < pipes.seconds
        with pytest.raises(EngineStalled, match="waiting for bestmove"):
            pipes.until("bestmove", 0.1)
    seen.clear()
    with EngineProcess([sys.executable, "-c", "print('a'); print('b')"]) as pipes:
        with pytest.raises(EngineDied):
            pipes.drain(30, seen.append)
        assert seen == ["a", "b"]


def test_a_game_with_a_good_engine() -> None:
    with good() as engine:
        assert (engine.name, engine.author) == ("Fake One", "nobody")
        assert sorted(engine.offered) == ["Log", "Move Overhead", "Ponder"]
        engine.set_option("move overhead", 5)
        engine.set_option("Ponder", value=True)
        engine.new_game()
        for _ in range(3):
            answer = engine.play(None, ["e2e4"], QUICK)
            assert (answer.move, answer.ponder) == ("e2e4", "e7e5")
            assert answer.lines == (
                PvInfo(1, 3, 5, -12, None, "upperbound", (1, 2, 997), 77, 9, 8, ("e2e4", "e7e5")),
                PvInfo(2, depth=3, mate=-2, pv=("d2d4",)),
            )
        pid = engine.pid
    assert gone(pid)


def test_thinking_beside_the_caller(clock: FakeClock) -> None:
    with good() as engine:
        engine.go(None, [], Limits(infinite=True))
        with pytest.raises(EngineProcessError, match="still thinking"):
            engine.go(None, [], QUICK)
        with pytest.raises(EngineProcessError, match="still thinking"):
            engine.ready()
        clock.advance(0.5)
        engine.stop()
        assert engine.wait().seconds == 0.5
        engine.go(None, [], Limits(ponder=True, time=(1000, 1000)))
        clock.advance(0.5)
        engine.ponderhit()
        assert engine.wait().seconds == 0
        engine.stop()
        with pytest.raises(EngineProcessError, match="not asked"):
            engine.wait()


def test_the_time_until_the_answer_is_taken_is_not_the_engines(clock: FakeClock) -> None:
    with good() as engine:
        engine.go(None, [], QUICK)
        while engine._lines.qsize() <= len(INFOS):  # noqa: SLF001
            time.sleep(0.01)
        clock.advance(5.0)
        assert engine.wait().seconds == 0


def test_no_move_is_an_answer() -> None:
    with bad("go=(none)") as engine:
        assert engine.play(None, [], QUICK).move is None


ENDS = [
    ("start=exit", EngineDied, "exit status 3"),
    ("die", EngineDied, "signal 9"),
    ("exit", EngineDied, "exit status 3"),
    ("spam", EngineFlooded, "without end"),
    ("flood", EngineFlooded, "without end"),
]
FAULTS = [
    *(("uci", *end) for end in ENDS),
    ("uci", "exit", EngineDied, "exit status 3.*cannot go on"),
    ("uci", "close", EngineDied, "ended"),
    ("uci", "uci=hang", EngineStalled, "uciok"),
    ("uci", "isready=hang", EngineStalled, "readyok"),
    ("uci", "hang", EngineStalled, "bestmove"),
    ("uci", "go=e2e5", EngineMisbehaved, "illegal move: bestmove e2e5"),
    ("uci", "go=Nf3", EngineMisbehaved, "illegal move: bestmove Nf3"),
    ("uci", "go= ", EngineMisbehaved, "illegal move: bestmove"),
    ("uci", "go=e2e4\nbestmove e2e4", EngineMisbehaved, "nobody asked for"),
    *(("gtp", *end) for end in ENDS),
    ("gtp", "list_commands=hang", EngineStalled, "list_commands"),
    ("gtp", "protocol_version=hang", EngineStalled, "protocol_version"),
    ("gtp", "hang", EngineStalled, "genmove"),
    ("gtp", "genmove=Z99", EngineMisbehaved, "illegal move: Z99"),
    ("gtp", "genmove=Nf3", EngineMisbehaved, "illegal move: Nf3"),
    ("gtp", "genmove= ", EngineMisbehaved, "illegal move"),
    ("gtp", "wrong-id", EngineMisbehaved, "no response to it"),
    ("gtp", "play=refuse", EngineMisbehaved, "refuses the legal move b C3"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "how", "fault", "words"), FAULTS)
def test_faults_are_told_apart_and_leave_no_process(
    protocol: str, how: str, fault: type[EngineProcessError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is not to come in time is waited for shortly: a busy machine starts an engine slowly."""
    monkeypatch.setattr(base, "GRACE_S", {"hang": 0.7, "spam": 3.0, "flood": 3.0}.get(how, 60.0))
    start_s = 1.5 if how in ("uci=hang", "list_commands=hang") else 60.0
    ready_s = 1.0 if how in ("isready=hang", "protocol_version=hang") else 60.0
    legal: Callable[[str], bool] = {move.uci() for move in chess.Board().legal_moves}.__contains__
    pids = []

    def moves() -> None:
        if protocol == "gtp":
            go = GtpClient([*COMMAND, "gtp", "E5", f"--fault={how}"], start_s=start_s, ready_s=ready_s)
            pids.append(go.pid)
            go.play("9/9/9/9/9/9/9/9/9 b - 7 chinese-ogs 0 0 0", ["C3"], QUICK)
        else:
            engine = bad(how, start_s=start_s, ready_s=ready_s)
            pids.append(engine.pid)
            for _ in range(2):
                engine.play(None, [], QUICK, legal)

    with pytest.raises(fault, match=words) as caught:
        moves()
    assert type(caught.value) is fault
    assert "\n" not in str(caught.value)
    assert all(map(gone, pids))


def test_an_engine_deaf_to_stop_and_one_that_will_not_quit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "GRACE_S", 0.7)
    engine = bad("stop=hang")
    engine.go(None, [], Limits(infinite=True))
    engine.stop()
    with pytest.raises(EngineStalled):
        engine.wait()
    assert gone(engine.pid)
    engine = bad("quit=hang")
    engine.close()
    assert gone(engine.pid)


def test_a_full_stderr_does_not_block_the_engine_and_its_last_line_is_kept() -> None:
    with good("uci", "--complaint=" + "e" * 100_000 + "\n") as engine:
        assert engine.play(None, [], QUICK).move == "e2e4"
    with good("uci", "--complaint=first\nno table base found\n") as engine:
        engine.kill()
        with pytest.raises(EngineDied, match="last words: no table base found"):
            engine.ready()


def test_a_game_of_shogi() -> None:
    with good("usi") as engine:
        engine.set_option("USI_Hash", 16)  # never offered: GUIs send it all the same
        engine.new_game()
        for answer in (engine.play(None, ["2g2f"], QUICK), engine.play(START, [], Limits(time=(0, 0), byoyomi=9))):
            assert (answer.move, answer.ponder, answer.resign, answer.win) == ("7g7f", "3c3d", False, False)
            assert answer.lines[1].mate == -2
        engine.game_over("win")
        engine.new_game()
        assert engine.play(None, [], QUICK).move == "7g7f"


@pytest.mark.parametrize("how", ["resign", "win", "(none)"])
def test_answers_without_a_move(how: str) -> None:
    with bad(f"go={how}", "usi") as engine:
        answer = engine.play(None, [], QUICK)
        assert (answer.move, answer.resign, answer.win) == (None, how == "resign", how == "win")
        assert len(answer.lines) == 2


@pytest.mark.parametrize("how", ["resign", "win"])
def test_only_shogi_players_resign_and_declare(how: str) -> None:
    with pytest.raises(EngineMisbehaved, match=f"illegal move: bestmove {how}"), bad(f"go={how}") as engine:
        engine.play(None, [], QUICK)


def test_a_second_answer_of_a_shogi_engine_is_not_taken_for_the_next_one() -> None:
    with bad("go=7g7f\nbestmove 7g7f", "usi") as engine:
        engine.play(None, [], QUICK)
        while not engine._lines.qsize():  # noqa: SLF001
            time.sleep(0.01)
        with pytest.raises(EngineMisbehaved, match="nobody asked for"):
            engine.play(None, [], QUICK)
    assert gone(engine.pid)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("7g7f+", True),
        ("P*5e", True),
        ("1a9i", True),
        ("p*5e", False),
        ("K*5e", False),
        ("7g7f=", False),
        ("0a1a", False),
    ],
)
def test_the_form_of_shogi_moves(text: str, good: bool) -> None:
    assert (UsiClient.move.fullmatch(text) is not None) == good


def test_a_protocol_without_a_client() -> None:
    with pytest.raises(OptionError, match="uci, usi, gtp, not over xboard"):
        client_of("xboard")


def test_unknown_options_and_programs() -> None:
    for name, value, wanted in (
        ("Move Overhead", 10, "a whole number from 0 to 9, not '10'"),
        ("Move Overhead", "much", "a whole number"),
        ("Ponder", "yes", "true or false"),
    ):
        with good() as engine, pytest.raises(EngineProcessError, match=wanted):
            engine.set_option(name, value)
    with pytest.raises(EngineProcessError, match="has no option 'Contempt'; it offers Log, Move Overhead, Ponder"):
        UciClient(command(), {"Contempt": 3})
    with pytest.raises(EngineProcessError, match="cannot be started: No such file"):
        UciClient("./no-such-engine --flag")
    with pytest.raises(EngineProcessError, match="cannot be started"):
        UciClient("")


def test_go_lines() -> None:
    line = UciClient.go_line
    assert line(Limits(time=(1, -2), increment=(0, 3), movestogo=4)) == "go wtime 1 btime -2 binc 3 movestogo 4"
    assert line(Limits(ponder=True, movetime=5)) == "go ponder movetime 5"
    assert line(Limits(nodes=6, depth=7, mate=8, searchmoves=("e2e4",))) == "go nodes 6 depth 7 mate 8 searchmoves e2e4"
    assert line(Limits()) == "go infinite"


def test_go_lines_of_shogi() -> None:
    line = UsiClient.go_line
    assert line(Limits(time=(60_000, 50_000), byoyomi=1000)) == "go btime 60000 wtime 50000 byoyomi 1000"
    assert line(Limits(byoyomi=1000)) == "go btime 0 wtime 0 byoyomi 1000"
    assert line(Limits(time=(9, 18), increment=(0, 7))) == "go btime 9 wtime 11 binc 0 winc 7"
    assert line(Limits(time=(9, 8))) == "go btime 9 wtime 8 byoyomi 0"
    assert line(Limits(ponder=True, nodes=6)) == "go ponder nodes 6"
    assert line(Limits(infinite=True)) == "go infinite"


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
    assert parse_info("info score mate - nodes 5") == PvInfo(mate=-LONG_MATE, nodes=5)
    assert parse_info("info score mate + pv 7g7f") == PvInfo(mate=LONG_MATE, pv=("7g7f",))


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


@pytest.mark.skipif(
    shutil.which("fairy-stockfish", path=os.defpath + ":/usr/games") is None, reason="Fairy-Stockfish is not installed"
)
def test_fairy_stockfish_plays_shogi() -> None:
    path = shutil.which("fairy-stockfish", path=os.defpath + ":/usr/games")
    assert path is not None
    with UsiClient([path], {"Threads": 1, "Hash": 1, "MultiPV": 2}) as engine:
        engine.new_game()
        answer = engine.play(START, ["7g7f"], Limits(nodes=500))
        assert answer.move is not None
        assert len(answer.lines) == 2
        engine.game_over("draw")
        mated = engine.play("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", [], Limits(nodes=500))
        assert mated.resign
