"""The GTP client against engines that go wrong, against a good one, and what it sends."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from az_engine.engine.errors import EngineProcessError
from az_engine.engine.limits import Limits
from az_engine.protocols.clients import base as driver
from az_engine.protocols.clients import process
from az_engine.protocols.clients.gtp import GtpClient, parse_analysis

from ...fakes.program import COMMAND

KATA = (
    "info move E5 visits 70 edgeVisits 70 utility 0.1 winrate 0.625 scoreMean 1.5 scoreStdev 9 scoreLead 1.5 "
    "scoreSelfplay 2 prior 0.3 lcb 0.6 utilityLcb 0.05 weight 71.5 order 0 pv E5 C3 G7 pvVisits 70 20 5 "
    "info move C4 visits 30 edgeVisits 30 utility 0 winrate 0.5 scoreMean 0.1 scoreStdev 9 scoreLead 0.1 "
    "scoreSelfplay 0 prior 0.2 lcb 0.4 utilityLcb 0 weight 30 order 1 pv C4 E5"
)
OWNERS = " ownership " + " ".join("0.5" if i < 40 else "-0.25" for i in range(81))
LZ = (
    "info move E5 visits 60 winrate 6250 prior 3000 lcb 6100 order 0 pv E5 C3 "
    "info move C4 visits 40 winrate 5000 prior 2000 lcb 4900 order 1 pv C4"
)
OF_KATAGO = (
    *("kata-analyze", "kata-genmove_analyze", "kata-set-rules", "kata-time_settings", "kata-set-param"),
    "clear_cache",
)
QUICK = Limits(movetime=10)
START = "9/9/9/9/9/9/9/9/9 b - 7 chinese-ogs 0 0 0"
STONES = "9/9/2X6/9/9/9/6X2/9/9 w - 0.5 aga 2 0 0"


def bad(fault: str) -> GtpClient:
    return GtpClient([*COMMAND, "gtp", "E5", f"--fault={fault}"])


def analysing(info: str, *commands: str) -> GtpClient:
    """An engine with these commands that says this of every position."""
    return GtpClient([*COMMAND, "gtp", "E5", f"--info={info}", "--score=W+3.5", *(f"--offers={c}" for c in commands)])


def scripted(log: Path, *answers: str) -> GtpClient:
    return GtpClient([*COMMAND, "gtp", *answers], {"Log": log})


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "GRACE_S", 60.0)  # but for engines that never answer
    monkeypatch.setattr(process, "FLOOD", 200)  # lines: a busy machine writes and reads few in that time
    monkeypatch.setattr(process, "QUIT_S", 0.3)


def test_moves_are_read_in_any_case() -> None:
    for said, move in (("e5", "E5"), ("PASS", "pass"), ("E5", "E5")):
        with bad(f"genmove={said}") as engine:
            assert engine.play(START, [], QUICK).move == move
    with bad("genmove=RESIGN") as engine:
        answer = engine.play(START, [], QUICK)
        assert (answer.move, answer.resign) == (None, True)
        assert engine.final_score() is None  # it has no such command


def test_only_news_is_sent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with scripted(log, "E5", "C3", "G7", "D3") as engine:
        engine.new_game()
        engine.play(START, [], Limits(time=(60_000, 60_000), byoyomi=5000))
        engine.play(START, ["E5", "D4"], Limits(time=(0, 60_000), byoyomi=5000))
        assert engine.play(STONES, ["E5"], Limits()).move == "D3"
        engine.set_option("Log", tmp_path / "other")
    assert log.read_text().splitlines() == [
        *(f"Log {log}", "protocol_version", "protocol_version"),
        *("boardsize 9", "clear_board", "komi 7", "time_settings 60 5 1", "time_left b 60 0", "genmove b"),
        *("play w D4", "time_left b 5 1", "genmove b"),
        *("boardsize 9", "clear_board", "komi 0.5", "play b C7", "play b G3", "play w E5", "genmove b"),
    ]


def test_a_game_that_went_another_way_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with scripted(log, "E5") as engine:
        engine.play(START, [], Limits())
        engine.play(START, ["E4", "C3"], QUICK)
    assert log.read_text().splitlines()[-7:-1] == [
        *("clear_board", "komi 7", "play b E4", "play w C3", "time_settings 0 0.01 1", "time_left b 0 1"),
    ]


def test_what_katago_and_leela_zero_understand(tmp_path: Path) -> None:
    with analysing(KATA, *OF_KATAGO) as engine:
        answer = engine.play(START, [], Limits(nodes=100, time=(1500, 1500), increment=(10, 10)))
        assert answer.move == "E5"
        first, second = answer.lines
        assert (first.chance, first.lead, first.nodes, first.pv) == (0.625, 1.5, 70, ("E5", "C3", "G7"))
        assert (second.multipv, second.pv) == (2, ("C4", "E5"))
        assert engine.final_score() == -3.5
        with pytest.raises(EngineProcessError, match="cannot be told a depth"):
            engine.play(START, ["E5"], Limits(depth=3))
    with analysing(LZ, "lz-analyze", "lz-genmove_analyze", "lz-setoption") as engine:
        assert engine.play(START, [], Limits(nodes=100)).lines[0].chance == 0.625
    with (
        scripted(tmp_path / "log", "E5") as engine,
        pytest.raises(EngineProcessError, match="no command for a number of visits"),
    ):
        engine.play(START, [], Limits(nodes=100))


def test_reports() -> None:
    report = parse_analysis(KATA + OWNERS, 1.0)
    assert report is not None
    assert (report.visits, len(report.lines), len(report.ownership)) == (100, 2, 81)
    assert report.ownership[:41:40] == (0.5, -0.25)
    report = parse_analysis(f"{LZ} rootInfo visits 9 winrate 1", 10_000.0)
    assert report is not None
    assert [line.chance for line in report.lines] == [0.625, 0.5]
    for line in ("", "=4", "play E5", "info", "info move E5", "info move E5 visits x winrate 1", "infomove E5"):
        assert parse_analysis(line, 1.0) is None


def test_what_cannot_be_said(tmp_path: Path) -> None:
    with scripted(tmp_path / "log", "E5") as engine:
        with pytest.raises(EngineProcessError, match="has no command 'level'"):
            engine.set_option("level", 3)
        with pytest.raises(EngineProcessError, match="ko may not be retaken"):
            engine.play("9/9/9/9/9/9/9/9/9 b E5 7 aga 0 0 0", [], QUICK)
        with pytest.raises(EngineProcessError, match="not asked"):
            engine.wait()


@pytest.mark.skipif(shutil.which("gnugo", path=os.defpath + ":/usr/games") is None, reason="GNU Go is not installed")
def test_gnu_go() -> None:
    path = shutil.which("gnugo", path=os.defpath + ":/usr/games")
    with GtpClient(f"{path} --mode gtp --level 0 --chinese-rules", {"level": 1}) as engine:
        answer = engine.play(START, ["E5"], Limits(time=(60_000, 60_000)))
        assert answer.move is not None
        assert engine.play(START, ["E5", answer.move, "pass"], Limits()).move is not None
        assert engine.final_score() is not None
