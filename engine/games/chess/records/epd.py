"""Reads EPD and lists of FENs: a position on each line, with operations such as ``bm Nf3; id "17";``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from ....errors import DataError, PositionError, quoted
from ....records.record import LINE, Node, Record
from ....records.text import BoundedLines
from .. import notation

_OPERATION = re.compile(r'[\s;]*([A-Za-z]\w*)((?:\s+(?:"(?:[^"\\]|\\.)*"|[^\s;"]+))*)\s*(?:;|$)')
_COUNT = re.compile("[0-9]+|-", re.ASCII)


def read(stream: BinaryIO) -> Iterator[Record]:
    """A record without moves for each position, whose operations are headers; an odd line is one with a fault.

    Errors: DataError when there is no position.
    """
    lines, count = BoundedLines(stream), 0
    while text := lines.readline():
        lines.begin_game()
        text = text.strip()
        if not text or text.startswith("#"):
            continue
        try:
            record = parse(text)
            record.tree.more[LINE] = (str(lines.number),)
            count += 1
        except PositionError as error:
            record = Record(fault=f"line {lines.number}: {error}")
        yield record
    if not count:
        raise DataError("there is no position in it")


def parse(text: str) -> Record:
    """The position of one line, in the FEN that it means. Errors: PositionError."""
    words = text.split()
    if words[0].count("/") != 7:
        raise PositionError(f"{quoted(text)} is neither EPD nor a FEN")
    head = words[: 4 if len(words) >= 4 else len(words)]
    counts = words[4:6] if len(words) >= 6 and all(map(_COUNT.fullmatch, words[4:6])) else []
    rest = re.sub(r"^\s*" + r"\s+".join(["\\S+"] * len(head + counts)), "", text)
    operations, at = {}, 0
    while match := _OPERATION.match(rest, at):
        operations[match[1]], at = _operand(match[2]), match.end()
    if odd := rest[at:].strip(" ;"):
        raise PositionError(f"{quoted(odd)} is no operation of EPD such as bm Nf3;")
    if not counts:
        counts = [operations.pop("hmvc", "0"), operations.pop("fmvn", "1")]
    head += ["-"] * (4 - len(head))
    state, _ = notation.parse_fen(" ".join([*head, *counts]), chess960=True)
    return Record(Node(position=notation.format_fen(state[0])), headers=operations)


def _operand(text: str) -> str:
    """Operands as one text; the quotation marks of a single one are taken off."""
    text = text.strip()
    if re.fullmatch(r'"(?:[^"\\]|\\.)*"', text):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
