"""An engine as a teacher: its process, and one game that it plays against itself while it is asked about each position.

Runs in the processes of ``az-engine label``. Rules and notation are our own, of any game; the engine is driven over the
game's protocol.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import shlex
import signal
import threading
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize

import numpy as np

from ..engine.errors import EngineProcessError, IllegalMoveError
from ..engine.games import get_game
from ..engine.games.base import Game, State
from ..engine.games.outcome import RUNNING
from ..engine.limits import Limits
from ..protocols.client import client_of
from ..protocols.driver import Answer, EngineClient, PvInfo
from ..protocols.pipes import EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled
from .formats import labels_of
from .shards import CUT, MATE, Ended, LabelFormat, Records, Teaching
from .student import Student

DEFAULTS = {"Threads": "1", "Hash": "16", "USI_Hash": "16"}  # of the engine's options, where it has them


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the games are played. One value of each tuple is drawn per game."""

    command: tuple[str, ...]  # the engine
    game: str = "chess"
    options: tuple[tuple[str, str], ...] = ()  # of the engine
    nodes: int = 2000  # searched a move
    multipv: int = 1
    seed: int = 0
    openings: tuple[int, ...] = (0, 1, 2, 3, 4, 6, 8)  # random plies before the first record
    temperatures: tuple[float, ...] = (0.02, 0.05, 0.12)  # of the move choice, in expected points; halved from ply 40
    blunders: tuple[float, ...] = (0.0, 0.03, 0.08, 0.15)  # chance of a random move
    student: str = ""  # net from whose policy random moves are drawn, see Student; "" = uniformly
    max_plies: int = 260  # then the game is drawn
    decided: int = 0  # centipawns beyond which a game counts as decided; 0 = the game's own number
    adjudicated: float = 0.7  # fraction of games that end once they are decided for 5 plies in a row
    timeout: float = 60.0  # seconds the engine may take for one move


@dataclass(slots=True)
class Worker:
    """A process's engine, and its student where random moves come from one."""

    recipe: Recipe
    engine: EngineClient | None = None
    student: Student | None = None

    def start(self) -> EngineClient:
        """The running engine, started when there is none. Errors: EngineProcessError, NetError."""
        if self.recipe.student and self.student is None:
            self.student = Student(self.recipe.student, get_game(self.recipe.game))
        if self.engine is None:
            recipe = self.recipe
            kind = client_of(get_game(recipe.game).protocol)
            command = shlex.join(recipe.command)
            engine = None
            try:
                engine = kind(recipe.command, start_s=recipe.timeout, ready_s=recipe.timeout, endless_s=recipe.timeout)
                given = dict(recipe.options) | ({"MultiPV": str(recipe.multipv)} if engine.lines_by_option else {})
                usual = {name: value for name, value in DEFAULTS.items() if name in engine.offered}
                shows = {"UCI_ShowWDL": "true"} if "UCI_ShowWDL" in engine.offered else {}
                for name, value in (usual | shows | given).items():
                    engine.set_option(name, value)
                engine.ready()
            except EngineProcessError as error:
                if engine is not None:
                    engine.kill()
                raise EngineProcessError(
                    f"the engine {command!r} does not start or refuses an option ({error})"
                ) from error
            self.engine = engine
        return self.engine

    def close(self) -> None:
        """End the engine."""
        if self.engine is not None:
            self.engine.close()
            self.engine = None


_worker: list[Worker] = []


def open_engine(recipe: Recipe) -> None:
    """Prepare a process for :func:`play_game`."""
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
    """The records of one game, in a process that has an engine.

    Errors: EngineProcessError when the engine fails twice, NetError.
    """
    worker = _worker[0]
    for attempt in range(2):
        engine = worker.start()
        try:
            return Lesson(worker.recipe, engine, number, worker.student).play()
        except (EngineDied, EngineStalled, EngineFlooded, EngineMisbehaved) as error:
            worker.close()
            if attempt == 1:
                command = shlex.join(worker.recipe.command)
                raise EngineProcessError(f"the engine {command!r} failed twice in game {number} ({error})") from error
    raise AssertionError("unreachable")


class Lesson:
    """One game of an engine against itself."""

    def __init__(self, recipe: Recipe, engine: EngineClient, number: int, student: Student | None = None) -> None:
        self.recipe = recipe
        self.engine = engine
        self.student = student
        self.number = number
        self.game: Game = get_game(recipe.game)
        self.form: LabelFormat = labels_of(recipe.game)
        self.random = np.random.Generator(np.random.PCG64([recipe.seed, number]))
        self.temperature = float(self.random.choice(recipe.temperatures))
        self.blunder = float(self.random.choice(recipe.blunders))
        self.adjudicated = bool(self.random.random() < recipe.adjudicated)
        self.moves: list[str] = []  # from the start position, as the engine reads them
        self.codes: list[int] = []  # the same, as records write them
        self.line: State = self._opening(int(self.random.choice(recipe.openings)))
        self.opening = tuple(self.codes)
        self.decided = 0  # plies in a row with a decided score

    def _opening(self, plies: int) -> State:
        while True:
            start = self.form.start
            line = self.game.initial() if start is None else self.game.parse_position(start)[0]
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
        policy = dict(zip(*(x.tolist() for x in self.student.policy(line)), strict=True))
        chances = np.array([policy[moves[name]] for name in names])
        return moves[names[int(self.random.choice(len(names), p=chances / chances.sum()))]]

    def play(self) -> Records:
        """Play to the end."""
        self.engine.new_game()
        rows: list[Records] = []
        movers: list[int] = []
        ended: Ended = "rules"
        while (result := self._result()) is None:
            teaching = self._ask()
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
        if self.game.can_declare(self.line):
            return 1
        return 0 if len(self.moves) >= self.recipe.max_plies else None

    def _ask(self) -> Teaching:
        """The engine's lines. Errors: EngineProcessError."""
        limits, most = Limits(nodes=self.recipe.nodes), self.recipe.multipv
        answer = self.engine.judge(self.form.start, self.moves, limits, most)
        moves: dict[int, PvInfo] = {}
        for info in answer.lines[:most]:
            if info.pv and _has_score(info):
                try:
                    moves.setdefault(self.game.parse_move(self.line, info.pv[0]), info)
                except IllegalMoveError as error:
                    raise EngineMisbehaved(f"{self.engine.name} recommends an illegal move: {error}") from error
        if not moves:
            raise EngineMisbehaved(f"{self.engine.name} {_without_lines(answer)}")
        first = next(iter(moves.values()))
        scores = np.array([centipawns(info, self.form.scale) for info in moves.values()], np.int64)
        visits = np.array([info.nodes or 0 for info in moves.values()], np.int64) if first.chance is not None else None
        known = np.array(list(moves), np.uint16)
        depth = first.depth or 0
        return Teaching(known, scores, first.wdl, depth, visits, first.chance, first.lead, answer.ownership)

    def _choose(self, row: Records, teaching: Teaching) -> int:
        """The move played: at random with the game's blunder rate, else drawn from the softmax of the lines."""
        if self.random.random() < self.blunder:
            row["rnd"] = 1
            return self._any_move(self.line)
        points = 1 / (1 + np.exp(-teaching.scores / self.form.scale))
        weights = np.exp((points - points.max()) / (self.temperature / (2 if len(self.moves) >= 40 else 1)))
        return int(self.random.choice(teaching.moves, p=weights / weights.sum()))


def _without_lines(answer: Answer) -> str:
    """What an engine did that gave no line."""
    if answer.resign:
        return "gave the game up; turn its resignation off with --option"
    return "answered without a score"


def _has_score(info: PvInfo) -> bool:
    return info.cp is not None or info.mate is not None or (info.chance is not None and bool(info.nodes))


def centipawns(info: PvInfo, scale: float = 1.0) -> int:
    """Score of a line as records keep it; mate in k = MATE - k; a chance by its logit times ``scale``."""
    if info.chance is not None:
        chance = min(max(info.chance, 1e-6), 1 - 1e-6)
        return max(-CUT, min(CUT, round(scale * math.log(chance / (1 - chance)))))
    if info.mate is not None:
        return MATE - info.mate if info.mate > 0 else -MATE - info.mate
    return max(-CUT, min(CUT, info.cp or 0))
