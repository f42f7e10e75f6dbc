"""When a search of the Python library ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from typing import Any

from ..engine import limits
from ..engine.errors import OptionError
from ..engine.settings import check_kind

_NUMBERS = {"nodes": int, "seconds": float, "depth": int, "mate": int, "increment": float}


def check_moves(moves: Any) -> None:
    """Refuse a text, or what is no list, where several moves are wanted. Errors: OptionError."""
    if isinstance(moves, str) or not isinstance(moves, Iterable):
        example = moves.split() if isinstance(moves, str) else []
        raise OptionError(f"moves is {moves!r}; it must be several moves, as in {example or ['e2e4']!r}")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one search; the first one reached ends it. None means not given.

    ``visits``, as everywhere else, and ``time`` are other names of ``nodes`` and ``seconds``. Errors: OptionError.
    """

    nodes: int | None = None  # visits of the root in this search
    seconds: float | None = None
    depth: int | None = None  # mean depth of the simulations, in plies
    mate: int | None = None  # a mate in so many moves is proven
    clock: tuple[float, float] | None = None  # seconds left to the first and the second player
    increment: float = 0.0  # seconds added to a clock after each move
    moves: tuple[str, ...] = ()  # search only these; empty: all
    visits: InitVar[int | None] = None
    time: InitVar[float | None] = None

    def __post_init__(self, visits: int | None, time: float | None) -> None:
        """Check the numbers."""
        given = {name: name for name in _NUMBERS}
        for name, other, value in (("nodes", "visits", visits), ("seconds", "time", time)):
            if value is not None and getattr(self, name) is not None:
                raise OptionError(f"{name} and {other} are the same; give one of them")
            if value is not None:
                object.__setattr__(self, name, value)
                given[name] = other
        for name, kind in _NUMBERS.items():
            value = getattr(self, name)
            if value is not None:
                check_kind(given[name], value, kind)
            if value is not None and math.isinf(value):
                raise OptionError(f"{given[name]} must be a number, not {value}; leave it out for no limit")
            if value is not None and not value > 0 and (name != "increment" or value):
                least = "0 or more" if name == "increment" else "more than 0"
                raise OptionError(f"{given[name]} must be {least}, not {value}")
        clock: Any = self.clock
        if clock is not None:
            if not isinstance(clock, tuple | list) or len(clock) != 2:
                raise OptionError(f"clock is {clock!r}; it must be the seconds of both players, as in (60, 60)")
            for seconds in clock:
                check_kind("clock", seconds, float)
                if not 0 <= seconds < math.inf:
                    raise OptionError(f"clock must be seconds from 0 on, not {seconds}")
        check_moves(self.moves)

    @property
    def bounded(self) -> bool:
        """Whether the search ends by itself."""
        return any(x is not None for x in (self.nodes, self.seconds, self.depth, self.mate, self.clock))

    def of_engine(self, report_ms: int | None) -> limits.Limits:
        """The same for the engine, with reports that carry estimates every ``report_ms``."""
        clock = (None, None) if self.clock is None else (round(1000 * self.clock[0]), round(1000 * self.clock[1]))
        increment = round(1000 * self.increment)
        return limits.Limits(
            nodes=self.nodes,
            depth=self.depth,
            mate=self.mate,
            movetime=None if self.seconds is None else max(round(1000 * self.seconds), 1),
            time=clock,
            increment=(increment, increment),
            infinite=not self.bounded,
            report_ms=report_ms,
            searchmoves=tuple(self.moves),
        )
