"""The moves before a game's first labelled record, so that early records have their whole history.

A shard may hold, beside the records ``d``, one row a game in ``g``: ``game``, ``nopen`` and ``open``, the number of
opening moves and the moves, as records write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from ...engine.games.base import State
from .dataset import Positions

Openings = Mapping[int, list[int]]  # by game id


def check_openings(path: Path, games: NDArray[np.void]) -> None:
    """Errors: DataError naming what is wrong with a shard's ``g``."""
    names = games.dtype.names or ()
    if games.ndim != 1 or not {"game", "nopen", "open"} <= set(names):
        raise DataError(f"{path.name} tells no openings in g; make it again")
    kinds = [games.dtype[name].base.kind for name in ("game", "nopen", "open")]
    if set(kinds) != {"u"} or len(games.dtype["open"].shape) != 1 or (games["nopen"] > games["open"].shape[1]).any():
        raise DataError(f"{path.name}: the openings in g are odd; the file is damaged, make it again")


def openings_of(games: NDArray[np.void]) -> dict[int, list[int]]:
    """The openings in a shard's ``g``."""
    counts = zip(games["game"].tolist(), games["nopen"].tolist(), games["open"].tolist(), strict=True)
    return {game: moves[:count] for game, count, moves in counts}


def with_openings(
    data: Positions, records: NDArray[np.void], openings: Openings, roots: State | None = None
) -> Positions:
    """The same data with the openings' positions before each game's first record; none of them is ever drawn.

    records: Record[N], one for each row of ``data``; roots: State[N], where each row's game begins, None = the game's
    start position. Errors: DataError where an opening does not lead to its game.
    """
    if not openings:
        return data
    game = data.game
    before = np.zeros(len(records), np.int64)
    for at in np.flatnonzero(data.first == np.arange(len(records))).tolist():
        length = len(openings.get(int(records["game"][at]), ()))
        before[at] = length if length == records["ply"][at] else 0
    if not before.any():
        return data
    rows = np.arange(len(records)) + np.cumsum(before)  # where each record goes
    total = len(records) + int(before.sum())
    states, first = _spread(data.states, rows, total), np.zeros(total, np.int64)
    first[rows] = rows[data.first] - before[data.first]
    for at in np.flatnonzero(before).tolist():
        number, start, end = int(records["game"][at]), int(rows[at] - before[at]), int(rows[at])
        moves, line, recorded = openings[number], states[start : end + 1], states[end].copy()
        line[0] = game.initial()[0] if roots is None else roots[at]
        first[start:end] = start
        played = game.replay(line, np.array(moves, np.uint16))
        if played < len(moves):
            raise DataError(f"move {played + 1} of the opening of game {number} is not legal; make the data again")
        if game.format_position(line[-1]).split()[:2] != game.format_position(recorded).split()[:2]:
            raise DataError(f"the opening of game {number} does not lead to its first record; make the data again")
        line[-1] = recorded
    game.count_repetitions(states, first)
    names = ("moves", "probabilities", "wdl", "z", "ownership", "score")
    columns: dict[str, Any] = {name: values for name in names if (values := getattr(data, name)) is not None}
    columns = {name: _spread(values, rows, total) for name, values in columns.items()}
    return replace(data, states=states, first=first, drawn=rows[data.drawn], **columns)


def _spread(values: NDArray[Any], rows: NDArray[np.int64], total: int) -> NDArray[Any]:
    """Values of records at their rows, zero in the openings' rows."""
    spread = np.zeros((total, *values.shape[1:]), values.dtype)
    spread[rows] = values
    return spread
