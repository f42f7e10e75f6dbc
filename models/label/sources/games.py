"""Games of the teacher against itself, from varied openings, labelled move by move.

Random moves may be drawn from the policy of a student, a net: labels of the positions that a learner itself reaches are
what DAgger adds to imitation (Ross, Gordon and Bagnell 2011, "A Reduction of Imitation Learning and Structured
Prediction to No-Regret Online Learning").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ....engine.errors import OptionError, counted
from ....engine.games.base import State
from ....engine.games.outcome import RUNNING
from ....engine.nets.opinions import RawNet
from ....engine.settings import setting
from ...data.shards import Ended, Records, Teaching
from ...net.providers import load_evaluator
from ..flags import Net
from ..job import Job, Labelling, Question, Say, Source, Teacher
from ..starts import STARTS, read_starts

ADJUDICATED = 0.7  # of the games end once they are decided for 5 plies in a row


@dataclass(frozen=True)
class PlayedGames(Source):
    meaning = "games of the teacher against itself, from random openings; where no flag below is given"

    games: int = setting(1000, "number of games", 1, flag=True)
    openings: tuple[int, ...] = setting(
        (0, 1, 2, 3, 4, 6, 8), "random plies before a game, drawn per game", 0, flag=True
    )
    temperatures: tuple[float, ...] = setting(
        (),
        "of the move choice, drawn per game, halved from ply 40: in expected points (0.02,0.05,0.12), with --net the T "
        "of policy^(1 / T) (0.3,0.6,1.0)",
        above=0,
        flag=True,
    )
    blunders: tuple[float, ...] = setting(
        (0.0, 0.03, 0.08, 0.15), "chances of a random move, drawn per game", 0, 1, flag=True
    )
    student: Net = setting(
        Net(""),
        "draw random moves, also those of openings, from the policy of this net (default = the one inside the package, "
        "or a file, or the folder of a self-play run) instead of uniformly: positions as such a net meets them",
        flag=True,
    )
    starts: str = setting("", STARTS, flag=True)
    decided: int = setting(
        0,
        "a score in centipawns beyond which a game counts as decided; most games end after five such moves in a row; "
        "0 = the game's own number",
        0,
        flag=True,
    )
    max_plies: int = setting(0, "plies after which a game is drawn; 0 = the game's own number", 0, flag=True)
    begun_at: tuple[str, ...] = ()  # the positions of ``starts``

    @property
    def total(self) -> int:
        return self.games

    def prepared(self, job: Job, say: Say) -> Self:
        if max(self.openings) > job.form.longest_opening:
            raise OptionError(
                f"--openings: a record holds an opening of {counted(job.form.longest_opening, 'move')} at most"
            )
        plies = self.max_plies or job.form.max_plies
        if max(self.openings) >= plies:
            raise OptionError(
                f"games end after {counted(plies, 'move')}, and an opening of --openings has "
                f"{max(self.openings)}: give more --max-plies, or shorter openings"
            )
        return replace(self, begun_at=read_starts(job.game, self.starts))

    def open(self, job: Job) -> Labelling:
        net, provider = self.student, job.provider
        student = RawNet(net, job.game, provider=provider, load=load_evaluator) if net else None
        return lambda number, teacher: Play(self, job, teacher, number, student).records()


class Play:
    """One game. Its moves are drawn from the softmax of their points over the temperature, or from the policy."""

    def __init__(self, source: PlayedGames, job: Job, teacher: Teacher, number: int, student: RawNet | None) -> None:
        self.teacher, self.student, self.number = teacher, student, number
        self.game, self.form, self.by_policy = job.game, job.form, job.teacher.by_policy
        self.random = np.random.Generator(np.random.PCG64([job.seed, number]))
        self.temperature = float(self.random.choice(source.temperatures or job.teacher.temperatures))
        self.blunder = float(self.random.choice(source.blunders))
        self.adjudicated = bool(self.random.random() < ADJUDICATED)
        self.decisive, self.max_plies = source.decided or self.form.decided, source.max_plies or self.form.max_plies
        self.start = str(self.random.choice(source.begun_at)) if source.begun_at else self.form.start
        self.moves: list[str] = []  # from the start position, as the teacher reads them
        self.codes: list[int] = []  # the same, as records write them
        self.line: State = self._opening(int(self.random.choice(source.openings)))
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
        opinion = self.student.opinion(line)
        policy = dict(zip(opinion.moves.tolist(), opinion.policy.tolist(), strict=True))
        chances = np.array([policy[moves[name]] for name in names])
        return moves[names[int(self.random.choice(len(names), p=chances / chances.sum()))]]

    def records(self) -> Records:
        """BLOCKS. Errors: AzError."""
        self.teacher.new_game(self.start)
        rows: list[Records] = []
        movers: list[int] = []
        ended: Ended = "rules"
        while (result := self._result()) is None:
            (teaching,) = self.teacher.teach([Question(self.line, self.moves)])
            row = self.form.record(self.game, self.line, teaching)
            row["game"] = self.number
            rows.append(row)
            movers.append(self.game.side_to_move(self.line[-1]))
            score = int(teaching.scores[0])
            self.decided = self.decided + 1 if abs(score) > self.decisive else 0
            move = self._choose(row, teaching)
            row["played"] = self.form.code(self.line[-1], move)
            if self.adjudicated and self.decided >= 5:
                result, ended = 1 if score > 0 else -1, "adjudicated"
                break
            self.line = self._push(self.line, move)
        records = np.concatenate(rows)
        records["z"] = np.where(np.array(movers) == self.game.side_to_move(self.line[-1]), result, -result)
        if ended == "rules" and self.game.outcome(self.line) == RUNNING and len(self.moves) >= self.max_plies:
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
        return 0 if len(self.moves) >= self.max_plies else None

    def _choose(self, row: Records, teaching: Teaching) -> int:
        """The move played: at random with the game's blunder rate, else one of the teacher's."""
        if self.random.random() < self.blunder:
            row["rnd"] = 1
            return self._any_move(self.line)
        temperature = self.temperature / (2 if len(self.moves) >= 40 else 1)
        if self.by_policy:
            assert teaching.policy is not None
            logits = np.log(np.maximum(teaching.policy, 1e-12))
        else:
            logits = 1 / (1 + np.exp(-teaching.scores / self.form.scale))
        weights = np.exp((logits - logits.max()) / temperature)
        return int(self.random.choice(teaching.moves, p=weights / weights.sum()))


SOURCE = PlayedGames
