"""How a position stands by the rules: one code, from the view of the side to move."""

from __future__ import annotations

LOSS, DRAW, WIN, RUNNING = -1, 0, 1, 2
