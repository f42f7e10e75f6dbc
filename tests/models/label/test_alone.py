"""What holds for all sources of positions that stand alone: walks, trees and quick games."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from az_engine.models.data.games.chess import FORMAT
from az_engine.models.data.shards import Records, TargetOptions
from az_engine.models.label.command import SOURCES
from az_engine.models.label.job import Job
from az_engine.models.label.sources.quick import FIRST, OF_A_SEED
from az_engine.models.label.teachers.nnue.judge import NnueJudge

from ..reference import board_of, move_of
from ..samples import CHESS
from .labelling import job, labelled, task

TASK = 1


@pytest.fixture(scope="module", params=["walks", "trees", "quick"])
def source(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def words(source: str, nnue: Path, around: Path) -> tuple[object, ...]:
    return {
        "walks": ("--net", "default", "--around", around, "--seed", 66),
        "trees": ("--nnue", nnue, "--around", around, "--seed", 66, "--search", 60),
        "quick": ("--nnue", nnue, "--openings", "0,4", "--max-plies", 8, "--seed", 66),
    }[source]


@pytest.fixture(scope="module")
def made(words: tuple[object, ...]) -> tuple[Job, Records]:
    one = job(*words)
    return one, task(one, TASK)


def test_all_sources_of_positions_alone_are_tried() -> None:
    assert {name for name, kind in SOURCES.items() if kind.alone} == {"walks", "trees", "quick"}


@pytest.mark.slow
def test_a_task_depends_on_its_number_and_the_seed_alone(made: tuple[Job, Records]) -> None:
    one, records = made
    assert task(one, TASK).tobytes() == records.tobytes() != task(one, 0).tobytes()
    assert task(replace(one, seed=4), TASK).tobytes() != records.tobytes()


def test_records_can_be_learned_from(made: tuple[Job, Records]) -> None:
    _, records = made
    assert FORMAT.first_fault(records) == ""
    some = records[:: max(1, len(records) // 400)]
    for record, policy in zip(some, FORMAT.soft_policy(some, TargetOptions()), strict=True):
        board, count = board_of(record), int(record["n"])
        assert board.is_valid()
        assert not board.is_game_over()
        moves = [move_of(int(code)) for code in record["mv"][:count]]
        assert len(set(moves)) == count == min(count, 5)
        assert all(move in board.legal_moves for move in moves)
        assert (np.diff(policy[:count]) <= 1e-6).all()
        assert record["depth"] == 0
    assert records["n"].mean() > 3
    assert set(np.unique(records["z"])) <= {-1, 0, 1}


def test_scores_are_the_evaluation_nets(source: str, made: tuple[Job, Records], nnue: Path) -> None:
    if source == "walks":
        pytest.skip("a net judges them")
    _, records = made
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    assert NnueJudge(nnue, CHESS).judge(states).tolist() == records["cp"][:, 0].tolist()


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(source: str, words: tuple[object, ...], tmp_path: Path) -> None:
    found = labelled(tmp_path, *words, "--positions", "1000")
    assert len(found) >= 1000
    assert len(labelled(tmp_path, *words, "--positions", "1000")) == len(found)  # there already
    if source == "quick":
        first = FIRST + 2 * OF_A_SEED  # of the seed 66
        assert (found["game"] >= first).all()
        assert (found["game"] < first + OF_A_SEED).all()
