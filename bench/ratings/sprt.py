"""The sequential probability ratio test of a match: stop when one of two Elo differences has become likely enough.

The generalised test of the distribution of game pairs (pentanomial), which knows that two games of one opening go
together, or of single games (trinomial): the likelihood of each hypothesis is that of the most likely distribution
with its mean score (Van den Bergh, 'A practical introduction to the GSPRT'; Wald 1945 for the bounds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...engine.errors import OptionError
from .elo import score_of_elo

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # points a game of a pair of games
GAME_SCORES = (0.0, 0.5, 1.0)
_UNSEEN = 1e-3  # games that count as seen of an outcome that was not: no likelihood is infinite
_MOST_ELO = 2000
_STEPS = 45  # of bisection

Verdict = Literal["H0", "H1"]


def most_likely(counts: Sequence[float], values: Sequence[float], mean: float) -> list[float]:
    """The probabilities that make ``counts`` most likely among those with that mean of ``values``.

    p_i = f_i / (1 + t (x_i - mean)) with f_i the observed frequencies; t makes the mean right (Lagrange).
    """
    total = sum(counts)
    spread = [x - mean for x in values]
    low, high = -1.0 / max(spread), -1.0 / min(spread)  # where all p_i stay positive

    def excess(t: float) -> float:
        return sum(n * d / (1.0 + t * d) for n, d in zip(counts, spread, strict=True))

    for _ in range(_STEPS):  # excess falls from +inf to -inf
        middle = (low + high) / 2.0
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    t = (low + high) / 2.0
    return [n / total / (1.0 + t * d) for n, d in zip(counts, spread, strict=True)]


@dataclass(frozen=True, slots=True)
class Sprt:
    """H0: the difference is ``elo0``; H1: it is ``elo1``. alpha: chance to accept H1 under H0; beta: H0 under H1."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not (self.elo0 < self.elo1 and 0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise OptionError("an SPRT needs elo0 < elo1, and alpha and beta between 0 and 0.5")
        if not -_MOST_ELO <= self.elo0 < self.elo1 <= _MOST_ELO:
            raise OptionError(f"an SPRT decides between differences of {-_MOST_ELO} to {_MOST_ELO} Elo")

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the log-likelihood ratio: H0 is accepted at the lower, H1 at the upper one."""
        return math.log(self.beta / (1.0 - self.alpha)), math.log((1.0 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int], values: Sequence[float]) -> float:
        """Log-likelihood ratio of H1 to H0, given how often each of ``values`` (points a game) was scored."""
        if not sum(counts):
            return 0.0
        seen = [max(float(count), _UNSEEN) for count in counts]
        zero, one = (most_likely(seen, values, score_of_elo(elo)) for elo in (self.elo0, self.elo1))
        return sum(n * math.log(p1 / p0) for n, p0, p1 in zip(seen, zero, one, strict=True))

    def verdict(self, counts: Sequence[int], values: Sequence[float]) -> Verdict | None:
        """Which hypothesis is accepted; None: play on."""
        llr, (low, high) = self.llr(counts, values), self.bounds
        return "H0" if llr <= low else "H1" if llr >= high else None

    def __str__(self) -> str:
        return f"SPRT({self.elo0:g}, {self.elo1:g}; alpha {self.alpha:g}, beta {self.beta:g})"


def parse_sprt(text: str) -> Sprt:
    """``ELO0,ELO1[,ALPHA[,BETA]]``. Errors: OptionError."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 4:
        raise OptionError(f"--sprt {text!r}: give elo0,elo1 or elo0,elo1,alpha,beta, such as 0,10,0.05,0.05")
    return Sprt(*numbers)
