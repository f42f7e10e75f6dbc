"""Short walks around labelled positions: every record against python-chess and the net that judged it."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import chess
import numpy as np
import pytest

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.nets.opinions import RawNet
from az_engine.engine.search.mate import mating_move
from az_engine.models.data.games.chess import FORMAT, chances_of_score, code_of, score_of_points
from az_engine.models.data.shards import MATE, Records, TargetOptions
from az_engine.models.label import command as label
from az_engine.models.label.recipe import WALK_BLUNDERS, WALK_TEMPERATURES, Recipe, Source
from az_engine.models.label.walks import PLIES, WALKS, Walker, shard_format, sources_of, starts_of

from ..reference import board_of, move_of
from ..samples import CHESS, DATA, GO9_SAMPLE, SAMPLE, sample_records

HELD_OUT = frozenset(game for game in range(1000) if game % 50 == 7)


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two shards of few positions, whose walks are a small task each."""
    folder = tmp_path_factory.mktemp("around")
    records = sample_records()
    FORMAT.write(folder / "labelled_00000.npz", records[5:25])
    FORMAT.write(folder / "labelled_00001.npz", records[-12:])
    return folder


def recipe_of(around: Path, **changes: object) -> Recipe:
    sources, _ = sources_of(FORMAT, [around])
    usual = Recipe("default", lines=5, seed=3, temperatures=WALK_TEMPERATURES, blunders=WALK_BLUNDERS, around=sources)
    return replace(usual, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def task(around: Path) -> tuple[Recipe, int, Records]:
    recipe = recipe_of(around)
    return recipe, 1, Walker(recipe).walk(1)


def fen_of(board: chess.Board) -> tuple[str, ...]:
    """What records keep of a position."""
    return tuple(board.fen(en_passant="legal").split()[:5])


def test_a_walk_leaves_its_game_and_goes_on_by_legal_moves(task: tuple[Recipe, int, Records]) -> None:
    recipe, number, records = task
    starts = starts_of(FORMAT, recipe, number)
    begun: dict[int, list[np.void]] = {}
    for record in records:
        begun.setdefault(int(record["game"]), []).append(record)
    assert len(begun) > len(starts) / 2
    for game, walk in begun.items():
        assert game // WALKS == number
        start = starts[game % WALKS]
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


def test_records_say_what_the_net_says(task: tuple[Recipe, int, Records]) -> None:
    _, _, records = task
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


def test_a_task_depends_on_its_number_and_the_seed_alone(around: Path, task: tuple[Recipe, int, Records]) -> None:
    recipe, number, records = task
    walker = Walker(recipe)
    assert (walker.walk(0) == walker.walk(0)).all()
    assert walker.walk(number).tobytes() == records.tobytes()
    other = Walker(replace(recipe, seed=4)).walk(number)
    assert len(other) != len(records) or (other != records).any()


def test_results_are_drawn_from_the_chances(task: tuple[Recipe, int, Records]) -> None:
    _, _, records = task
    wdl = FORMAT.chances(records, TargetOptions())
    spread = math.sqrt(float((wdl[:, 0] * (1 - wdl[:, 0])).sum()))
    assert abs((records["z"] == 1).sum() - wdl[:, 0].sum()) < 4 * spread + 1
    assert not ((records["z"] == 1) & (wdl[:, 0] < 1e-4)).any()


def test_every_position_is_begun_at_once_before_any_again(tmp_path: Path) -> None:
    records = sample_records()
    for number, part in enumerate((records[:300], records[300:340], records[340:])):
        FORMAT.write(tmp_path / f"labelled_{number}.npz", part)
    recipe = recipe_of(tmp_path)
    tasks = sum(math.ceil(source.count / WALKS) for source in recipe.around)
    open_to_walks = records[~np.isin(records["game"], list(HELD_OUT))]
    orders = []
    for epoch in range(2):
        begun = np.concatenate([starts_of(FORMAT, recipe, epoch * tasks + i) for i in range(tasks)])
        assert sorted(map(bytes, begun)) == sorted(map(bytes, open_to_walks))
        orders.append(begun.tobytes())
    assert orders[0] != orders[1]


def test_games_that_are_held_out_are_left_alone(tmp_path: Path) -> None:
    records = sample_records()
    games = np.unique(records["game"])
    FORMAT.write(tmp_path / "labelled_0.npz", records)
    by_number, behind = sources_of(FORMAT, [tmp_path])
    assert behind == games.max() + 1
    assert by_number == (Source(tmp_path / "labelled_0.npz", int((records["game"] % 50 != 7).sum()), None),)
    FORMAT.write(tmp_path / "holdout.npz", records[records["game"] == games[3]])
    by_name, _ = sources_of(FORMAT, [tmp_path])
    assert by_name[0].count == (records["game"] != games[3]).sum()
    recipe = recipe_of(tmp_path)
    assert not (starts_of(FORMAT, recipe, 0)["game"] == games[3]).any()


def arguments(out: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    label.add_arguments(parser)
    return parser.parse_args(["--net", "default", "--out", str(out), *words])


def stored(folder: Path) -> Records:
    return np.concatenate([FORMAT.read(path) for path in sorted(folder.glob("*.npz"))])


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(tmp_path: Path, around: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--around", str(around), "--seed", "3")
    assert label.main(arguments(tmp_path / "a", *words, "--positions", "60")) == 0
    some = stored(tmp_path / "a")
    assert len(some) >= 60
    assert some["game"].min() >= sample_records()["game"].max() - 1
    told = capfd.readouterr().err
    assert re.search(r"^\d+ of \d+ positions  \d+ positions, [\d,]+/s$", told, re.MULTILINE)  # without a terminal
    assert re.search(r"a:\s+\d+\s+positions\s*$", told)  # long paths are wrapped
    assert label.main(arguments(tmp_path / "a", *words, "--positions", "300")) == 0
    assert "are there already" in capfd.readouterr().err
    assert label.main(arguments(tmp_path / "b", *words, "--positions", "300", "--processes", "2")) == 0
    one, other = (np.sort(stored(tmp_path / name), order=["game", "ply"]) for name in "ab")
    shared = min(one["game"].max(), other["game"].max()) // WALKS * WALKS
    assert one[one["game"] < shared].tobytes() == other[other["game"] < shared].tobytes()


@pytest.mark.slow
def test_games_of_every_form_of_records_but_go(tmp_path: Path, around: Path) -> None:
    shogi = shard_format("shogi")
    words = ("--game", "shogi", "--around", str(DATA / "shogi_train_sample.npz"), "--positions", "100")
    assert label.main(arguments(tmp_path / "shogi", *words)) == 0
    records = np.concatenate([shogi.read(path) for path in (tmp_path / "shogi").glob("*.npz")])
    assert len(records) >= 100
    game = get_game("shogi")
    assert len(shogi.to_positions(game, records, TargetOptions(), "").batch(np.arange(50)).planes) == 50
    with pytest.raises(OptionError, match="records of go hold no positions"):
        label.main(arguments(tmp_path / "go", "--game", "go", "--around", str(GO9_SAMPLE)))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--positions", "5"), "--positions is for walks"),
        (("--around", str(SAMPLE), "--positions", "0"), "--positions is 0; give 1 or more"),
        (("--around", str(SAMPLE), "--games", "5"), "--games means nothing to walks"),
        (("--around", str(SAMPLE), "--student", "default"), "--student means nothing to walks"),
        (("--around", str(SAMPLE), "--nodes", "5"), "--visits and --option are for an engine"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        label.main(arguments(tmp_path, *words))
    assert not list(tmp_path.iterdir())


def test_walks_need_data(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds no labelled positions to begin at"):
        label.main(arguments(tmp_path / "out", "--around", str(tmp_path / "empty")))
