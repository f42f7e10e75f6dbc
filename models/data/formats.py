"""The format of a game's labelled records: what ``az-engine train`` reads and ``az-engine label`` makes."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Protocol, cast

from ...engine.games import get_game
from ...engine.games.base import Game
from . import any_game, games
from .shards import LabelFormat, ShardStore


class _Module(Protocol):
    def labels(self, game: Game) -> LabelFormat: ...


def labels_of(name: str) -> LabelFormat:
    """How an engine's judgements of the game of that name are recorded; "go19" is Go on that board.

    Errors: OptionError for a game or a size of board that is not known.
    """
    game = get_game(name)
    special = f"{games.__name__}.{game.name}"
    known = importlib.util.find_spec(special) is not None
    return (cast("_Module", importlib.import_module(special)) if known else any_game).labels(game)


def shards_of(name: str) -> ShardStore:
    """What reads and writes the game's labelled records. Errors: as for :func:`labels_of`."""
    return labels_of(name).shards
