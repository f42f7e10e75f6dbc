"""The engine as lichess-bot drives it: through python-chess, with the options of its default configuration."""

from __future__ import annotations

from pathlib import Path

import chess
import chess.engine
import pytest

from .process import COMMAND

pytestmark = pytest.mark.slow

OPTIONS: dict[str, str | int | bool] = {  # uci_options of config.yml.default, version 2026.8.2
    "Move Overhead": 100,
    "Threads": 4,
    "Hash": 512,
    "SyzygyPath": "./syzygy/",
    "UCI_ShowWDL": True,
}
OLDER: dict[str, str | int | bool] = {"Move Overhead": 100, "Threads": 2, "Hash": 256}  # of versions before 2023


def start(folder: Path, *flags: str) -> chess.engine.SimpleEngine:
    """As its UCIEngine does: within its working directory, in a process group of its own."""
    command = [*COMMAND, "uci", "--weights-file", "uniform", *flags]
    return chess.engine.SimpleEngine.popen_uci(command, timeout=60.0, debug=False, setpgrp=True, cwd=str(folder))


@pytest.mark.parametrize("options", [OPTIONS, OLDER])
def test_a_game_with_the_default_options(
    options: dict[str, str | int | bool], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    board = chess.Board()
    clock = {chess.WHITE: 60.0, chess.BLACK: 60.0}
    with start(tmp_path) as engine:
        engine.configure(options)  # an option that is not offered raises
        stranger = chess.engine.Opponent(name="Some Bot", title="BOT", rating=2000, is_engine=True)
        engine.send_opponent_information(opponent=stranger, engine_rating=1900)
        for ply in range(6):
            if ply < 2:  # lichess-bot's first move has no clock yet
                limit = chess.engine.Limit(time=0.2)
            else:
                limit = chess.engine.Limit(
                    white_clock=clock[chess.WHITE], black_clock=clock[chess.BLACK], white_inc=0.0, black_inc=0.0
                )
                limit.clock_id = "real time"
            limit.nodes = 60  # its go_commands; not to wait for a whole clock's search
            played = engine.play(board, limit, info=chess.engine.INFO_ALL, ponder=True, draw_offered=False)
            assert played.move is not None
            assert not played.resigned
            assert {"score", "pv", "nodes", "nps", "time", "depth", "hashfull"} <= set(played.info)
            assert ("wdl" in played.info) == ("UCI_ShowWDL" in options)
            board.push(played.move)
            board.push(next(iter(board.legal_moves)))
        engine.ping()
        engine.send_game_result(board, chess.WHITE, "Black resigned", game_complete=True)
        engine.quit()
    assert engine.returncode.result(timeout=60) == 0
    said = [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"]
    assert [line for line in said if not line.endswith("Unexpected engine output: ''")] == []  # it is loading
