"""An engine as a teacher, over its protocol: UCI or USI with MultiPV, or GTP with an analysis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....engine.errors import EngineProcessError, IllegalMoveError, OptionError
from ....engine.limits import Limits
from ....engine.os.system import split_command
from ....engine.settings import setting
from ....protocols.clients import client_of
from ....protocols.clients.base import Answer, EngineClient, PvInfo
from ....protocols.lines import one_line
from ...data.shards import CUT, MATE, Teaching
from ..job import Job, Question, Teacher, TeacherKind

DEFAULTS = {  # of the engine's options, where it has them; a declaration of the king's entry is no move to label
    "Threads": "1",
    "Hash": "16",
    "USI_Hash": "16",
    "UCI_ShowWDL": "true",
    "EnteringKingRule": "NoEnteringKing",
}
TIMEOUT = 60.0  # seconds that an engine may take for one move


class EngineTeacher(Teacher):
    def __init__(self, kind: EngineKind, job: Job, timeout: float = TIMEOUT) -> None:
        """BLOCKS. Errors: EngineProcessError."""
        super().__init__(job)
        self._limits, self._ahead = Limits(nodes=kind.visits), kind.ahead
        self._start: str | None = None
        client: EngineClient | None = None
        try:
            start = client_of(self.game.protocol)
            client = start(kind.command, start_s=timeout, ready_s=timeout, endless_s=timeout)
            options = {name: value for name, value in DEFAULTS.items() if name in client.offered} | kind.options
            if client.lines_by_option and self.lines > 1:
                options["MultiPV"] = str(self.lines)
            for name, value in options.items():
                client.set_option(name, value)
            client.ready()
        except EngineProcessError as error:
            if client is not None:
                client.kill()
            raise EngineProcessError(
                f"the engine {kind.name!r} does not start or refuses an option ({error})"
            ) from error
        self.client = client

    def new_game(self, start: str | None) -> None:
        self._start = start
        self.client.new_game()

    def teach(self, questions: Sequence[Question]) -> list[Teaching]:
        where = [
            (self.game.format_position(one.line[-1]), ()) if one.moves is None else (self._start, one.moves)
            for one in questions
        ]
        answers = self.client.judge_all(where, self._limits, self.lines, self._ahead)
        return [self._teaching(one, answer) for one, answer in zip(questions, answers, strict=True)]

    def _teaching(self, question: Question, answer: Answer) -> Teaching:
        results: dict[int, PvInfo] = {}
        for info in answer.lines[: self.lines]:
            if info.pv and _has_score(info):
                try:
                    results.setdefault(self.game.parse_move(question.line, info.pv[0]), info)
                except IllegalMoveError as error:
                    raise self.client.misbehaved(f"recommends an illegal move: {error}{self._in(question)}") from error
        if not results:
            gave_up = "gave the game up; turn its resignation off with --option"
            fault = gave_up if answer.resign else "answered without a score"
            raise self.client.misbehaved(fault + self._in(question))
        first, infos = next(iter(results.values())), list(results.values())
        scores = np.array([centipawns(info, self.form.scale) for info in infos], np.int64)
        moves, depth, policy = np.array(list(results), np.uint16), first.depth or 0, None
        if first.chance is None:
            depth = max(depth, 1)  # 0 marks a net's opinion
        else:
            visits = np.array([info.nodes or 0 for info in infos], np.float64)
            policy = visits / visits.sum()
        return Teaching(moves, scores, first.wdl, depth, policy, first.chance, first.lead, answer.ownership)

    def _in(self, question: Question) -> str:
        return f" in {one_line(self.game.format_position(question.line[-1]), 200)}"

    def close(self) -> None:
        self.client.close()


def _has_score(info: PvInfo) -> bool:
    return info.cp is not None or info.mate is not None or (info.chance is not None and bool(info.nodes))


def centipawns(info: PvInfo, scale: float = 1.0) -> int:
    """Score of a line as records keep it; mate in k = MATE - k; a chance by its logit times ``scale``."""
    if info.chance is not None:
        return centipawns_of(info.chance, scale)
    if info.mate is not None:
        return MATE - info.mate if info.mate > 0 else -MATE - info.mate
    return max(-CUT, min(CUT, info.cp or 0))


def centipawns_of(chance: float, scale: float) -> int:
    """The logit of expected points times ``scale``."""
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    return max(-CUT, min(CUT, round(scale * math.log(chance / (1 - chance)))))


@dataclass(frozen=True)
class EngineKind(TeacherKind):
    needs = "engine"
    alone = 1

    engine: str = setting(
        "",
        "command that starts the engine, e.g. stockfish, fairy-stockfish with --game shogi, or 'katago gtp -model NET' "
        "with --game go",
        flag=True,
    )
    option: tuple[str, ...] = setting(
        (),
        "an option of the engine, repeatable (threads are 1 and the hash table 16 MB unless given); over GTP a command "
        "and its arguments",
        flag=True,
    )
    visits: int = setting(
        2000,
        "search each move with so many visits, or nodes as the engine counts them; over GTP at least",
        1,
        flag=True,
    )
    ahead: int = setting(
        1,
        "send the engine so many positions before it has answered; more is several times as fast with an engine that "
        "reads on when a search has ended, as Stockfish does",
        1,
        256,
        flag=True,
    )

    @property
    def name(self) -> str:
        return self.engine

    @property
    def command(self) -> list[str]:
        """Errors: OptionError."""
        try:
            return split_command(self.engine)
        except ValueError as error:
            raise OptionError(f"--engine {self.engine!r}: {error}; close the quotes") from error

    @property
    def options(self) -> dict[str, str]:
        """Errors: OptionError."""
        pairs = [text.partition("=") for text in self.option]
        for name, equals, _ in pairs:
            if not equals:
                raise OptionError(f"--option {name!r} must be NAME=VALUE")
        return {name: value for name, _, value in pairs}

    def check(self, job: Job) -> None:
        _ = self.command, self.options  # read once, for their errors

    def open(self, job: Job) -> Teacher:
        return EngineTeacher(self, job)


TEACHER = EngineKind
