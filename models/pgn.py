"""PGN files as training data: the played move is the policy target, the game's result the value target.

The reader is python-chess's; positions and moves go through the game's own rules, so a move that they refuse ends its
game with a message instead of a wrong label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
from numpy.typing import NDArray

from ..engine.errors import DataError, PositionError
from ..engine.games.base import Game
from .dataset import HOLDOUT_EVERY, HOLDOUT_REST, Positions, one_hot_result

RESULTS = {"1-0": 1, "1/2-1/2": 0, "0-1": -1}  # for white
MAX_PLIES = 2000  # of one game; longer ones are cut


@dataclass(slots=True)
class Games:
    """Games read so far: the states before each move, the moves, the results."""

    states: list[NDArray[np.void]] = field(default_factory=list)
    moves: list[NDArray[np.uint16]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # for white


def read_games(
    game: Game, path: Path, on_problem: Callable[[str], None]
) -> Iterator[tuple[NDArray[np.void], list[int], int]]:
    """The finished games of a file as (line State [n + 1], moves [n], result for white); unfinished ones are left out.

    ``on_problem`` is told in one sentence what was left out. Errors: DataError when the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            number = 0
            while (parsed := chess.pgn.read_game(file)) is not None:
                number += 1
                result = RESULTS.get(parsed.headers.get("Result", "*"))
                if parsed.errors:
                    on_problem(f"{path.name}, game {number}: {parsed.errors[0]}; the moves before it are used")
                if result is not None:
                    try:
                        yield (*_line(game, parsed), result)
                    except PositionError as error:
                        on_problem(f"{path.name}, game {number}: {error}; the game is left out")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from error


def _line(game: Game, parsed: chess.pgn.Game) -> tuple[NDArray[np.void], list[int]]:
    board = parsed.board()
    line, _ = game.parse_position(board.fen())
    moves: list[int] = []
    for move in parsed.mainline_moves():
        if len(moves) == MAX_PLIES:
            break
        moves.append(game.parse_move(line[-1], move.uci()))
        line = game.play(line, moves[-1])
    return line, moves


def read_files(
    game: Game, paths: list[Path], on_problem: Callable[[str], None], *, mask: bool = True
) -> tuple[Positions, Positions]:
    """The training and the held-out positions of PGN files; every 50th game is held out. Errors: DataError."""
    if game.name != "chess":
        raise DataError(f"PGN files hold chess games, not {game.name}")
    parts = (Games(), Games())
    count = 0
    for path in sorted(paths):
        for line, moves, result in read_games(game, path, on_problem):
            if moves:
                part = parts[count % HOLDOUT_EVERY == HOLDOUT_REST]
                part.states.append(line[:-1])
                part.moves.append(np.asarray(moves, np.uint16))
                part.results.append(result)
                count += 1
    if not all(part.states for part in parts):
        raise DataError(f"{count} finished games are too few: every {HOLDOUT_EVERY}th is held out; give at least 8")
    text = f"{sum(map(len, parts[0].moves)):,} positions of {len(parts[0].results):,} games from PGN files"
    return _positions(game, parts[0], text, mask), _positions(game, parts[1], text, mask)


def _positions(game: Game, games: Games, description: str, mask: bool) -> Positions:
    lengths = np.array([len(m) for m in games.moves])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    states = np.concatenate(games.states)
    white_to_move = np.concatenate([_first_player(game, s) for s in games.states])
    z = np.repeat(games.results, lengths) * np.where(white_to_move, 1, -1)
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


def _first_player(game: Game, states: NDArray[np.void]) -> NDArray[Any]:
    return np.asarray(states["turn"] == 0)
