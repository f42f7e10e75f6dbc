"""``az-engine convert``: game records from one format to another, and as position lines for replay tools."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..engine.errors import DataError, OptionError
from ..engine.files import write_atomically
from ..engine.games import game_names, get_game
from ..engine.games.base import Game
from ..engine.games.record import Record, RecordFormat, format_games, format_named, is_record, read_games

HELP = """\
Convert game records: chess between PGN and position lines; shogi between CSA, KIF and position lines (KI2: only read);
any other game as position lines. Main lines are kept, variations are not; every move is checked by the rules. A damaged
record is used up to the damage, which is reported. CSA and KIF are read in UTF-8, UTF-16, Shift-JIS or EUC and written
in UTF-8 (a .kif file in Shift-JIS, as programs expect it).

examples:
  az-engine convert game.kif                        print it as a line: position startpos moves 7g7f ...
  az-engine convert game.kif game.csa               the name gives the format
  az-engine convert games.csa kifu/ --to kif        a file a game: kifu/games_0001.kifu ...
  az-engine convert folder/ all.csa --game shogi    all records of a folder in one file"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help="a record, or a folder of them")
    add("target", metavar="OUT", type=Path, nargs="?", help="a file, or a folder; left out: the terminal")
    add("--to", metavar="FORMAT", help="pgn, csa, kif, usi or uci (the last two: position lines); else by OUT's name")
    add("--game", choices=game_names(), help="the game of the records (default: by IN's name)")
    add("--force", action="store_true", help="replace existing files")


def main(args: argparse.Namespace) -> int:
    """Run the command; 1 when a record could not be read whole. Errors: AzError."""
    source: Path = args.source
    if not source.exists():
        raise DataError(f"{source} does not exist; give a record or a folder of them")
    game = get_game(args.game) if args.game else _game_of(source)
    if not game.record_formats:
        raise OptionError(f"records of {game.name} cannot be converted: the game has no record format")
    paths = sorted(p for p in source.iterdir() if is_record(game.record_formats, p)) if source.is_dir() else [source]
    if not paths:
        raise DataError(f"{source} holds no records of {game.name}")
    target: Path | None = args.target
    form = _form_of(game, target, args.to)
    damaged = 0
    records: list[tuple[str, Record]] = []
    for path in paths:
        for number, record in enumerate(read_games(game.record_formats, path), 1):
            if record.fault:
                damaged += 1
                print(f"{path.name}, game {number}: {record.fault}", file=sys.stderr)
            records.append((path.stem if form.between is None and len(paths) > 1 else source.stem, record))
    if target is None:
        between = "\n" if form.between is None else form.between
        sys.stdout.write(between.join(format_games([record], form) for _, record in records))
    elif target.is_dir() or not target.suffix:
        _write_folder(target, form, records, args.force)
    else:
        _write(target, form, [record for _, record in records], args.force)
    return 1 if damaged else 0


def _game_of(source: Path) -> Game:
    """The game whose records have the name of a file, or of one in a folder. Errors: DataError."""
    paths = sorted(source.iterdir()) if source.is_dir() else [source]
    for name in game_names():
        game = get_game(name)
        if any(is_record(game.record_formats, path) for path in paths):
            return game
    raise DataError(f"{source}: no game's records have such a name; say --game, or name it .pgn, .csa, .kif ...")


def _form_of(game: Game, target: Path | None, name: str | None) -> RecordFormat:
    if name:
        return format_named(game.record_formats, name)
    if target is None:
        lines = [form for form in game.record_formats if form.name.lower() == game.protocol]  # position lines
        return lines[0] if lines else game.record_formats[0]
    if not target.suffix:
        raise OptionError(f"{target} is a folder: say --to, for example --to {game.record_formats[0].name.lower()}")
    return format_named(game.record_formats, target.name)


def _names(records: list[tuple[str, Record]]) -> Iterator[tuple[str, Record]]:
    """File names without their ends: numbered where a stem has several games."""
    count: Counter[str] = Counter()
    total = Counter(stem for stem, _ in records)
    for stem, record in records:
        count[stem] += 1
        yield (stem if total[stem] == 1 else f"{stem}_{count[stem]:04}"), record


def _write_folder(folder: Path, form: RecordFormat, records: list[tuple[str, Record]], force: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write to {folder} ({error.strerror}); choose another OUT") from error
    for name, record in _names(records):
        _write(folder / f"{name}{form.suffixes[0]}", form, [record], force)


def _write(path: Path, form: RecordFormat, records: list[Record], force: bool) -> None:
    if path.exists() and not force:
        raise OptionError(f"{path} is there already; choose another OUT, or say --force")
    content = form.encode(format_games(records, form), path.name)
    try:
        write_atomically(path, content)
    except OSError as error:
        raise OptionError(f"cannot write {path} ({error.strerror}); choose another OUT") from error
