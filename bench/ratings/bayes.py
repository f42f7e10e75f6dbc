"""Elo ratings of many players from the games between them, by Bayesian logistic regression.

p(a beats b) = 1 / (1 + 10^((e_b - e_a) / 400)); a draw counts as half a win and half a loss (AlphaGo Zero, Methods,
'Evaluation'; Coulom's BayesElo). The ratings are the posterior's mode under a wide normal prior around the anchor;
their 95 % intervals come from its curvature there (Laplace).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from .elo import Z95

PRIOR_ELO = 1000.0  # standard deviation of a rating before any game: tames players who win or lose every game
_SCALE = math.log(10) / 400


@dataclass(frozen=True, slots=True)
class PairScore:
    """Games between two players, from the view of ``a``."""

    a: str
    b: str
    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's Elo above the anchor's, with its 95 % interval."""

    elo: float
    low: float
    high: float
    games: int


def rate(scores: Iterable[PairScore], anchor: str, known: Mapping[str, float] | None = None) -> dict[str, Rating]:
    """The ratings of all players that are connected with the anchor by games; the anchor's is 0.

    known: of other players, whose ratings are known: above the anchor's. They connect as the anchor does.
    Errors: DataError when one of these has no games.
    """
    tables = [s for s in scores if s.games and s.a != s.b]
    fixed = {**(known or {}), anchor: 0.0}
    connected = _connected(tables, fixed)
    for name in fixed:
        if not any(name in (s.a, s.b) for s in tables):
            raise DataError(f"{name} has played no games: no ratings can be computed")
    tables = [s for s in tables if s.a in connected]
    others = sorted(connected - set(fixed))
    place = {name: i for i, name in enumerate(others)}
    design = np.zeros((len(tables), len(others)))
    ahead = np.zeros(len(tables))  # of the known players' ratings
    points, games = np.zeros(len(tables)), np.zeros(len(tables))
    for row, score in enumerate(tables):
        for name, sign in ((score.a, 1.0), (score.b, -1.0)):
            if name in place:
                design[row, place[name]] += sign
            else:
                ahead[row] += sign * fixed[name]
        points[row], games[row] = score.wins + 0.5 * score.draws, score.games
    mode, covariance = _posterior(design, ahead, points, games)
    spread = Z95 * np.sqrt(np.diag(covariance))
    played: dict[str, int] = defaultdict(int)
    for score in tables:
        played[score.a] += score.games
        played[score.b] += score.games
    ratings = {name: Rating(elo, elo, elo, played[name]) for name, elo in fixed.items()}
    for name, i in place.items():
        elo, half = float(mode[i]), float(spread[i])
        ratings[name] = Rating(elo, elo - half, elo + half, played[name])
    return ratings


def _posterior(
    design: NDArray[np.float64], ahead: NDArray[np.float64], points: NDArray[np.float64], games: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mode f8[P] and covariance f8[P, P] of the ratings in Elo, by Newton's method with step halving.

    The first player of pairing t is design f8[T, P] @ ratings + ahead f8[T] Elo better than the second.
    """
    x, offset = design * _SCALE, ahead * _SCALE
    precision = np.eye(x.shape[1]) / PRIOR_ELO**2
    elo = np.zeros(x.shape[1])

    def loss(e: NDArray[np.float64]) -> float:
        logit = x @ e + offset
        return float((games * np.logaddexp(0, logit) - points * logit).sum() + 0.5 * e @ precision @ e)

    for _ in range(200):
        chance = 1 / (1 + np.exp(-(x @ elo + offset)))
        gradient = x.T @ (games * chance - points) + precision @ elo
        hessian = x.T @ (x * (games * chance * (1 - chance))[:, None]) + precision
        step = np.linalg.solve(hessian, gradient)
        size, now = 1.0, loss(elo)
        while loss(elo - size * step) > now and size > 1e-6:
            size /= 2
        elo = elo - size * step
        if np.abs(step).max() < 1e-6:
            break
    chance = 1 / (1 + np.exp(-(x @ elo + offset)))
    hessian = x.T @ (x * (games * chance * (1 - chance))[:, None]) + precision
    return elo, np.linalg.inv(hessian).astype(np.float64)


def _connected(scores: list[PairScore], anchors: Iterable[str]) -> set[str]:
    """The players that games connect with the anchors, these among them."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for score in scores:
        neighbours[score.a].add(score.b)
        neighbours[score.b].add(score.a)
    reached, waiting = set(anchors), list(anchors)
    while waiting:
        for name in neighbours[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached
