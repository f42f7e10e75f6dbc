"""Where the games of a match begin: well-known openings, random moves, or a file; each is played with both colours."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import DataError, OptionError, PositionError
from .arbiter import new_arbiter, random_opening

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


# Two sides' main lines of every big opening, in UCI notation; in all of them the first player is to move.
_CHESS = (
    ("Ruy Lopez, Berlin", "e2e4 e7e5 g1f3 b8c6 f1b5 g8f6 e1g1 f6e4"),
    ("Ruy Lopez, Closed", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7"),
    ("Ruy Lopez, Exchange", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5c6 d7c6"),
    ("Ruy Lopez, Schliemann", "e2e4 e7e5 g1f3 b8c6 f1b5 f7f5 b1c3 f5e4"),
    ("Italian, Giuoco Piano", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3 g8f6"),
    ("Italian, Two Knights", "e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 d2d3 f8e7"),
    ("Evans Gambit", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 b2b4 c5b4"),
    ("Scotch", "e2e4 e7e5 g1f3 b8c6 d2d4 e5d4 f3d4 g8f6"),
    ("Four Knights", "e2e4 e7e5 g1f3 b8c6 b1c3 g8f6 f1b5 f8b4"),
    ("Petrov", "e2e4 e7e5 g1f3 g8f6 f3e5 d7d6 e5f3 f6e4"),
    ("Philidor", "e2e4 e7e5 g1f3 d7d6 d2d4 g8f6 b1c3 b8d7"),
    ("Vienna", "e2e4 e7e5 b1c3 g8f6 f2f4 d7d5 f4e5 f6e4"),
    ("King's Gambit accepted", "e2e4 e7e5 f2f4 e5f4 g1f3 g7g5 h2h4 g5g4"),
    ("King's Gambit declined", "e2e4 e7e5 f2f4 f8c5 g1f3 d7d6"),
    ("Centre Game", "e2e4 e7e5 d2d4 e5d4 d1d4 b8c6 d4e3 g8f6"),
    ("Sicilian, Najdorf", "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6"),
    ("Sicilian, Dragon", "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 g7g6"),
    ("Sicilian, Sveshnikov", "e2e4 c7c5 g1f3 b8c6 d2d4 c5d4 f3d4 g8f6 b1c3 e7e5"),
    ("Sicilian, Taimanov", "e2e4 c7c5 g1f3 e7e6 d2d4 c5d4 f3d4 b8c6 b1c3 d8c7"),
    ("Sicilian, Accelerated Dragon", "e2e4 c7c5 g1f3 b8c6 d2d4 c5d4 f3d4 g7g6 c2c4 f8g7"),
    ("Sicilian, Rossolimo", "e2e4 c7c5 g1f3 b8c6 f1b5 g7g6 e1g1 f8g7"),
    ("Sicilian, Alapin", "e2e4 c7c5 c2c3 d7d5 e4d5 d8d5 d2d4 g8f6"),
    ("Sicilian, Closed", "e2e4 c7c5 b1c3 b8c6 g2g3 g7g6 f1g2 f8g7"),
    ("Sicilian, Smith-Morra", "e2e4 c7c5 d2d4 c5d4 c2c3 d4c3 b1c3 b8c6"),
    ("French, Winawer", "e2e4 e7e6 d2d4 d7d5 b1c3 f8b4 e4e5 c7c5"),
    ("French, Classical", "e2e4 e7e6 d2d4 d7d5 b1c3 g8f6 c1g5 f8e7"),
    ("French, Advance", "e2e4 e7e6 d2d4 d7d5 e4e5 c7c5 c2c3 b8c6"),
    ("French, Tarrasch", "e2e4 e7e6 d2d4 d7d5 b1d2 g8f6 e4e5 f6d7"),
    ("Caro-Kann, Classical", "e2e4 c7c6 d2d4 d7d5 b1c3 d5e4 c3e4 c8f5"),
    ("Caro-Kann, Advance", "e2e4 c7c6 d2d4 d7d5 e4e5 c8f5 g1f3 e7e6"),
    ("Caro-Kann, Panov", "e2e4 c7c6 d2d4 d7d5 e4d5 c6d5 c2c4 g8f6"),
    ("Pirc, Austrian", "e2e4 d7d6 d2d4 g8f6 b1c3 g7g6 f2f4 f8g7"),
    ("Modern", "e2e4 g7g6 d2d4 f8g7 b1c3 d7d6 c1e3 a7a6"),
    ("Scandinavian", "e2e4 d7d5 e4d5 d8d5 b1c3 d5a5 d2d4 g8f6"),
    ("Alekhine", "e2e4 g8f6 e4e5 f6d5 d2d4 d7d6 g1f3 c8g4"),
    ("Queen's Gambit declined", "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7"),
    ("Queen's Gambit, Exchange", "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c4d5 e6d5"),
    ("Queen's Gambit accepted", "d2d4 d7d5 c2c4 d5c4 g1f3 g8f6 e2e3 e7e6"),
    ("Tarrasch", "d2d4 d7d5 c2c4 e7e6 b1c3 c7c5 c4d5 e6d5"),
    ("Slav", "d2d4 d7d5 c2c4 c7c6 g1f3 g8f6 b1c3 d5c4"),
    ("Semi-Slav", "d2d4 d7d5 c2c4 c7c6 g1f3 g8f6 b1c3 e7e6 e2e3 b8d7"),
    ("Albin", "d2d4 d7d5 c2c4 e7e5 d4e5 d5d4 g1f3 b8c6"),
    ("Chigorin", "d2d4 d7d5 c2c4 b8c6 b1c3 d5c4"),
    ("London", "d2d4 d7d5 g1f3 g8f6 c1f4 c7c5 e2e3 b8c6"),
    ("Catalan", "d2d4 g8f6 c2c4 e7e6 g2g3 d7d5 f1g2 f8e7"),
    ("Nimzo-Indian, Rubinstein", "d2d4 g8f6 c2c4 e7e6 b1c3 f8b4 e2e3 e8g8"),
    ("Nimzo-Indian, Classical", "d2d4 g8f6 c2c4 e7e6 b1c3 f8b4 d1c2 d7d5"),
    ("Queen's Indian", "d2d4 g8f6 c2c4 e7e6 g1f3 b7b6 g2g3 c8a6"),
    ("King's Indian, Classical", "d2d4 g8f6 c2c4 g7g6 b1c3 f8g7 e2e4 d7d6 g1f3 e8g8"),
    ("King's Indian, Saemisch", "d2d4 g8f6 c2c4 g7g6 b1c3 f8g7 e2e4 d7d6 f2f3 e8g8"),
    ("Gruenfeld, Exchange", "d2d4 g8f6 c2c4 g7g6 b1c3 d7d5 c4d5 f6d5 e2e4 d5c3"),
    ("Benoni", "d2d4 g8f6 c2c4 c7c5 d4d5 e7e6 b1c3 e6d5 c4d5 d7d6"),
    ("Benko", "d2d4 g8f6 c2c4 c7c5 d4d5 b7b5 c4b5 a7a6"),
    ("Budapest", "d2d4 g8f6 c2c4 e7e5 d4e5 f6g4 c1f4 b8c6"),
    ("Trompowsky", "d2d4 g8f6 c1g5 e7e6 e2e4 h7h6 g5f6 d8f6"),
    ("Dutch, Leningrad", "d2d4 f7f5 g2g3 g8f6 f1g2 g7g6 g1f3 f8g7"),
    ("Dutch, Stonewall", "d2d4 f7f5 c2c4 g8f6 g2g3 e7e6 f1g2 d7d5"),
    ("English, Symmetrical", "c2c4 c7c5 b1c3 b8c6 g2g3 g7g6 f1g2 f8g7"),
    ("English, Reversed Sicilian", "c2c4 e7e5 b1c3 g8f6 g1f3 b8c6 g2g3 d7d5"),
    ("Reti", "g1f3 d7d5 c2c4 e7e6 g2g3 g8f6 f1g2 f8e7"),
    ("King's Indian Attack", "g1f3 d7d5 g2g3 g8f6 f1g2 c7c6 e1g1 c8g4"),
    ("Larsen", "b2b3 e7e5 c1b2 b8c6 e2e3 d7d5"),
    ("Bird", "f2f4 d7d5 g1f3 g7g6 e2e3 f8g7"),
    ("Polish", "b2b4 e7e5 c1b2 f8b4 b2e5 g8f6"),
)

BOOKS = {"chess": _CHESS}
