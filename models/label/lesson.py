"""One game that a teacher plays against itself while it is asked about each position.

Runs in the processes of ``az-engine label``. Rules and notation are our own, of any game.

Random moves may be drawn from the policy of a student, a net: labels of the positions that a learner itself reaches are
what DAgger adds to imitation (Ross, Gordon and Bagnell 2011, "A Reduction of Imitation Learning and Structured
Prediction to No-Regret Online Learning").
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize

import numpy as np

from ...engine.errors import EngineProcessError
from ...engine.games import get_game
from ...engine.games.base import Game, State
from ...engine.games.outcome import RUNNING
from ...engine.nets.opinions import RawNet
from ...protocols.clients.process import EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled
from ..data.formats import labels_of
from ..data.shards import Ended, LabelFormat, Records, Teaching
from ..net.providers import load_evaluator
from .quickgames import QuickGames
from .reading import RecordedGame, label_played, read_played
from .recipe import NnueFile, Recipe
from .searches import Searcher
from .teacher import Engine, Teacher, teacher_of
from .variations import Explorer
from .walks import Walker


@dataclass(slots=True)
class Worker:
    """A process's teacher, its student where there is one, and recorded games where it is given some."""

    recipe: Recipe
    teacher: Teacher | None = None
    student: RawNet | None = None  # makes random moves
    explorer: Explorer | None = None  # the student, searching recorded games
    walker: Walker | Searcher | QuickGames | None = None  # does tasks of many positions
    played: list[RecordedGame] = field(default_factory=list)

    def start(self) -> Teacher:
        """The teacher, started when there is none. Errors: EngineProcessError, NetError."""
        recipe = self.recipe
        if recipe.records and not self.played:
            self.played = read_played(get_game(recipe.game), labels_of(recipe.game), recipe.records, _ignore)
        if recipe.search and self.explorer is None:
            weights = recipe.student or "default"
            self.explorer = Explorer(weights, get_game(recipe.game), recipe.search, recipe.seed, recipe.provider)
        elif recipe.student and self.student is None:
            self.student = RawNet(recipe.student, get_game(recipe.game), provider=recipe.provider, load=load_evaluator)
        assert not isinstance(recipe.teacher, NnueFile)  # whose positions come in tasks
        if self.teacher is None:
            self.teacher = teacher_of(recipe.teacher, recipe.game, recipe.lines, recipe.provider)
        return self.teacher

    def play(self, number: int) -> Records:
        """The records of one game, or of one task of many. BLOCKS.

        Errors: EngineProcessError when the engine fails twice, NetError, DataError.
        """
        recipe = self.recipe
        for attempt in range(2):
            try:
                if recipe.around or recipe.quick:
                    searched = Searcher if isinstance(recipe.teacher, NnueFile) else Walker
                    self.walker = self.walker or (QuickGames if recipe.quick else searched)(recipe)
                    return self.walker.walk(number)
                teacher = self.start()
                if self.played:
                    played, game = self.played[number - recipe.first_game], get_game(recipe.game)
                    return label_played(game, labels_of(recipe.game), teacher, number, played, self.explorer)
                return Lesson(recipe, teacher, number, self.student).play()
            except (EngineDied, EngineStalled, EngineFlooded, EngineMisbehaved) as error:
                self.close()
                if attempt == 1:
                    where = f"{'task' if recipe.around else 'game'} {number}"
                    raise EngineProcessError(
                        f"the engine {recipe.teacher_name!r} failed twice in {where} ({error})"
                    ) from error
        raise AssertionError("unreachable")

    def close(self) -> None:
        for each in (self.teacher, self.walker):
            if each is not None and not isinstance(each, Searcher | QuickGames):  # which have no engine to end
                each.close()
        self.teacher = self.walker = None


def _ignore(problem: str) -> None:
    """Problems of records have been told before the processes began."""


_worker: list[Worker] = []


def open_teacher(recipe: Recipe) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent decides
    os.environ["OMP_NUM_THREADS"] = "1"
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    worker = Worker(recipe)
    _worker[:] = [worker]
    Finalize(None, worker.close, exitpriority=10)


def _end_with(parent: BaseProcess) -> None:
    """Let no process outlive a parent that was killed; its engine ends with its input."""
    parent.join()
    os._exit(1)


def play_game(number: int) -> Records:
    """The records of one game, in a process that has a teacher. Errors: EngineProcessError, NetError."""
    return _worker[0].play(number)


class Lesson:
    """One game of a teacher against itself.

    Its moves are drawn from the softmax of their expected points over the temperature where the teacher is an engine,
    and in proportion to p^(1 / temperature) where it is a net with policy p.
    """

    def __init__(self, recipe: Recipe, teacher: Teacher, number: int, student: RawNet | None = None) -> None:
        self.recipe = recipe
        self.teacher = teacher
        self.student = student
        self.number = number
        self.game: Game = get_game(recipe.game)
        self.form: LabelFormat = labels_of(recipe.game)
        self.random = np.random.Generator(np.random.PCG64([recipe.seed, number]))
        self.temperature = float(self.random.choice(recipe.temperatures))
        self.blunder = float(self.random.choice(recipe.blunders))
        self.adjudicated = bool(self.random.random() < recipe.adjudicated)
        self.start = str(self.random.choice(recipe.starts)) if recipe.starts else self.form.start
        self.moves: list[str] = []  # from the start position, as the engine reads them
        self.codes: list[int] = []  # the same, as records write them
        self.line: State = self._opening(int(self.random.choice(recipe.openings)))
        self.opening = tuple(self.codes)
        self.decided = 0  # plies in a row with a decided score

    def _opening(self, plies: int) -> State:
        while True:
            line = self.game.initial() if self.start is None else self.game.parse_position(self.start)[0]
            self.moves, self.codes = [], []
            for _ in range(plies):
                if self.game.outcome(line) != RUNNING:
                    break
                line = self._push(line, self._any_move(line))
            if self.game.outcome(line) == RUNNING:
                return line

    def _push(self, line: State, move: int) -> State:
        self.moves.append(self.game.format_move(line[-1], move))
        self.codes.append(self.form.code(line[-1], move))
        return self.game.play(line, move)

    def _any_move(self, line: State) -> int:
        moves = {self.game.format_move(line[-1], int(move)): int(move) for move in self.game.legal_moves(line)}
        moves = {text: move for text, move in moves.items() if text not in self.form.never_blind} or moves
        names = sorted(moves)
        if self.student is None:
            return moves[names[int(self.random.integers(len(names)))]]
        said = self.student.opinion(line)
        policy = dict(zip(said.moves.tolist(), said.policy.tolist(), strict=True))
        chances = np.array([policy[moves[name]] for name in names])
        return moves[names[int(self.random.choice(len(names), p=chances / chances.sum()))]]

    def play(self) -> Records:
        self.teacher.new_game(self.start)
        rows: list[Records] = []
        movers: list[int] = []
        ended: Ended = "rules"
        while (result := self._result()) is None:
            teaching = self.teacher.teach(self.line, self.moves)
            row = self.form.record(self.game, self.line, teaching)
            row["game"] = self.number
            rows.append(row)
            movers.append(self.game.side_to_move(self.line[-1]))
            score = int(teaching.scores[0])
            self.decided = self.decided + 1 if abs(score) > (self.recipe.decided or self.form.decided) else 0
            move = self._choose(row, teaching)
            row["played"] = self.form.code(self.line[-1], move)
            if self.adjudicated and self.decided >= 5:
                result, ended = 1 if score > 0 else -1, "adjudicated"
                break
            self.line = self._push(self.line, move)
        records = np.concatenate(rows)
        records["z"] = np.where(np.array(movers) == self.game.side_to_move(self.line[-1]), result, -result)
        if ended == "rules" and self.game.outcome(self.line) == RUNNING and len(self.moves) >= self.recipe.max_plies:
            ended = "max plies"
        return self.form.finish(self.game, self.line, self.opening, records, ended)

    def _result(self) -> int | None:
        """Result for the side to move when the game is over by the rules or the limit of plies."""
        code = self.game.outcome(self.line)
        if code != RUNNING:
            return code
        declaration = self.game.declaration
        if declaration is not None and declaration.possible(self.line):
            return 1
        return 0 if len(self.moves) >= self.recipe.max_plies else None

    def _choose(self, row: Records, teaching: Teaching) -> int:
        """The move played: at random with the game's blunder rate, else one of the teacher's."""
        if self.random.random() < self.blunder:
            row["rnd"] = 1
            return self._any_move(self.line)
        temperature = self.temperature / (2 if len(self.moves) >= 40 else 1)
        if isinstance(self.recipe.teacher, Engine):
            logits = 1 / (1 + np.exp(-teaching.scores / self.form.scale))
        else:
            assert teaching.policy is not None
            logits = np.log(np.maximum(teaching.policy, 1e-12))
        weights = np.exp((logits - logits.max()) / temperature)
        return int(self.random.choice(teaching.moves, p=weights / weights.sum()))
