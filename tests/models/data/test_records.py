"""Shogi records as training data: the same positions, moves and results that cshogi sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.games import get_game
from az_engine.engine.records.formats import format_named, read_games
from az_engine.engine.records.record import Record
from az_engine.models.data.records import line_of_record, read_files
from az_engine.models.train import command as train

from ...engine.games.shogi import slow_encoding
from ...engine.games.shogi.test_records import random_records
from ...fakes.arguments import parsed

SHOGI = get_game("shogi")
HANDICAP = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty games as CSA and KIF, some unfinished, one damaged, and a file of something else."""
    place = tmp_path_factory.mktemp("records")
    for i, record in enumerate(random_records(20, 7, roots=(None, HANDICAP))):
        form = format_named(SHOGI.record_formats, ("csa", "kif")[i % 2])
        assert form.write is not None
        path = place / f"{i:02}{form.suffixes[-1]}"
        path.write_bytes(form.encode(form.write(record), path.name))
    (place / "damaged.csa").write_text("PI\n+\n+7776FU\n+7776FU\n%TORYO\n")
    (place / "readme.txt").write_text("not a record")
    return place


def finished() -> list[Record]:
    return [r for r in random_records(20, 7, roots=(None, HANDICAP)) if r.result is not None and r.moves]


CHESS960 = """[Variant "Chess960"]
[FEN "4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1"]
[SetUp "1"]
[Result "1-0"]

1. O-O Kd7 2. Rb7+ Ke6 1-0
"""


def test_games_of_chess960_keep_their_castling_rights(tmp_path: Path) -> None:
    chess, path = get_game("chess"), tmp_path / "game.pgn"
    path.write_text(CHESS960)
    [record] = read_games(chess.record_formats, path)
    assert (record.moves[0], len(record.moves)) == ("e1g1", 4)
    line, moves = line_of_record(chess, record)
    assert (line["castling"].tolist(), len(moves)) == ([0b1000010, 0, 0, 0, 0], 4)


def test_positions_moves_and_results(folder: Path) -> None:
    cshogi = pytest.importorskip("cshogi", reason="cshogi has no wheel for this machine")
    problems: list[str] = []
    paths = [path for path in sorted(folder.iterdir()) if path.suffix != ".txt"]
    training, heldout = read_files(SHOGI, paths, problems.append)
    assert [problem.split(":")[0] for problem in problems] == ["damaged.csa, game 1"]
    games = finished()
    assert len(heldout) == len(games[7].moves)
    games = games[:7] + games[8:]
    assert len(training) == sum(len(game.moves) for game in games)
    batch = training.batch(np.arange(len(training)))
    row = 0
    for game in games:
        board = cshogi.Board(game.root) if game.root else cshogi.Board()
        sfens: list[str] = []
        for ply, move in enumerate(game.moves):
            sfens.append(board.sfen())
            white = board.turn == cshogi.WHITE
            if row % 7 == 0:
                np.testing.assert_array_equal(batch.planes[row], slow_encoding.planes(sfens, ply))
            assert batch.actions[row].tolist() == [slow_encoding.action(move, white)]
            assert batch.z[row] == (-game.result if white else game.result)  # type: ignore[operator]
            board.push_usi(move)
            row += 1


@pytest.mark.slow
def test_a_net_learns_from_them(folder: Path, tmp_path: Path) -> None:
    words = ["--blocks", "1", "--filters", "8", "--value-hidden", "16", "--history", "1", "--batch", "16"]
    words += ["--steps", "6", "--precision", "fp32", "--warmup", "2", "--game", "shogi"]
    whole = ["--supervised", str(folder), "--out", str(tmp_path / "run"), *words]
    assert train.main(parsed(train, *whole)) == 0
    assert "games from CSA/KIF files" in (tmp_path / "run" / "card.md").read_text()
    with pytest.raises(OptionError, match="--teacher-weight means nothing here: game records hold no labels"):
        train.main(parsed(train, *whole, "--teacher-weight", "0.5"))
    with pytest.raises(DataError, match=r"neither \.npz nor \.pgn"):
        train.main(parsed(train, *whole, "--game", "chess"))


@pytest.mark.parametrize("words", [["--temperature", "0.1"], ["--centipawns", "300"], ["--value-target", "wdl"]])
def test_targets_that_shogi_labels_do_not_know_are_refused(words: list[str], tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "data" / "shogi_train_sample.npz"
    given = ["--supervised", str(sample), "--out", str(tmp_path), "--game", "shogi", "--steps", "1", *words]
    with pytest.raises(OptionError, match=f"{words[0]} means nothing here: the labels of shogi"):
        train.main(parsed(train, *given))
