"""``az-engine suite``: how many positions of a test suite players solve; chess, in EPD."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import chess
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...engine.errors import DataError
from ...engine.games import get_game
from ...engine.records.formats import format_named
from ...engine.records.record import LINE, Record
from ..match.players import MoveLimit, PlayerSpec, parse_seconds
from .players import add_player_argument, limits_of, progress, read_players, running

HELP = """\
Let players solve the positions of a test suite in EPD, such as Win at Chess: they solve one when they play a best move
(bm) and none to avoid (am). Every position is a new game. A second table has the positions that a player fails: what to
play, or not, and what it played.

examples:
  az-engine suite wac.epd -P default -P chess-conv --seconds 1
  az-engine suite wac.epd -P "default option.Threads=2" -P "cmd=stockfish nodes=100000" --visits 1000 --json

players are written as for az-engine match; without --seconds and --visits they need a limit of their own."""

_MOST_POSITIONS = 300_000  # that are looked at for a mate
_EPD = format_named(get_game("chess").record_formats, "epd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("suite", metavar="FILE", type=Path, help="positions in EPD, one a line, with bm or am")
    add_player_argument(parser)
    add("--seconds", metavar="S", help="seconds a position, of players without a limit of their own")
    add("--visits", type=int, metavar="N", help="visits a position, likewise")
    add(
        "--json",
        action="store_true",
        help="print one JSON object a player, with the positions that it fails and its moves there",
    )


@dataclass(frozen=True, slots=True)
class Task:
    """A position and the moves that solve it."""

    name: str
    fen: str
    best: frozenset[str]  # in UCI's notation; empty: all but those to avoid
    avoided: frozenset[str]
    chess960: bool = False

    def solved_by(self, move: str | None) -> bool:
        return move is not None and move not in self.avoided and (not self.best or move in self.best)

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
    found = set()
    for word in text.replace(",", " ").split():
        plain = word.rstrip("!?")
        try:
            move = board.parse_san(re.sub("^[0-9]+[.]+", "", plain))
        except chess.InvalidMoveError:
            move = board.parse_uci(plain)
        found.add(board.uci(move))
    return frozenset(found)


def _mating(board: chess.Board, text: str) -> frozenset[str]:
    """The moves that mate in so many moves or fewer. Errors: ValueError."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"dm {text[:10]} is no number of moves")
    budget = [_MOST_POSITIONS]
    found = frozenset(board.uci(move) for move in list(board.legal_moves) if _mates(board, move, int(text), budget))
    if not found:
        raise ValueError(f"there is no mate in {text}")
    return found


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
    found = any(_mates(board, move, moves, budget) for move in list(board.legal_moves))
    board.pop()
    return found


def main(args: argparse.Namespace) -> int:
    common = MoveLimit(nodes=args.visits, movetime_ms=None if args.seconds is None else parse_seconds(args.seconds))
    specs = read_players(args.players, common, "uci")
    tasks = read_suite(args.suite)
    if any(task.chess960 for task in tasks):
        specs = [replace(spec, options={**spec.options, "UCI_Chess960": "true"}) for spec in specs]
    chosen = [moves_of(spec, tasks) for spec in specs]
    show([spec.name for spec in specs], tasks, chosen, as_json=args.json)
    return 0


def moves_of(spec: PlayerSpec, tasks: Sequence[Task]) -> list[str | None]:
    """The move that a player chooses in each task; None: it resigns. BLOCKS. Errors: EngineProcessError, NetError."""
    limits, moves = limits_of(spec), []
    with running(spec, "chess") as player, progress() as bar:
        for task in bar.track(tasks, description=spec.name):
            player.new_game()
            moves.append(player.play(task.fen, (), limits).move)
    return moves


def show(names: Sequence[str], tasks: Sequence[Task], chosen: Sequence[Sequence[str | None]], *, as_json: bool) -> None:
    """Print what the players solve with the moves they have chosen, and where they fail."""
    solved = [[task.solved_by(move) for task, move in zip(tasks, moves, strict=True)] for moves in chosen]
    table = Table("player", "solved", "of", "", "not by the first", "by the first alone")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, own, moves in zip(names, solved, chosen, strict=True):
        if as_json:
            failed = [(task, move) for task, done, move in zip(tasks, own, moves, strict=True) if not done]
            row = {"player": name, "positions": len(tasks), "solved": sum(own)}
            row |= {"failed": [task.name for task, _ in failed], "played": [task.san(move) for task, move in failed]}
            print(json.dumps(row))
            continue
        more = sum(mine and not first for mine, first in zip(own, solved[0], strict=True))
        less = sum(first and not mine for mine, first in zip(own, solved[0], strict=True))
        share = f"{sum(own) / len(own):.1%}"
        table.add_row(Text(name), str(sum(own)), str(len(own)), share, str(more), str(less))
    if not as_json:
        Console().print(table)
        show_failures(names, tasks, chosen)


def show_failures(names: Sequence[str], tasks: Sequence[Task], chosen: Sequence[Sequence[str | None]]) -> None:
    """Print the tasks that a player fails, each with the moves of those that do; nothing where all are solved."""
    table = Table("position", "to play")
    for name in names:
        table.add_column(Text(name))
    for number, task in enumerate(tasks):
        moves = [own[number] for own in chosen]
        if not all(map(task.solved_by, moves)):
            played = ("" if task.solved_by(move) else task.san(move) for move in moves)
            table.add_row(Text(task.name), task.solution, *played)
    if table.row_count:
        Console().print(table)
