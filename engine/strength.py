"""Playing weaker on purpose: fewer visits and a livelier choice of moves for a wanted rating. Rough, and said to be."""

from __future__ import annotations

from dataclasses import replace

from .params import SearchParams

LOWEST, HIGHEST = 800, 2200  # ratings that can be asked for
_FULL = 2200.0  # rating taken for _FULL_VISITS visits a move
_FULL_VISITS = 1600.0
_ELO_PER_DOUBLING = 140.0


def limit_strength(params: SearchParams, elo: int, visits: int | None, plies: int) -> tuple[SearchParams, int]:
    """Search settings and visits for a rating in [LOWEST, HIGHEST]; ``plies`` varies the random choice by move.

    Visits halve for every _ELO_PER_DOUBLING points below _FULL; below one visit the choice among moves is drawn with a
    rising temperature instead.
    """
    doublings = (_FULL - elo) / _ELO_PER_DOUBLING
    allowed = max(8, round(_FULL_VISITS / 2.0**doublings))
    temperature = min(1.0, max(0.0, (1800.0 - elo) / 1000.0))
    chosen = min(visits, allowed) if visits is not None else allowed
    return replace(params, temperature=temperature, seed=params.seed * 1_000_003 + plies), chosen
