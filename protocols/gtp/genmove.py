"""A search, and the move that it leads to: its best, unless that is a pass that loses, or the game is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...engine import blocking
from ...engine.clock import Stopwatch
from ...engine.info import BestMove, Line, ThinkingInfo
from ...engine.limits import Limits
from ..loader import EngineSeam
from .board import PASS
from .command import GtpCommand
from .game import GoEngine

RESIGN = "resign"
_EARLY = 4  # no resignation before points / _EARLY moves
AT_THE_END = 10**9  # ms between reports: but for the last there is none
_POINTS_LOST, _VALUE_LOST = 0.25, 0.05  # that two searches may differ in: a needless move costs a point, or nothing
_OTHERS = 400  # visits of the search for the best move but the pass
_LIKELY = 0.02  # probability of a pass by the net from which on a search may choose it
_LIKELIEST = 8  # answers by the net's policy, at least
_LOOKS = ((40, 12), (200, 4), (800, 0))  # visits for each answer to the pass, and how many of them get the next look


def search(
    engine: EngineSeam,
    limits: Limits,
    command: GtpCommand,
    show: Callable[[ThinkingInfo], None],
    tell: Callable[[str], None],
) -> tuple[BestMove, ThinkingInfo | None]:
    """Search until the limits or ``command`` end it; returns the best move and the last report. BLOCKS.

    ``show`` gets the reports, ``tell`` sentences for the user: on the search's thread, which waits for them.
    """

    def on_info(info: ThinkingInfo) -> None:
        if info.message is not None:
            tell(info.message)
        if info.lines:
            show(info)

    best, last = blocking.search(engine, limits, on_info, lambda: command.on_interrupt(engine.stop))
    command.on_interrupt(None)
    for text in best.messages:
        tell(text)
    return best, last


class Worth(NamedTuple):
    """What a search found: its best move, and what that leads to for a player."""

    move: str
    score: float | None  # points ahead; None where the net does not tell
    value: float  # in [-1, 1]

    def as_good_as(self, other: Worth) -> bool:
        """Whether nothing is lost by it, in points or, where those are not known, in chances."""
        if self.score is None or other.score is None:
            return self.value >= other.value - _VALUE_LOST
        return self.score >= other.score - _POINTS_LOST

    @property
    def order(self) -> tuple[float, float]:
        """The greater, the better."""
        return (0.0 if self.score is None else self.score), self.value

    @property
    def of_opponent(self) -> Worth:
        return Worth(self.move, None if self.score is None else -self.score, -self.value)


def worth_of(best: BestMove, last: ThinkingInfo | None) -> Worth:
    """Of the move that a search found, for the side to move."""
    line = best.lines[0] if best.lines else None
    estimate = (line.estimate if line is not None else None) or (last.estimate if last is not None else None)
    value = line.wdl.value if line is not None else 0.0
    return Worth(best.move or PASS, None if estimate is None else estimate.score, value)


def may_pass(moves: Sequence[str], policy: Sequence[float]) -> bool:
    """Whether a search is likely to choose a pass, by the net's probabilities of the legal moves."""
    return dict(zip(moves, policy, strict=True)).get(PASS, 0.0) >= _LIKELY


def pass_or_move(
    engine: GoEngine, find: Callable[[Limits], tuple[BestMove, ThinkingInfo | None]], seconds: float
) -> str | None:
    """The pass, where no answer to it takes anything of what the best other move gives; else that move. BLOCKS.

    None where the time has ended before the likeliest answers were looked at.

    engine: holds a position in which both sides have about the same chances, else chances tell nothing of points; find:
    searches within limits. Every answer gets a small search of its own, since a net that takes a group for settled
    gives the move that kills it no visit; those that come out best get greater ones (sequential halving), for a small
    one often ends before the kill.
    """
    others = tuple(move for move in engine.legal_moves() if move != PASS)
    if not others:
        return PASS
    watch = Stopwatch()

    def worth(move: Sequence[str], visits: int) -> Worth:
        left = min(seconds / 2, seconds - watch.seconds)
        limits = Limits(
            movetime=max(round(1000 * left), 1), report_ms=AT_THE_END, nodes=visits, searchmoves=tuple(move)
        )
        return worth_of(*find(limits))

    best = worth(others, _OTHERS)
    engine.play(PASS)
    try:
        policy = engine.opinion().policy.tolist()
        answers = [answer for _, answer in sorted(zip(policy, engine.legal_moves(), strict=True), reverse=True)]
        answers.remove(PASS)
        for visits, kept in _LOOKS:
            enough = min(_LIKELIEST, len(answers))
            first, result = (visits, kept) == _LOOKS[0], list[Worth]()
            for answer in answers:
                if watch.seconds > (seconds / 2 if first else seconds):
                    break
                result.append(worth([answer], visits))
                if not first and not result[-1].of_opponent.as_good_as(best):
                    return best.move
            if first and len(result) < enough:
                return None
            answers = [worth.move for worth in sorted(result, key=lambda each: each.order, reverse=True)[:kept]]
    finally:
        engine.undo()
    return PASS


class MoveChooser:
    """Chooses move after move, and counts how long the game has looked lost to each player."""

    def __init__(self, percent: float, patience: int) -> None:
        """Resign when the chance to win stays below ``percent`` for ``patience`` moves running; 0: never."""
        self._threshold, self._patience = percent / 100.0, patience
        self._hopeless: dict[str, int] = {}  # by colour, moves running that looked lost

    def forget(self) -> None:
        self._hopeless.clear()

    def choose(self, best: BestMove, lines: Sequence[Line], lead: float, *, last: bool) -> str:
        """The vertex to play, or pass.

        lines: the last report's, which has one more than the best. lead: points ahead if the game ended now. last:
        whether the opponent has passed, so that a pass ends the game.
        """
        move = best.move or PASS
        if last and lead > 0:
            return PASS
        if move != PASS or lead > 0:
            return move
        value = best.lines[0].wdl.value if best.lines else 0.0
        if value <= 0 and (not last or lead == 0):  # nothing is given away
            return PASS
        return next((line.pv[0] for line in lines if line.pv[0] != PASS), PASS)

    def resigns(self, colour: str, best: BestMove, moves: int, points: int) -> bool:
        """Whether a colour should give up now, after ``moves`` moves on a board of so many points. Call once a move."""
        value = best.lines[0].wdl.value if best.lines else 0.0
        lost = (1.0 + value) / 2.0 < self._threshold
        self._hopeless[colour] = self._hopeless.get(colour, 0) + 1 if lost else 0
        return self._hopeless[colour] >= self._patience and _EARLY * moves >= points
