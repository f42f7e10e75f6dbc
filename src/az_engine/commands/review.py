"""``az-engine review``: a whole game judged, as a page that opens from the disk and as a record with comments."""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from ..engine.engine import Engine
from ..engine.errors import DataError, OptionError
from ..engine.files import write_atomically
from ..engine.games import game_names, get_game
from ..engine.params import EngineOptions
from ..engine.records.formats import RecordFormat, format_named, is_record, read_games
from ..engine.records.record import Record
from ..protocols.page.paper import write_paper
from ..protocols.page.review import Mistake, annotated, judge_game, mistakes, review_data
from ..protocols.page.scoresheet import Scoresheet

HELP = """\
Search every position of a game and tell what each move gave away: a page with board, graph and mistakes, the worst
first, in one file that opens from the disk; and the record with comments.

examples:
  az-engine review game.pgn                                 writes game.review.html
  az-engine review game.kif --visits 1000 --out review.html
  az-engine review game.sgf --out commented.sgf             the record with comments
  az-engine review games.pgn --number 3 --out three.html --out three.pgn"""

WORST = 5  # mistakes that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help="a game record: .pgn, .kif, .csa, .ki2, .sgf ...")
    add("--number", type=int, default=1, metavar="N", help="number of the game in the file (default: %(default)s)")
    add("--visits", type=int, default=200, metavar="N", help="visits a position (default: %(default)s)")
    add("--net", default="", metavar="FILE", help="the net (default: the net inside the package)")
    add("--threads", type=int, default=2, metavar="N", help="search workers (default: %(default)s)")
    add(
        "--out",
        type=Path,
        action="append",
        metavar="FILE",
        help="a page (.html), or a record with comments; can be repeated (default: IN.review.html)",
    )


def main(args: argparse.Namespace) -> int:
    """Run the command. Errors: AzError."""
    if args.visits < 1 or args.threads < 1 or args.number < 1:
        raise OptionError("--visits, --threads and --number must be at least 1")
    family, formats = _family(args.source)
    record = next(islice(read_games(formats, args.source), args.number - 1, None), None)
    if record is None:
        raise DataError(f"{args.source} has no game {args.number}")
    outs = args.out or [args.source.with_name(f"{args.source.stem}.review.html")]
    for out in outs:
        if out.suffix.lower() != ".html" and format_named(formats, out.name).write is None:
            raise OptionError(f"{out.name}: games of this kind are only read; choose another format to write")
    sheet = Scoresheet(family)
    sheet.hold(record.root, record.moves)
    console = Console(stderr=True)
    if record.fault:
        console.print(f"{args.source.name}: {record.fault}; what comes before it is reviewed", style="yellow")
    name = f"{family}{sheet.size}" if sheet.size else family
    engine = Engine(name, EngineOptions(weights_file=args.net, threads=args.threads))
    try:
        engine.ready(lambda text: console.print(text, style="dim"))
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("positions", total=len(sheet.moves) + 1)
            judged = judge_game(engine, sheet, args.visits, lambda _: progress.advance(bar))
        net = engine.description
    finally:
        engine.close()
    _tell(sheet, list(mistakes(sheet, judged)))
    for out in outs:
        if out.suffix.lower() == ".html":
            data = review_data(sheet, judged, record, net)
            text = write_paper(data["title"], "paper.js", data).encode()
        else:
            text = _record(annotated(sheet, judged, record), format_named(formats, out.name), out)
        write_atomically(out, text)
        console.print(f"written: {out}")
    return 0


def _family(source: Path) -> tuple[str, tuple[RecordFormat, ...]]:
    for name in game_names():
        formats = get_game(name).record_formats
        if is_record(formats, source):
            return name, formats
    raise OptionError(f"{source.name} is no game record; its name ends in .pgn, .kif, .csa, .sgf or the like")


def _record(record: Record, form: RecordFormat, out: Path) -> bytes:
    assert form.write is not None
    return form.encode(form.write(record), out.name)


def _tell(sheet: Scoresheet, found: list[Mistake]) -> None:
    counts = Counter(mistake.kind for mistake in found)
    print(", ".join(f"{kind}: {count}" for kind, count in counts.items()) or "no mistake found")
    for mistake in sorted(found, key=lambda each: -each.loss)[:WORST]:
        side = sheet.game.sides[sheet.turn(mistake.ply)]
        better = f", better {' '.join(mistake.better[:6])}" if mistake.better else ""
        print(f"move {mistake.ply + 1}, {side} {mistake.word}: {mistake.kind}, {100 * mistake.loss:.0f} %{better}")
