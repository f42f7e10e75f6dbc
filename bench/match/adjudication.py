"""Adjudication: a game ends early when the players' own scores call it lost or drawn, or a tablebase decides it.

The papers' opponents resigned at -900 centipawns for ten consecutive moves, AlphaZero below a 5 % chance to win. All
of it is off by default: nets are rated by games played to the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...engine.errors import OptionError
from ...protocols.clients.base import PvInfo
from .arbiter import Arbiter, Ending

_MATE = 100_000  # centipawns of a mate that a player announces


@dataclass(frozen=True, slots=True)
class Adjudication:
    """When games are adjudicated. Numbers of moves count a player's own moves in a row; 0 = never."""

    resign_cp: int = 0  # a player loses whose score is at most -resign_cp ...
    resign_moves: int = 0
    chance: float = 0.0  # ... or whose chance, a draw counting half, is below this
    chance_moves: int = 0
    draw_cp: int = 0  # drawn when both players' scores are within draw_cp ...
    draw_moves: int = 0
    draw_from: int = 0  # ... from this ply on
    tablebase: str = ""  # folder of Syzygy files


NONE = Adjudication()


def parse_resign(text: str) -> tuple[int, int]:
    """(centipawns, moves) of ``CP[,MOVES]``. Errors: OptionError."""
    centipawns, moves = _numbers(text, "--resign", "centipawns and moves, such as 900,10", (None, 10))
    return int(centipawns), int(moves)


def parse_chance(text: str) -> tuple[float, int]:
    """(chance, moves) of ``PERCENT[,MOVES]``. Errors: OptionError."""
    percent, moves = _numbers(text, "--resign-rate", "a percentage and moves, such as 5,3", (None, 1))
    if not 0 < percent < 50:
        raise OptionError("--resign-rate must be between 0 and 50 per cent")
    return percent / 100, int(moves)


def parse_draw(text: str) -> tuple[int, int, int]:
    """(centipawns, moves, first ply) of ``CP,MOVES,PLY``. Errors: OptionError."""
    form = "centipawns, moves and the first ply, such as 10,8,80"
    centipawns, moves, ply = map(int, _numbers(text, "--draw", form, (None, None, None)))
    return centipawns, moves, ply


def _numbers(text: str, option: str, form: str, usual: Sequence[float | None]) -> list[float]:
    """Numbers with commas between them; ``usual`` stand for those left out at the end, None: it must be given."""
    words = text.split(",")
    try:
        numbers = [*map(float, words), *(number for number in usual[len(words) :] if number is not None)]
    except ValueError:
        numbers = []
    if len(numbers) != len(usual) or not all(number >= 0 and math.isfinite(number) for number in numbers):
        raise OptionError(f"{option} {text!r}: give {form}")
    return numbers


@dataclass(slots=True)
class Adjudicator:
    rule: Adjudication
    _losing: list[int] = field(default_factory=lambda: [0, 0])  # moves in a row, by side
    _hopeless: list[int] = field(default_factory=lambda: [0, 0])
    _level: list[int] = field(default_factory=lambda: [0, 0])

    def after_move(self, arbiter: Arbiter, side: int, best: PvInfo | None, plies: int) -> Ending | None:
        """The ending after a move of side 0 or 1 that it scored with ``best``; None while the game goes on."""
        rule, score = self.rule, _score(best)
        chance = _chance(best)
        self._count(self._losing, side, score is not None and score <= -rule.resign_cp)
        self._count(self._hopeless, side, chance is not None and chance < rule.chance)
        self._count(self._level, side, score is not None and abs(score) <= rule.draw_cp and plies >= rule.draw_from)
        if rule.resign_moves and self._losing[side] >= rule.resign_moves:
            return arbiter.won_by(1 - side, f"adjudicated: -{rule.resign_cp} cp or less", "resignation")
        if rule.chance_moves and self._hopeless[side] >= rule.chance_moves:
            return arbiter.won_by(1 - side, f"adjudicated: chance below {100 * rule.chance:g} %", "resignation")
        if rule.draw_moves and min(self._level) >= rule.draw_moves:
            return Ending(0, f"adjudicated: within {rule.draw_cp} cp")
        return arbiter.known_result(rule.tablebase) if rule.tablebase else None

    @staticmethod
    def _count(counts: list[int], side: int, so: bool) -> None:
        counts[side] = counts[side] + 1 if so else 0


def _score(best: PvInfo | None) -> int | None:
    if best is None:
        return None
    return best.cp if best.mate is None else (_MATE if best.mate > 0 else -_MATE)


def _chance(best: PvInfo | None) -> float | None:
    if best is None:
        return None
    if best.chance is not None:
        return best.chance
    return None if best.wdl is None else (best.wdl[0] + best.wdl[1] / 2) / 1000
