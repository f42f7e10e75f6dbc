"""A net without search as a teacher, corrected where a short mate is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....engine.games.tactics.mates import NO_MOVE
from ....engine.nets.opinions import Opinion, RawNet
from ....engine.search.mate import mating_move
from ....engine.settings import setting
from ...data.shards import MATE, Teaching
from ...net.providers import load_evaluator
from ..flags import Net
from ..job import Job, Question, Teacher, TeacherKind
from .engine import centipawns_of

MATE_PLIES = 3  # a net is corrected where there is a mate as short as this
_BATCH = 4  # positions in one call; larger nets have no use for more on one core


class NetTeacher(Teacher):
    def __init__(self, weights: str, job: Job) -> None:
        """weights: as for RawNet. Errors: NetError."""
        super().__init__(job)
        self._net = RawNet(weights, job.game, _BATCH, provider=job.provider, load=load_evaluator)

    def teach(self, questions: Sequence[Question]) -> list[Teaching]:
        mates = [one.mate if one.opinion else self._mate(one) for one in questions]
        pairs = list(zip(questions, mates, strict=True))
        unknown = [one.line for one, mate in pairs if mate == NO_MOVE and one.opinion is None]
        result = iter(self._net.opinions(unknown))
        return [
            _mate_by(mate) if mate != NO_MOVE else self._of_opinion(one.opinion or next(result)) for one, mate in pairs
        ]

    def _mate(self, question: Question) -> int:
        mate = mating_move(self.game, question.line, MATE_PLIES)
        return NO_MOVE if mate is None else mate

    def _of_opinion(self, opinion: Opinion) -> Teaching:
        best = np.argsort(-opinion.policy, kind="stable")[: self.lines]
        # a net gives no score of a single move
        scores = np.full(len(best), centipawns_of(opinion.chance, self.form.scale), np.int64)
        policy, (lead, owners) = opinion.policy[best], (opinion.lead, opinion.ownership)
        return Teaching(opinion.moves[best], scores, None, 0, policy, opinion.chance, lead, owners)


def _mate_by(move: int) -> Teaching:
    known, scores = np.array([move], np.uint16), np.array([MATE - MATE_PLIES], np.int64)
    return Teaching(known, scores, None, 0, np.ones(1), 1.0)


@dataclass(frozen=True)
class NetKind(TeacherKind):
    needs = "net"
    temperatures = (0.3, 0.6, 1.0)
    by_policy = True

    net: Net = setting(
        Net(""),
        "a net of ours or of another program (see az-engine import): its policy and value at every position, or a mate "
        "in three plies where there is one",
        flag=True,
    )

    @property
    def guide(self) -> str:
        return self.net

    def check(self, job: Job) -> None:
        RawNet(self.net, job.game, provider=job.provider, load=load_evaluator)

    def open(self, job: Job) -> Teacher:
        return NetTeacher(self.net, job)


TEACHER = NetKind
