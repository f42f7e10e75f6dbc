"""AlphaGo Zero's evaluator: a checkpoint must beat the best player so far before it generates games.

400 games at temperature 0; more than 55 % of the points replace the best player (AlphaGo Zero, Methods, 'Evaluator').
Without noise two deterministic players repeat one game, so pairs of games begin with a few random moves, each pair
played with both colours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....engine.games.base import Game
from ....engine.search.arena import NetPlayer, play_pairs, random_openings
from ..config import GateConfig

CHUNK = 40  # games between checks whether the verdict is decided


@dataclass(frozen=True, slots=True)
class Verdict:
    """A candidate's result against the best player, in the candidate's view."""

    wins: int
    draws: int
    losses: int
    promoted: bool

    @property
    def score(self) -> float:
        games = self.wins + self.draws + self.losses
        return (self.wins + 0.5 * self.draws) / games if games else 0.0


def play_match(
    game: Game,
    candidate: NetPlayer,
    best: NetPlayer,
    config: GateConfig,
    *,
    seed: int,
    max_moves: int,
    stopping: Callable[[], bool] = lambda: False,
) -> Verdict | None:
    """Play until the verdict is decided, at most config.games. Blocks; None when ``stopping`` became true."""
    total = config.games + config.games % 2
    openings = random_openings(game, total // 2, config.opening_plies, seed)
    results: list[int] = []
    needed = config.score * total
    while len(results) < total:
        chunk = openings[len(results) // 2 : (len(results) + CHUNK) // 2]
        games = play_pairs(game, candidate, best, chunk, seed=seed + len(results), max_moves=max_moves)
        results += [g.result if i % 2 == 0 else -g.result for i, g in enumerate(games)]
        points = sum(0.5 + 0.5 * r for r in results)
        if points > needed or points + total - len(results) <= needed:
            break
        if stopping():
            return None
    return Verdict(results.count(1), results.count(0), results.count(-1), points > needed)
