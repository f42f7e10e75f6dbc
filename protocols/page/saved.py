"""The record that the page saves: what was loaded, or a new one, with its moves, names and result."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ...engine.errors import DataError
from ...engine.records.formats import format_named
from ...engine.records.record import Reason, Record
from .outline import Branch, merged, read_tree

if TYPE_CHECKING:
    from .request import Request
    from .scoresheet import Scoresheet

LONGEST_SOURCE = 300_000  # characters
_REASONS: dict[str, Reason] = {
    "mate": "mate",
    "resigned": "resignation",
    "declared": "declaration",
    "time": "time",
}  # by the page's words; the others are in the result


def record_of(sheet: Scoresheet, request: Request) -> Record:
    """The record that a page has loaded, else a new one, with the moves that the page shows. Errors: AzError.

    A file's result stays while its moves do, unless the page has ended the game; else it is what the game ended with.
    """
    source, tree = request.table("source"), read_tree(request.words("tree"))
    sheet.words_of(tree)  # all are legal
    names = request.words("names")
    known = (names[0], names[1]) if len(names) == 2 else ("", "")
    result = request.some_integer("result", -1, 1)
    if source is None:
        record = Record.of_line((), sheet.root, result, names=known)
        stays = result is not None
        record = merged(record, sheet.root, sheet.moves, tree)
    else:
        record, stays = _loaded(sheet, source, tree)
        record.names = known if any(known) else record.names
        if result is not None and result != record.result:
            record.result, record.reason, record.margin = result, "", None
    ended = request.table("ended")
    if ended is not None or not stays:
        _end(record, _over(sheet, request, ended))
    return record


def _loaded(sheet: Scoresheet, source: Request, tree: list[Branch]) -> tuple[Record, bool]:
    """The record of a file with the page's moves, and whether it has a result for them. Errors: AzError."""
    form = format_named(sheet.game.record_formats, source.text("format") or "")
    text = (source.text("text", LONGEST_SOURCE) or "").encode("utf-8", "replace")
    record = next(form.read(io.BytesIO(text)), None)
    if record is None:
        raise DataError(f"source has no game in {form.name}")
    record.source = form.name
    stays = record.result is not None and record.moves == tuple(sheet.moves)
    return merged(record, sheet.root, sheet.moves, tree), stays


def _over(sheet: Scoresheet, request: Request, ended: Request | None) -> dict[str, Any] | None:
    """How the game ended: by the rules, without the dead stones that the page names, or as the page says. None: not."""
    over = sheet.over(len(sheet.moves))
    if over is not None and "lead" in over and "dead" in request:
        return sheet.counted(request.words("dead"))
    if over is None and ended is not None:
        return {"winner": ended.some_integer("winner", 0, 1), "why": ended.text("why")}
    return over


def _end(record: Record, over: dict[str, Any] | None) -> None:
    """Write into a record how its game ended."""
    if over is None:
        return
    winner, lead = over["winner"], over.get("lead")
    record.result = 0 if winner is None else 1 - 2 * winner
    record.reason = _REASONS.get(over["why"], "")
    record.headers.pop("Termination", None)  # of the end that the file has
    record.margin = None if winner is None or lead is None else abs(float(lead))
