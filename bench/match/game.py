"""One game of a match: moves, clocks, faults, the ending, and its record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, get_args

from ...engine.errors import EngineProcessError, IllegalMoveError
from ...engine.games import get_game
from ...engine.limits import Limits
from ...engine.records.record import Reason, Record
from ...protocols.clients import client_of
from ...protocols.clients.base import Answer
from ...protocols.clients.process import EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled
from .adjudication import NONE, Adjudication, Adjudicator
from .arbiter import Arbiter, Ending, new_arbiter
from .openings import Opening
from .players import MoveLimit, Player, PlayerSpec, launch

MOVETIME_MARGIN_MS = 200.0  # engines aim at a time for each move, they do not stay below it
_FLAG_MS = 1.0  # an overstep up to this is rounding
_HOUR_MS = 3_600_000  # shown on the clock of a player without one
_READY_S = 60.0  # an engine may compile or load before its first readyok
_UNTIMED_S = 300.0  # after which a move without a limit of time counts as a stall

FaultKind = Literal["time loss", "illegal move", "crash", "stall", "flood"]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
_KINDS: dict[type[EngineProcessError], FaultKind] = {
    EngineDied: "crash",
    EngineStalled: "stall",
    EngineFlooded: "flood",
    EngineMisbehaved: "illegal move",
}
_REASONS: dict[FaultKind, Reason] = {"time loss": "time", "illegal move": "illegal move"}  # in records; else "forfeit"
T = TypeVar("T")


class PlayerFault(Exception):
    """A player lost the game by its own fault."""

    def __init__(self, kind: FaultKind, text: str) -> None:
        super().__init__(text)
        self.kind: FaultKind = kind


class GameStopped(Exception):
    """The tournament ends before the game does."""


@dataclass(frozen=True, slots=True)
class MatchSettings:
    game: str  # for get_game
    players: tuple[PlayerSpec, ...]
    max_plies: int | None = None  # then a game is over; None: what is usual in the game
    margin_ms: float = 0.0  # by which a clock may be overstepped
    adjudication: Adjudication = NONE

    @property
    def protocol(self) -> str:
        return get_game(self.game).protocol


@dataclass(frozen=True, slots=True)
class Pairing:
    """One game to play: its number, the numbers of the first and the second player, and the opening."""

    number: int
    first: int
    second: int
    opening: Opening


@dataclass(frozen=True, slots=True)
class MatchGame:
    pairing: Pairing
    ending: Ending
    record: Record
    fault: FaultKind | None = None
    at_fault: int | None = None  # number of a player
    overstep_ms: float = 0.0  # the worst, of a player with a clock

    @property
    def moves(self) -> tuple[str, ...]:
        return self.record.moves

    def points(self, player: int) -> float:
        """Points of one of the two players: 1, 0.5 or 0."""
        return 0.5 + 0.5 * self.ending.result * (1 if player == self.pairing.first else -1)

    @property
    def kind_of_ending(self) -> str:
        return self.fault or self.ending.words

    def to_json(self) -> dict[str, Any]:
        pairing, record = self.pairing, self.record
        return {
            "number": pairing.number,
            "players": [pairing.first, pairing.second],
            "names": list(record.names),
            "result": self.ending.result,
            "words": self.ending.words,
            "reason": self.ending.reason,
            "margin": self.ending.margin,
            "fault": self.fault,
            "at_fault": self.at_fault,
            "overstep_ms": round(self.overstep_ms, 1),
            "opening": pairing.opening.name,
            "opening_plies": len(pairing.opening.moves),
            "root": pairing.opening.root,
            "moves": " ".join(record.moves),
            "times": [None if t is None else round(t, 4) for t in record.times],
            "comments": list(record.comments),
            "headers": dict(record.headers),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MatchGame:
        """What :meth:`to_json` wrote. Errors: KeyError, TypeError or ValueError for anything else."""
        moves = tuple(data["moves"].split())
        opening = Opening(data["opening"], data["root"], moves[: data["opening_plies"]])
        ending = Ending(int(data["result"]), data["words"], data["reason"], data["margin"])
        first, second = data["players"]
        white, black = data["names"]
        record = Record.of_line(
            moves,
            opening.root,
            ending.result,
            ending.reason,
            (white, black),
            tuple(data["times"]),
            tuple(data["comments"]),
            data["headers"],
            margin=None if ending.margin is None else abs(ending.margin),
        )
        pairing = Pairing(int(data["number"]), int(first), int(second), opening)
        return cls(pairing, ending, record, data["fault"], data["at_fault"], float(data["overstep_ms"]))


class EnginePool:
    """The running engines of one worker; each starts when it is first needed, and again after a fault."""

    def __init__(self, settings: MatchSettings) -> None:
        self._settings = settings
        self._running: dict[int, Player] = {}

    def ask(self, number: int, question: Callable[[Player], T]) -> T:
        """Ask a player something; one that fails is dropped. BLOCKS.

        Errors: PlayerFault; AzError when a new process does not start or refuses its options.
        """
        player = self._running.get(number)
        if player is None:
            spec = self._settings.players[number]
            try:
                player = launch(spec, self._settings.game, ready_s=_READY_S, endless_s=_UNTIMED_S)
            except EngineProcessError as error:
                raise EngineProcessError(f"player {spec.name} does not start: {error}") from error
            self._running[number] = player
        try:
            return question(player)
        except (EngineDied, EngineStalled, EngineFlooded, EngineMisbehaved) as error:
            self._running.pop(number).close()
            raise PlayerFault(_KINDS[type(error)], str(error)) from error

    def fill(self, *numbers: int) -> None:
        """Start those of these players that are not running. BLOCKS. Errors: AzError when one does not start."""
        for number in numbers:
            self.ask(number, lambda player: None)

    def tell_result(self, number: int, result: int) -> None:
        """Tell a player that it won (1), drew (0) or lost (-1). One that fails at this is dropped."""
        player = self._running.get(number)
        try:
            if player is not None:
                player.game_over({1: "win", 0: "draw", -1: "lose"}[result])
        except EngineProcessError:
            del self._running[number]

    def close(self) -> None:
        while self._running:
            self._running.popitem()[1].close()


@dataclass(slots=True)
class Clocks:
    """The clocks of both players; 0 moves first."""

    limits: tuple[MoveLimit, MoveLimit]
    margin_ms: float
    increment_first: bool
    shared: bool = True  # a player hears the other's clock, too
    left: list[float] = field(default_factory=list)  # ms
    worst_overstep_ms: float = 0.0

    def __post_init__(self) -> None:
        early = [limit.increment_ms if self.increment_first else 0 for limit in self.limits]
        self.left = [float(limit.base_ms or 0) + ms for limit, ms in zip(self.limits, early, strict=True)]

    def request(self, mover: int, nodes: int | None) -> Limits:
        """The limits sent to the player to move: its own, and the clocks if it has one or the protocol sends both."""
        limit = self.limits[mover]
        if limit.base_ms is None and (self.limits[1 - mover].base_ms is None or not self.shared):
            return Limits(nodes=nodes, depth=limit.depth, movetime=limit.movetime_ms)
        clocks = zip(self.left, self.limits, strict=True)
        first, second = (round(ms) if limit.base_ms is not None else _HOUR_MS for ms, limit in clocks)
        return Limits(
            nodes=nodes,
            depth=limit.depth,
            movetime=limit.movetime_ms,
            time=(first, second),
            increment=(self.limits[0].increment_ms, self.limits[1].increment_ms),
            byoyomi=limit.byoyomi_ms,
        )

    def charge(self, mover: int, spent_ms: float) -> None:
        """Take the time of a move off the player's clock, if it has one. Errors: PlayerFault when none is left."""
        limit = self.limits[mover]
        if limit.base_ms is None:
            over = -1.0 if limit.movetime_ms is None else spent_ms - limit.movetime_ms
            allowed = max(self.margin_ms, MOVETIME_MARGIN_MS)
        else:
            self.left[mover] -= spent_ms
            over = -self.left[mover] - limit.byoyomi_ms
            allowed = max(self.margin_ms, _FLAG_MS)
            self.left[mover] = max(self.left[mover], 0.0) + limit.increment_ms
        self.worst_overstep_ms = max(self.worst_overstep_ms, over)
        if over > allowed:
            raise PlayerFault("time loss", f"{over:.0f} ms over its time")


def play_game(pairing: Pairing, settings: MatchSettings, pool: EnginePool, stop: threading.Event) -> MatchGame:
    """Play one game. BLOCKS. Errors: GameStopped once ``stop`` is set; AzError when a player does not start."""
    return _RunningGame(pairing, settings, pool, stop).play()


class _RunningGame:
    def __init__(self, pairing: Pairing, settings: MatchSettings, pool: EnginePool, stop: threading.Event) -> None:
        self._pairing, self._settings, self._pool, self._stop = pairing, settings, pool, stop
        self._numbers = (pairing.first, pairing.second)
        self._specs = tuple(settings.players[number] for number in self._numbers)
        self._arbiter = new_arbiter(settings.game, pairing.opening.root)
        for move in pairing.opening.moves:
            self._arbiter.push(move)
        self._moves = list(pairing.opening.moves)
        self._times: list[float | None] = [None] * len(self._moves)
        self._comments = [""] * (len(self._moves) + 1)
        client = client_of(settings.protocol)
        limits = (self._specs[0].limit, self._specs[1].limit)
        self._clocks = Clocks(limits, settings.margin_ms, client.increment_first, client.tells_both_clocks)
        self._counts_nodes = client.counts_nodes
        self._adjudicator = Adjudicator(settings.adjudication)
        self._longest = settings.max_plies or self._arbiter.max_plies

    def play(self) -> MatchGame:
        """Play to the end. Errors: GameStopped, AzError."""
        fault: PlayerFault | None = None
        ending = self._arbiter.ending()
        side = 0
        try:
            for side in (0, 1):
                self._ask(side, lambda player: player.new_game())
            while ending is None:
                if self._stop.is_set():
                    raise GameStopped
                side = self._arbiter.turn
                ending = self._move(side)
            if ending.margin is not None and ending.reason == "":
                counts = []
                for side in (0, 1):
                    counts.append(self._ask(side, lambda player: player.final_score()))
                ending = self._arbiter.agreed(counts) or ending
        except PlayerFault as failure:
            fault = failure
            words = f"{self._specs[side].name}: {failure.kind}, {failure}"
            ending = self._arbiter.won_by(1 - side, words, _REASONS.get(failure.kind, "forfeit"))
        assert ending is not None
        for place, sign in enumerate((1, -1)):
            self._pool.tell_result(self._numbers[place], sign * ending.result)
        kind, at_fault = (None, None) if fault is None else (fault.kind, self._numbers[side])
        record = self._record(ending, kind)
        return MatchGame(self._pairing, ending, record, kind, at_fault, self._clocks.worst_overstep_ms)

    def _ask(self, side: int, question: Callable[[Player], T]) -> T:
        return self._pool.ask(self._numbers[side], question)

    def _move(self, side: int) -> Ending | None:
        """One move; how the game ends, if it does. Errors: PlayerFault."""
        spec = self._specs[side]
        nodes = spec.limit.nodes if self._counts_nodes or not spec.is_az_engine else None  # our GTP has a flag for it
        request = self._clocks.request(side, nodes)
        root, moves = self._pairing.opening.root, self._moves
        answer = self._ask(side, lambda player: player.play(root, moves, request))
        self._clocks.charge(side, 1000 * answer.seconds)
        ending = obey(self._arbiter, answer)
        if answer.move is not None:
            moves.append(answer.move)
            self._times.append(answer.seconds)
            self._comments.append(thought(answer))
        if ending is None:
            best = answer.lines[0] if answer.lines else None
            ending = self._adjudicator.after_move(self._arbiter, side, best, len(moves))
        if ending is None and len(moves) >= self._longest:
            ending = self._arbiter.at_limit(self._longest)
        return ending

    def _record(self, ending: Ending, fault: FaultKind | None) -> Record:
        opening = self._pairing.opening
        date, number = datetime.now(UTC).strftime("%Y.%m.%d"), str(self._pairing.number + 1)
        headers = {"Event": "az-engine match", "Date": date, "Round": number}
        for side, spec in zip(get_game(self._settings.game).sides, self._specs, strict=True):
            headers[f"{side}Limit"] = str(spec.limit)
        form = get_game(self._settings.game).of_record(Record.of_line(root=opening.root)).form
        headers |= {"Variant": form.capitalize()} if form else {}
        headers |= {"Opening": opening.name, "Termination": "normal" if fault is None else fault}
        self._comments[-1] = ", ".join(filter(None, (self._comments[-1], ending.words)))
        return Record.of_line(
            tuple(self._moves),
            opening.root,
            ending.result,
            ending.reason,
            (self._specs[0].name, self._specs[1].name),
            tuple(self._times),
            tuple(self._comments),
            headers,
            margin=None if ending.margin is None else abs(ending.margin),
        )


def obey(arbiter: Arbiter, answer: Answer) -> Ending | None:
    """Play what a player answered; the game's ending, if it ends. Errors: PlayerFault when the rules forbid it."""
    if answer.resign:
        return arbiter.won_by(1 - arbiter.turn, "resignation", "resignation")
    if answer.win:
        if not arbiter.can_declare():
            raise PlayerFault("illegal move", "it declared a win without the right to")
        return arbiter.won_by(arbiter.turn, "declaration", "declaration")
    try:
        arbiter.push(answer.move or "(none)")
    except IllegalMoveError as error:
        raise PlayerFault("illegal move", str(error)) from None
    return arbiter.ending()


def thought(answer: Answer) -> str:
    """A player's score of its move, for the record; from its own view."""
    if not answer.lines:
        return ""
    best = answer.lines[0]
    parts = [] if best.mate is None else [f"mate {best.mate}"]
    if best.mate is None and best.cp is not None:
        parts = [f"{best.cp:+d} cp"]
    if best.cp is None and best.chance is not None:
        parts = [f"{100 * best.chance:.1f} %"]
    parts += [] if best.wdl is None else ["wdl {} {} {}".format(*best.wdl)]
    parts += [] if best.mean is None else [f"Q {best.mean:+.4f}"]
    parts += [] if best.lead is None else [f"{best.lead:+.1f} points"]
    parts += [] if best.depth is None else [f"depth {best.depth}"]
    parts += (
        [f"{best.nodes} visit{'s' * (best.nodes != 1)}"] if best.chance is not None and best.nodes is not None else []
    )
    return ", ".join(parts)
