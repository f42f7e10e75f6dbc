"""``az-engine convert``: game records from one format to another, and as position lines for replay tools."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from ..engine.errors import DataError, OptionError
from ..engine.games import game_names, get_game
from ..engine.games.base import Game
from ..engine.os.files import write_atomically
from ..engine.records.formats import RecordFormat, encoded, format_games, format_named, is_record, left_out, read_games

HELP = """\
Convert game records with their variations, comments, times and headers: shogi between KIF, KI2, CSA and JKF; Go from
GIB, NGF and UGF to SGF; chess from PGN, EPD and lists of FENs; every game as position lines. Every move is checked by
the rules. A damaged record is used up to the damage, which is reported; so is what the new format cannot hold. Files
are read in any encoding and written in UTF-8 (.kif and .ki2 in Shift-JIS, as programs expect, where it can hold them).

examples:
  az-engine convert game.kif                        print it as a line: position startpos moves 7g7f ...
  az-engine convert game.kif game.csa               the name gives the format
  az-engine convert games.csa kifu/ --to kif        a file a game: kifu/games_0001.kifu ...
  az-engine convert folder/ all.csa --game shogi    all records of a folder in one file"""

Written = list[tuple[str, str]]  # (stem of its file, text) of each game


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help="a record, or a folder of them")
    add("target", metavar="OUT", type=Path, nargs="?", help="a file, or a folder; left out: the terminal")
    add("--to", metavar="FORMAT", help="pgn, csa, kif, ki2, jkf, sgf, usi or uci (position lines); else by OUT's name")
    add("--game", choices=game_names(), help="the game of the records (default: by IN's name)")
    add("--force", action="store_true", help="replace existing files")


def main(args: argparse.Namespace) -> int:
    """Run the command; 1 when a record could not be read whole, unless all of it is written. Errors: AzError."""
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
    if form.write is None:
        raise OptionError(f"{form.name} is only read; choose another format to write")
    written, damaged = _written(game, paths, form, source)
    if target is None:
        sys.stdout.write(("\n" if form.between is None else form.between).join(text for _, text in written))
    elif target.is_dir() or not target.suffix:
        _write_folder(target, form, written, args.force)
    else:
        _write(target, form, [text for _, text in written], args.force)
    return 1 if damaged else 0


def _written(game: Game, paths: Sequence[Path], form: RecordFormat, source: Path) -> tuple[Written, int]:
    """The games as text, and how many of them are damaged, which is told, as is what the format cannot hold."""
    written, damaged, lost = Written(), 0, Counter[str]()
    name = source.name if source.name not in ("", "..") else source.resolve().name
    files = name if source.is_dir() else source.stem
    for path in paths:
        for number, record in enumerate(read_games(game.record_formats, path), 1):
            if record.note:
                print(f"{path.name}{f', game {number}' if number > 1 else ''}: {record.note}", file=sys.stderr)
            unread = bool(record.fault) and record.root is None and record.tree.bare  # not even where it begins
            if record.fault:
                damaged += record.whole_in != form.name
                more = "; it is left out" if unread else ""
                print(f"{path.name}, game {number}: {record.fault}{more}", file=sys.stderr)
            if unread:
                continue
            text = format_games([record], form)
            lost += form.lost(record)
            stem = path.stem if form.between is None and len(paths) > 1 else files
            written.append((stem, text))
    if not written:
        raise DataError(f"{source} holds no game that can be converted")
    if lost:
        print(f"{name}: {left_out(form, lost)}", file=sys.stderr)
    return written, damaged


def _game_of(source: Path) -> Game:
    """The game whose records have the name of a file, or of those in a folder. Errors: DataError, OptionError."""
    paths = sorted(source.iterdir()) if source.is_dir() else [source]
    games = [get_game(name) for name in game_names()]
    firsts = (next((game for game in games if is_record(game.record_formats, path)), None) for path in paths)
    results = {game.name: game for game in firsts if game is not None}
    if not results:
        raise DataError(f"{source}: no game's records have such a name; say --game, or name it .pgn, .csa, .kif ...")
    if len(results) > 1:
        raise OptionError(f"{source} holds records of {' and '.join(sorted(results))}: say which with --game")
    return results.popitem()[1]


def _form_of(game: Game, target: Path | None, name: str | None) -> RecordFormat:
    if name:
        return format_named(game.record_formats, name, to_write=True)
    if target is None:
        lines = [form for form in game.record_formats if form.name.lower() == game.protocol]  # position lines
        return lines[0] if lines else game.record_formats[0]
    if not target.suffix:
        raise OptionError(f"{target} is a folder: say --to, for example --to {game.record_formats[0].name.lower()}")
    return format_named(game.record_formats, target.name, to_write=True)


def _names(written: Written) -> Iterator[tuple[str, str]]:
    """File names without their ends, each once: numbered where a stem has several games."""
    total = Counter(stem for stem, _ in written)
    taken = {stem for stem, games in total.items() if games == 1}
    numbers = {stem: count(1) for stem in total}
    for stem, text in written:
        name = stem
        if total[stem] > 1:
            name = next(name for n in numbers[stem] if (name := f"{stem}_{n:04}") not in taken)
            taken.add(name)
        yield name, text


def _write_folder(folder: Path, form: RecordFormat, written: Written, force: bool) -> None:
    targets = [(folder / f"{name}{form.suffixes[0]}", text) for name, text in _names(written)]
    for path, _ in targets:
        _check_free(path, force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write to {folder} ({error.strerror}); choose another OUT") from error
    for path, text in targets:
        _write(path, form, [text], force)


def _check_free(path: Path, force: bool) -> None:
    """Errors: OptionError for a file that is there already, without ``force``."""
    if path.exists() and not force:
        raise OptionError(f"{path} is there already; choose another OUT, or say --force")


def _write(path: Path, form: RecordFormat, texts: list[str], force: bool) -> None:
    _check_free(path, force)
    if len(texts) > 1 and form.between is None:
        raise OptionError(f"a {form.name} file holds one game, not {len(texts)}; write to a folder")
    content, note = encoded(form, (form.between or "").join(texts), path.name)
    if note:
        print(note, file=sys.stderr)
    try:
        write_atomically(path, content)
    except OSError as error:
        raise OptionError(f"cannot write {path} ({error.strerror}); choose another OUT") from error
