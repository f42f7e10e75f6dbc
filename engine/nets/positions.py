"""Positions as a net sees them, and positions to try one on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..games.base import Game, State
from ..games.outcome import RUNNING

_PLIES = 200  # of a random game

FIRST = np.zeros(1, np.int64)  # a line is one game, which begins at its first position


def encode(game: Game, lines: Sequence[State], history: int) -> NDArray[np.uint8]:
    """Planes u1[B, C, H, W] of the last positions of B lines, ``history`` of each shown (0: all that fit)."""
    planes = np.zeros((len(lines), *game.planes), np.uint8)
    for row, line in enumerate(lines):
        game.encode(line, FIRST + len(line) - 1, FIRST, planes[row : row + 1], history)
    return planes


def random_planes(game: Game, count: int, seed: int, history: int = 0) -> NDArray[np.uint8]:
    """Planes u1[count, C, H, W] of positions of random games, with ``history`` positions each (0: all there are)."""
    return encode(game, random_lines(game, count, seed), history)


def random_lines(game: Game, count: int, seed: int) -> list[State]:
    """Lines State[n] that end in ``count`` successive positions of random games, none of which is over there."""
    rng = np.random.default_rng(seed)
    line, lines = game.initial(), []
    for _ in range(count):
        moves = game.legal_moves(line)
        if game.outcome(line) != RUNNING or not len(moves) or len(line) > _PLIES:
            line = game.initial()
            moves = game.legal_moves(line)
        lines.append(line)
        line = game.play(line, int(rng.choice(moves)))
    return lines
