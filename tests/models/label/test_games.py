"""Labelling with an engine: records that agree with python-chess, processes, resuming, engines that fail."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import chess
import numpy as np
import pytest

import az_engine
from az_engine.engine.errors import DataError, EngineProcessError, OptionError
from az_engine.models.data.games.chess import chances_of_score, read_folder, to_positions
from az_engine.models.data.shards import TargetOptions
from az_engine.models.label import command
from az_engine.models.label.teachers.engine import centipawns
from az_engine.models.label.writer import SETTINGS
from az_engine.protocols.clients.base import PvInfo

from ...fakes.program import score
from ...fakes.waiting import wait_for
from .. import reference
from ..samples import CHESS
from .labelling import SHORT, UCI, arguments, by_game, label, labelled, read

ENGINE = ("--engine", UCI, *SHORT)


@pytest.mark.slow
def test_records_say_what_the_engine_said_and_what_was_played(tmp_path: Path) -> None:
    records = labelled(tmp_path, *ENGINE, "--blunders", "0.2", "--multipv", "4")
    assert sorted(np.unique(records["game"])) == [0, 1, 2]
    boards: dict[int, chess.Board] = {}
    for record in records:
        board = reference.board_of(record)
        seen = fen_with_clock(board, record)
        expected = sorted(board.legal_moves, key=lambda m: (-score(seen, m.uci()), m.uci()))
        count = int(record["n"])
        assert count == min(4, len(expected))
        assert [reference.move_of(int(m)) for m in record["mv"][:count]] == expected[:count]
        assert set(expected) >= {reference.move_of(int(record["played"]))}
        if not record["rnd"]:
            assert record["played"] in record["mv"][:count]
        chances = np.rint(1000 * chances_of_score(record["cp"][:1]))[0]
        assert [record["w"], record["l"]] == [chances[0], chances[2]]
        before = boards.get(int(record["game"]))
        if before is not None:  # the record before, plus the move played, is this one
            assert before.epd() == board.epd()
        board.push(reference.move_of(int(record["played"])))
        boards[int(record["game"])] = board
    assert records["rnd"].any()
    assert set(np.unique(records["z"])) <= {-1, 0, 1}
    positions = to_positions(CHESS, records, TargetOptions(), "")
    assert len(positions.batch(np.arange(len(records)))) == len(records)  # every label is legal to our own rules too


def fen_with_clock(board: chess.Board, record: np.void) -> str:
    """The position with the move number that the engine saw."""
    board.fullmove_number = int(record["ply"]) // 2 + 1
    return board.fen()


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_the_missing_games(tmp_path: Path) -> None:
    label(tmp_path / "parts", *ENGINE, "--games", 2)
    label(tmp_path / "parts", *ENGINE, "--games", 4, "--processes", "2")
    parts = labelled(tmp_path / "parts", *ENGINE, "--games", 4)  # nothing is left to do
    whole = labelled(tmp_path / "whole", *ENGINE, "--games", 4)
    assert by_game(whole) == by_game(parts)
    assert len(whole) == len(parts)


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_settings_alone(tmp_path: Path) -> None:
    words = ("--out", tmp_path, *ENGINE)
    label(tmp_path, *ENGINE, "--games", 1, "--openings", "0,2")
    before = by_game(read(tmp_path))
    with pytest.raises(OptionError, match=r"--visits 77, --openings 0,2, --seed 0; now --visits 78, .*, --seed 4"):
        command.main(arguments(*words, "--games", 2, "--nodes", 78, "--seed", 4))
    assert by_game(read(tmp_path)) == before
    (tmp_path / SETTINGS).unlink()  # as earlier versions left it
    label(tmp_path, *ENGINE, "--games", 2)


@pytest.mark.slow
def test_games_differ_and_a_seed_repeats_them(tmp_path: Path) -> None:
    a, b = (by_game(labelled(tmp_path / seed, *ENGINE, "--seed", seed)) for seed in "09")
    assert len(set(a.values())) == 3
    assert a != b


@pytest.mark.slow
def test_the_engines_own_chances_are_used_where_it_gives_them(tmp_path: Path) -> None:
    records = labelled(tmp_path, "--engine", f"{UCI} --wdl", *SHORT, "--games", 1)
    assert set(records["w"].tolist()) == {600}
    assert set(records["l"].tolist()) == {100}


@pytest.mark.slow
def test_an_engine_that_dies_once_is_started_again(tmp_path: Path) -> None:
    whole = labelled(tmp_path / "whole", *ENGINE, "--games", 2)
    plies = int((whole["game"] == 0).sum())
    assert plies > 10
    dies = f"{UCI} --fault=go@{plies + 5}=die"  # in the second game
    assert by_game(labelled(tmp_path / "again", "--engine", dies, *SHORT, "--games", 2)) == by_game(whole)


@pytest.mark.slow
def test_an_engine_that_always_dies_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EngineProcessError, match="failed twice in game 0"):
        label(tmp_path, "--engine", f"{UCI} --fault=go@3=die", *SHORT)
    with pytest.raises(EngineProcessError, match="does not start"):
        label(tmp_path / "new", "--engine", "no-such-engine-anywhere", *SHORT)
    assert not (tmp_path / "new").exists()


def test_impossible_arguments_are_refused(tmp_path: Path) -> None:
    for words, said in (
        (("--multipv", "6"), "1 to 5"),
        (("--option", "Hash"), "NAME=VALUE"),
        (("--engine", "'a"), "close the quotes"),
        (("--processes", "0"), "--processes is 0; give 1 or more"),
        (("--visits", "0"), "--visits is 0; it must be at least 1"),
        (("--decided", "-1"), "--decided is -1; it must be at least 0"),
        (("--blunders", "0,1.5"), "--blunders is 1.5; it must be 0 to 1"),
        (("--openings", "1001"), "an opening of 1,000 moves at most"),
    ):
        with pytest.raises(OptionError, match=said):
            label(tmp_path, *ENGINE, *words)
    for number in ("5000000000", "4294966297", "-1"):
        with pytest.raises(OptionError, match="--first-game from 0 to 4,294,966,296"):
            label(tmp_path, *ENGINE, "--first-game", number, "--games", "1000")
    (tmp_path / "x.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"x\.npz"):
        label(tmp_path, *ENGINE)


def test_scores_of_mates_and_large_ones() -> None:
    assert centipawns(PvInfo(mate=3)) == 31997
    assert centipawns(PvInfo(mate=-2)) == -31998
    assert centipawns(PvInfo(cp=-40000)) == -20000


@pytest.mark.slow
def test_stockfish_labels_what_a_net_can_learn_from(tmp_path: Path) -> None:
    stockfish = shutil.which("stockfish", path="/usr/games:/usr/local/bin:/usr/bin")
    if stockfish is None:
        pytest.skip("stockfish is not installed")
    words = ("--nodes", "200", "--first-game", "6", "--games", 2, "--max-plies", 24)
    records = labelled(tmp_path, "--engine", stockfish, *words)
    train, heldout = read_folder(CHESS, list(tmp_path.glob("*.npz")), TargetOptions())
    assert len(train) > 5
    assert len(heldout) > 5
    batch = train.batch(np.arange(len(train)))
    assert batch.probabilities.sum(axis=1) == pytest.approx(np.ones(len(train)), abs=1e-5)
    assert (records["n"] == 5).mean() > 0.8
    assert records["depth"].min() >= 1


def endless(out: Path) -> subprocess.Popen[bytes]:
    """A run in two processes with games enough, some of them recorded when this returns."""
    source = str(Path(az_engine.__file__).parents[1])
    words = [*ENGINE, "--out", str(out), "--games", "9999", "--processes", "2", "--shard-positions", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "az_engine", "label", *words],
        env={**os.environ, "PYTHONPATH": source},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for(lambda: list(out.glob("*.npz")) or process.poll() is not None)
    assert process.poll() is None
    return process


def living(session: int) -> set[int]:
    """The processes of a session that have not ended."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.add(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_interrupts_however_many_stop_a_run_that_keeps_its_games(tmp_path: Path) -> None:
    process = endless(tmp_path)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        os.killpg(process.pid, number)
        time.sleep(0.05)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"give the same command to go on" in told
    wait_for(lambda: not living(process.pid))
    kept = by_game(read(tmp_path))
    label(tmp_path, *ENGINE, "--games", max(kept) + 1)  # what is there is not played again, what is missing is
    assert by_game(read(tmp_path)).items() >= kept.items()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_nothing_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    process = endless(tmp_path)
    assert len(living(process.pid)) > 2
    process.kill()
    process.communicate()  # its children hold the other end until they end
    wait_for(lambda: not living(process.pid))
