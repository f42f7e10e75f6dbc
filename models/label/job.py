"""A run of ``az-engine label``: a source of positions, a teacher that judges them, and what each of these has to do.

A source and a teacher are dataclasses whose :func:`~az_engine.engine.settings.setting` fields are their flags. They
travel to the processes that label and are opened there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...engine.games import get_game
from ...engine.games.base import Game, State
from ...engine.games.tactics.mates import NO_MOVE
from ...engine.nets.opinions import Opinion
from ..data.formats import labels_of
from ..data.shards import LabelFormat, Records, Teaching

Say = Callable[[str], None]
Moves = NDArray[np.uint16]
Values = NDArray[Any]  # floats


@dataclass(frozen=True, slots=True)
class Job:
    source: Source
    teacher: TeacherKind
    game_name: str = "chess"
    lines: int = 1  # moves labelled a position
    seed: int = 0
    first_game: int = 0  # number of the first game
    provider: str = "cpu"  # what runs nets

    @property
    def game(self) -> Game:
        return get_game(self.game_name)

    @property
    def form(self) -> LabelFormat:
        return labels_of(self.game_name)


class Question(NamedTuple):
    """The position that a teacher is to judge."""

    line: State  # State[n + 1]; the last one is meant
    moves: Sequence[str] | None = None  # that lead to it from the start of the game; None: it stands alone
    opinion: Opinion | None = None  # of the teacher's own net, where it is known already ...
    mate: int = NO_MOVE  # ... with the first move of a short mate


class Teacher(ABC):
    """A teacher at work in one process. Not for several threads."""

    def __init__(self, job: Job) -> None:
        self.game, self.form, self.lines = job.game, job.form, job.lines

    def new_game(self, start: str | None) -> None:  # noqa: B027 - most judge each position by itself
        """The next moves are of another game, from this position on; None: the game's own. BLOCKS. Errors: AzError."""

    @abstractmethod
    def teach(self, questions: Sequence[Question]) -> list[Teaching]:
        """The judgement of each position. BLOCKS. Errors: AzError."""

    def records(self, states: State, moves: Moves, policy: Values, values: Values | None = None) -> Records:
        """Record[N] of State[N], positions that stand alone; z, game unset. BLOCKS. Errors: AzError.

        moves u2[N, K] with their policy f8[N, K]: a net's, for a teacher that judges no moves. values: -1 .. 1 of the
        sides to move, by the search that met the positions.
        """
        alone = [states[i : i + 1] for i in range(len(states))]
        rows = []
        for state, taught in zip(alone, self.teach([Question(state) for state in alone]), strict=True):
            rows.append(self.form.record(self.game, state, taught))
            rows[-1]["played"] = self.form.code(state[-1], int(taught.moves[0]))
        return np.concatenate(rows)

    def close(self) -> None:  # noqa: B027 - most have started nothing
        """End what it has started. BLOCKS."""


@dataclass(frozen=True)
class TeacherKind(ABC):
    """A teacher, with the values of its flags."""

    needs: ClassVar[str]  # the setting that chooses it
    prefers: ClassVar[tuple[str, ...]] = ("games", "walks")  # the sources meant where the flags fit several
    temperatures: ClassVar[tuple[float, ...]] = (0.02, 0.05, 0.12)  # of its move choice, one drawn per game
    by_policy: ClassVar[bool] = False  # moves are drawn from policy^(1 / T); else from the softmax of their points / T
    alone: ClassVar[int | None] = (
        None  # moves labelled of a position that stands alone; None: as many as a record holds
    )

    @property
    def name(self) -> str:
        """For messages."""
        return str(getattr(self, self.needs))

    @property
    def guide(self) -> str:
        """The net of its own that may make a source's moves; "": none."""
        return ""

    @property
    def most(self) -> int:
        """Positions of one game or one search that it judges; 0: all."""
        return 0

    @abstractmethod
    def check(self, job: Job) -> None:
        """Refuse what cannot be, before processes begin. BLOCKS. Errors: AzError."""

    @abstractmethod
    def open(self, job: Job) -> Teacher:
        """Begin work in a process. BLOCKS. Errors: AzError."""


Labelling = Callable[[int, Teacher], Records]  # a task's records, judged by a teacher. BLOCKS. Errors: AzError


@dataclass(frozen=True)
class Source(ABC):
    """A source of positions, with the values of its flags.

    Task i makes the records of the games each * i .. each * (i + 1) - 1, which depend on i, the seed and the teacher's
    answers alone: a run that was stopped goes on with the tasks that are missing.
    """

    meaning: ClassVar[str]  # for the help: its positions, and what chooses it
    needs: ClassVar[tuple[str, ...]] = ()  # the settings that choose it when all of them are given
    each: ClassVar[int] = 1
    alone: ClassVar[bool] = False  # whether its positions stand alone, without the games before them
    searches: ClassVar[bool] = False  # whether it comes with values, see Teacher.records

    def prepared(self, job: Job, say: Say) -> Self:
        """The source once it has read what it needs, in the command's process. BLOCKS. Errors: AzError."""
        return self

    @property
    @abstractmethod
    def total(self) -> int:
        """How many games it labels; of positions that stand alone: at least so many of them."""

    def first_game(self, seed: int) -> int:
        """The number of the first game where the user names none."""
        return 0

    @abstractmethod
    def open(self, job: Job) -> Labelling:
        """Begin work in a process. BLOCKS. Errors: NetError, DataError, OptionError."""
