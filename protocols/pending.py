"""One ``go`` on its way from the input line to the answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..engine.clock import Stopwatch
from ..engine.info import BestMove, Line, ThinkingInfo, Wdl
from ..engine.limits import Limits


@dataclass(eq=False, slots=True)
class Go:
    """One ``go`` that has to be answered."""

    limits: Limits
    waited: Stopwatch = field(default_factory=Stopwatch)  # since it was read; from the ponder hit on if there was one
    queued: bool = False  # read while an earlier one was unanswered: its clock starts when its turn comes
    stopped: bool = False
    game_over: bool = False  # it belongs to a game that is over
    again: bool = False  # its search was stopped to begin again with other limits
    hit: bool = False  # ponderhit came
    latest: ThinkingInfo | None = None
    printed: ThinkingInfo | None = None
    announced: bool = False  # a report event is under way
    quiet_until: float = 0.0  # on ``waited``: no report before

    @property
    def endless(self) -> bool:
        """Whether nothing but ``stop`` will end it."""
        return not self.limits.bounded or (self.limits.ponder and not self.hit)

    def limits_left(self) -> Limits:
        """The limits less what the clock has lost while the ``go`` waited (for a net to load, for another search)."""
        limits = replace(self.limits, ponder=self.limits.ponder and not self.hit)
        waited = self.waited.milliseconds
        if limits.ponder or waited < 2:
            return limits
        first, second = (t if t is None else t - waited for t in limits.time)
        # What the clock could not pay is gone from the byoyomi.
        beyond = max((min(-t, waited) for t in (first, second) if t is not None and t < 0), default=0)
        movetime = limits.movetime if limits.movetime is None else limits.movetime - waited
        return replace(limits, time=(first, second), byoyomi=max(limits.byoyomi - beyond, 0), movetime=movetime)

    def final_report(self, best: BestMove, move: str) -> ThinkingInfo:
        """The report to end with: the last one, brought up to what the search ended with."""
        last = self.latest
        if last is None:
            # Clients insist on a score before every move; a search that evaluated nothing has said why in its messages.
            lines = best.lines or (Line(0, None, Wdl(0.0, 1.0, 0.0), 0, 0.0, (move,)),)
            return ThinkingInfo(1, 1, best.nodes, 1000 * best.nodes // max(best.time_ms, 1), best.time_ms, 0, lines)
        if not best.lines or best.lines == last.lines[: len(best.lines)]:
            return last
        return replace(
            last, lines=best.lines, nodes=max(best.nodes, last.nodes), time_ms=max(best.time_ms, last.time_ms)
        )
