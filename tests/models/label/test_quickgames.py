"""Quick games of a net, judged by an evaluation net: every record, against python-chess and the judge."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from az_engine.cli import main
from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.models.data.games.chess import FORMAT
from az_engine.models.data.games.shogi import FORMAT as SHOGI_LABELS
from az_engine.models.data.shards import Records, TargetOptions
from az_engine.models.label import command as label
from az_engine.models.label.nnue.judge import NnueJudge
from az_engine.models.label.quickgames import GAMES, QuickGames
from az_engine.models.label.recipe import QUICK_BLUNDERS, QUICK_TEMPERATURES, NnueFile, Recipe

from ..reference import board_of, move_of
from ..samples import CHESS
from .nnue.test_stockfish import write_net
from .nnue.test_yaneuraou import write_net as write_shogi_net

PAWN_ENDING = "8/5k2/4p3/3p4/3P4/4P3/5K2/8 w - - 0 1"


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nnue") / "made-up.nnue"
    write_net(path, 8)
    return path


def recipe_of(net: Path, max_plies: int = 30) -> Recipe:
    words = {"temperatures": QUICK_TEMPERATURES, "blunders": QUICK_BLUNDERS, "openings": (0, 4)}
    return Recipe(NnueFile(net), lines=5, seed=3, max_plies=max_plies, **words)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def task(net: Path) -> tuple[Recipe, Records]:
    recipe = recipe_of(net)
    return recipe, QuickGames(recipe).walk(2)


def test_each_game_gives_positions_of_all_its_plies_once(task: tuple[Recipe, Records]) -> None:
    _, records = task
    games, counts = np.unique(records["game"], return_counts=True)
    assert games.min() >= 2 * GAMES
    assert games.max() < 3 * GAMES
    assert len(games) > 0.95 * GAMES
    assert counts.max() <= 60  # two of each ply
    assert np.median(counts) > 40
    keys = {(record["bb"].tobytes(), int(record["turn"]), int(record["castle"])) for record in records}
    assert len(keys) > 0.99 * len(records)
    assert records["ply"].max() in range(30, 34)
    for game in games[:20].tolist():
        own = records[records["game"] == game]
        assert (np.diff(own["ply"].astype(int)) <= 0).all()  # no record seems to follow the one before


def test_a_game_is_not_played_twice(task: tuple[Recipe, Records]) -> None:
    """Sixteen plies after the start hardly two games have a position in common."""
    _, records = task
    late = records[records["ply"] >= 16]
    kinds = {record["bb"].tobytes(): int(record["game"]) for record in late}
    assert len(kinds) > 0.99 * len(late)


def test_records_can_be_learned_from(task: tuple[Recipe, Records]) -> None:
    _, records = task
    assert FORMAT.first_fault(records) == ""
    chosen = records[:: len(records) // 400]
    policies = FORMAT.soft_policy(chosen, TargetOptions())
    for record, policy in zip(chosen, policies, strict=True):
        board, count = board_of(record), int(record["n"])
        assert board.is_valid()
        assert not board.is_game_over()
        moves = [move_of(int(code)) for code in record["mv"][:count]]
        assert len(set(moves)) == count == min(board.legal_moves.count(), 5)
        assert all(move in board.legal_moves for move in moves)
        assert (np.diff(policy[:count]) <= 1e-6).all()
        assert record["depth"] == 0


def test_scores_are_the_evaluation_nets(task: tuple[Recipe, Records]) -> None:
    recipe, records = task
    assert isinstance(recipe.teacher, NnueFile)
    states = FORMAT.to_states(CHESS, records, np.arange(len(records), dtype=np.int64))
    assert NnueJudge(recipe.teacher.path, CHESS).judge(states).tolist() == records["cp"][:, 0].tolist()


@pytest.mark.slow
def test_a_task_depends_on_its_number_and_the_seed_alone(task: tuple[Recipe, Records]) -> None:
    recipe, records = task
    games = QuickGames(recipe)
    assert games.walk(0).tobytes() != records.tobytes()
    assert games.walk(2).tobytes() == records.tobytes()
    assert QuickGames(replace(recipe, seed=4)).walk(2).tobytes() != records.tobytes()


def test_good_moves_are_preferred(net: Path) -> None:
    """Games from a won ending are over soon; where every move is drawn from all legal ones they are not."""
    won = "4k3/8/8/8/8/8/8/QQ2K3 w - - 0 1"
    recipe = replace(recipe_of(net, 24), starts=(won,), openings=(0,), blunders=(0.0,))
    going = [
        len(np.unique(records["game"][records["ply"] >= 20]))
        for records in (QuickGames(each).walk(0) for each in (recipe, replace(recipe, blunders=(1.0,))))
    ]
    assert going[0] < going[1] / 2


def test_games_begin_where_they_are_told(net: Path) -> None:
    records = QuickGames(replace(recipe_of(net, 4), starts=(PAWN_ENDING,), openings=(0,))).walk(0)
    assert all(board_of(record).occupied.bit_count() <= 6 for record in records)
    assert not records["bb"][:, 1:5].any()


@pytest.mark.slow
def test_moves_are_judged_where_that_is_wanted(net: Path) -> None:
    records = QuickGames(replace(recipe_of(net, 12), judged_moves=2)).walk(0)
    assert FORMAT.first_fault(records) == ""
    assert np.unique(records["game"], return_counts=True)[1].max() == 2
    assert (records["depth"] == 1).all()
    assert (np.diff(records["cp"][records["n"] == 5].astype(int), axis=1) <= 0).all()


def test_openings_without_an_end_get_a_sentence(net: Path) -> None:
    with pytest.raises(DataError, match="give shorter --openings"):
        QuickGames(replace(recipe_of(net, 5), openings=(6,))).walk(0)


@pytest.mark.slow
def test_a_convolution_net_plays_too(net: Path) -> None:
    records = QuickGames(replace(recipe_of(net, 3), student="chess-conv")).walk(0)
    assert FORMAT.first_fault(records) == ""
    assert len(records) > GAMES


@pytest.mark.slow
def test_the_command(net: Path, tmp_path: Path) -> None:
    command = ["label", "--nnue", str(net), "--positions", "1500", "--max-plies", "5", "--seed", "66"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    found = np.concatenate([FORMAT.read(path) for path in sorted(tmp_path.glob("*.npz"))])
    assert len(found) >= 1500
    first = label.QUICK_FIRST + 2 * label.QUICK_GAMES
    assert (found["game"] >= first).all()
    assert (found["game"] < first + 10 * GAMES).all()
    assert main([*command, "--out", str(tmp_path)]) == 0  # there already
    assert len(np.concatenate([FORMAT.read(path) for path in sorted(tmp_path.glob("*.npz"))])) == len(found)


@pytest.mark.slow
def test_shogi(tmp_path: Path) -> None:
    write_shogi_net(tmp_path / "nn.bin", "K+P", 3)
    shogi, labels = get_game("shogi"), SHOGI_LABELS
    recipe = replace(recipe_of(tmp_path / "nn.bin", 12), game="shogi", lines=8)
    records = QuickGames(recipe).walk(0)
    assert labels.first_fault(records) == ""
    assert len(records) > 5 * GAMES
    states = labels.to_states(shogi, records, np.arange(len(records), dtype=np.int64))
    scores = NnueJudge(tmp_path / "nn.bin", shogi).judge(states)
    assert records["q"].tolist() == np.rint(32767 * np.tanh(scores / 1200)).tolist()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--visits", "9"], "mean nothing to --nnue"),
        (["--search", "9"], "--search means nothing to the quick games of --nnue"),
        (["--within", "0.2"], "--within means nothing"),
        (["--least-visits", "2"], "--least-visits means nothing"),
        (["--games", "2"], "--games means nothing"),
        (["--decided", "200"], "--decided means nothing"),
        (["--positions", "0"], "--positions is 0; give 1 or more"),
        (["--game", "go"], "judges chess and shogi; leave it out for go"),
    ],
)
def test_what_makes_no_sense_is_refused(net: Path, tmp_path: Path, words: list[str], said: str) -> None:
    parser = argparse.ArgumentParser()
    label.add_arguments(parser)
    with pytest.raises(OptionError, match=said):
        label.main(parser.parse_args(["--nnue", str(net), *words, "--out", str(tmp_path)]))
