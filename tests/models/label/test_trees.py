"""Positions of small searches around labelled ones, judged by an evaluation net: every record, against python-chess."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.search.search import Search
from az_engine.models.data.games.chess import FORMAT, code_of
from az_engine.models.data.games.shogi import FORMAT as SHOGI_LABELS
from az_engine.models.data.shards import MATE, Records, TargetOptions
from az_engine.models.label.around import BEGUN, begun_at
from az_engine.models.label.guide import Guide
from az_engine.models.label.job import Job
from az_engine.models.label.sources.trees import FURTHER, KEPT, Trees
from az_engine.models.label.teachers.nnue.judge import NnueJudge

from ..data.test_shogi import SAMPLE as SHOGI_SAMPLE
from ..reference import board_of, move_of
from ..samples import CHESS
from .labelling import job, task

VISITS = 120


@pytest.fixture(scope="module")
def words(nnue: Path, around: Path) -> tuple[object, ...]:
    return "--nnue", nnue, "--around", around, "--seed", "3", "--search", VISITS


@pytest.fixture(scope="module")
def records(words: tuple[object, ...]) -> Records:
    return task(job(*words), 1)


def begun(trees: Job, number: int) -> Records:
    """The records that a task begins at."""
    assert isinstance(trees.source, Trees)
    return begun_at(FORMAT, trees.source.shards, trees.seed, number)


def test_each_search_stays_below_its_position(words: tuple[object, ...], records: Records) -> None:
    starts = begun(job(*words), 1)
    assert (records["game"] // BEGUN == 1).all()
    searched = np.unique(records["game"] % BEGUN)
    assert len(searched) > len(starts) / 2
    for number in searched.tolist():
        below = records[records["game"] % BEGUN == number]
        assert 1 < len(below) <= KEPT
        assert below["ply"].min() >= starts[number]["ply"]
        assert below["ply"].min() <= starts[number]["ply"] + FURTHER + 2
        assert (np.diff(below["ply"].astype(int)) <= 0).all()  # no record seems to follow the one before
        men = board_of(starts[number]).occupied.bit_count()
        assert all(board_of(record).occupied.bit_count() <= men for record in below)


def test_often_visited_positions_have_the_policy_of_the_search(words: tuple[object, ...], records: Records) -> None:
    often = task(job(*words, "--least-visits", 20), 1)
    assert 0 < len(often) < len(records) / 4
    assert often["ply"].mean() < records["ply"].mean()  # nearer to the roots


def test_searches_begin_where_the_game_is_open(nnue: Path, around: Path, tmp_path: Path) -> None:
    """--within: at no decided position, and without random moves."""
    starts = FORMAT.read(around / "labelled_00000.npz")
    starts["cp"][:, 0] = [0, 1000] * (len(starts) // 2)
    FORMAT.write(tmp_path / "labelled_00000.npz", starts)
    trees = job("--nnue", nnue, "--around", tmp_path, "--within", 0.2, "--search", VISITS)
    starts = begun(trees, 0)
    open_ones = (starts["cp"][:, 0] == 0) & (starts["game"] % 50 != 7)
    assert open_ones.all()
    assert len(starts) == np.sum((FORMAT.read(tmp_path / "labelled_00000.npz")["game"] % 50 != 7)[::2])
    records = task(trees, 0)
    for number in np.unique(records["game"]).tolist():
        plies = records["ply"][records["game"] == number].astype(int) - int(starts["ply"][number])
        assert 0 <= plies.min() <= 2


@pytest.mark.slow
def test_moves_are_judged_by_what_they_lead_to(words: tuple[object, ...], nnue: Path) -> None:
    """--judge-moves: against python-chess, move by move."""
    records = task(job(*words, "--judge-moves", 3, "--least-visits", 2), 1)
    assert FORMAT.first_fault(records) == ""
    assert np.unique(records["game"], return_counts=True)[1].max() == 3
    judge = NnueJudge(nnue, CHESS)
    for record in records[:60]:
        board, expected = board_of(record), {}
        for move in board.legal_moves:
            board.push(move)
            score = -int(judge.judge(CHESS.parse_position(board.fen(en_passant="legal"))[0][-1:])[0])
            if board.is_checkmate():
                score = MATE - 1
            elif board.is_stalemate() or board.is_insufficient_material():
                score = 0
            elif score > MATE - 1000:
                score -= 1
            expected[move] = score
            board.pop()
        count = int(record["n"])
        told = {
            move_of(int(code)): int(cp) for code, cp in zip(record["mv"][:count], record["cp"][:count], strict=True)
        }
        assert told.items() <= expected.items()
        assert sorted(told.values()) == sorted(expected.values())[-5:]
        assert record["depth"] == 1
        assert move_of(int(record["played"])) == next(iter(told))


def test_castling_is_written_as_records_write_it() -> None:
    line = CHESS.parse_position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")[0]
    codes = {code_of(line[-1], int(move)) for move in CHESS.legal_moves(line)}
    assert {move_of(code) for code in codes} == set(chess.Board(CHESS.format_position(line[-1])).legal_moves)


@pytest.mark.slow
def test_shogi(shogi_nnue: Path, tmp_path: Path) -> None:
    shogi, labels = get_game("shogi"), SHOGI_LABELS
    labels.write(tmp_path / "labelled_00000.npz", labels.read(SHOGI_SAMPLE)[40:60])
    words = ("--game", "shogi", "--nnue", shogi_nnue, "--around", tmp_path, "--search", 40)
    by_moves = task(job(*words, "--judge-moves", 2), 0)
    assert labels.first_fault(by_moves) == ""
    assert len(by_moves) > 0
    records = task(job(*words), 0)
    assert labels.first_fault(records) == ""
    states = labels.to_states(shogi, records, np.arange(len(records), dtype=np.int64))
    scores = NnueJudge(shogi_nnue, shogi).judge(states)
    assert records["q"].tolist() == np.rint(32767 * np.tanh(scores / 1200)).tolist()
    for state, record in zip(states, records, strict=True):
        count = int(record["n"])
        assert set(record["mv"][:count].tolist()) <= set(shogi.legal_moves(np.array([state])).tolist())
        assert int(record["p"][:count].astype(int).sum() + record["rest"]) == pytest.approx(65535, abs=count + 1)
    assert (records["n"] > 1).mean() > 0.9


def test_searches_teach_what_they_found(around: Path) -> None:
    """--searched: a root's record says what a search of the same position finds."""
    ours = job("--searched", 1.5, "--around", around, "--seed", 3, "--search", VISITS, "--least-visits", VISITS)
    assert isinstance(ours.source, Trees)
    records = task(ours, 1)
    assert len(records) > 3
    guide = Guide(ours.source.student, ours)
    for record in records:
        root = FORMAT.to_states(guide.game, record[None], np.zeros(1, np.int64))
        guide.tree.clear()
        search = Search(guide.game, guide.tree, guide.evaluator, guide.params, root, visits=VISITS)
        search.run(lambda: False)
        node = guide.tree.nodes[0]
        odds = np.log((1 + node["w"] / node["n"]) / (1 - node["w"] / node["n"]))
        chances = FORMAT.chances(record[None], TargetOptions())[0]
        assert chances[0] + chances[1] / 2 == pytest.approx(1 / (1 + np.exp(-1.5 * odds)), abs=0.005)
