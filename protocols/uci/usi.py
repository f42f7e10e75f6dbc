"""USI (Shogidokoro's description, and what YaneuraOu, ShogiHome and match tools made of it), and the command for it.

What differs from UCI: black moves first and has the first clock, there is byoyomi, distances to mate are in plies, a
game can be resigned or won by a declaration, ``go mate`` asks for a proof, ``gameover`` ends a game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

from ...engine.info import BestMove
from ...engine.limits import Limits
from .. import conversation
from .inspection import moves_lines, side_lines
from .report import game_over_line
from .uci import UciSession
from .words import BOUNDS, CLOCKS, GoWords, read_go

HELP = """\
Play shogi in any program that speaks USI: enter this command, or az-engine-usi, as the engine.

By hand: type `usi`, `isready`, `position startpos moves 7g7f`, `go byoyomi 1000`, `quit`. Besides USI there is
`go perft N`."""

_CLOCKS = {**CLOCKS, "byoyomi": 0}
_NUMBERS = {**_CLOCKS, **BOUNDS, "rtime": 0, "mate": 0, "perft": None}


class UsiSession(UciSession):
    notation = "sfen"
    no_move = "resign"

    @cached_property
    def commands(self) -> dict[str, Callable[[str], None]]:
        return super().commands | {
            "gameover": lambda _: self.game_over(),
            "ponderhit": self._ponderhit,
            "side": lambda _: self._inspect(side_lines, needs_net=False),
            "moves": lambda _: self._inspect(moves_lines, needs_net=False),
        }

    def position(self, rest: str) -> None:
        """Obey ``position``, also without the word ``sfen``, as YaneuraOu does."""
        first = rest.split(maxsplit=1)[:1]
        super().position(f"sfen {rest}" if first and "/" in first[0] else rest)

    @staticmethod
    def read_go(words: Sequence[str]) -> tuple[GoWords, Limits]:
        """The words after ``go``, and the limits they mean."""
        go = read_go(words, _NUMBERS, optional=("mate",))
        if "mate" in go.seen:  # the number is its time in ms; `infinite` or nothing: until `stop`
            return go, Limits(solve=True, movetime=go.numbers.get("mate"))
        return go, _limits(go)

    def _ponderhit(self, rest: str) -> None:
        """Clocks after ``ponderhit`` count only if its ``go ponder`` had none, which GUIs may send early without."""
        clocks = read_go(rest.split(), _CLOCKS)
        self.ponderhit(_limits(clocks) if clocks.numbers else None)

    @staticmethod
    def mate(moves: int) -> str:
        """USI counts plies; -0 is YaneuraOu's word for a lost game, and clients understand it."""
        return "-0" if moves == 0 else str(2 * moves - 1 if moves > 0 else 2 * moves)

    def message(self, text: str) -> str:
        """An ``info string`` line in ASCII: some clients decode our output as Shift-JIS and crash on other bytes."""
        return super().message(text.encode("ascii", "backslashreplace").decode("ascii"))

    def unknown_option(self, reason: str) -> None:
        """GUIs send options of other engines: tell of them in debug mode only."""
        self.tell_in_debug(reason)

    def answer(self, best: BestMove, limits: Limits) -> list[str]:
        if limits.solve:
            result = best.checkmate
            if result is None:  # no position, or the end of the process
                return ["checkmate timeout"]
            return [" ".join(("checkmate", *(result.moves if result.verdict == "mate" else (result.verdict,))))]
        if best.win:
            return [game_over_line(best.lines, mate=self.mate), "bestmove win"]
        if best.resign:
            return ["bestmove resign"]
        return super().answer(best, limits)


def _limits(go: GoWords) -> Limits:
    """The limits of a ``go``: USI adds a move's increment before the move, and sends the clocks without it."""
    limits = go.limits("b", "w")
    black, white = (
        None if time is None else time + increment
        for time, increment in zip(limits.time, limits.increment, strict=True)
    )
    return replace(limits, time=(black, white))


add_arguments = partial(conversation.add_arguments, "usi")
main = partial(conversation.converse, "usi", UsiSession)
