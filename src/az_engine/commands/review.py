"""``az-engine review``: games judged, as pages that open from the disk and as records with what the search says."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from ..engine.engine import Engine
from ..engine.errors import AzError, DataError, OptionError, counted
from ..engine.games import game_names, get_game
from ..engine.nets.netinfo import boards_in_words
from ..engine.os.files import write_atomically
from ..engine.params import EngineOptions
from ..engine.records.formats import RecordFormat, encoded, format_named, is_record, left_out, read_games
from ..engine.records.record import Record
from ..engine.settings import check
from ..protocols.page.paper import write_paper
from ..protocols.page.review import Judgement, accuracies, annotated, judge_game, mistakes, review_data
from ..protocols.page.scoresheet import Scoresheet

HELP = """\
Search every position of a game and tell what each move gave away: a page with board, graph and mistakes, the worst
first, in one file that opens from the disk; and the record, to which the search's values, marks for mistakes and the
better lines are added. What stands in a record stays: comments, times, variations, headers. Values stand where other
programs look for them: [%eval] and NAGs in PGN, lines of analysis in KIF and CSA, SBKV in SGF.

examples:
  az-engine review game.pgn                                 writes game.review.html
  az-engine review game.kif --visits 1000 --out review.html
  az-engine review game.sgf --out commented.sgf             the record with what the search says
  az-engine review games.pgn --number 3 --out three.html --out three.pgn
  az-engine review games.pgn --all                          every game: writes games.review.pgn"""

WORST = 5  # mistakes that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help="game records: .pgn, .kif, .csa, .ki2, .jkf, .sgf ...")
    add("--number", type=int, metavar="N", help="number of the game in the file (default: 1)")
    add("--all", action="store_true", help="review every game of the file")
    add("--visits", type=int, default=200, metavar="N", help="visits a position (default: %(default)s)")
    add("--net", default="", metavar="FILE", help="the net (default: the net inside the package)")
    add("--threads", type=int, default=2, metavar="N", help="search workers (default: %(default)s)")
    add(
        "--out",
        type=Path,
        action="append",
        metavar="FILE",
        help="a page (.html), or a record; can be repeated (default: IN.review.html; with --all a record like IN)",
    )
    add("--anew", action="store_true", help="replace the evaluations that the record has, whoever has written them")
    add("--force", action="store_true", help="replace existing records; pages always are")


def main(args: argparse.Namespace) -> int:
    """Run the command; 1 when a record could not be read whole. Errors: AzError."""
    check(EngineOptions(threads=max(args.threads, 1)))
    if args.visits < 1 or args.threads < 1 or (args.number is not None and args.number < 1):
        raise OptionError("--visits, --threads and --number must be at least 1")
    if args.all and args.number is not None:
        raise OptionError("--all reviews every game, --number one: give one of them")
    args.number = args.number or 1
    family, formats = _family(args.source)
    default = args.source.with_name(f"{args.source.stem}.review{args.source.suffix if args.all else '.html'}")
    outs = [_Out(path, formats, numbered=args.all, force=args.force, anew=args.anew) for path in args.out or [default]]
    review = _Review(family, args)
    damaged = reviewed = 0
    try:
        for number, record in _chosen(args, formats, review.tell):
            if problem := _unplayable(record, args.source.name, number):
                if not args.all:
                    raise DataError(problem)
                damaged += bool(record.fault)
                kept = [] if record.fault else [out.keep(record, number) for out in outs]
                review.tell(f"{problem}; it is {'written as it is' if any(kept) else 'not written'}")
                continue
            damaged += bool(record.fault)
            for text in filter(None, (record.note, record.assumed)):
                review.tell(f"{args.source.name}{f', game {number}' if number > 1 else ''}: {text}")
            if record.fault:
                review.tell(f"{args.source.name}, game {number}: {record.fault}; what can be read is reviewed")
            review.judge(record, f"game {number}" if args.all else "")
            reviewed += 1
            for out in outs:
                out.add(review, record, number)
    finally:
        review.close()
    if not reviewed:
        raise DataError(f"{args.source} holds no game that can be reviewed")
    for out in outs:
        out.write_kept()
        out.tell(review.console)
    return 1 if damaged else 0


def _family(source: Path) -> tuple[str, tuple[RecordFormat, ...]]:
    for name in game_names():
        formats = get_game(name).record_formats
        if is_record(formats, source):
            return name, formats
    if not source.exists():
        raise OptionError(f"{source} is not there; give a file of games")
    if source.is_dir():
        raise OptionError(f"{source} is a folder; name one file of games, such as {source / 'game.pgn'}")
    raise OptionError(f"{source} is no game record; the name of one ends in .pgn, .kif, .csa, .sgf or the like")


def _chosen(
    args: argparse.Namespace, formats: tuple[RecordFormat, ...], tell: Callable[[str], None]
) -> Iterator[tuple[int, Record]]:
    """The games to review with their numbers; ``tell`` gets a sentence. Errors: DataError, OptionError."""
    if args.all:
        yield from enumerate(read_games(formats, args.source), 1)
        return
    games = read_games(formats, args.source)
    record = next(islice(games, args.number - 1, None), None)
    if record is None:
        raise DataError(f"{args.source} has no game {args.number}")
    if args.number > 1 or next(games, None) is not None:
        if any(path.exists() and path.samefile(args.source) for path in args.out or []):
            raise OptionError(f"{args.source} has other games, which would be lost: choose another --out, or say --all")
        tell(f"{args.source.name} has other games: this is game {args.number} alone (--all: every game)")
    yield args.number, record


def _unplayable(record: Record, name: str, number: int) -> str:
    """Why there is nothing to review, "" where there is."""
    if record.moves:
        return ""
    return f"{name}, game {number}: {record.fault or 'it has no moves to review'}"


class _Review:
    """The engine, and what it says of one game after the other."""

    def __init__(self, family: str, args: argparse.Namespace) -> None:
        self.console = Console(stderr=True)
        self._family, self._args = family, args
        self._engine: Engine | None = None
        self._name = ""
        self.sheet = Scoresheet(family)
        self.judged: list[Judgement] = []

    def tell(self, text: str) -> None:
        """Tell the user a sentence."""
        self.console.print(text, style="yellow", soft_wrap=True)

    def judge(self, record: Record, title: str) -> None:
        """Search all positions of a game and print what was found. BLOCKS. Errors: AzError."""
        self.sheet = Scoresheet(self._family)
        try:
            self.sheet.hold(record.root, record.moves)
        except AzError as error:
            raise DataError(f"{self._args.source.name}: {error}") from error
        engine = self._ready()
        engine.configure(chess960=self.sheet.game.form == "chess960")
        with Progress(console=self.console, transient=True) as progress:
            bar = progress.add_task(f"{title or 'positions'}", total=len(self.sheet.moves) + 1)
            self.judged = judge_game(engine, self.sheet, self._args.visits, lambda _: progress.advance(bar))
        names = [name or side for name, side in zip(record.names, self.sheet.game.sides, strict=True)]
        if title:
            print(f"{title}, {' - '.join(names)}")
        self._tell(names)

    def _ready(self) -> Engine:
        """An engine for the board of the game. BLOCKS. Errors: AzError."""
        if self._engine is None or self.sheet.name != self._name:
            self.close()
            options = EngineOptions(weights_file=self._args.net, threads=self._args.threads)
            self._engine, self._name = Engine(self.sheet.name, options), self.sheet.name
            self._check_board(self._engine)
            self._engine.ready(lambda text: self.console.print(text, style="dim"))
        return self._engine

    def _check_board(self, engine: Engine) -> None:
        """Errors: AzError, before anything is compiled, where the net does not play on the board of the game."""
        (rows, columns), sizes = get_game(self.sheet.name).planes[1:], engine.sizes()
        if sizes and not {rows, columns} <= {*sizes}:
            raise DataError(
                f"{self._args.source.name} is a game on {columns}x{rows}, and the net plays on "
                f"{boards_in_words(sizes)} alone; name one that plays on {columns}x{rows} with --net"
            )

    @property
    def net(self) -> str:
        return self._engine.description if self._engine is not None else ""

    def _tell(self, names: list[str]) -> None:
        sheet, result = self.sheet, list(mistakes(self.sheet, self.judged))
        counts = Counter(mistake.kind for mistake in result)
        print(", ".join(f"{kind}: {count}" for kind, count in counts.items()) or "no mistake found")
        played = zip(names, accuracies(sheet, self.judged), strict=True)
        print(f"accuracy: {', '.join(f'{name} {share:.1f} %' for name, share in played if share is not None)}")
        for mistake in sorted(result, key=lambda each: -each.loss)[:WORST]:
            side = sheet.game.sides[sheet.turn(mistake.ply)]
            better = f", better {' '.join(mistake.better[:6])}" if mistake.better else ""
            move = sheet.counted_move(mistake.ply)
            print(f"{move} ({side}): {mistake.kind}, {100 * mistake.loss:.0f} %{better}")

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


class _Out:
    """A file that is written: a page for each game, or a record of all."""

    def __init__(
        self, path: Path, formats: tuple[RecordFormat, ...], *, numbered: bool, force: bool, anew: bool
    ) -> None:
        """Errors: OptionError, also for a record that is there already, without ``force``."""
        self._path, self._numbered, self._force, self._anew = path, numbered, force, anew
        self._form = None if path.suffix.lower() == ".html" else format_named(formats, path.name, to_write=True)
        self._texts: list[str] = []
        self._kept: list[tuple[Record, int]] = []  # games without moves, with their numbers, that are to be written
        self._notes: list[str] = []
        self._written: list[Path] = []
        self._lost: Counter[str] = Counter()
        self._old = 0  # positions whose evaluations are kept
        if self._form is not None and self._form.write is None:
            raise OptionError(f"{path.name}: games of this kind are only read; choose another format to write")
        self._check_free(self._place(1))  # now, not when the game has been searched
        if not path.parent.is_dir():
            raise OptionError(f"there is no folder {path.parent} for {path.name}; make it, or choose another --out")

    def _place(self, number: int) -> Path:
        """The file of a game."""
        if self._numbered and (self._form is None or self._form.between is None):
            return self._path.with_name(f"{self._path.stem}_{number:04}{self._path.suffix}")
        return self._path

    def _check_free(self, path: Path) -> None:
        """Errors: OptionError for a record that somebody else has written."""
        if self._form is not None and not self._force and path not in self._written and path.exists():
            raise OptionError(f"{path} is there already; choose another --out, or say --force")

    def add(self, review: _Review, record: Record, number: int) -> None:
        """Write a game that has been judged. Errors: AzError."""
        if self._form is None:
            data = review_data(review.sheet, review.judged, record, review.net)
            self._write(self._place(number), write_paper(data["title"], "papers/paper.js", data).encode())
            return
        self.write_kept()
        self._lost += self._form.lost(record)
        added = annotated(review.sheet, review.judged, record.copy(), self._form)
        fresh = record.copy()
        old = sum(map(self._form.forget, [fresh.main_line()[0], *fresh.moved()]))
        fresh = annotated(review.sheet, review.judged, fresh, self._form)
        if old and not self._anew and added.tree != fresh.tree:
            self._old += old
        self._append(fresh if self._anew else added, number)

    def keep(self, record: Record, number: int) -> bool:
        """Have a game without moves written as it is, in its place. False: a page shows none."""
        if self._form is not None:
            self._kept.append((record, number))
        return self._form is not None

    def write_kept(self) -> None:
        """Write the games without moves that wait. Errors: AzError."""
        for record, number in self._kept:
            assert self._form is not None
            self._lost += self._form.lost(record)
            self._append(record, number)
        self._kept = []

    def _append(self, record: Record, number: int) -> None:
        """Write a game into its file, or behind those before it."""
        path, form = self._place(number), self._form
        assert form is not None
        assert form.write is not None
        if self._numbered and form.between is None:
            self._texts = []
        self._texts.append(form.write(record))
        content, note = encoded(form, (form.between or "").join(self._texts), path.name)
        if note and note not in self._notes:
            self._notes.append(note)
        self._write(path, content)

    def _write(self, path: Path, content: bytes) -> None:
        self._check_free(path)
        try:
            write_atomically(path, content)
        except OSError as error:
            raise OptionError(f"cannot write {path} ({error.strerror}); choose another --out") from error
        if path not in self._written:
            self._written.append(path)

    def tell(self, console: Console) -> None:
        """Say what was written, and what the format could not hold."""
        for path in self._written:
            console.print(f"written: {path}")
        if self._form is not None and self._lost:
            console.print(f"{self._path.name}: {left_out(self._form, self._lost)}", style="yellow")
        if self._old:
            kept = f"evaluations of {counted(self._old, 'position')} are kept as they were in the file"
            console.print(f"{self._path.name}: {kept}; --anew replaces them", style="yellow", soft_wrap=True)
        for note in self._notes:
            console.print(note, style="yellow")
