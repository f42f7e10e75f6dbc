"""Recorded games, labelled move by move: positions that searches, or people, get to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import DataError, OptionError
from ....engine.games.base import State
from ....engine.games.outcome import RUNNING
from ....engine.settings import setting
from ...data.shards import Ended, Records, Teaching
from ..job import Job, Labelling, Question, Say, Source, Teacher
from ..recorded import RecordedGame, at_komi, read_played


class Variation(NamedTuple):
    """A game up to a root, and a line that a search of the root looks at."""

    root: int  # index of the position that was searched
    line: State  # State[n + 1]
    moves: NDArray[np.uint16]  # [n]


@dataclass(frozen=True)
class Recorded(Source):
    meaning: ClassVar[str] = "recorded games: --records FILE ..."
    needs: ClassVar[tuple[str, ...]] = ("records",)

    records: tuple[Path, ...] = setting(
        (), "label these files' finished games (PGN, CSA, KIF, SGF, or a self-play run's .games)", flag=True
    )
    games: int | None = setting(None, "number of games; all where it is left out", 1, flag=True)
    komi_spread: float = setting(
        0.0,
        "Go: draw each game's komi around the usual one, with this standard deviation in points, for nets that see it",
        0,
        flag=True,
    )

    @property
    def total(self) -> int:
        assert self.games is not None
        return self.games

    def prepared(self, job: Job, say: Say) -> Self:
        if self.komi_spread and job.game.territory is None:
            raise OptionError(f"--komi-spread means nothing to {job.game_name}, which has no komi: leave it out")
        result = len(read_played(job.game, job.form, self.records, say))
        if not result:
            raise DataError("the records hold no finished game of this kind; give others")
        return replace(self, games=result if self.games is None else min(result, self.games))

    def open(self, job: Job) -> Labelling:
        played = self.played(job)
        return lambda number, teacher: label_played(teacher, number, played[number - job.first_game])

    def played(self, job: Job) -> list[RecordedGame]:
        """The games, each at its komi. Errors: DataError, OptionError."""
        games = read_played(job.game, job.form, self.records, lambda problem: None)  # reported by prepared()
        if not self.komi_spread:
            return games
        random = np.random.default_rng([job.seed, job.first_game])
        return [at_komi(job.game, each, random, self.komi_spread) for each in games]


def label_played(teacher: Teacher, number: int, played: RecordedGame, variations: Sequence[Variation] = ()) -> Records:
    """The records of a recorded game, one for each move, and of variations behind them. BLOCKS. Errors: AzError.

    A variation's records begin with the position that was searched, which the history planes of the others need. They
    end with the leaf; its move and their result are the teacher's opinion.
    """
    game, form, count = teacher.game, teacher.form, len(played.moves)
    usual = game.initial() if form.start is None else game.parse_position(form.start)[0]
    root = game.format_position(played.line[0])
    teacher.new_game(form.start if root == game.format_position(usual[0]) else root)
    lines = [(Variation(0, played.line, played.moves), range(count))]  # with the positions to ask about
    lines += [(one, range(one.root, len(one.line))) for one in variations if len(one.moves) > one.root]
    questions: dict[bytes, Question] = {}  # by the moves from the start: lines share positions
    for one, positions in lines:
        words = [game.format_move(state, move) for state, move in zip(one.line, one.moves.tolist(), strict=False)]
        for i in positions:
            questions.setdefault(one.moves[:i].tobytes(), Question(one.line[: i + 1], words[:i]))
    taught = dict(zip(questions, teacher.teach(list(questions.values())), strict=True))

    rows: list[Records] = []
    for one, positions in lines:
        for i in positions:
            teaching = taught[one.moves[:i].tobytes()]
            row = form.record(game, one.line[: i + 1], teaching)
            row["game"] = number
            row["played"] = form.code(one.line[i], int(one.moves[i] if i < len(one.moves) else teaching.moves[0]))
            if len(rows) < count and played.result is not None:
                row["z"] = played.result if game.side_to_move(one.line[i]) == 0 else -played.result
            else:
                row["z"] = _result_of(teaching)
            rows.append(row)
    ended: Ended = "adjudicated" if game.outcome(played.line) == RUNNING else "rules"
    records = form.finish(game, played.line, (), np.concatenate(rows[:count]), ended)
    if len(rows) == count:
        return records
    # Each record keeps the result it has.
    return form.finish(game, played.line, (), np.concatenate([records, *rows[count:]]), "adjudicated")


def _result_of(teaching: Teaching) -> int:
    """For the side to move, in the teacher's view."""
    if teaching.wdl is not None:
        return 1 - int(np.argmax(teaching.wdl))
    return int(np.sign(teaching.scores[0]))


SOURCE = Recorded
