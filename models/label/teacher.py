"""A teacher labels the positions of a game: an engine, over its protocol, or a net without search."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...engine.errors import EngineProcessError, IllegalMoveError
from ...engine.games import get_game
from ...engine.games.base import Game, State
from ...engine.limits import Limits
from ...engine.nets.opinions import Opinion, RawNet
from ...engine.search.mate import mating_move
from ...protocols.clients import client_of
from ...protocols.clients.base import Answer, PvInfo
from ...protocols.clients.process import EngineMisbehaved
from ..data.formats import labels_of
from ..data.shards import CUT, MATE, LabelFormat, Teaching
from ..net.providers import load_evaluator

DEFAULTS = {  # of the engine's options, where it has them; a declaration of the king's entry is no move to label
    "Threads": "1",
    "Hash": "16",
    "USI_Hash": "16",
    "EnteringKingRule": "NoEnteringKing",
}
NODES = 2000  # searched a move by an engine
MATE_PLIES = 3  # a net is corrected where there is a mate as short as this
_BATCH = 4  # positions that a net is asked about at a time; larger nets have no use for more on one core

Asked = tuple[State, Sequence[str]]  # a line, and the moves that lead to its last position from the start


class Teacher(Protocol):
    """Judges positions."""

    def new_game(self, start: str | None) -> None:
        """What follows begins at this position, None the game's own. Errors: EngineProcessError."""

    def teach(self, line: State, moves: Sequence[str]) -> Teaching:
        """Its judgement of a line's last position, which ``moves`` lead to from the start. BLOCKS. Errors: AzError."""

    def teach_all(self, asked: Sequence[Asked]) -> list[Teaching]:
        """The same of several lines. BLOCKS. Errors: AzError."""

    def close(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine, its options and its limits."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    nodes: int = NODES  # searched a move
    timeout: float = 60.0  # seconds it may take for one move
    ahead: int = 1  # positions it is asked about before it has answered


class EngineTeacher:
    def __init__(self, engine: Engine, game: Game, form: LabelFormat, lines: int) -> None:
        """lines: moves labelled a position. BLOCKS. Errors: EngineProcessError."""
        self._told, self._game, self._form, self._lines = engine, game, form, lines
        command, client = shlex.join(engine.command), None
        try:
            seconds = engine.timeout
            kind = client_of(game.protocol)
            client = kind(engine.command, start_s=seconds, ready_s=seconds, endless_s=seconds)
            given = dict(engine.options) | ({"MultiPV": str(lines)} if client.lines_by_option else {})
            usual = {name: value for name, value in DEFAULTS.items() if name in client.offered}
            shows = {"UCI_ShowWDL": "true"} if "UCI_ShowWDL" in client.offered else {}
            for name, value in (usual | shows | given).items():
                client.set_option(name, value)
            client.ready()
        except EngineProcessError as error:
            if client is not None:
                client.kill()
            raise EngineProcessError(f"the engine {command!r} does not start or refuses an option ({error})") from error
        self._client = client
        self._start: str | None = None

    def new_game(self, start: str | None) -> None:
        self._start = start
        self._client.new_game()

    def teach(self, line: State, moves: Sequence[str]) -> Teaching:
        answer = self._client.judge(self._start, list(moves), Limits(nodes=self._told.nodes), self._lines)
        found: dict[int, PvInfo] = {}
        for info in answer.lines[: self._lines]:
            if info.pv and _has_score(info):
                try:
                    found.setdefault(self._game.parse_move(line, info.pv[0]), info)
                except IllegalMoveError as error:
                    raise EngineMisbehaved(f"{self._client.name} recommends an illegal move: {error}") from error
        if not found:
            raise EngineMisbehaved(f"{self._client.name} {_without_lines(answer)}")
        first = next(iter(found.values()))
        scores = np.array([centipawns(info, self._form.scale) for info in found.values()], np.int64)
        policy = None
        if first.chance is not None:
            visits = np.array([info.nodes or 0 for info in found.values()], np.float64)
            policy = visits / visits.sum()
        known, depth = np.array(list(found), np.uint16), first.depth or 0
        return Teaching(known, scores, first.wdl, depth, policy, first.chance, first.lead, answer.ownership)

    def teach_all(self, asked: Sequence[Asked]) -> list[Teaching]:
        return [self.teach(line, moves) for line, moves in asked]

    def close(self) -> None:
        self._client.close()


class NetTeacher:
    """A net without search, corrected where a short mate is seen."""

    def __init__(self, weights: str, game: Game, form: LabelFormat, lines: int, provider: str = "cpu") -> None:
        """weights: as for RawNet; lines: moves labelled a position. Errors: NetError."""
        self._net = RawNet(weights, game, _BATCH, provider=provider, load=load_evaluator)
        self._game, self._form, self._lines = game, form, lines

    def new_game(self, start: str | None) -> None:
        """See :class:`Teacher`."""

    def teach(self, line: State, moves: Sequence[str]) -> Teaching:
        return self.teach_all([(line, moves)])[0]

    def teach_all(self, asked: Sequence[Asked]) -> list[Teaching]:
        mates = [mating_move(self._game, line, MATE_PLIES) for line, _ in asked]
        open_lines = [line for (line, _), mate in zip(asked, mates, strict=True) if mate is None]
        said = iter(self._net.opinions(open_lines))
        return [self._of_opinion(next(said)) if mate is None else mate_by(mate) for mate in mates]

    def _of_opinion(self, said: Opinion) -> Teaching:
        best = np.argsort(-said.policy, kind="stable")[: self._lines]
        score = centipawns_of(said.chance, self._form.scale)
        scores = np.full(len(best), score, np.int64)  # a net says nothing of single moves
        return Teaching(said.moves[best], scores, None, 0, said.policy[best], said.chance, said.lead, said.ownership)

    def close(self) -> None:
        """See :class:`Teacher`."""


def mate_by(move: int) -> Teaching:
    """What is said of a position with a short mate, which begins with ``move``."""
    known, scores = np.array([move], np.uint16), np.array([MATE - MATE_PLIES], np.int64)
    return Teaching(known, scores, None, 0, np.ones(1), 1.0)


def teacher_of(asked: Engine | str, game: str, lines: int, provider: str = "cpu") -> Teacher:
    """The teacher for an engine or the weights of a net. BLOCKS. Errors: EngineProcessError, NetError."""
    rules, form = get_game(game), labels_of(game)
    if isinstance(asked, Engine):
        return EngineTeacher(asked, rules, form, lines)
    return NetTeacher(asked, rules, form, lines, provider)


def _without_lines(answer: Answer) -> str:
    """Why an engine gave no line."""
    if answer.resign:
        return "gave the game up; turn its resignation off with --option"
    return "answered without a score"


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
