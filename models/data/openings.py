"""The moves before a game's first labelled record, so that early records have their whole history.

A shard may hold, beside the records ``d``, one row a game in ``g``: ``game``, ``nopen`` and ``open``, the number of
opening moves and the moves, as records write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from .dataset import Positions

Openings = Mapping[int, list[int]]  # by game id


def openings_of(path: Path, games: NDArray[np.void]) -> dict[int, list[int]]:
    """The openings in a shard's ``g``. Errors: DataError, naming what is wrong with it."""
    names = games.dtype.names or ()
    if games.ndim != 1 or not {"game", "nopen", "open"} <= set(names):
        raise DataError(f"{path.name} tells no openings in g; make it again")
    kinds = [games.dtype[name].base.kind for name in ("game", "nopen", "open")]
    if set(kinds) != {"u"} or len(games.dtype["open"].shape) != 1 or (games["nopen"] > games["open"].shape[1]).any():
        raise DataError(f"{path.name}: the openings in g are odd; the file is damaged, make it again")
    counts = zip(games["game"].tolist(), games["nopen"].tolist(), games["open"].tolist(), strict=True)
    return {game: moves[:count] for game, count, moves in counts}


def with_openings(data: Positions, records: NDArray[np.void], openings: Openings) -> Positions:
    """The same data with the openings' positions before each game's first record; none of them is ever drawn.

    records: Record[N], one for each row of ``data``. Errors: DataError where an opening does not lead to its game.
    """
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
        line, recorded = states[start : end + 1], states[end].copy()
        line[0] = game.initial()[0]
        first[start:end] = start
        for i, move in enumerate(openings[number]):
            if move not in game.legal_moves(line[: i + 1]):
                raise DataError(f"move {i + 1} of the opening of game {number} is not legal; make the data again")
            game.play_at(line, i, move)
        if game.format_position(line[-1]) != game.format_position(recorded):
            raise DataError(f"the opening of game {number} does not lead to its first record; make the data again")
    game.count_repetitions(states, first)
    return Positions(
        game,
        states,
        first,
        _spread(data.moves, rows, total),
        _spread(data.probabilities, rows, total),
        _spread(data.wdl, rows, total),
        _spread(data.z, rows, total),
        drawn=rows[data.drawn],
        description=data.description,
        mask=data.mask,
    )


def _spread(values: NDArray[Any], rows: NDArray[np.int64], total: int) -> NDArray[Any]:
    """Values of records at their rows, zero in the openings' rows."""
    spread = np.zeros((total, *values.shape[1:]), values.dtype)
    spread[rows] = values
    return spread
