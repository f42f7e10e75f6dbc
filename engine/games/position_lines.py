"""Games as lines of the UCI family of protocols, for tools that replay positions: ``position startpos moves ...``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from ..errors import DataError, PositionError, quoted
from ..records.formats import MAX_PLIES, RecordFormat
from ..records.record import Record
from ..records.text import BoundedLines
from .rules import Rules


def position_lines(game: Rules, name: str, keyword: str, suffixes: tuple[str, ...]) -> RecordFormat:
    """The format for one game; ``keyword`` stands before a position that is not the usual start ("fen", "sfen").

    The word ``position`` may be missing; results and names are not kept.
    """

    def read(stream: BinaryIO) -> Iterator[Record]:
        count, lines = 0, BoundedLines(stream)
        while text := lines.readline():
            lines.begin_game()
            words = text.split()
            if not words or words[0].startswith("#"):
                continue
            count += 1
            yield _read_line(game, keyword, words[words[0] == "position" :], lines.number)
        if not count:
            raise DataError("there is no position line in it")

    def write(record: Record) -> str:
        start = "startpos" if record.root is None else f"{keyword} {record.root}"
        moves = " moves " + " ".join(record.moves) if record.moves else ""
        return f"position {start}{moves}\n"

    return RecordFormat(name, suffixes, read, write, "", holds=frozenset())


def _read_line(game: Rules, keyword: str, words: list[str], number: int) -> Record:
    """The game of one line; a move that cannot be read or played ends it with a fault."""
    root: str | None = None
    played: list[str] = []
    try:
        at = words.index("moves") if "moves" in words else len(words)
        if words[:1] == [keyword] or "/" in "".join(words[:1]):
            line = game.parse_position(" ".join(words[words[:1] == [keyword] : at]))[0]
            root = game.format_position(line[-1])
        elif words[:at] == ["startpos"]:
            line = game.initial()
        else:
            raise DataError(f"a line begins with position startpos or position {keyword}")
        for text in words[at + 1 :]:
            if len(played) == MAX_PLIES:
                raise DataError(f"the game has more than {MAX_PLIES} moves")
            move = game.parse_move(line, text)
            played.append(game.format_move(line[-1], move))
            line = game.play(line, move)
    except (PositionError, DataError) as error:
        return Record.of_line(tuple(played), root, fault=f"line {number}: {error}")
    return Record.of_line(tuple(played), root)


def completed(text: str, notation: str, optional: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The fields of a position in a ``notation`` that begins with board and side to move, and a note on those added.

    optional: names and values of the fields that may be missing at the end. Errors: PositionError.
    """
    fields = text.split()
    missing = 2 + len(optional) - len(fields)
    if not 0 <= missing <= len(optional):
        raise PositionError(
            f"a {notation} has two to {2 + len(optional)} fields, this one has {len(fields)}: {quoted(text)}"
        )
    added = list(optional)[len(optional) - missing :]
    named = ", ".join(f"{name} {optional[name]}" for name in added)
    return [*fields, *(optional[name] for name in added)], [f"the {notation} is completed: {named}"] if added else []
