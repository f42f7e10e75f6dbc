"""Labelling shogi with USI engines: records that agree with cshogi, and a net that learns from them."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import EngineProcessError, OptionError
from az_engine.engine.games import get_game
from az_engine.models.data.games.shogi import FORMAT, record_of
from az_engine.models.data.shards import Records, TargetOptions, Teaching

from ...fakes.program import score
from ..data.test_shogi import sfen_of, usi_of
from .labelling import USI, labelled

SHOGI = get_game("shogi")


def make(out: Path, *words: object, engine: str = USI, games: int = 2) -> Records:
    return labelled(out, "--engine", engine, "--games", games, "--nodes", "77", *words, game="shogi")


def check_with_cshogi(records: Records) -> None:
    """Every record is a position of the game before it plus the move played; every label is legal."""
    cshogi = pytest.importorskip("cshogi", reason="cshogi has no wheel for this machine")
    before = None
    for record in records:
        board = cshogi.Board(sfen_of(record))
        legal = {cshogi.move_to_usi(move) for move in board.legal_moves}
        count = int(record["n"])
        labelled = [usi_of(int(move)) for move in record["mv"][:count]]
        assert len(set(labelled)) == count
        assert set(labelled) | {usi_of(int(record["played"]))} <= legal
        assert bool(record["check"]) == board.is_check()
        assert record["p"][:count].astype(int).sum() == pytest.approx(65535, abs=8)
        assert record["p"][count:].sum() == 0
        if before is not None and before["game"] == record["game"]:
            earlier = cshogi.Board(sfen_of(before))
            earlier.push_usi(usi_of(int(before["played"])))
            assert earlier.sfen().split()[:3] == board.sfen().split()[:3]
            assert record["z"] == -before["z"]
        if record["m1"]:
            board.push_usi(labelled[0])
            assert board.is_game_over()
        before = record


@pytest.mark.slow
def test_records_say_what_the_engine_said(tmp_path: Path) -> None:
    import shogi

    records = make(tmp_path, "--max-plies", "20", "--multipv", "4", "--blunders", "0.2")
    check_with_cshogi(records)
    assert sorted(np.unique(records["game"])) == [0, 1]
    for record in records[::5]:
        board = shogi.Board(sfen_of(record))
        expected = sorted(board.legal_moves, key=lambda m: (-score(board.sfen(), m.usi()), m.usi()))[: int(record["n"])]
        assert [usi_of(int(move)) for move in record["mv"][: record["n"]]] == [move.usi() for move in expected]
        q = 2 / (1 + math.exp(-score(board.sfen(), expected[0].usi()) / 600)) - 1
        assert record["m1"] or record["q"] / 32767 == pytest.approx(q, abs=1e-4)
        assert record["rnd"] or record["played"] in record["mv"][: record["n"]]
    assert records["rnd"].any()


def test_policy_and_value_are_made_of_the_scores() -> None:
    line = SHOGI.initial()
    moves = np.array([SHOGI.parse_move(line, text) for text in ("7g7f", "2g2f", "5g5f")], np.uint16)
    record = record_of(SHOGI, line, Teaching(moves, np.array([120, 90, -31990]), None, 5))[0]
    points = [1 / (1 + math.exp(-cp / 600)) for cp in (120, 90)]
    weights = [1.0, math.exp((points[1] - points[0]) / 0.02), math.exp(-points[0] / 0.02)]
    expected = [65535 * weight / sum(weights) for weight in weights]
    assert record["p"][:3].tolist() == pytest.approx(expected, abs=1)
    assert record["q"] / 32767 == pytest.approx(2 * points[0] - 1, abs=1e-4)
    assert (record["m1"], record["n"], record["rep"], record["check"]) == (0, 3, 0, 0)
    assert sfen_of(record) == SHOGI.format_position(line[-1])


def test_a_mate_in_one_is_certain() -> None:
    line, _ = SHOGI.parse_position("8k/9/8P/9/9/9/9/9/K8 b Gr2b3g4s4n3l17p 61")
    moves = np.array([SHOGI.parse_move(line, text) for text in ("G*1b", "G*2b")], np.uint16)
    record = record_of(SHOGI, line, Teaching(moves, np.array([31999, 800]), None, 5))[0]
    assert (record["m1"], record["q"], record["p"][:2].tolist()) == (1, 32767, [65535, 0])
    assert record["ply"] == 60
    assert record["hand"].tolist() == [0, 0, 0, 0, 1, 0, 0, 17, 3, 4, 4, 3, 2, 1]


@pytest.mark.slow
def test_a_seed_repeats_a_game_and_a_run_goes_on(tmp_path: Path) -> None:
    first = make(tmp_path / "a", "--max-plies", "12", games=1)
    both = make(tmp_path / "a", "--max-plies", "12", games=2)
    again = make(tmp_path / "b", "--max-plies", "12", games=2)
    assert both.tobytes() == again.tobytes()
    assert both[: len(first)].tobytes() == first.tobytes()


@pytest.mark.slow
def test_engines_that_will_not_do_are_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="1 to 8"):
        make(tmp_path, "--multipv", "9")
    with pytest.raises(EngineProcessError, match="does not start or refuses an option"):
        make(tmp_path, "--option", "Nonsense=3")


@pytest.mark.slow
def test_fairy_stockfish_labels_what_a_net_can_learn_from(tmp_path: Path) -> None:
    engine = shutil.which("fairy-stockfish", path="/usr/games:/usr/local/bin:/usr/bin")
    if engine is None:
        pytest.skip("fairy-stockfish is not installed")
    records = make(tmp_path, "--nodes", "1000", "--first-game", "6", "--max-plies", "60", engine=engine)
    check_with_cshogi(records)
    assert (records["n"] == 8).mean() > 0.5
    training, heldout = FORMAT.read_folder(SHOGI, list(tmp_path.glob("*.npz")), TargetOptions())
    assert len(training.batch(np.arange(len(training)))) == len(training) > 5
    assert len(heldout) > 5
