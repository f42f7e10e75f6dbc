"""Recorded games under the rules that labels are kept by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, counted
from ...engine.games.base import Game, State
from ..data.records import read_finished
from ..data.shards import LabelFormat
from ..selfplay.store.replay import STORED, ShardReader, line_of_game, title


@dataclass(frozen=True, slots=True)
class RecordedGame:
    line: State  # State[n + 1]
    moves: NDArray[np.uint16]  # [n]
    result: int | None  # for the first player; None: not known


def read_played(
    game: Game, form: LabelFormat, files: Sequence[Path], on_problem: Callable[[str], None]
) -> list[RecordedGame]:
    """The finished games of record files, also of a self-play run's, in their order; see :func:`read_finished`.

    They follow the rules that labels are kept by; a game ends where these forbid its next move. Errors: DataError,
    OptionError.
    """
    games: list[RecordedGame] = []
    for path in files:
        stored = path.suffix == STORED
        result = (
            read_stored(game, path) if stored else [RecordedGame(*g) for g in read_finished(game, path, on_problem)]
        )
        kept = [under_rules_of(form, game, played) for played in result]
        cut = sum(len(a.moves) < len(b.moves) for a, b in zip(kept, result, strict=True))
        if cut:
            on_problem(f"{path.name}: {counted(cut, 'game')} cut where the rules of labels forbid a move")
        games += [played for played in kept if len(played.moves)]
    return games


def read_stored(game: Game, path: Path) -> list[RecordedGame]:
    """The games of a self-play run's file on the run's own board. Errors: DataError, also for another game's."""
    expected = {name: value for name, value in title(game, "").items() if name != "run"}
    reader = ShardReader(path, expected, game)
    records = [record for record in reader.read() if not record.board]
    results = [RecordedGame(line_of_game(game, record), record.moves, record.result) for record in records]
    if reader.faults:
        raise DataError(f"{path}: {reader.faults[0]}; leave the file out")
    return results


def under_rules_of(form: LabelFormat, game: Game, played: RecordedGame) -> RecordedGame:
    """The game under the rules that labels are kept by, as far as they allow its moves."""
    before = game.format_position(played.line[0])
    root = form.root(before)
    if root == before:
        return played
    line = np.repeat(game.parse_position(root)[0][-1:], len(played.line))
    count = game.replay(line, played.moves)
    return RecordedGame(line[: count + 1], played.moves[:count], played.result)


def at_komi(game: Game, played: RecordedGame, random: np.random.Generator, spread: float) -> RecordedGame:
    """A game of Go at a komi drawn around its own, with that standard deviation in points, and so without a result."""
    most = game.num_actions - 1  # half points: as many points as half of the board has
    line = played.line.copy()
    line["komi"] = np.clip(np.rint(line["komi"][0] + 2 * spread * random.standard_normal()), -most, most)
    return RecordedGame(line, played.moves, None)
