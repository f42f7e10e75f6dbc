"""Game records (PGN, CSA, KIF ...) as training data: the played move is the policy target, the result the value target.

Every move goes through the game's own rules, so that one that they refuse ends its game with a message instead of a
wrong label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, PositionError, counted
from ...engine.games.base import Game, State
from ...engine.records.formats import read_games
from ...engine.records.record import Record
from .dataset import HOLDOUT_EVERY, HOLDOUT_REST, Positions, one_hot_result


@dataclass(slots=True)
class GameLines:
    """Games read so far: the states before each move, the moves, the results."""

    states: list[State] = field(default_factory=list)
    moves: list[NDArray[np.uint16]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # for the first player


def read_finished(
    game: Game, path: Path, on_problem: Callable[[str], None]
) -> Iterator[tuple[State, NDArray[np.uint16], int]]:
    """The finished games of a file as (line State[n + 1], moves u2[n], result for the first player).

    ``on_problem`` reports each game left out in one sentence; games without a result are left out silently. Errors:
    DataError when the file cannot be read.
    """
    for number, record in enumerate(read_games(game.record_formats, path), 1):
        if record.fault:
            rest = "the game is left out" if record.result is None else "the moves before it are used"
            on_problem(f"{path.name}, game {number}: {record.fault}; {rest}")
        if record.result is not None and record.moves:
            try:
                yield (*line_of_record(game, record), record.result)
            except PositionError as error:
                on_problem(f"{path.name}, game {number}: {error}; the game is left out")


def line_of_record(game: Game, record: Record) -> tuple[State, NDArray[np.uint16]]:
    """The record's positions State[n + 1] and moves u2[n]. Errors: PositionError."""
    line = np.empty(len(record.moves) + 1, game.state_dtype)
    line[0] = game.start_of(record)[-1]
    moves = np.zeros(len(record.moves), np.uint16)
    for i, text in enumerate(record.moves):
        moves[i] = game.parse_move(line[: i + 1], text)
        game.play_at(line, i, int(moves[i]))
    return line, moves


def read_files(
    game: Game, paths: list[Path], on_problem: Callable[[str], None], *, mask: bool = True
) -> tuple[Positions, Positions]:
    """The training and the held-out positions of record files; every 50th game is held out. Errors: DataError."""
    parts = (GameLines(), GameLines())
    count = 0
    for path in sorted(paths):
        for line, moves, result in read_finished(game, path, on_problem):
            part = parts[count % HOLDOUT_EVERY == HOLDOUT_REST]
            part.states.append(line[:-1])
            part.moves.append(moves)
            part.results.append(result)
            count += 1
    if not all(part.states for part in parts):
        raise DataError(f"{count} finished games are too few: every {HOLDOUT_EVERY}th is held out; give at least 8")
    kinds = sorted({path.suffix.lower().removeprefix(".").upper() for path in paths})
    games = counted(len(parts[0].results), "game")
    text = f"{counted(sum(map(len, parts[0].moves)), 'position')} of {games} from {'/'.join(kinds)} files"
    return _positions(game, parts[0], text, mask), _positions(game, parts[1], text, mask)


def _positions(game: Game, games: GameLines, description: str, mask: bool) -> Positions:
    lengths = np.array([len(m) for m in games.moves])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    states = np.concatenate(games.states)
    z = np.repeat(games.results, lengths) * np.where(states["turn"] == 0, 1, -1)
    moves = np.concatenate(games.moves)[:, None]
    return Positions(
        game,
        states,
        np.repeat(starts, lengths).astype(np.int64),
        moves,
        np.ones(moves.shape, np.float32),
        one_hot_result(z),
        z.astype(np.float32),
        description=description,
        mask=mask,
    )
