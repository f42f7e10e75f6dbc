"""Elo ratings: against brute force, against what made the games, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from az_engine.bench.ratings.bayes import PRIOR_ELO, PairScore, rate
from az_engine.engine.errors import DataError


def chance(difference: float) -> float:
    return 1 / (1 + 10 ** (-difference / 400))


def test_one_opponent_is_what_brute_force_says() -> None:
    score = PairScore("net", "random", 13, 4, 3)
    rating = rate([score], "random")["net"]
    grid = np.linspace(-3000, 3000, 600_001)
    p = 1 / (1 + 10 ** (-grid / 400))
    log = 15 * np.log(p) + 5 * np.log(1 - p) - grid**2 / (2 * PRIOR_ELO**2)
    assert rating.elo == pytest.approx(float(grid[log.argmax()]), abs=0.02)
    best = int(log.argmax())
    step = grid[1] - grid[0]
    curvature = (log[best - 100] - 2 * log[best] + log[best + 100]) / (100 * step) ** 2
    assert rating.high - rating.elo == pytest.approx(1.96 / math.sqrt(-curvature), rel=1e-3)
    assert rating.games == 20


def test_intervals_hold_the_strengths_that_made_the_games() -> None:
    rng = np.random.default_rng(3)
    truth = {"a": 0.0, "b": 120.0, "c": 300.0, "d": 420.0}
    inside = total = 0
    for _ in range(60):
        scores = []
        for first, second in (("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")):
            wins = int(rng.binomial(60, chance(truth[first] - truth[second])))
            scores.append(PairScore(first, second, wins, 0, 60 - wins))
        ratings = rate(scores, "a")
        for name in "bcd":
            total += 1
            inside += ratings[name].low <= truth[name] <= ratings[name].high
    assert 0.9 < inside / total < 0.99


def test_a_player_who_wins_everything_has_a_finite_rating_and_a_wide_interval() -> None:
    some = rate([PairScore("net", "random", 8, 0, 0)], "random")["net"]
    more = rate([PairScore("net", "random", 80, 0, 0)], "random")["net"]
    assert 200 < some.elo < more.elo < 2000
    assert more.high - more.low > 300


def test_a_match_split_in_two_rates_the_same() -> None:
    whole = rate([PairScore("x", "random", 10, 2, 4), PairScore("y", "x", 3, 3, 3)], "random")
    parts = rate(
        [PairScore("x", "random", 6, 1, 1), PairScore("random", "x", 3, 1, 4), PairScore("y", "x", 3, 3, 3)], "random"
    )
    for name, rating in whole.items():
        assert parts[name].elo == pytest.approx(rating.elo, abs=1e-6)
        assert parts[name].low == pytest.approx(rating.low, abs=1e-6)


def test_players_that_no_game_connects_are_left_out() -> None:
    ratings = rate([PairScore("x", "random", 3, 0, 1), PairScore("p", "q", 5, 0, 0)], "random")
    assert set(ratings) == {"random", "x"}
    with pytest.raises(DataError, match="random has played no games"):
        rate([PairScore("p", "q", 5, 0, 0)], "random")


def test_several_known_ratings() -> None:
    """One unknown player between two known ones: the mode of one curve, by brute force."""
    scores = [PairScore("net", "low", 13, 4, 3), PairScore("high", "net", 9, 6, 5), PairScore("low", "high", 0, 0, 9)]
    ratings = rate(scores, "low", {"high": 250.0})
    assert (ratings["high"].elo, ratings["high"].low, ratings["high"].high) == (250.0, 250.0, 250.0)
    assert ratings["high"].games == 29
    grid = np.linspace(-1000, 1500, 250_001)
    low, high = 1 / (1 + 10 ** (-grid / 400)), 1 / (1 + 10 ** ((250 - grid) / 400))
    log = 15 * np.log(low) + 5 * np.log(1 - low) + 8 * np.log(high) + 12 * np.log(1 - high)
    assert ratings["net"].elo == pytest.approx(float(grid[(log - grid**2 / (2 * PRIOR_ELO**2)).argmax()]), abs=0.02)
    alone = rate(scores, "low")["net"]
    assert ratings["net"].high - ratings["net"].low < alone.high - alone.low, "two anchors say more than one"
    apart = [PairScore("x", "low", 3, 0, 1), PairScore("y", "high", 3, 0, 1)]
    assert set(rate(apart, "low", {"high": 250.0})) == {"x", "y", "low", "high"}
    with pytest.raises(DataError, match="other has played no games"):
        rate(scores, "low", {"other": 100.0})
