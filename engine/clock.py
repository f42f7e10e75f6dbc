"""When to stop thinking: the seconds one move may take, and the stopwatch they are compared with.

This is the only module of the engine that reads the time. :func:`budget` is a pure function of what the protocol said;
the search measures itself with a :class:`Stopwatch` and asks :meth:`Budget.should_stop` between batches.

Two figures bound a move. *optimum* is spent when nothing speaks for more: an even share of what is left over the moves
still expected. *maximum* is never exceeded; a search whose best move is being overtaken goes on towards it, on the time
of those that ended early because their best move could no longer change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from .limits import Limits

_SAFETY_MS = 15.0  # kept back beyond the overhead: a batch under way, and the threads between the search and the wire
_PONDER_BONUS = 1.25  # thinking on the opponent's time pays for this much more of our own
_STRETCH = 3.0  # maximum / optimum at most
_LARGEST_SHARE = 0.4  # of the time left, for one move of sudden death
_LAST_SHARE = 0.95  # of the time left, for the last move before the time control
_GAME_SHAPE = 4.0  # of the distribution of game lengths; larger = narrower
_LONG_GAME = 40.0  # moves whose overhead is set aside in sudden death
_LEAST_COST_MS = 10.0  # of a move that was not thought about at all, overhead or not


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds for one move; minimum <= optimum <= maximum. All 0 means: answer with the first legal move at hand."""

    optimum: float
    maximum: float
    minimum: float = 0.0  # not to be undercut by a search whose best move can no longer change

    def allowed(self, instability: float = 0.0) -> float:
        """Seconds to spend; ``instability`` in [0, 1] says how likely more time changes the move (0: not at all)."""
        return self.optimum + min(max(instability, 0.0), 1.0) * (self.maximum - self.optimum)

    def should_stop(self, elapsed: float, instability: float = 0.0) -> bool:
        """Whether a search that has run for ``elapsed`` seconds has to end now."""
        return elapsed >= self.allowed(instability)


class Stopwatch:
    """Time since its making or last restart; safe to read from any thread."""

    __slots__ = ("_clock", "_start")

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        """Start. ``clock`` returns seconds and never goes back; None: the system's monotonic clock."""
        self._clock = clock or monotonic
        self._start = self._clock()

    def restart(self) -> None:
        """Start again from zero (a ponder hit: the clocks count from there)."""
        self._start = self._clock()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def milliseconds(self) -> int:
        """Whole milliseconds since the start."""
        return int(1000.0 * self.seconds)


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
) -> Budget | None:
    """Seconds for the move of ``side`` (0 first player, 1 second), or ``None`` when no time was given.

    Negative times count as zero. A clock given for the opponent alone is taken as none left for us: better an instant
    move than a lost game. With ``limits.ponder`` the result holds from the ponder hit on.

    ply: half moves played so far. typical_moves: median length of a game, in moves of one player.
    overhead_ms: what a move loses between our answer and the stopped clock on average; last_overhead_ms: at worst, so
    that much is kept on the clock (None: the average), but never more than half of a byoyomi: delays beyond it would
    lose every game, whatever the engine does, and a delay set too large must not make it play without thinking.
    minimum_ms: least time for a move, as far as the maximum allows. ponder: whether the GUI ponders, so that the
    opponent's time is ours too.
    """
    if limits.infinite:
        return None
    found = []
    if limits.movetime is not None:
        given = max(limits.movetime, 0)
        seconds = max(given - overhead_ms, given / 2.0) / 1000.0
        found.append(Budget(seconds, seconds))
    if limits.clocked:
        last = overhead_ms if last_overhead_ms is None else max(last_overhead_ms, overhead_ms)
        clock = _clock_budget(limits, side, ply, overhead_ms, last, ponder, typical_moves)
        minimum = min(max(minimum_ms, 0.0) / 1000.0, clock.maximum)
        found.append(Budget(max(clock.optimum, minimum), clock.maximum, minimum))
    return min(found, key=lambda b: b.maximum, default=None)


def _clock_budget(
    limits: Limits, side: int, ply: int, overhead_ms: float, last_overhead_ms: float, ponder: bool, typical_moves: float
) -> Budget:
    left = float(max(limits.time[side] or 0, 0))
    increment = float(max(limits.increment[side], 0))
    moves = max(moves_to_go(max(ply, 0), typical_moves), 1.0)
    costly = max(moves, _LONG_GAME)
    if limits.movestogo is not None and limits.movestogo > 0:
        # the game may well outlive the median: all the moves to the time control have to be paid for
        moves, costly = min(moves, float(limits.movestogo)), min(2.0 * costly, float(limits.movestogo))

    byoyomi = float(max(limits.byoyomi, 0))
    reserve = (min(last_overhead_ms, left + byoyomi / 2.0) if byoyomi else last_overhead_ms) + _SAFETY_MS
    main = max(left - reserve, 0.0)  # what this move could take of the clock
    free = max(byoyomi - max(reserve - left, 0.0), 0.0)  # byoyomi cannot be saved for later moves

    # Every later move brings its increment and loses its overhead. When the overheads as they were set would use up the
    # clock, a sixth of an even share of what their least leaves is spent: little, and never more than the clock has.
    later = costly - 1.0
    spare = main + (moves - 1.0) * increment - later * max(overhead_ms, _LEAST_COST_MS)
    share = max(spare / moves, (main - later * _LEAST_COST_MS) / (6.0 * moves), 0.0)
    largest = max(_LARGEST_SHARE, min(_LAST_SHARE, 1.6 / moves))
    optimum = min(share * (_PONDER_BONUS if ponder else 1.0), largest * main)
    maximum = max(optimum, min(optimum * _STRETCH, largest * main, largest * spare))
    return Budget((optimum + free) / 1000.0, (maximum + free) / 1000.0)
