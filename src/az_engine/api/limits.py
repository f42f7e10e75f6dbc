"""When a search of the Python library ends."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine import limits
from ..engine.errors import OptionError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one search; the first one reached ends it. None means not given.

    Errors: OptionError for a number that is not positive.
    """

    nodes: int | None = None  # visits of the root in this search
    seconds: float | None = None
    depth: int | None = None  # mean depth of the simulations, in plies
    mate: int | None = None  # a mate in so many moves is proven
    clock: tuple[float, float] | None = None  # seconds left to the first and the second player
    increment: float = 0.0  # seconds added to a clock after each move
    moves: tuple[str, ...] = ()  # search only these; empty: all

    def __post_init__(self) -> None:
        """Check the numbers."""
        given = {"nodes": self.nodes, "seconds": self.seconds, "depth": self.depth, "mate": self.mate}
        for name, value in given.items():
            if value is not None and not value > 0:
                raise OptionError(f"{name} must be more than 0, not {value}")

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
