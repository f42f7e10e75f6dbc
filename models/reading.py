"""A recorded game, each of whose positions a teacher is asked about: labels of the positions that searches get to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..engine.games.base import Game, State
from ..engine.games.outcome import RUNNING
from .records import read_finished
from .shards import Ended, LabelFormat, Records
from .teacher import Teacher


@dataclass(frozen=True, slots=True)
class Played:
    """A finished game."""

    line: State  # State[n + 1]
    moves: NDArray[np.uint16]  # [n]
    result: int  # for the first player


def read_played(game: Game, files: Sequence[Path], on_problem: Callable[[str], None]) -> list[Played]:
    """The finished games of record files, in their order; see :func:`read_finished`. Errors: DataError, OptionError."""
    return [Played(*found) for path in files for found in read_finished(game, path, on_problem)]


def label_played(game: Game, form: LabelFormat, teacher: Teacher, number: int, played: Played) -> Records:
    """The records of a recorded game, one for each move. BLOCKS. Errors: AzError."""
    usual = game.initial() if form.start is None else game.parse_position(form.start)[0]
    root = game.format_position(played.line[0])
    teacher.new_game(form.start if root == game.format_position(usual[0]) else root)
    rows: list[Records] = []
    words: list[str] = []
    for i, move in enumerate(played.moves.tolist()):
        state = played.line[i]
        row = form.record(game, played.line[: i + 1], teacher.teach(played.line[: i + 1], words))
        row["game"] = number
        row["played"] = form.code(state, move)
        row["z"] = played.result if game.side_to_move(state) == 0 else -played.result
        rows.append(row)
        words.append(game.format_move(state, move))
    ended: Ended = "adjudicated" if game.outcome(played.line) == RUNNING else "rules"
    return form.finish(game, played.line, (), np.concatenate(rows), ended)
