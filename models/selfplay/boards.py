"""The boards of a run: its own, and smaller or larger ones that part of its games are played on.

A small board teaches most of what a large one needs, at a fraction of the time for a game (Wu 2019, 'Accelerating
Self-Play Learning in Go', section 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine.errors import OptionError
from ...engine.games.base import Game


@dataclass(frozen=True, slots=True)
class Board:
    lines: int  # 0 for the run's own, as in GameRecord
    game: Game
    share: float  # of the positions that are played


def boards_of(ours: Game, shares: Mapping[str, Any]) -> tuple[Board, ...]:
    """The run's own board, then the others; ``shares``: of the positions, by lines. Errors: OptionError."""
    others = []
    for lines, share in shares.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise OptionError(f"boards.{lines} is {share!r}; it must be a share between 0 and 1")
        game = ours.sized(int(lines) if lines.isascii() and lines.isdigit() else 0)
        if game is ours:
            raise OptionError(f"boards.{lines} is the run's own board, which gets what the others leave")
        others.append(Board(int(lines), game, float(share)))
    left = 1 - sum(board.share for board in others)
    if left <= 0:
        raise OptionError(f"the shares of the other boards add up to {1 - left:g}; leave some for the run's own")
    return Board(0, ours, left), *sorted(others, key=lambda board: board.lines)
