"""The openings of a match: well-known ones, random moves, or a file; each is played with both colours."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import chess

from ...engine.errors import DataError, OptionError, PositionError
from ...engine.games import get_game
from ...engine.games.base import Game
from ...engine.records.formats import is_record, read_games
from ...engine.records.record import LINE
from ...engine.records.text import decode_any
from .arbiter import new_arbiter, random_opening

SUITES = Path(__file__).parent.parent / "openings"  # book/chess.txt ...: NAME: MOVES on each line
NO_BOOK_PLIES = 4  # random ones, where a game has no book

OPENINGS_HELP = (
    "'book' (varied well-known openings; in a game without a book 4 random plies), 'paper' (the human openings of the "
    "AlphaZero papers: in chess the twelve of Table 2; in shogi 2g2f 8c8d and 7g7f 3c3d, inferred, for the text of "
    "Figure 3 names no moves), 'random:N' (N random plies), 'none' (the start position), or a file: PGN, CSA, KIF or "
    "SGF games (FILE:N: only their first N plies), or EPD, FEN, SFEN, moves or 'startpos moves ...' on each line"
)
_KINDS = "give book, paper, random:N, none or a file of openings (az-engine match --help tells which files)"


@dataclass(frozen=True, slots=True)
class Opening:
    """Moves from a root; root None = the game's start position."""

    name: str
    root: str | None = None
    moves: tuple[str, ...] = ()


def choose_openings(
    text: str, game: str, count: int, seed: int, start: str | None = None, *, shuffled: bool = False
) -> list[Opening]:
    """``count`` openings, in an order fixed by the seed; a book or file with fewer begins again from its start.

    start: the position from which games begin that begin from none of their own; None: the game's usual one. shuffled:
    they begin from the 960 start positions of Chess960 instead, in an order fixed by the seed.

    Errors: OptionError for a text that is not understood; DataError naming the file's line that is wrong.
    """
    rng = random.Random(seed)
    if shuffled and text in ("none", "book"):
        return [_shuffled(rng) for _ in range(count)]
    if text == "none":
        return [Opening("start position", start)] * count
    if text == "book" and not _suite("book", game).is_file():
        text = f"random:{NO_BOOK_PLIES}"
    kind, _, number = text.partition(":")
    if kind == "random":
        if not number.isdecimal() or not 1 <= int(number) <= 100:
            raise OptionError(f"openings {text!r}: write random:N with 1 to 100 random plies")
        plies = int(number)
        if shuffled:
            return [_played_on(_shuffled(rng), game, plies, rng) for _ in range(count)]
        return [Opening(f"{plies} random plies", start, random_opening(game, plies, rng, start)) for _ in range(count)]
    lines = suite(text, game, start) if text in ("book", "paper") else _read(text, game, start)
    rng.shuffle(lines)
    return [lines[i % len(lines)] for i in range(count)]


def rewritten(game: Game, opening: Opening) -> Opening:
    """The opening with its moves as a form of the game writes them. Errors: PositionError."""
    line = game.initial() if opening.root is None else game.parse_position(opening.root)[0]
    moves = list[str]()
    for text in opening.moves:
        move = game.parse_move(line, text)
        moves.append(game.format_move(line[-1], move))
        line = game.play(line, move)
    return replace(opening, moves=tuple(moves))


def _shuffled(rng: random.Random) -> Opening:
    """One of the 960 start positions."""
    number = rng.randrange(960)
    return Opening(f"Chess960 {number}", chess.Board.from_chess960_pos(number).fen())


def _played_on(opening: Opening, game: str, plies: int, rng: random.Random) -> Opening:
    return replace(opening, moves=random_opening(game, plies, rng, opening.root))


def _suite(kind: str, game: str) -> Path:
    return SUITES / kind / f"{game}.txt"


def suite(kind: str, game: str, start: str | None = None) -> list[Opening]:
    """The openings "book" or "paper" of a game, in the file's order. Errors: OptionError for a game without them."""
    path = _suite(kind, game)
    if not path.is_file():
        raise OptionError(f"there is no {kind!r} of openings for {game}; give random:6 or a file")
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    openings = []
    for number, line in enumerate(lines, 1):
        name, _, moves = line.rpartition(": ")
        openings.append(Opening(name or f"{kind} {number}", start, tuple(moves.split())))
    return openings


def hash_of(text: str) -> str:
    """The SHA-256 of a file of openings; "" where there is no such file. BLOCKS. Errors: OptionError."""
    path, _ = _file_of(text)
    try:
        return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError as error:
        raise OptionError(f"cannot read openings from {str(path)!r} ({error})") from None


def _file_of(text: str) -> tuple[Path, int | None]:
    """The file, and how many plies of each game; None = all."""
    name, colon, plies = text.rpartition(":")
    return (Path(name), int(plies)) if colon and plies.isdecimal() else (Path(text), None)


def _read(text: str, game: str, start: str | None) -> list[Opening]:
    path, most = _file_of(text)
    if not path.is_file():
        raise OptionError(f"there is no file of openings {str(path)!r}; {_KINDS}")
    result = (
        _of_records(path, game, most)
        if is_record(get_game(game).record_formats, path)
        else _of_lines(path, game, start)
    )
    openings = []
    for place, opening in result:
        try:
            arbiter = new_arbiter(game, opening.root)
            for move in opening.moves:
                arbiter.push(move)
        except PositionError as error:
            raise DataError(f"{place}: {error}") from None
        if arbiter.ending() is not None:
            print(f"{place}: the game is already over there; it is skipped", file=sys.stderr)
            continue
        openings.append(opening)
    if not openings:
        raise DataError(f"{path} holds no opening")
    return openings


def _of_records(path: Path, game: str, most: int | None) -> Iterator[tuple[str, Opening]]:
    """The beginnings of recorded games, and where they stand. Errors: DataError for a record that is damaged there."""
    for number, record in enumerate(read_games(get_game(game).record_formats, path), 1):
        lines = record.tree.more.get(LINE, ())  # of a list of positions
        place = f"{path.name} {f'line {lines[0]}' if lines else f'game {number}'}"
        if record.fault and not record.tree.children:
            print(f"{path.name}, {record.fault}; it is skipped", file=sys.stderr)
            continue
        if record.fault and (most is None or len(record.moves) < most):
            raise DataError(f"{place}: {record.fault}")
        name = record.headers.get("Opening") or record.headers.get("id") or place
        yield place, Opening(name, record.root, record.moves[:most])


def _of_lines(path: Path, game: str, start: str | None) -> Iterator[tuple[str, Opening]]:
    """A position, moves or both on each line, and where it stands; # begins a comment."""
    try:
        text = decode_any(path.read_bytes()).removeprefix("\ufeff")
    except OSError as error:
        raise OptionError(f"cannot read openings from {str(path)!r} ({error}); {_KINDS}") from None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        place = f"{path.name} line {number}"
        if words[0] == "position":
            del words[0]
        root, moves = words, list[str]()
        if "moves" in words:
            root, moves = words[: words.index("moves")], words[words.index("moves") + 1 :]
        if root[:1] in (["fen"], ["sfen"]):
            del root[0]
        if root[:1] == ["startpos"] or not root:
            yield place, Opening(place, start, tuple(moves))
        elif "/" in root[0]:
            yield place, Opening(_epd_id(line) or place, get_game(game).position_of_line(" ".join(root)), tuple(moves))
        else:
            yield place, Opening(place, start, (*root, *moves))


def _epd_id(line: str) -> str:
    match = re.search(r'\bid "([^"]*)"', line)
    return match[1] if match else ""
