"""Short walks around labelled positions: every record against python-chess and the net that judged it."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

import chess
import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.nets.opinions import RawNet
from az_engine.engine.search.mate import mating_move
from az_engine.models.data.games.chess import FORMAT, chances_of_score, code_of, score_of_points
from az_engine.models.data.shards import MATE, Records, TargetOptions
from az_engine.models.label.around import BEGUN, Around, Shard, begun_at, shard_format, shards_at
from az_engine.models.label.job import Job
from az_engine.models.label.sources.walks import PLIES

from ..reference import board_of, move_of
from ..samples import CHESS, DATA, sample_records
from .labelling import job, label, labelled, read, task

HELD_OUT = frozenset(game for game in range(1000) if game % 50 == 7)


@pytest.fixture(scope="module")
def walks(around: Path) -> Job:
    return job("--net", "default", "--around", around, "--seed", "3")


@pytest.fixture(scope="module")
def records(walks: Job) -> Records:
    return task(walks, 1)


def begun(walks: Job, number: int) -> Records:
    """The records that a task begins at."""
    assert isinstance(walks.source, Around)
    return begun_at(FORMAT, walks.source.shards, walks.seed, number)


def fen_of(board: chess.Board) -> tuple[str, ...]:
    """What records keep of a position."""
    return tuple(board.fen(en_passant="legal").split()[:5])


def test_a_walk_leaves_its_game_and_goes_on_by_legal_moves(walks: Job, records: Records) -> None:
    starts = begun(walks, 1)
    made: dict[int, list[np.void]] = {}
    for record in records:
        made.setdefault(int(record["game"]), []).append(record)
    assert len(made) > len(starts) / 2
    for game, walk in made.items():
        assert game // BEGUN == 1
        start = starts[game % BEGUN]
        board, played = board_of(start), move_of(int(start["played"]))
        assert 1 <= len(walk) <= PLIES
        if walk[0]["ply"] == start["ply"] + 1:  # else another walk came to the first position before
            after = [board.copy() for move in board.legal_moves if move != played]
            for one, move in zip(after, [move for move in board.legal_moves if move != played], strict=True):
                one.push(move)
            assert fen_of(board_of(walk[0])) in {fen_of(one) for one in after}
        for record, following in pairwise(walk):
            board = board_of(record)
            assert move_of(int(record["played"])) in board.legal_moves
            if following["ply"] == record["ply"] + 1:
                board.push(move_of(int(record["played"])))
                assert fen_of(board) == fen_of(board_of(following))
    blind = records["rnd"].mean()
    assert 0 < blind < 0.6
    assert len({fen_of(board_of(record)) for record in records}) == len(records)


def test_records_say_what_the_net_says(records: Records) -> None:
    net, mates = RawNet("default", CHESS), 0
    policies = FORMAT.soft_policy(records, TargetOptions())
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    for record, said, state in zip(records, policies, states, strict=True):
        line, count = state.reshape(1), int(record["n"])
        mate = mating_move(CHESS, line, 3)
        if mate is not None:
            mates += 1
            assert (count, int(record["mv"][0]), int(record["cp"][0])) == (1, code_of(state, mate), MATE - 3)
            continue
        opinion = net.opinion(line)
        order = np.argsort(-opinion.policy, kind="stable")[:5]
        known = [code_of(state, int(move)) for move in opinion.moves[order]]
        assert record["mv"][:count].tolist() == known[:count]
        wanted = opinion.policy[order] / opinion.policy[order].sum()
        assert said[:count] == pytest.approx(wanted, abs=2e-3)
        points = chances_of_score(record["cp"][:1])[0] @ [1, 0.5, 0]
        assert points == pytest.approx(opinion.chance, abs=2e-3)
        assert record["depth"] == 0
    assert mates < len(records) / 2
    assert set(np.unique(records["z"])) <= {-1, 0, 1}


@pytest.mark.parametrize("points", [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0])
def test_a_score_says_the_expected_points(points: float) -> None:
    assert chances_of_score(np.array([score_of_points(points)]))[0] @ [1, 0.5, 0] == pytest.approx(points, abs=2e-3)


def test_results_are_drawn_from_the_chances(records: Records) -> None:
    wdl = FORMAT.chances(records, TargetOptions())
    spread = math.sqrt(float((wdl[:, 0] * (1 - wdl[:, 0])).sum()))
    assert abs((records["z"] == 1).sum() - wdl[:, 0].sum()) < 4 * spread + 1
    assert not ((records["z"] == 1) & (wdl[:, 0] < 1e-4)).any()


def test_every_position_is_begun_at_once_before_any_again(tmp_path: Path) -> None:
    records = sample_records()
    for number, part in enumerate((records[:300], records[300:340], records[340:])):
        FORMAT.write(tmp_path / f"labelled_{number}.npz", part)
    walks = job("--net", "default", "--around", tmp_path)
    assert isinstance(walks.source, Around)
    tasks = sum(math.ceil(shard.count / BEGUN) for shard in walks.source.shards)
    open_to_walks = records[~np.isin(records["game"], list(HELD_OUT))]
    orders = []
    for epoch in range(2):
        found = np.concatenate([begun(walks, epoch * tasks + i) for i in range(tasks)])
        assert sorted(map(bytes, found)) == sorted(map(bytes, open_to_walks))
        orders.append(found.tobytes())
    assert orders[0] != orders[1]


def test_games_that_are_held_out_are_left_alone(tmp_path: Path) -> None:
    records = sample_records()
    games = np.unique(records["game"])
    FORMAT.write(tmp_path / "labelled_0.npz", records)
    by_number, behind = shards_at(FORMAT, [tmp_path])
    assert behind == games.max() + 1
    assert by_number == (Shard(tmp_path / "labelled_0.npz", int((records["game"] % 50 != 7).sum()), None, 0.5),)
    FORMAT.write(tmp_path / "holdout.npz", records[records["game"] == games[3]])
    by_name, _ = shards_at(FORMAT, [tmp_path])
    assert by_name[0].count == (records["game"] != games[3]).sum()
    assert not (begun(job("--net", "default", "--around", tmp_path), 0)["game"] == games[3]).any()


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(tmp_path: Path, around: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--net", "default", "--around", around, "--seed", "3", "--positions")
    some = labelled(tmp_path / "a", *words, "60")
    assert len(some) >= 60
    assert some["game"].min() >= sample_records()["game"].max() - 1
    told = capfd.readouterr().err
    assert re.search(r"^\d+ of \d+ positions  \d+ positions, [\d,]+/s$", told, re.MULTILINE)  # without a terminal
    assert re.search(r"a:\s+\d+\s+positions\s*$", told)  # long paths are wrapped
    label(tmp_path / "a", *words, "300")
    assert "are there already" in capfd.readouterr().err
    label(tmp_path / "b", *words, "300", "--processes", "2")
    one, other = (np.sort(read(tmp_path / name), order=["game", "ply"]) for name in "ab")
    shared = min(one["game"].max(), other["game"].max()) // BEGUN * BEGUN
    assert one[one["game"] < shared].tobytes() == other[other["game"] < shared].tobytes()


@pytest.mark.slow
def test_shogi(tmp_path: Path) -> None:
    words = ("--net", "default", "--around", DATA / "shogi_train_sample.npz", "--positions", "100")
    records = labelled(tmp_path, *words, game="shogi")
    assert len(records) >= 100
    positions = shard_format("shogi").to_positions(get_game("shogi"), records, TargetOptions(), "")
    assert len(positions.batch(np.arange(50)).planes) == 50


def test_walks_need_data(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds no labelled positions to begin at"):
        job("--net", "default", "--around", tmp_path / "empty")
