"""Test suites of chess in EPD: positions with the best moves (bm), moves to avoid (am) or a mate (dm)."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import chess

from ...engine.errors import DataError, quoted
from ...engine.games import get_game
from ...engine.records.formats import format_named
from ...engine.records.record import LINE, Record

_MOST_POSITIONS = 300_000  # that are looked at for a mate
_EPD = format_named(get_game("chess").record_formats, "epd")


@dataclass(frozen=True, slots=True)
class Task:
    """A position and the moves that solve it."""

    name: str
    fen: str
    best: frozenset[str]  # in UCI's notation; empty: all but those to avoid
    avoided: frozenset[str]
    chess960: bool = False

    def solved_by(self, move: str | None) -> bool:
        if move is None:
            return False
        board = chess.Board(self.fen, chess960=self.chess960)
        with contextlib.suppress(ValueError):  # where it is no legal move, it is none of ours
            move = board.uci(board.parse_uci(move))  # castling, in either form
        return move not in self.avoided and (not self.best or move in self.best)

    @property
    def solution(self) -> str:
        """What to play, and what not, as people write moves."""
        best, avoided = (", ".join(sorted(map(self.san, moves))) for moves in (self.best, self.avoided))
        return "; ".join(text for text in (best, avoided and f"not {avoided}") if text)

    def san(self, move: str | None) -> str:
        """A move as people write it; what is none, as it came."""
        try:
            board = chess.Board(self.fen, chess960=self.chess960)
            return "no move" if move is None else board.san(board.parse_uci(move))
        except (ValueError, AssertionError):
            return move or ""


def read_suite(path: Path) -> list[Task]:
    """The tasks of an EPD file; what is none is left out with a word on stderr. Errors: DataError."""
    try:
        with path.open("rb") as file:
            tasks = list(_tasks(path.name, _EPD.read(file)))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a test suite in EPD") from error
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from error
    if not tasks:
        raise DataError(f"{path} holds no positions to solve; give a test suite in EPD, with bm, am or dm")
    return tasks


def _tasks(name: str, records: Iterable[Record]) -> Iterator[Task]:
    """What the lines of a suite ask for."""
    for record in records:
        if record.fault:
            print(f"{name}, {record.fault}; it is skipped", file=sys.stderr)
            continue
        [number] = record.tree.more[LINE]
        try:
            yield _task(record, number)
        except ValueError as error:
            print(f"{name}, line {number}: {error}; it is skipped", file=sys.stderr)


def _task(record: Record, number: str) -> Task:
    """What is to be played in a position. Errors: ValueError."""
    board = chess.Board(record.root or chess.STARTING_FEN)
    board.chess960 = board.has_chess960_castling_rights()
    if not board.is_valid():
        raise ValueError("the position is impossible")
    best, avoided = (_moves(board, record.headers.get(key, "")) for key in ("bm", "am"))
    mate = record.headers.get("dm", "")
    if not best and not avoided and not mate:
        raise ValueError("there is no bm, am or dm")
    if mate and not best and not avoided:
        best = _mating(board, mate)
    return Task(record.headers.get("id", number), board.fen(), best, avoided, board.chess960)


def _moves(board: chess.Board, text: str) -> frozenset[str]:
    """The moves of bm or am in UCI's notation; they are written as SAN, or as UCI. Errors: ValueError."""
    results = set()
    for word in text.replace(",", " ").split():
        plain = word.rstrip("!?")
        try:
            move = board.parse_san(re.sub("^[0-9]+[.]+", "", plain))
        except chess.InvalidMoveError:
            try:
                move = board.parse_uci(plain)
            except chess.InvalidMoveError:
                raise ValueError(f"{quoted(word)} is no move") from None
        if not move:
            raise ValueError(f"{quoted(word)} is no move")
        results.add(board.uci(move))
    return frozenset(results)


def _mating(board: chess.Board, text: str) -> frozenset[str]:
    """The moves that mate in so many moves or fewer. Errors: ValueError."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"dm {text[:10]} is no number of moves")
    budget = [_MOST_POSITIONS]
    result = frozenset(board.uci(move) for move in list(board.legal_moves) if _mates(board, move, int(text), budget))
    if not result:
        raise ValueError(f"there is no mate in {text}")
    return result


def _mates(board: chess.Board, move: chess.Move, moves: int, budget: list[int]) -> bool:
    """Whether a move mates in so many moves, whatever the defence. Errors: ValueError when it takes too long."""
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError("its mate takes too long to find here: name the move by bm")
    board.push(move)
    answers = list(board.legal_moves)
    if not answers or moves == 1:
        mated = board.is_checkmate()
    else:
        mated = all(_answered(board, answer, moves - 1, budget) for answer in answers)
    board.pop()
    return mated


def _answered(board: chess.Board, answer: chess.Move, moves: int, budget: list[int]) -> bool:
    """Whether there is a mate after a defence."""
    board.push(answer)
    result = any(_mates(board, move, moves, budget) for move in list(board.legal_moves))
    board.pop()
    return result
