"""When to stop thinking: seconds for a move, and the stopwatch to compare them with.

:func:`budget` is a pure function of the protocol's limits; the search measures itself with a :class:`Stopwatch` and
compares that with :meth:`Budget.allowed` between batches.

Two figures bound a move. Normally *optimum* is spent: an even share of the time left over the moves still expected.
*maximum* is never exceeded; a search whose best move is being overtaken continues towards it, with the time saved by
searches that ended early because their best move could no longer change. A byoyomi cannot be saved: it is used, since
what a search finds is kept for the next move.

A move costs more than its search: :class:`Delays` learns how much from what the clock lost since the last move.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import astuple, dataclass
from time import monotonic

from .limits import Limits

_SAFETY_MS = 15.0  # reserved beyond the overhead, for the batch in flight and the threads between search and output
_PONDER_BONUS = 1.25  # factor on our own time when the opponent's is used, too
_STRETCH = 3.0  # maximum / optimum at most
_LARGEST_SHARE = 0.4  # of the time left, for one move of sudden death
_LAST_SHARE = 0.95  # of the time left, for the last move before the time control
_GAME_SHAPE = 4.0  # of the distribution of game lengths; larger = narrower
_LONG_GAME = 40.0  # moves whose delays are set aside in sudden death
_ASIDE = 0.5  # of the time to come: as much is set aside at most for delays that nobody has measured yet
_LEAST_COST_MS = 3.0  # of a move, even one without a search
_LEAST_SHARE = 0.1  # of an even share of the clock, for a search even when the delays use it up
_WORST_SHARE = 0.5  # of the clock, kept at most for the worst delay
_LONG_S, _LONGEST_S = 300.0, 600.0  # optimum and maximum of a move on any clock, such as three days of correspondence
_MEMORY = 30  # moves whose delays are remembered
_GIVEN_MS = 1000.0  # a clock that has so much more than expected was set anew


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds for one move; minimum <= optimum <= maximum. All 0: answer at once."""

    optimum: float
    maximum: float
    minimum: float = 0.0  # spent even when the best move can no longer change ...
    unsaved: float = 0.0  # ... as is time that no later move would have, unless there is but one move

    def allowed(self, instability: float = 0.0) -> float:
        """Seconds to spend; ``instability`` in [0, 1]: how likely more time changes the move."""
        return self.optimum + min(max(instability, 0.0), 1.0) * (self.maximum - self.optimum)

    def should_stop(self, elapsed: float, instability: float = 0.0) -> bool:
        """Whether a search that has run for ``elapsed`` seconds must end now."""
        return elapsed >= self.allowed(instability)


class Stopwatch:
    """Time since it was made or restarted; safe to read from any thread."""

    __slots__ = ("_clock", "_start")

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        """Start. ``clock`` returns seconds and never goes back; None: the system's monotonic clock."""
        self._clock = clock or monotonic
        self._start = self._clock()

    def restart(self) -> None:
        """Start again from zero, as on a ponder hit."""
        self._start = self._clock()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def milliseconds(self) -> int:
        """Whole milliseconds since the start."""
        return int(1000.0 * self.seconds)


class Delays:
    """What a move costs beside its search, learned from the clocks of one game."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.seen = deque[float](maxlen=_MEMORY)  # ms
        self._last: tuple[Limits, int, int, float] | None = None  # limits, side, ply and ms of our last move

    def begin(self, limits: Limits, side: int, ply: int) -> None:
        """Learn from the clock at the beginning of a move; arguments as of :func:`budget`."""
        last, self._last = self._last, None
        left = limits.time[side]
        if last is None or left is None or left <= 0 or limits.uncertain:
            return
        before, last_side, last_ply, used = last
        least = None if before.movestogo is None else before.movestogo - 1
        same = (before.increment, before.byoyomi, least) == (limits.increment, limits.byoyomi, limits.movestogo)
        if not same or (side, ply) != (last_side, last_ply + 2):
            return
        delay = float(before.time[side] or 0) - used + before.increment[side] - left
        if delay > -_GIVEN_MS:
            self.seen.append(delay)

    def end(self, limits: Limits, side: int, ply: int, used_ms: float) -> None:
        """Note the answer to a move; ``used_ms``: what its search took, or was allowed to take if that is less."""
        self._last = None if limits.time[side] is None else (limits, side, ply, used_ms)

    @property
    def worst(self) -> float:
        """The longest delay in ms that is remembered, at least 0."""
        return max(self.seen, default=0.0)

    def expected(self, assumed_ms: float) -> float:
        """The median delay in ms, where ``assumed_ms`` counts as the delay of one more move.

        Not the mean: after one move that the system held up for 200 ms, nothing would be left to search with.
        """
        delays = sorted([assumed_ms, *self.seen])
        return max(delays[len(delays) // 2], 0.0)


def moves_to_go(ply: int, typical_moves: float) -> float:
    """Moves that the side to move still has to make: the median over games that have lasted ``ply`` plies.

    Game lengths follow a log-logistic distribution, survival S(m) = 1 / (1 + (m / typical)^shape); the median residual
    life solves S(m + r) = S(m) / 2 (Clark & El-Taha, "Some useful properties of log-logistic random variables for
    health care simulations", 2015).
    """
    played = ply / 2.0
    return float(typical_moves * (1.0 + 2.0 * (played / typical_moves) ** _GAME_SHAPE) ** (1.0 / _GAME_SHAPE) - played)


def budget(
    limits: Limits,
    side: int,
    ply: int,
    *,
    typical_moves: float,
    overhead_ms: float = 30.0,
    last_overhead_ms: float | None = None,
    minimum_ms: float = 0.0,
    ponder: bool = False,
    delays: Delays | None = None,
    chance: float = 0.0,
) -> Budget | None:
    """Seconds for the move of ``side`` (0 first player, 1 second), or ``None`` when no time was given.

    Negative times count as zero. A clock given for the opponent alone means that we have no time left. With
    ``limits.ponder`` the result counts from the ponder hit.

    ply: half moves played so far. typical_moves: median length of a game, in moves of one player.
    overhead_ms: mean delay between our answer and the stopped clock; last_overhead_ms: the worst delay (None: the
    mean), which is kept on the clock, but at most half of it or of a byoyomi: longer delays lose every game anyway, and
    one set too large must not make the engine move without a search. minimum_ms: least time for a move, up to the
    maximum. ponder: whether the GUI ponders. delays: those of the game so far. chance: a random number in [0, 1), for
    rtime.
    """
    if limits.infinite:
        return None
    budgets = []
    if limits.movetime is not None:
        given = max(limits.movetime, 0)
        seconds = max(given - overhead_ms, given / 2.0) / 1000.0
        budgets.append(Budget(seconds, seconds))
    if limits.rtime is not None:  # YaneuraOu's: less random as the game goes on
        given = max(limits.rtime, 0)
        seconds = (given + chance * min(given / 2.0, 10.0 * given / max(ply, 1))) / 1000.0
        budgets.append(Budget(seconds, seconds))
    if limits.clocked:
        last = overhead_ms if last_overhead_ms is None else max(last_overhead_ms, overhead_ms)
        delays = delays or Delays()
        clock = _clock_budget(limits, side, ply, overhead_ms, last, ponder, typical_moves, delays)
        minimum = min(max(minimum_ms, 0.0) / 1000.0, clock.maximum)
        budgets.append(Budget(max(clock.optimum, minimum), clock.maximum, minimum, clock.unsaved))
    return None if not budgets else Budget(*(min(bounds) for bounds in zip(*map(astuple, budgets), strict=True)))


def _clock_budget(
    limits: Limits,
    side: int,
    ply: int,
    overhead_ms: float,
    last_overhead_ms: float,
    ponder: bool,
    typical_moves: float,
    delays: Delays,
) -> Budget:
    left = float(max(limits.time[side] or 0, 0))
    increment = float(max(limits.increment[side], 0))
    moves = max(moves_to_go(max(ply, 0), typical_moves), 1.0)
    costly = max(moves, _LONG_GAME)
    if limits.movestogo is not None and limits.movestogo > 0:
        # the game may outlive the median: pay for all moves to the time control
        moves, costly = min(moves, float(limits.movestogo)), min(2.0 * costly, float(limits.movestogo))

    byoyomi = float(max(limits.byoyomi, 0))
    half = _WORST_SHARE * left
    most = left + byoyomi / 2.0 if byoyomi else max(half, overhead_ms)
    reserve = min(max(last_overhead_ms, min(delays.worst, half)), most) + _SAFETY_MS
    main = max(left - reserve, 0.0)  # the most this move may take off the clock
    free = max(byoyomi - max(reserve - left, 0.0), 0.0)  # byoyomi cannot be saved for later moves

    # Every later move brings its increment and costs its delay.
    later = costly - 1.0
    coming = main + (moves - 1.0) * increment
    assumed = min(overhead_ms, _ASIDE * coming / later) if later else overhead_ms
    spare = coming - later * delays.expected(max(assumed, _LEAST_COST_MS))
    share = max(spare, _LEAST_SHARE * main) / moves
    largest = max(_LARGEST_SHARE, min(_LAST_SHARE, 1.6 / moves))
    optimum = min(share * (_PONDER_BONUS if ponder else 1.0), largest * main)
    maximum = max(optimum, min(optimum * _STRETCH, largest * main, largest * spare))
    seconds, unsaved = min((optimum + free) / 1000.0, _LONG_S), min(free / 1000.0, _LONG_S)
    return Budget(seconds, min((maximum + free) / 1000.0, _LONGEST_S), unsaved=unsaved)
