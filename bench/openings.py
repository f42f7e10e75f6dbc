"""Where the games of a match begin: well-known openings, random moves, or a file; each is played with both colours."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import DataError, OptionError, PositionError
from .arbiter import new_arbiter, random_opening
from .books import BOOKS

OPENINGS_HELP = (
    "'book' (varied well-known openings), 'random:N' (N random plies), 'none' (the start position), or a file with a "
    "position, or the moves of an opening from the start position, on each line"
)


@dataclass(frozen=True, slots=True)
class Opening:
    """Moves from a root; root None = the game's start position."""

    name: str
    root: str | None = None
    moves: tuple[str, ...] = ()


def choose_openings(text: str, game: str, count: int, seed: int) -> list[Opening]:
    """``count`` openings, in an order fixed by the seed; a book or file with fewer begins again from its start.

    Errors: OptionError for a text that is not understood; DataError naming the file's line that is wrong.
    """
    rng = random.Random(seed)
    if text == "none":
        return [Opening("start position")] * count
    kind, _, number = text.partition(":")
    if kind == "random":
        if not number.isdecimal() or not 1 <= int(number) <= 100:
            raise OptionError(f"openings {text!r}: write random:N with 1 to 100 random plies")
        return [Opening(f"{number} random plies", None, random_opening(game, int(number), rng)) for _ in range(count)]
    if text == "book":
        if game not in BOOKS:
            raise OptionError(f"there is no opening book for {game}; give --openings random:6 or a file")
        lines = [Opening(name, None, tuple(moves.split())) for name, moves in BOOKS[game]]
    else:
        lines = _read(Path(text), game)
    rng.shuffle(lines)
    return [lines[i % len(lines)] for i in range(count)]


def _read(path: Path, game: str) -> list[Opening]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read openings from {str(path)!r}: {error}; give {OPENINGS_HELP}") from None
    openings = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        name = f"{path.name} line {number}"
        opening = Opening(name, " ".join(words)) if "/" in words[0] else Opening(name, None, tuple(words))
        try:
            arbiter = new_arbiter(game, opening.root)
            for move in opening.moves:
                arbiter.push(move)
        except PositionError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
        if arbiter.ending() is not None:
            raise DataError(f"{path}, line {number}: the game is already over there")
        openings.append(opening)
    if not openings:
        raise DataError(f"{path} holds no opening")
    return openings
