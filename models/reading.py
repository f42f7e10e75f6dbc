"""A recorded game, each of whose positions a teacher is asked about: labels of the positions that searches get to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..engine.errors import DataError
from ..engine.games.base import Game, State
from ..engine.games.outcome import RUNNING
from .records import read_finished
from .selfplay.replay import STORED, GameReader, title
from .shards import Ended, LabelFormat, Records
from .teacher import Teacher


@dataclass(frozen=True, slots=True)
class Played:
    """A finished game."""

    line: State  # State[n + 1]
    moves: NDArray[np.uint16]  # [n]
    result: int  # for the first player


def read_played(
    game: Game, form: LabelFormat, files: Sequence[Path], on_problem: Callable[[str], None]
) -> list[Played]:
    """The finished games of record files, also of a self-play run's, in their order; see :func:`read_finished`.

    They follow the rules that labels are kept by; a game ends where these forbid its next move. Errors: DataError,
    OptionError.
    """
    games: list[Played] = []
    for path in files:
        stored = path.suffix == STORED
        found = read_stored(game, path) if stored else [Played(*g) for g in read_finished(game, path, on_problem)]
        kept = [under_rules_of(form, game, played) for played in found]
        cut = sum(len(a.moves) < len(b.moves) for a, b in zip(kept, found, strict=True))
        if cut:
            on_problem(f"{path.name}: {cut} games are cut where the rules of labels forbid a move")
        games += [played for played in kept if len(played.moves)]
    return games


def read_stored(game: Game, path: Path) -> list[Played]:
    """The games of a self-play run's file. Errors: DataError, also when they are of another game."""
    expected = {name: value for name, value in title(game, "").items() if name != "run"}
    found = []
    for record in GameReader(path, expected).read():
        line = np.repeat(game.initial()[:1], len(record.moves) + 1)
        for i, move in enumerate(record.moves.tolist()):
            if move not in game.legal_moves(line[: i + 1]):
                raise DataError(f"{path}: move {i + 1} of game {record.id} is illegal; leave the file out")
            game.play_at(line, i, move)
        found.append(Played(line, record.moves, record.result))
    return found


def under_rules_of(form: LabelFormat, game: Game, played: Played) -> Played:
    """The game under the rules that labels are kept by, as far as they allow its moves."""
    before = game.format_position(played.line[0])
    root = form.root(before)
    if root == before:
        return played
    line = np.repeat(game.parse_position(root)[0][-1:], len(played.line))
    for i, move in enumerate(played.moves.tolist()):
        if move not in game.legal_moves(line[: i + 1]):
            return Played(line[: i + 1], played.moves[:i], played.result)
        game.play_at(line, i, move)
    return Played(line, played.moves, played.result)


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
