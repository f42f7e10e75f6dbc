"""Evaluation nets of alpha-beta engines as teachers: what a position is worth in microseconds, without the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .....engine.games.base import State
from .....engine.games.outcome import DRAW
from .....engine.settings import setting
from ....data.shards import CUT, Records, Teaching
from ...job import Job, Moves, Question, Teacher, TeacherKind, Values
from .judge import NnueJudge, family_of


class NnueTeacher(Teacher):
    """Scores positions, or, by what they lead to, moves."""

    def __init__(self, path: Path, by_moves: bool, job: Job) -> None:
        """BLOCKS. Errors: DataError, OptionError."""
        super().__init__(job)
        self._judge, self._by_moves = NnueJudge(path, job.game), by_moves

    def teach(self, questions: Sequence[Question]) -> list[Teaching]:
        """The best moves by the scores of what they lead to, centipawns of the side to move."""
        if not questions:
            return []
        states = np.concatenate([one.line[-1:] for one in questions])
        moves = [self.game.legal_moves(one.line) for one in questions]
        counts = [len(legal) for legal in moves]
        children = self.game.after(states, np.repeat(np.arange(len(states)), counts), np.concatenate(moves))
        scores = -self._judge.judge(children)
        scores[scores > CUT] -= 1  # a mate is a move longer from here
        scores[self._drawn(children)] = 0
        taught = []
        for legal, ours in zip(moves, np.split(scores, np.cumsum(counts)[:-1]), strict=True):
            best = np.argsort(-ours, kind="stable")[: self.lines]
            taught.append(Teaching(legal[best], ours[best], None, 1))
        return taught

    def records(self, states: State, moves: Moves, policy: Values, values: Values | None = None) -> Records:
        if self._by_moves:
            return super().records(states, moves, policy)
        assert self.form.judged is not None
        return self.form.judged(states, moves, policy, self._judge.judge(states))

    def _drawn(self, states: State) -> NDArray[np.bool_]:
        """bool[N]: which of State[N] the rules call a draw."""
        encoder, count = self.game.encoder, len(states)
        leaves = encoder.make_leaves(count)
        leaves.rows["slot"] = np.arange(count)
        encoder.describe(states.reshape(-1, 1), leaves, count, 1, 0)
        return np.asarray(leaves.rows["outcome"] == DRAW)


@dataclass(frozen=True)
class NnueKind(TeacherKind):
    needs = "nnue"
    prefers = ("trees", "quick")

    nnue: Path = setting(
        Path(),
        "an engine's evaluation net, with captures played out: for chess Stockfish 15's, which its command export_net "
        "writes, for shogi an nn.bin of the type K+P or HalfKP",
        flag=True,
    )
    judge_moves: int = setting(
        0,
        "of each game or search label so many positions, with the scores of what all their moves lead to: a policy to "
        "learn from; for trees best with --least-visits 2, as some nets give moves on a second visit",
        1,
        flag=True,
    )

    @property
    def most(self) -> int:
        return self.judge_moves

    def check(self, job: Job) -> None:
        family_of(job.game.name).read(self.nnue)

    def open(self, job: Job) -> Teacher:
        return NnueTeacher(self.nnue, self.judge_moves > 0, job)


TEACHER = NnueKind
