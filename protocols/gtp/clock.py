"""Time in GTP: the time system that ``time_settings`` and its relatives set, and each player's clock.

A clock runs by itself; ``time_left`` corrects it. All times here are seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.limits import Limits
from .board import GtpError

_LONGEST = 1e8  # seconds; more means no limit as far as any game goes
_MOST = 10**6  # stones or periods


@dataclass(frozen=True, slots=True)
class TimeSystem:
    """How a game is timed. ``main`` None: no clock.

    Overtime, after the main time: ``stones`` moves within every ``period`` (Canadian; 0 stones: there is none), or,
    with ``periods``, one move within each period, of which that many may be used up (Japanese byo-yomi).
    """

    main: float | None = None
    period: float = 0.0
    stones: int = 0
    periods: int = 0
    increment: float = 0.0
    cap: float = math.inf  # that an increment does not lift the clock above
    longest: float = math.inf  # of a single move


KINDS = ("none", "absolute", "byoyomi", "canadian", "fischer", "fischer-capped")


def read_time_settings(words: Sequence[str]) -> TimeSystem:
    """The arguments of ``time_settings``: main time, byo-yomi time, byo-yomi stones. Errors: GtpError."""
    if len(words) != 3:
        raise GtpError("syntax error")
    main, period, stones = seconds(words[0]), seconds(words[1]), whole(words[2])
    if period > 0 and stones == 0:  # the specification's way to say: no limit
        return TimeSystem()
    return TimeSystem(main, period, stones if period > 0 else 0)


def read_kind(words: Sequence[str]) -> TimeSystem:
    """The arguments of ``kgs-time_settings`` and ``kata-time_settings``: a kind and its numbers. Errors: GtpError."""
    kind, numbers = (words[0].lower(), words[1:]) if words else ("", [])
    match kind, len(numbers):
        case "none", 0:
            return TimeSystem()
        case "absolute", 1:
            return TimeSystem(seconds(numbers[0]))
        case "fischer", 2:
            return TimeSystem(seconds(numbers[0]), increment=seconds(numbers[1]))
        case "fischer-capped", 4:
            main, increment = seconds(numbers[0]), seconds(numbers[1])
            cap, longest = (math.inf if n < 0 else n for n in (seconds(word, negative=True) for word in numbers[2:]))
            if cap < main:
                raise GtpError("the main time limit is less than the main time")
            return TimeSystem(main, increment=increment, cap=cap, longest=longest)
        case "byoyomi", 3:
            return TimeSystem(seconds(numbers[0]), seconds(numbers[1]), 1, max(whole(numbers[2]), 1))
        case "canadian", 3:
            return TimeSystem(seconds(numbers[0]), seconds(numbers[1]), max(whole(numbers[2]), 1))
    raise GtpError("syntax error")


def seconds(word: str, *, negative: bool = False) -> float:
    """A number of seconds. Errors: GtpError."""
    try:
        number = float(word) if word.isascii() else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number) or (number < 0 and not negative):
        raise GtpError("syntax error")
    return min(max(number, -_LONGEST), _LONGEST)


def whole(word: str) -> int:
    """A number of stones or periods. Errors: GtpError."""
    if not (word.isascii() and word.isdigit()) or len(word) > 18:
        raise GtpError("syntax error")
    return min(int(word), _MOST)


class PlayerClock:
    def __init__(self, system: TimeSystem) -> None:
        self._system = system
        self._left = system.main
        self._moves = 0  # still to play within _left; 0: it is main time
        self._overtime = False
        self._known = False  # what is left, since the last move

    def correct(self, left: float, stones: int) -> None:
        """``time_left``: seconds, and the stones (byo-yomi: periods) they are for, 0 in main time."""
        self._left = left
        self._overtime = stones > 0
        self._moves = 1 if self._system.periods else stones
        self._known = True

    def spend(self, spent: float) -> None:
        if self._left is None:
            return
        self._left -= spent
        self._known = False
        if self._overtime:
            self._moves -= 1
            if self._moves <= 0:
                self._left, self._moves = self._system.period, self._system.stones
            return
        self._left = max(min(self._left + self._system.increment, self._system.cap), self._left)
        if self._left <= 0 and self._system.stones:  # this move ended in overtime
            self._overtime = True
            self._left, self._moves = self._left + self._system.period, self._system.stones - 1
            if self._moves <= 0:
                self._left, self._moves = self._system.period, self._system.stones

    def limits(self, side: int, gone: float = 0.0) -> Limits | None:
        """Bounds of the player's next move; None without a clock.

        side: 0 black, 1 white. gone: seconds that the move has taken already.
        """
        if self._left is None:
            return None
        left, system = round(1000 * (max(self._left, 0.0) - gone)), self._system
        byoyomi, movestogo = 0, None
        if self._overtime and (system.periods or self._moves <= 1):  # what is left of it is lost
            left, byoyomi = 0, max(left, 0)
        elif self._overtime:
            movestogo = max(self._moves, 1)
        elif system.stones:
            byoyomi = max(round(1000 * system.period / system.stones) + min(left, 0), 0)
        increment = round(1000 * system.increment)
        time = (left, None) if side == 0 else (None, left)
        movetime = None if math.isinf(system.longest) else round(1000 * (system.longest - gone))
        return Limits(
            time=time,
            increment=(increment, increment),
            byoyomi=byoyomi,
            movestogo=movestogo,
            movetime=movetime,
            uncertain=not self._known or system.cap < math.inf,
        )
