"""SGF files of a GTP conversation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.errors import DataError
from .board import Board, GtpError, other
from .game import SKIP, GtpGame, Move, Start
from .rules import Rules, read_rules

if TYPE_CHECKING:
    from ...engine.records.formats import RecordFormat
    from ...engine.records.record import Record


def _sgf() -> RecordFormat:
    from ...engine.games import get_game
    from ...engine.records.formats import format_named

    return format_named(get_game("go").record_formats, "sgf")


def write_sgf(game: GtpGame) -> str:
    """The text of the game so far."""
    from ...engine.records.record import Record

    write = _sgf().write
    assert write is not None
    return write(Record.of_line(game.words, game.text))


def read_sgf(path: Path) -> Record:
    """A file's first game. Errors: GtpError, which quotes no content."""
    try:
        if path.is_dir():
            raise GtpError("cannot load file: it is a folder")
        if not path.is_file():
            raise GtpError("cannot load file: there is no such file")
        with path.open("rb") as stream:
            record = next(_sgf().read(stream))
    except (OSError, ValueError, StopIteration):
        raise GtpError("cannot load file: it cannot be read") from None
    except DataError as error:
        raise GtpError(f"cannot load file: {error}") from None
    if record.fault or record.root is None:
        raise GtpError(f"cannot load file: {record.fault}")
    return record


def contents(record: Record) -> tuple[Start, float | None, Rules | None, list[Move]]:
    """Start, komi, rules (None where the file has none that are known) and moves of a game."""
    assert record.root is not None
    headers = record.headers
    text, turn, _, _, _, stones, _, _, *rest = record.root.split()  # the rest: prisoners, by rules of territory
    start = Start(Board.read(text), turn, int(stones), *map(int, rest))
    moves: list[Move] = []
    skip = False
    for word in record.moves:
        if word != SKIP:
            moves.append(Move(turn, word, skip))
        skip = word == SKIP
        turn = other(turn)
    rules = read_rules(headers["RuleSet"]) if "RuleSet" in headers else None
    return start, float(headers["Komi"]) if "Komi" in headers else None, rules, moves
