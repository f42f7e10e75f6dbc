"""The formats of labelled records by game: what ``az-engine train`` reads and ``az-engine label`` makes."""

from __future__ import annotations

from ...engine.errors import DataError, OptionError
from ..label import go as label_go
from . import chess as labelled
from . import go as labelled_go
from . import shogi as labelled_shogi
from .shards import LabelFormat, ShardReader

SHARDS: dict[str, ShardReader] = {
    "chess": labelled.FORMAT,
    "go": labelled_go.FORMAT,
    "shogi": labelled_shogi.FORMAT,
}
LABELS: dict[str, LabelFormat] = {
    "chess": labelled.LABELS,
    "go": label_go.labels(9),
    "shogi": labelled_shogi.LABELS,
}


def shards_of(game: str) -> ShardReader:
    """How the game's labelled records are laid out. Errors: DataError when there is no such format."""
    if game not in SHARDS:
        raise DataError(f"there are no .npz shards of {game}; they hold {' or '.join(SHARDS)}")
    return SHARDS[game]


def labels_of(game: str) -> LabelFormat:
    """How an engine's judgements of the game are recorded; "go19" is Go on that board.

    Errors: OptionError when no engine is asked for them.
    """
    if game.startswith("go") and game[2:].isdecimal():
        return label_go.labels(int(game[2:]))
    if game not in LABELS:
        raise OptionError(f"engines label {' or '.join(LABELS)}, not {game}")
    return LABELS[game]
