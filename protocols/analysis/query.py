"""One query: positions to analyse, limits, and what the answers tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...engine.errors import OptionError
from ...engine.limits import Limits
from ...engine.params import EngineOptions
from ..gtp.params import OPTION_OF, countable
from ..options import BY_KEY, OptionValues, Value
from .fields import QueryError, QueryFields
from .positions import Notation, Played

MOST_TURNS = 10_000  # of one query
_MOST_LINES = 600  # moves in a report; no game has more
_MOST_VISITS = 1 << 50
_PRIORITY = 0x3FFFFFFFFFFFFFFF
_LEAST_INTERVAL_MS = 50  # between reports
_ONCE_MS = 10**9  # between reports: only the last one comes
_MOST_UNKNOWN = 20  # fields, of which each gets its warning
_TYPO = "Unexpected or unused field, do you have a typo?"
_ENTRIES = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
_TURNS = "Must specify an array of integers indicating turns to analyze"
_SECONDS = "Must be number of seconds from 0.001 to 1000000.0"
_PERSPECTIVES = {"BLACK": "b", "WHITE": "w", "SIDETOMOVE": ""}
_WITHOUT_EFFECT = {  # settings of KataGo that have no counterpart, and the value with which they change nothing
    "antiMirror": False,
    "conservativePass": None,
    "playoutDoublingAdvantage": 0.0,
    "playoutDoublingAdvantagePla": None,
    "preventCleanupPhase": None,
    "rootNumSymmetriesToSample": 1,
    "wideRootNoise": None,  # in every query of KaTrain
}


@dataclass(frozen=True, slots=True)
class Query:
    """What one line asks for; every turn in ``turns`` gets an answer of its own."""

    id: str
    played: Played
    turns: dict[int, int]  # turn -> priority
    options: EngineOptions
    limits: Limits
    perspective: str = "b"  # of winrates, scores and ownership: "b", "w" or "" for the side to move
    allow: tuple[frozenset[str] | None, ...] = (None, None)  # moves of black and white at the root; None = all
    avoid: tuple[frozenset[str], ...] = (frozenset(), frozenset())
    pv_length: int = 15
    first_ms: float = 0.0  # before the first report
    every_ms: float = 0.0  # between reports; 0: only the final answer
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    policy: bool = False
    pv_visits: bool = False
    no_result: bool = False

    def limits_of(self, moves: tuple[str, ...]) -> Limits:
        """Of one turn, of which these moves are searched; none: all."""
        return replace(self.limits, searchmoves=moves)

    def restricted(self, turn: int, legal: list[str]) -> tuple[str, ...] | None:
        """The moves to search, empty for all; None when none is left."""
        side = "bw".index(self.played.turns[turn])
        allow, avoid = self.allow[side], self.avoid[side]
        if allow is None and not avoid:
            return ()
        return tuple(m for m in legal if m not in avoid and (allow is None or m in allow)) or None


def read_query(
    given: dict[str, Any],
    notation: Notation,
    values: OptionValues,
    most_visits: int,
    warn: Callable[[str, str], None],
) -> Query:
    """The query in a JSON object that has an id. ``warn`` gets a field and what is wrong with it, yet ignored.

    ``most_visits``: without ``maxVisits``. Errors: QueryError.
    """
    fields = QueryFields(given)
    played = notation.read(fields)
    turns = _turns(fields, played)
    settings = _settings(fields, notation, values, warn)
    options, seconds = settings.options, settings.seconds
    visits = options.nodes_limit or most_visits
    if "maxVisits" in fields:
        visits = fields.integer("maxVisits", 1, _MOST_VISITS, "Must be an integer from 1 to 2^50")
    visits = min(visits, settings.playouts or visits)
    first, every = _interval(fields)
    allow, avoid = _restrictions(fields, notation, played, warn)
    spread, spread_stdev = fields.flag("includeMovesOwnership"), fields.flag("includeMovesOwnershipStdev")
    limits = Limits(
        nodes=visits,
        movetime=None if seconds is None else max(round(1000 * seconds), 1),
        report_ms=max(round(min(first, every)), _LEAST_INTERVAL_MS) if every else _ONCE_MS,
        moves_ownership=played.size is not None,  # scoreStdev is made of it
        alone=settings.alone,
    )
    options = replace(
        options,
        multipv=min(visits, _MOST_LINES),
        move_overhead_ms=0,
        nodes_limit=0,
        resign_cp=None,
        resign_permille=0,
        move_stats=False,
    )
    query = Query(
        given["id"],
        played,
        turns,
        options,
        limits,
        settings.perspective,
        allow,
        avoid,
        fields.integer("analysisPVLen", 1, 1000, "Must be an integer from 1 to 1000")
        if "analysisPVLen" in fields
        else 15,
        first,
        every,
        ownership=fields.flag("includeOwnership"),
        ownership_stdev=fields.flag("includeOwnershipStdev"),
        moves_ownership=spread,
        moves_ownership_stdev=spread_stdev,
        policy=fields.flag("includePolicy"),
        pv_visits=fields.flag("includePVVisits"),
        no_result=fields.flag("includeNoResultValue"),
    )
    for name in fields.unknown(_MOST_UNKNOWN):
        warn(name, _TYPO)
    return query


def _turns(fields: QueryFields, played: Played) -> dict[int, int]:
    """The priority of each turn to analyse, by turn."""
    turns = [played.moves]
    if "analyzeTurns" in fields:
        turns = fields.integers("analyzeTurns", _TURNS)
        if not 0 < len(turns) <= MOST_TURNS:
            raise QueryError(f"Must be one to {MOST_TURNS} turns", "analyzeTurns")
        for turn in turns:
            if not 0 <= turn <= played.moves:
                raise QueryError(f"Invalid turn number: {turn}", "analyzeTurns")
    priorities = [0] * len(turns)
    if "priorities" in fields:
        priorities = fields.integers("priorities", "Must specify an array of integers indicating priorities")
        if "analyzeTurns" not in fields:
            raise QueryError("Can only specify when also specifying analyzeTurns", "priorities")
        if len(priorities) != len(turns):
            raise QueryError("Must be of matching length to analyzeTurns", "priorities")
        for priority in priorities:
            if abs(priority) > _PRIORITY:
                raise QueryError(f"Invalid priority: {priority}", "priorities")
    if "priority" in fields:
        if "priorities" in fields:
            raise QueryError("Cannot specify both priority and priorities", "priority")
        words = "Must be a number between -2^62 and 2^62"
        priorities = [fields.integer("priority", -_PRIORITY, _PRIORITY, words)] * len(turns)
    return dict(sorted(zip(turns, priorities, strict=True)))


class _Settings(NamedTuple):
    options: EngineOptions
    perspective: str  # "b", "w", ""
    seconds: float | None  # None: no limit
    playouts: int  # 0: no limit
    alone: bool  # nets of KataGo see no move before the root


def _settings(
    fields: QueryFields, notation: Notation, values: OptionValues, warn: Callable[[str, str], None]
) -> _Settings:
    """What ``overrideSettings`` and its like say."""
    values, perspective, seconds = values.copy(), notation.first, None
    playouts, alone = 0, True
    unknown, overriding = [], _overriding(fields)
    idle = _WITHOUT_EFFECT | {"rootPolicyTemperatureEarly": overriding.get("rootPolicyTemperature", 1.0)}
    for name, value in overriding.items():
        if name == "reportAnalysisWinratesAs":
            word = str(value).upper()
            if word not in _PERSPECTIVES:
                raise _unusable("reportAnalysisWinratesAs must be BLACK, WHITE or SIDETOMOVE")
            perspective = _PERSPECTIVES[word]
        elif name == "maxTime":
            seconds = _number(name, value, 0.001, 1e6)
        elif name == "ignorePreRootHistory":
            alone = _truth(name, value)
        elif name == "maxPlayouts":
            playouts = int(_parsed(OPTION_OF[name], name, value))
        elif name in OPTION_OF:
            _set(values, OPTION_OF[name], name, value)
        elif name in idle:
            if idle[name] not in (None, value):
                warn("overrideSettings", f"{name} has no effect here")
        else:
            unknown.append(name[:40])
    if unknown:
        warn("overrideSettings", f"Unknown config params: {','.join(unknown[:20])}")
    if "rootFpuReductionMax" in fields:
        reduction = fields.number("rootFpuReductionMax", 0.0, 2.0, "Must be a number from 0.0 to 2.0")
        values.set(BY_KEY["fpu_root_value"], reduction)
    if "rootPolicyTemperature" in fields:
        temperature = fields.number("rootPolicyTemperature", 0.01, 100.0, "Must be a number from 0.01 to 100.0")
        values.set(BY_KEY["root_policy_temperature"], temperature)
    return _Settings(values.engine_options(), perspective, seconds, playouts, alone)


def _overriding(fields: QueryFields) -> dict[str, Any]:
    settings = fields.get("overrideSettings") if "overrideSettings" in fields else {}
    if not isinstance(settings, dict):
        raise QueryError("Must be an object", "overrideSettings")
    return settings


def _set(values: OptionValues, key: str, name: str, value: object) -> None:
    values.set(BY_KEY[key], _parsed(key, name, value))


def _parsed(key: str, name: str, value: object) -> Value:
    try:
        text = value if isinstance(value, str) else json.dumps(value)
        return BY_KEY[key].parse(countable(name, text) if name in OPTION_OF else text)
    except OptionError as error:
        raise _unusable(f"{name} {error}") from None


def _truth(name: str, value: object) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise _unusable(f"{name} must be true or false")
    return str(value).lower() == "true"


def _number(name: str, value: object, low: float, high: float) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if not low <= number <= high:
        raise _unusable(f"{name} must be a number from {low:g} to {high:g}")
    return number


def _unusable(reason: str) -> QueryError:
    return QueryError(f"Could not set settings: {reason}", "overrideSettings")


def _interval(fields: QueryFields) -> tuple[float, float]:
    """Milliseconds before the first report and between reports; 0 for none."""
    every = first = 0.0
    if "reportDuringSearchEvery" in fields:
        first = every = 1000 * fields.number("reportDuringSearchEvery", 0.001, 1e6, _SECONDS)
    if "firstReportDuringSearchAfter" in fields:
        first = 1000 * fields.number("firstReportDuringSearchAfter", 0.001, 1e6, _SECONDS)
        every = every or _ONCE_MS
    return first, every


def _restrictions(
    fields: QueryFields, notation: Notation, played: Played, warn: Callable[[str, str], None]
) -> tuple[tuple[frozenset[str] | None, ...], tuple[frozenset[str], ...]]:
    """The moves that black and white may search at the root (None: all), and those that they may not."""
    allow: list[frozenset[str] | None] = [None, None]
    avoid: list[frozenset[str]] = [frozenset(), frozenset()]
    if "allowMoves" in fields and "avoidMoves" in fields:
        raise QueryError("Cannot specify both allowMoves and avoidMoves", "allowMoves")
    name = "allowMoves" if "allowMoves" in fields else "avoidMoves"
    entries = fields.get(name) if name in fields else []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise QueryError(_ENTRIES, name)
    depths = []
    for entry in entries:
        parts = QueryFields(entry)
        if not all(part in parts for part in ("player", "moves", "untilDepth")):
            raise QueryError(_ENTRIES, name)
        try:
            side = "bw".index(parts.player("player"))
            depths.append(parts.integer("untilDepth", 1, 10**9, "Must be a positive integer"))
            words = parts.get("moves")
            if not isinstance(words, list):
                raise QueryError("Must be an array of GTP board vertices")
            moves = frozenset(notation.move(word, played) for word in words)
        except QueryError as error:
            raise QueryError(str(error), name) from None
        if name == "avoidMoves":
            avoid[side] |= moves
        elif allow[side] is not None:
            raise QueryError("Currently allowMoves only allows one entry per player", name)
        else:
            allow[side] = moves
    if max(depths, default=1) > 1:
        warn(name, "untilDepth above 1 has no effect here: moves are restricted at the root")
    return tuple(allow), tuple(avoid)
