"""When a search stops: the limits of a protocol's ``go``, in one record."""

from __future__ import annotations

from dataclasses import dataclass, field

_LEAST_MOVE_MS, _LEAST_CLOCK_MS = 200.0, 1000.0  # of a move, and on the clock, for a look at endgame tables


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one search; ``None`` means not given. Times are in milliseconds and may be zero or negative.

    Without any limit the search is unbounded, as with ``infinite``.
    """

    nodes: int | None = None  # visits of the root, those kept from the previous search not counted
    depth: int | None = None  # mean depth of the tree in plies, as in ThinkingInfo.depth; or it deepens no more
    mate: int | None = None  # stop when a mate in this many moves (or fewer) is proven
    solve: bool = False  # look for a forced mate and nothing else, for ``movetime`` ms or until stop()
    movetime: int | None = None  # ms for this move
    rtime: int | None = None  # ms for this move and, at random, up to half as many again (YaneuraOu)
    time: tuple[int | None, int | None] = (None, None)  # ms left to the first and the second player for this move ...
    increment: tuple[int, int] = (0, 0)  # ... and ms added after it; USI's binc comes before: part of both
    byoyomi: int = 0  # ms a move after the clock has run out (shogi, Go)
    uncertain: bool = field(default=False, compare=False)  # the clock is our own reckoning: what it lost is unknown
    movestogo: int | None = None  # moves to the next time control; None or 0 = sudden death
    infinite: bool = False  # no answer before stop()
    ponder: bool = False  # no answer before stop() or ponderhit(); the clocks count from the hit
    report_ms: int | None = None  # between reports; None = ten a second, slowing to one, without estimates
    estimates: bool = True  # these reports say how the game ends, and bound the values: a pass over the tree for each
    moves_ownership: bool = False  # estimates of moves have an ownership, too
    alone: bool = False  # nets that are used to it, KataGo's, see no move before the root
    searchmoves: tuple[str, ...] = ()  # search only these root moves (illegal ones are left out); empty = all

    @property
    def clocked(self) -> bool:
        """Whether a clock runs."""
        return any(t is not None for t in self.time) or self.byoyomi > 0

    @property
    def fixed(self) -> bool:
        """Whether the move has a time of its own, all of which is to be used."""
        return (self.movetime is not None or self.rtime is not None) and not self.clocked

    @property
    def to_play(self) -> bool:
        """Whether the search is for a move to play on a clock or in a time, not to analyse."""
        analysis = self.infinite or self.ponder or self.searchmoves or self.nodes or self.depth or self.mate
        return (self.clocked or self.fixed) and not analysis

    def leaves_time(self, side: int) -> bool:
        """Whether a move of a side can wait for endgame tables: their preferences take some 50 ms at a root."""
        left = self.time[side]
        if self.movetime is not None and self.movetime < _LEAST_MOVE_MS:
            return False
        return left is None or left + self.byoyomi >= _LEAST_CLOCK_MS

    @property
    def with_estimates(self) -> bool:
        """Whether reports carry estimates."""
        return self.report_ms is not None and self.estimates

    @property
    def bounded(self) -> bool:
        """Whether the search ends by itself."""
        if self.infinite:
            return False
        return self.clocked or self.fixed or any(x is not None for x in (self.nodes, self.depth, self.mate))
