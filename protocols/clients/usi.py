"""External engines over USI: what they do differently from UCI engines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...engine.limits import Limits
from .base import Answer, PvInfo
from .uci import UciClient


class UsiClient(UciClient):
    """One external USI engine. ``isready`` begins a game and is not sent during one."""

    greeting = ("usi", "usiok")
    another_game = "usinewgame"
    notation = "sfen"
    second = "w"
    move = re.compile(r"(?:[1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])")
    always = ("USI_Hash", "USI_Ponder")
    has_byoyomi = True
    increment_first = True

    def new_game(self) -> None:
        self.ready()
        self.send(self.another_game)

    def game_over(self, result: str) -> None:
        self.send(f"gameover {result}")

    @staticmethod
    def _numbers(limits: Limits) -> Sequence[tuple[str, int | None]]:
        fischer = any(limits.increment) and not limits.byoyomi
        black, white = (
            max((time or 0) - increment, 0) for time, increment in zip(limits.time, limits.increment, strict=True)
        )  # USI counts the increment of the coming move apart
        return (
            ("btime", black if limits.clocked else None),
            ("wtime", white if limits.clocked else None),
            ("byoyomi", limits.byoyomi if limits.clocked and not fischer else None),
            ("binc", limits.increment[0] if fischer else None),
            ("winc", limits.increment[1] if fischer else None),
            ("nodes", limits.nodes),
            ("depth", limits.depth),
            ("movetime", limits.movetime),
        )

    def _settle(self) -> None:
        for line in self.waiting():
            self._check_unasked(line)

    def _without_move(self, word: str, lines: tuple[PvInfo, ...], seconds: float) -> Answer | None:
        if word in ("resign", "win"):
            return Answer(None, None, lines, seconds, resign=word == "resign", win=word == "win")
        return super()._without_move(word, lines, seconds)
