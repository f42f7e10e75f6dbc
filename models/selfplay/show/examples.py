"""The newest games of a self-play run as PGN, CSA or SGF files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....engine.games.base import Game
from ....engine.os.files import write_atomically
from ....engine.records.formats import format_games
from ....engine.records.record import Reason, Record
from ..store.replay import GameRecord, on_its_board

GAMES = 8  # in a file
_REASONS: dict[str, Reason] = {"rules": "", "resigned": "resignation", "max moves": "maximum moves"}


def record_for_people(game: Game, played: GameRecord) -> Record:
    """A stored game with the search's value of each position, in the mover's view, as comments."""
    game = on_its_board(game, played)
    start = game.initial()[0]
    names = tuple(f"net {step}" for step in played.nets)  # nets between the first and the last are not named
    values = [f"{value:+.2f}" for value in played.values.tolist()]
    return Record.of_line(
        moves=game.format_moves(start, played.moves.tolist()),
        root=game.format_position(start),
        result=played.result,
        reason=_REASONS[played.reason],
        names=(names[0], names[0]) if names[0] == names[1] else (" to ".join(names), " to ".join(names)),
        comments=("", *values),
        headers={"Event": f"game {played.id} against itself"},
    )


def write_examples(game: Game, played: Sequence[GameRecord], folder: Path, step: int) -> Path | None:
    """Write the newest games of ``played`` to a file; None where the game has no record format."""
    if not game.record_formats or not played:
        return None
    form = game.record_formats[0]
    path = folder / f"step_{step:08d}{form.suffixes[0]}"
    text = format_games([record_for_people(game, record) for record in list(played)[-GAMES:]], form)
    write_atomically(path, form.encode(text, path.name))
    return path
