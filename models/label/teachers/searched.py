"""Searches as the teacher: the mean values of the positions that a net searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....engine.errors import OptionError
from ....engine.games.base import State
from ....engine.settings import setting
from ...data.shards import CUT, Records, Teaching
from ..job import Job, Moves, Question, Teacher, TeacherKind, Values

_WHERE = "--searched judges the positions of searches: give --around DATA, in chess or shogi"


class SearchedTeacher(Teacher):
    """Judges by the values that come with the positions."""

    def __init__(self, sharper: float, job: Job) -> None:
        super().__init__(job)
        self._sharper = sharper

    def teach(self, questions: Sequence[Question]) -> list[Teaching]:
        raise OptionError(_WHERE)

    def records(self, states: State, moves: Moves, policy: Values, values: Values | None = None) -> Records:
        assert values is not None
        assert self.form.judged is not None
        scores = self._sharper * self.form.judged_scale * 2 * np.arctanh(np.clip(values, -0.9999, 0.9999))
        return self.form.judged(states, moves, policy, np.clip(np.rint(scores), -CUT, CUT).astype(np.int64))


@dataclass(frozen=True)
class SearchedKind(TeacherKind):
    needs = "searched"
    prefers = ("trees",)

    searched: float = setting(
        1.25,
        "the searches that give the positions: their own mean values, the log odds times X, as means of searches are "
        "too cautious; best with --least-visits 20",
        above=0,
        flag=True,
    )

    def check(self, job: Job) -> None:
        if not job.source.searches or job.form.judged is None:
            raise OptionError(_WHERE)

    def open(self, job: Job) -> Teacher:
        return SearchedTeacher(self.searched, job)


TEACHER = SearchedKind
