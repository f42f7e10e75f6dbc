"""A search, and the move that it leads to: its best, unless that is a pass that loses, or the game is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...engine import blocking
from ...engine.info import BestMove, Line, ThinkingInfo
from ...engine.limits import Limits
from ..loader import EngineSeam
from .board import PASS
from .command import GtpCommand

RESIGN = "resign"
_EARLY = 4  # no resignation before points / _EARLY moves


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
