"""The positions that labelled games begin at, where that is not the start position: handicaps, or a file's."""

from __future__ import annotations

from pathlib import Path

from ...engine.errors import DataError, OptionError, PositionError
from ...engine.games.base import Game
from ...engine.games.outcome import RUNNING

HANDICAP = "handicap"  # in place of a file's name
STARTS = (
    "begin each game at one of a file's positions, one a line in the game's notation, or at one of its handicaps "
    "(handicap, in shogi) instead of the start position; not in Go"
)
_MOST_BYTES = 16 << 20


def read_starts(game: Game, name: str) -> tuple[str, ...]:
    """The positions that ``--starts`` names: the game's handicaps, or those of a file, one a line, # before comments.

    None where it is left out. Errors: OptionError in a game without handicaps, DataError naming the line that is no
    position of a running game.
    """
    if not name:
        return ()
    if game.territory is not None:
        raise OptionError(f"--starts means nothing in {game.name}; leave it out")
    if name == HANDICAP:
        if not game.handicaps:
            raise OptionError(f"{game.name} has no handicaps; give --starts a file of positions, one a line")
        return game.handicaps
    path, starts = Path(name), list[str]()
    for number, line in enumerate(_read(path).splitlines(), 1):
        text = line.partition("#")[0].strip().removeprefix("sfen ").removeprefix("fen ")
        if not text:
            continue
        try:
            position = game.parse_position(text)[0]
        except PositionError as error:
            raise DataError(f"{path}, line {number}: {error}; mend or remove it") from None
        if game.outcome(position) != RUNNING:
            raise DataError(f"{path}, line {number}: the game is over there; remove it")
        starts.append(game.format_position(position[-1]))
    if not starts:
        raise DataError(f"{path} holds no positions; give one a line, in the notation of {game.name}")
    return tuple(starts)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path} has over {_MOST_BYTES >> 20} MiB; split it")
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a file of positions") from error
