"""How positions are labelled: the teacher, and the games or walks in which it meets them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from .teacher import Engine

ENGINE_TEMPERATURES, NET_TEMPERATURES = (0.02, 0.05, 0.12), (0.3, 0.6, 1.0)  # of the move choice, see Lesson
WALK_TEMPERATURES = (1.0, 1.5, 2.0)  # T of policy^(1 / T), one drawn per walk
QUICK_TEMPERATURES, QUICK_BLUNDERS = (0.7, 1.0, 1.5), (0.02,)  # of the policy in :mod:`quickgames`, likewise
FURTHER = 3  # random moves before a search of :mod:`searches`, at most
BLUNDERS, WALK_BLUNDERS = (0.0, 0.03, 0.08, 0.15), (0.3,)  # chance of a random move, likewise


@dataclass(frozen=True, slots=True)
class Source:
    """The positions of a shard that walks begin at: all but those held out."""

    path: Path
    count: int
    held_out: frozenset[int] | None  # numbers of games; None: every 50th
    within: float = 0.5  # how far from 0.5 the expected points of a position are, at most


@dataclass(frozen=True, slots=True)
class NnueFile:
    """An engine's evaluation net as a teacher."""

    path: Path


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the games are played. One value of each tuple is drawn per game."""

    teacher: Engine | NnueFile | str  # an engine, its evaluation net, or the weights of a net without search
    game: str = "chess"
    lines: int = 1  # moves labelled a position
    seed: int = 0
    openings: tuple[int, ...] = (0, 1, 2, 3, 4, 6, 8)  # random plies before the first record
    temperatures: tuple[float, ...] = ENGINE_TEMPERATURES  # of the move choice, see Lesson; halved from ply 40
    blunders: tuple[float, ...] = BLUNDERS  # chance of a random move
    student: str = ""  # net from whose policy random moves are drawn; "" = uniformly
    max_plies: int = 260  # then the game is drawn
    decided: int = 0  # centipawns beyond which a game counts as decided; 0 = the game's own number
    adjudicated: float = 0.7  # fraction of games that end once they are decided for 5 plies in a row
    first_game: int = 0  # number of the first game
    records: tuple[Path, ...] = ()  # files of games that are labelled instead, see :mod:`reading`
    around: tuple[Source, ...] = ()  # positions around which others are labelled instead, see :mod:`walks`
    provider: str = "cpu"  # what runs the teacher's net and the student's
    starts: tuple[str, ...] = ()  # positions that games begin at, one drawn per game, see :mod:`starts`
    search: int = 0  # visits of the student's searches, see :mod:`variations` and :mod:`searches`
    least_visits: int = 1  # of a position of such a search that is labelled, see :mod:`searches`
    judged_moves: int = 0  # positions kept of such a search or a quick game, all their moves judged; 0 = none are
    further: int = FURTHER  # random moves before such a search, at most

    @property
    def quick(self) -> bool:
        """Whether the student plays the games and an evaluation net judges them, see :mod:`quickgames`."""
        return isinstance(self.teacher, NnueFile) and not self.around

    @property
    def teacher_name(self) -> str:
        if isinstance(self.teacher, Engine):
            return shlex.join(self.teacher.command)
        return str(self.teacher.path) if isinstance(self.teacher, NnueFile) else self.teacher
