"""Polyglot books, against files written here with python-chess's keys."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import chess
import chess.polyglot
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.games.book import BookMove, BookReader
from az_engine.engine.info import BestMove
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions

GAME = get_game("chess")
assert GAME.open_book is not None
OPEN = GAME.open_book


def polyglot(path: Path, entries: list[tuple[chess.Board, str, int]]) -> Path:
    """Write a book of (position, move as Polyglot has it, weight)."""
    rows = []
    for board, text, weight in entries:
        move = chess.Move.from_uci(text)
        rows.append((chess.polyglot.zobrist_hash(board), move.from_square << 6 | move.to_square, weight))
    rows.sort(key=lambda row: row[0])
    path.write_bytes(b"".join(struct.pack(">QHHI", key, move, weight, 0) for key, move, weight in rows))
    return path


def test_moves_and_weights(tmp_path: Path) -> None:
    start = chess.Board()
    castling = chess.Board("r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1")
    path = polyglot(tmp_path / "book.bin", [(start, "e2e4", 60), (start, "d2d4", 40), (castling, "e1h1", 1)])
    book = OPEN(path)
    assert sorted(book.find(GAME.initial()[-1])) == [BookMove("d2d4", 40), BookMove("e2e4", 60)]
    line = GAME.parse_position(castling.fen())[0]
    assert book.find(line[-1]) == [BookMove("e1g1", 1)]
    freely = GAME.variant("chess960")
    assert freely.open_book(path).find(freely.parse_position(castling.fen())[0][-1]) == [BookMove("e1h1", 1)]  # type: ignore[misc]


def test_draws_follow_the_weights_and_illegal_moves_are_left_out(tmp_path: Path) -> None:
    start = chess.Board()
    entries = [(start, "e2e4", 90), (start, "d2d4", 10), (start, "e2e5", 900), (start, "a2a3", 0)]
    path = polyglot(tmp_path / "book.bin", entries)
    line = GAME.initial()
    reader = BookReader(str(path), OPEN)
    drawn = [reader.move(GAME, line, best=False, seed=seed) for seed in range(1, 201)]
    assert {move for move, _ in filter(None, drawn)} == {"e2e4", "d2d4"}
    assert 150 < sum(found == ("e2e4", 2) for found in drawn) < 200
    assert reader.move(GAME, line, best=True) == ("e2e4", 2)
    assert reader.move(GAME, GAME.play(line, GAME.parse_move(line, "g1f3")), best=True) is None


@pytest.mark.parametrize("content", [b"", b"0123456789"])
def test_files_that_are_no_books(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "book.bin"
    path.write_bytes(content)
    with pytest.raises(OptionError, match="no Polyglot book"):
        OPEN(path)
    reader = BookReader(str(path), OPEN)
    assert reader.move(GAME, GAME.initial(), best=True) is None
    assert "no Polyglot book" in reader.problem


def test_a_file_that_is_not_there() -> None:
    reader = BookReader("no/such/book.bin", OPEN)
    assert reader.move(GAME, GAME.initial(), best=True) is None
    assert reader.problem == (
        "the book 'no/such/book.bin' cannot be read (No such file or directory); set BookFile to another"
    )


def test_the_engine_plays_the_book_where_it_plays_a_game(tmp_path: Path) -> None:
    path = polyglot(tmp_path / "book.bin", [(chess.Board(), "b1a3", 1)])
    options = EngineOptions(weights_file="uniform", hash_mb=8, threads=1, book_file=str(path))

    told: list[str | None] = []

    def answer(limits: Limits, **changes: object) -> BestMove:
        answers: list[BestMove] = []
        engine = Engine("chess", replace(options, **changes))  # type: ignore[arg-type]
        engine.set_position(None, [])
        engine.go(limits, lambda info: told.append(info.message), answers.append)
        engine.wait()
        return answers[0]

    booked = answer(Limits(movetime=50))
    assert (booked.move, booked.messages) == ("b1a3", ("b1a3 is from the book, which has 1 move here",))
    assert answer(Limits(time=(1000, 1000))).move == "b1a3"
    assert answer(Limits(movetime=50), own_book=False).move != "b1a3"
    assert answer(Limits(movetime=50, searchmoves=("e2e4",))).move == "e2e4"
    for analysis in (Limits(nodes=5), Limits(movetime=50, depth=2), Limits(movetime=50, mate=2)):
        assert answer(analysis).nodes > 0
    assert answer(Limits(movetime=50), multipv=2).nodes > 0
    missing = answer(Limits(movetime=50), book_file="no/such.bin")
    assert missing.move is not None
    assert any("the book 'no/such.bin' cannot be read" in (message or "") for message in told)
