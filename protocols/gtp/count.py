"""Counting a finished game by area: with all stones alive, as Tromp-Taylor counts, or without those that are dead.

Dead are the chains whose points the net expects to become the opponent's. Without such an output of the net nothing is
known of them, and every stone on the board counts as alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .board import STONES, Board
from .rules import handicap_points

_DEAD = -0.3  # mean ownership of a chain, its owner's view, below which it counts as dead: when in doubt it lives


@dataclass(frozen=True, slots=True)
class Terms:
    """What is added to white's area: komi, and the rule set's points for black's handicap stones."""

    komi: float
    rules: str
    handicap: int


def dead_chains(board: Board, ownership: Sequence[float] | None, turn: str) -> list[frozenset[int]]:
    """Chains that the net thinks dead; ``ownership`` in [-1, 1] for each point, from the view of ``turn``."""
    if ownership is None:
        return []
    dead = []
    for kind, points, _ in board.regions():
        if kind == ".":
            continue
        mean = sum(ownership[p] for p in points) / len(points)
        if (mean if kind == STONES[turn] else -mean) < _DEAD:
            dead.append(points)
    return dead


def count(board: Board, terms: Terms, dead: Sequence[frozenset[int]] = ()) -> float:
    """Black's area less white's, komi and the like included, after the dead chains are taken off."""
    board = board.with_stones({p: "." for points in dead for p in points})
    area = 0
    for kind, points, around in board.regions():
        owner = kind if kind != "." else "".join(sorted(around))
        area += {"X": 1, "O": -1}.get(owner, 0) * len(points)
    return area - terms.komi - handicap_points(terms.rules, terms.handicap)


def result(margin: float) -> str:
    """A count as GTP writes it: ``B+3.5``, ``W+0.5``, ``0``."""
    return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"
