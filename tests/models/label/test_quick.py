"""Quick games of a net, judged by an evaluation net: every record, against python-chess and the judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.models.data.games.chess import FORMAT
from az_engine.models.data.games.shogi import FORMAT as SHOGI_LABELS
from az_engine.models.data.shards import Records
from az_engine.models.label.sources.quick import GAMES
from az_engine.models.label.teachers.nnue.judge import NnueJudge

from ..reference import board_of
from .labelling import job, task


@pytest.fixture(scope="module")
def words(nnue: Path) -> tuple[object, ...]:
    return "--nnue", nnue, "--openings", "0,4", "--seed", "3", "--first-game", "0"


@pytest.fixture(scope="module")
def records(words: tuple[object, ...]) -> Records:
    return task(job(*words, "--max-plies", 30), 2)


def test_each_game_gives_positions_of_all_its_plies_once(records: Records) -> None:
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


def test_a_game_is_not_played_twice(records: Records) -> None:
    """Sixteen plies after the start hardly two games have a position in common."""
    late = records[records["ply"] >= 16]
    kinds = {record["bb"].tobytes(): int(record["game"]) for record in late}
    assert len(kinds) > 0.99 * len(late)


def test_good_moves_are_preferred(words: tuple[object, ...], tmp_path: Path) -> None:
    """Games from a won ending are over soon; where every move is drawn from all legal ones they are not."""
    won = tmp_path / "won"
    won.write_text("4k3/8/8/8/8/8/8/QQ2K3 w - - 0 1")
    more = (*words, "--max-plies", 24, "--starts", won, "--openings", "0", "--blunders")
    made = [task(job(*more, blunders), 0) for blunders in ("0", "1")]
    going = [len(np.unique(records["game"][records["ply"] >= 20])) for records in made]
    assert going[0] < going[1] / 2


def test_games_begin_where_they_are_told(words: tuple[object, ...], tmp_path: Path) -> None:
    ending = tmp_path / "ending"
    ending.write_text("8/5k2/4p3/3p4/3P4/4P3/5K2/8 w - - 0 1")
    records = task(job(*words, "--max-plies", 4, "--starts", ending, "--openings", "0"), 0)
    assert all(board_of(record).occupied.bit_count() <= 6 for record in records)
    assert not records["bb"][:, 1:5].any()


@pytest.mark.slow
def test_moves_are_judged_where_that_is_wanted(words: tuple[object, ...]) -> None:
    records = task(job(*words, "--max-plies", 12, "--judge-moves", 2), 0)
    assert FORMAT.first_fault(records) == ""
    assert np.unique(records["game"], return_counts=True)[1].max() == 2
    assert (records["depth"] == 1).all()
    assert (np.diff(records["cp"][records["n"] == 5].astype(int), axis=1) <= 0).all()


def test_openings_without_an_end_get_a_sentence(words: tuple[object, ...]) -> None:
    with pytest.raises(DataError, match="give shorter --openings"):
        task(job(*words, "--max-plies", 5, "--openings", "6"), 0)


@pytest.mark.slow
def test_a_convolution_net_plays_too(words: tuple[object, ...]) -> None:
    records = task(job(*words, "--max-plies", 3, "--student", "chess-conv"), 0)
    assert FORMAT.first_fault(records) == ""
    assert len(records) > GAMES


@pytest.mark.slow
def test_shogi(shogi_nnue: Path) -> None:
    shogi, labels = get_game("shogi"), SHOGI_LABELS
    records = task(job("--game", "shogi", "--nnue", shogi_nnue, "--max-plies", 12, "--openings", "0,4"), 0)
    assert labels.first_fault(records) == ""
    assert len(records) > 5 * GAMES
    states = labels.to_states(shogi, records, np.arange(len(records), dtype=np.int64))
    scores = NnueJudge(shogi_nnue, shogi).judge(states)
    assert records["q"].tolist() == np.rint(32767 * np.tanh(scores / 1200)).tolist()
