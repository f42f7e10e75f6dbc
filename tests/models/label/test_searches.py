"""Positions of small searches around labelled ones, judged by an evaluation net: every record, against python-chess."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from az_engine.cli import main
from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.models.data.games.chess import FORMAT, code_of
from az_engine.models.data.games.shogi import FORMAT as SHOGI_LABELS
from az_engine.models.data.shards import MATE, Records, TargetOptions
from az_engine.models.label import command as label
from az_engine.models.label.nnue.judge import NnueJudge
from az_engine.models.label.recipe import FURTHER, NnueFile, Recipe
from az_engine.models.label.searches import KEPT, Searcher
from az_engine.models.label.walks import WALKS, sources_of, starts_of

from ..data.test_shogi import SAMPLE as SHOGI_SAMPLE
from ..reference import board_of, move_of
from ..samples import CHESS, GO9_SAMPLE, SAMPLE, sample_records
from .nnue.test_stockfish import write_net
from .nnue.test_yaneuraou import write_net as write_shogi_net

VISITS = 120


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "made-up.nnue"
    write_net(path, 8)
    return path


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("around")
    FORMAT.write(folder / "labelled_00000.npz", sample_records()[5:25])
    return folder


def recipe_of(net: Path, around: Path) -> Recipe:
    sources, _ = sources_of(FORMAT, [around])
    return Recipe(NnueFile(net), lines=5, seed=3, around=sources, search=VISITS)


@pytest.fixture(scope="module")
def task(net: Path, around: Path) -> tuple[Recipe, Records]:
    recipe = recipe_of(net, around)
    return recipe, Searcher(recipe).walk(1)


def test_each_search_stays_below_its_position(task: tuple[Recipe, Records]) -> None:
    recipe, records = task
    starts = starts_of(FORMAT, recipe, 1)
    assert (records["game"] // WALKS == 1).all()
    searched = np.unique(records["game"] % WALKS)
    assert len(searched) > len(starts) / 2
    for number in searched.tolist():
        below = records[records["game"] % WALKS == number]
        assert 1 < len(below) <= KEPT
        assert below["ply"].min() >= starts[number]["ply"]
        assert below["ply"].min() <= starts[number]["ply"] + FURTHER + 2
        assert (np.diff(below["ply"].astype(int)) <= 0).all()  # no record seems to follow the one before
        men = board_of(starts[number]).occupied.bit_count()
        assert all(board_of(record).occupied.bit_count() <= men for record in below)


def test_often_visited_positions_have_the_policy_of_the_search(net: Path, around: Path) -> None:
    often = Searcher(replace(recipe_of(net, around), least_visits=20)).walk(1)
    usual = Searcher(recipe_of(net, around)).walk(1)
    assert 0 < len(often) < len(usual) / 4
    assert often["ply"].mean() < usual["ply"].mean()  # nearer to the roots


def test_searches_begin_where_the_game_is_open(net: Path, around: Path, tmp_path: Path) -> None:
    """--within: at no decided position, and without random moves."""
    starts = FORMAT.read(around / "labelled_00000.npz")
    starts["cp"][:, 0] = [0, 1000] * (len(starts) // 2)
    FORMAT.write(tmp_path / "labelled_00000.npz", starts)
    sources, _ = sources_of(FORMAT, [tmp_path], 0.2)
    assert [source.count for source in sources] == [np.sum((starts["cp"][:, 0] == 0) & (starts["game"] % 50 != 7))]
    recipe = replace(recipe_of(net, around), around=sources, further=0)
    begun = starts_of(FORMAT, recipe, 0)
    assert len(begun) > 0
    assert (begun["cp"][:, 0] == 0).all()
    records = Searcher(recipe).walk(0)
    for number in np.unique(records["game"]).tolist():
        plies = records["ply"][records["game"] == number].astype(int) - int(begun["ply"][number])
        assert 0 <= plies.min() <= 2


@pytest.mark.slow
def test_moves_are_judged_by_what_they_lead_to(net: Path, around: Path) -> None:
    """--judge-moves: against python-chess, move by move."""
    recipe = replace(recipe_of(net, around), judged_moves=3, least_visits=2)
    records = Searcher(recipe).walk(1)
    assert FORMAT.first_fault(records) == ""
    assert np.unique(records["game"], return_counts=True)[1].max() == 3
    assert isinstance(recipe.teacher, NnueFile)
    judge = NnueJudge(recipe.teacher.path, CHESS)
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


def test_records_can_be_learned_from(task: tuple[Recipe, Records]) -> None:
    _, records = task
    assert FORMAT.first_fault(records) == ""
    policies = FORMAT.soft_policy(records, TargetOptions())
    for record, policy in zip(records, policies, strict=True):
        board, count = board_of(record), int(record["n"])
        assert board.is_valid()
        moves = [move_of(int(code)) for code in record["mv"][:count]]
        assert len(set(moves)) == count == min(count, 5)
        assert all(move in board.legal_moves for move in moves)
        assert (np.diff(policy[:count]) <= 1e-6).all()
        assert record["played"] == record["mv"][0]
        assert record["depth"] == 0
    assert records["n"].mean() > 3


def test_scores_are_the_evaluation_nets(task: tuple[Recipe, Records]) -> None:
    recipe, records = task
    assert isinstance(recipe.teacher, NnueFile)
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    assert NnueJudge(recipe.teacher.path, CHESS).judge(states).tolist() == records["cp"][:, 0].tolist()


@pytest.mark.slow
def test_a_task_depends_on_its_number_and_the_seed_alone(task: tuple[Recipe, Records]) -> None:
    recipe, records = task
    searcher = Searcher(recipe)
    assert searcher.walk(0).tobytes() == searcher.walk(0).tobytes()
    assert searcher.walk(1).tobytes() == records.tobytes()
    assert Searcher(replace(recipe, seed=4)).walk(1).tobytes() != records.tobytes()


def test_castling_is_written_as_records_write_it() -> None:
    line = CHESS.parse_position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")[0]
    codes = {code_of(line[-1], int(move)) for move in CHESS.legal_moves(line)}
    assert {move_of(code) for code in codes} == set(chess.Board(CHESS.format_position(line[-1])).legal_moves)


@pytest.mark.slow
def test_the_command(net: Path, around: Path, tmp_path: Path) -> None:
    command = ["label", "--nnue", str(net), "--around", str(around), "--positions", "1000", "--search", "60"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    found = np.concatenate([FORMAT.read(path) for path in sorted(tmp_path.glob("*.npz"))])
    assert len(found) >= 1000
    assert main([*command, "--out", str(tmp_path)]) == 0  # there already
    assert len(np.concatenate([FORMAT.read(path) for path in sorted(tmp_path.glob("*.npz"))])) == len(found)


@pytest.mark.slow
def test_shogi(tmp_path: Path) -> None:
    write_shogi_net(tmp_path / "nn.bin", "K+P", 3)
    shogi, labels = get_game("shogi"), SHOGI_LABELS
    (tmp_path / "data").mkdir()
    labels.write(tmp_path / "data" / "labelled_00000.npz", labels.read(SHOGI_SAMPLE)[40:60])
    sources, _ = sources_of(labels, [tmp_path / "data"])
    recipe = Recipe(NnueFile(tmp_path / "nn.bin"), game="shogi", lines=8, seed=3, around=sources, search=40)
    by_moves = Searcher(replace(recipe, judged_moves=2)).walk(0)
    assert labels.first_fault(by_moves) == ""
    assert len(by_moves) > 0
    records = Searcher(recipe).walk(0)
    assert labels.first_fault(records) == ""
    states = labels.to_states(shogi, records, np.arange(len(records), dtype=np.int64))
    scores = NnueJudge(tmp_path / "nn.bin", shogi).judge(states)
    assert records["q"].tolist() == np.rint(32767 * np.tanh(scores / 1200)).tolist()
    for state, record in zip(states, records, strict=True):
        count = int(record["n"])
        assert set(record["mv"][:count].tolist()) <= set(shogi.legal_moves(np.array([state])).tolist())
        assert int(record["p"][:count].astype(int).sum() + record["rest"]) == pytest.approx(65535, abs=count + 1)
    assert (records["n"] > 1).mean() > 0.9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nnue", "NET", "--around", str(SAMPLE), "--visits", "9"], "mean nothing to --nnue"),
        (["--nnue", "NET", "--around", str(SAMPLE), "--blunders", "0.5"], "mean nothing to searches"),
        (["--nnue", "NET", "--around", str(SAMPLE), "--search", "0"], "--search is 0; give 1 or more"),
        (["--nnue", "NET", "--game", "go", "--around", str(GO9_SAMPLE)], "judges chess and shogi; leave it out for go"),
        (["--net", "default", "--search", "9"], "or for --nnue"),
        (["--net", "default", "--around", str(SAMPLE), "--least-visits", "9"], "for the searches of --nnue"),
        (["--net", "default", "--around", str(SAMPLE), "--within", "0.2"], "for the searches of --nnue"),
        (["--nnue", str(SAMPLE), "--around", str(SAMPLE), "--within", "0.7"], "--within is 0.7"),
        (["--net", "default", "--around", str(SAMPLE), "--judge-moves", "9"], "for the searches of --nnue"),
        (["--nnue", str(SAMPLE), "--around", str(SAMPLE), "--judge-moves", "0"], "--judge-moves is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(net: Path, tmp_path: Path, words: list[str], said: str) -> None:
    parser = argparse.ArgumentParser()
    label.add_arguments(parser)
    args = parser.parse_args([str(net) if word == "NET" else word for word in words] + ["--out", str(tmp_path)])
    with pytest.raises(OptionError, match=said):
        label.main(args)
