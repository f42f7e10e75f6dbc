"""How a position stands by the rules: one code, from the view of the side to move."""

from __future__ import annotations

LOSS, DRAW, WIN, RUNNING = -1, 0, 1, 2
BY_TABLES = 2000  # plies to an end that endgame tables know of: more than any mate has
