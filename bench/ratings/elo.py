"""From a match's wins, draws and losses to an Elo difference with its 95 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959964
_PRIOR = 0.5  # Jeffreys' prior for each of win, draw, loss: keeps the interval honest when all games end alike


def normal_cdf(x: float) -> float:
    """Chance that a standard normal number is below x."""
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def score_of_elo(elo: float) -> float:
    """Expected points a game of a player ahead by ``elo`` (AlphaZero 2018, Methods, 'Evaluation')."""
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def elo_of_score(score: float) -> float:
    """The inverse of :func:`score_of_elo`; +-inf at 1 and 0."""
    if score <= 0.0:
        return -math.inf
    if score >= 1.0:
        return math.inf
    return 0.0 - 400.0 * math.log10(1.0 / score - 1.0)  # 0, not -0, for an even score


@dataclass(frozen=True, slots=True)
class MatchScore:
    """Games of player A against player B, from A's view."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Points a game in [0, 1]; 0.5 without games."""
        return (self.wins + 0.5 * self.draws) / self.games if self.games else 0.5

    @property
    def elo(self) -> float:
        """A's Elo less B's; infinite when one side won every game."""
        return elo_of_score(self.score)

    @property
    def los(self) -> float:
        """Likelihood of superiority: the chance that A is stronger, by the decided games (normal approximation)."""
        decided = self.wins + self.losses
        return normal_cdf((self.wins - self.losses) / math.sqrt(decided)) if decided else 0.5

    def score_interval(self) -> tuple[float, float]:
        """95 % interval of the score: normal, with the moments of the Dirichlet posterior of (win, draw, loss)."""
        counts = (self.wins + _PRIOR, self.draws + _PRIOR, self.losses + _PRIOR)
        total = sum(counts)
        points = (1.0, 0.5, 0.0)
        mean = sum(c * p for c, p in zip(counts, points, strict=True)) / total
        square = sum(c * p * p for c, p in zip(counts, points, strict=True)) / total
        spread = Z95 * math.sqrt((square - mean * mean) / (total + 1.0))
        return max(mean - spread, 0.0), min(mean + spread, 1.0)

    def elo_interval(self) -> tuple[float, float]:
        """95 % interval of the Elo difference; an end is infinite where the games cannot bound it."""
        low, high = self.score_interval()
        return elo_of_score(low), elo_of_score(high)

    @property
    def elo_words(self) -> str:
        low, high = self.elo_interval()
        if math.isinf(self.elo):
            return f"more than {low:+.0f}" if self.elo > 0 else f"less than {high:+.0f}"
        bounds = ("no limit" if math.isinf(end) else f"{end:+.0f}" for end in (low, high))
        return f"{self.elo:+.0f} [{', '.join(bounds)}]"

    def __str__(self) -> str:
        counts = f"+{self.wins} ={self.draws} -{self.losses} of {self.games}"
        return f"{counts}, score {100 * self.score:.1f} %, Elo {self.elo_words} (95 %)"
