"""Play weaker on purpose: fewer visits and a more random choice of moves, for a rating that is only approximate."""

from __future__ import annotations

from dataclasses import replace

from ..params import SearchParams

LOWEST, HIGHEST = 800, 2200  # allowed ratings
_FULL = 2200.0  # rating taken for _FULL_VISITS visits a move
_FULL_VISITS = 1600.0
_ELO_PER_DOUBLING = 140.0
_LEAST_VISITS = 16  # fewer leave too few moves to choose from


def limit_strength(params: SearchParams, elo: int, visits: int | None) -> tuple[SearchParams, int]:
    """Search settings and visits for a rating in [LOWEST, HIGHEST].

    Visits halve for every _ELO_PER_DOUBLING points below _FULL, down to _LEAST_VISITS; below 1800 the move is drawn
    with a rising temperature. Mates have to be found by the search alone. Fitted by eye to games of the first embedded
    net against Stockfish's UCI_Elo 1400 and 1800 at 50 ms a move.
    """
    doublings = (_FULL - elo) / _ELO_PER_DOUBLING
    allowed = max(_LEAST_VISITS, round(_FULL_VISITS / 2.0**doublings))
    temperature = max(0.0, (1800.0 - elo) / 1500.0)
    chosen = min(visits, allowed) if visits is not None else allowed
    return replace(params, mate_plies=0, temperature=temperature), chosen
