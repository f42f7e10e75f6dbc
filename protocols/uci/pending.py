"""Every ``go`` of a conversation that is not answered yet, and what is known of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...engine.clock import Stopwatch
from ...engine.info import BestMove, Line, ThinkingInfo, Wdl
from ...engine.limits import Limits


@dataclass(eq=False, slots=True)
class PendingGo:
    """One ``go`` that has to be answered."""

    limits: Limits
    waited: Stopwatch = field(default_factory=Stopwatch)  # since it was read; from the ponder hit on if there was one
    queued: bool = False  # read while an earlier one was unanswered: its clock starts when its turn comes
    stopped: bool = False
    position: tuple[str | None, str] = (None, "")  # root and moves that it is about
    early: bool = False  # its search runs on the position before the last of these moves: see Stochastic_Ponder
    game_over: bool = False  # it belongs to a game that is over
    refused: bool = False  # it runs without a search, for want of a position, until it may be answered
    restart: bool = False  # its search was stopped to begin again with other limits
    ponder_hit: bool = False
    latest: ThinkingInfo | None = None  # the search's last report
    printed: ThinkingInfo | None = None
    report_posted: bool = False  # an event that prints the latest report is under way
    next_report: float = 0.0  # on ``waited``: no report before

    @property
    def endless(self) -> bool:
        """Whether only ``stop`` (or ``ponderhit``) will end the search."""
        return not self.limits.bounded or (self.limits.ponder and not self.ponder_hit)

    @property
    def held_back(self) -> bool:
        """Whether no answer may come yet, not even that there is no move."""
        limits = self.limits
        waits = limits.infinite or (limits.ponder and not self.ponder_hit)
        return waits and not (self.stopped or limits.solve)

    def limits_left(self, mover: Callable[[], int]) -> Limits:
        """The limits less the time that the ``go`` has waited, for a net to load or for another search.

        mover: tells whose clock runs, 0 the first player's; called where a byoyomi has to know it.
        """
        limits = replace(self.limits, ponder=self.limits.ponder and not self.ponder_hit)
        waited = self.waited.milliseconds
        if limits.ponder or waited < 2:
            return limits
        first, second = (t if t is None else t - waited for t in limits.time)
        byoyomi = limits.byoyomi
        if byoyomi:  # time that the mover's clock did not have comes off it
            left = (first, second)[mover()]
            byoyomi -= min(max(waited if left is None else -left, 0), waited, byoyomi)
        movetime, rtime = (t if t is None else t - waited for t in (limits.movetime, limits.rtime))
        return replace(limits, time=(first, second), byoyomi=byoyomi, movetime=movetime, rtime=rtime)

    def final_report(self, best: BestMove, move: str) -> ThinkingInfo:
        """The report before the answer: the last one, brought up to what the search ended with."""
        last = self.latest
        if last is None:
            # Clients insist on a score before every move; a search that evaluated nothing explains it in its messages.
            lines = best.lines or (Line(0, None, Wdl(0.0, 1.0, 0.0), 0, 0.0, (move,)),)
            return ThinkingInfo(1, 1, best.nodes, best.nodes, best.time_ms, 0, lines)
        if not best.lines or best.lines == last.lines[: len(best.lines)]:
            return last
        return replace(
            last, lines=best.lines, nodes=max(best.nodes, last.nodes), time_ms=max(best.time_ms, last.time_ms)
        )


class Searches:
    """Every ``go`` that has to be answered, in order."""

    def __init__(self) -> None:
        self._unanswered: dict[PendingGo, None] = {}  # of these ...
        self._unstopped: deque[PendingGo] = deque()  # ... those that nobody has stopped
        self._present: deque[PendingGo] = deque()  # ... those of the present game
        self._endless: PendingGo | None = None  # ... the one that only another command would end
        self.over = 0  # ... how many belong to a game that is over

    def __len__(self) -> int:
        return len(self._unanswered)

    def add(self, limits: Limits) -> PendingGo:
        go = PendingGo(limits, queued=bool(self._unanswered))
        self._unanswered[go] = None
        self._unstopped.append(go)
        self._present.append(go)
        if go.endless:
            self._endless = go
        return go

    def remove(self, go: PendingGo) -> None:
        """It gets its answer."""
        del self._unanswered[go]
        self.over -= go.game_over
        for waiting in (self._unstopped, self._present):
            if waiting and waiting[0] is go:
                waiting.popleft()

    def take_unstopped(self) -> list[PendingGo]:
        """Those to stop now, and no more afterwards."""
        unstopped, self._unstopped = list(self._unstopped), deque()
        return unstopped

    def take_endless(self) -> PendingGo | None:
        """The one that only another command would end, to stop it now."""
        go, self._endless = self._endless, None
        return go if go is not None and go.endless else None

    def end_game(self) -> None:
        for go in self._present:
            go.game_over = True
        self.over += len(self._present)
        self._present.clear()

    @property
    def pondering(self) -> PendingGo | None:
        """The one that waits for a ponder hit."""
        go = self._endless
        return go if go in self._unanswered and go.limits.ponder and not go.ponder_hit else None
