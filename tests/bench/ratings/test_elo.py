"""Elo differences and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from az_engine.bench.ratings.elo import MatchScore, elo_of_score


@pytest.mark.parametrize(
    ("score", "elo"), [(0.5, 0.0), (0.64, 100.0), (0.76, 200.0), (10 / 11, 400.0), (1 / 11, -400.0)]
)
def test_known_values(score: float, elo: float) -> None:
    assert elo_of_score(score) == pytest.approx(elo, abs=0.5)


def test_no_side_of_the_board() -> None:
    ours, theirs = MatchScore(30, 20, 10), MatchScore(10, 20, 30)
    assert ours.elo == pytest.approx(-theirs.elo)
    low, high = ours.elo_interval()
    assert list(theirs.elo_interval()) == pytest.approx([-high, -low])


def test_decided_matches_have_honest_intervals() -> None:
    for games in (1, 4, 100):
        score = MatchScore(games, 0, 0)
        low, high = score.elo_interval()
        assert score.elo == math.inf
        assert math.isfinite(low)
        assert high == math.inf
    assert MatchScore(100, 0, 0).elo_interval()[0] > MatchScore(4, 0, 0).elo_interval()[0]
    assert MatchScore().score == 0.5


@pytest.mark.parametrize("chances", [(0.5, 0.3, 0.2), (0.9, 0.05, 0.05), (0.2, 0.6, 0.2), (1 / 3, 1 / 3, 1 / 3)])
def test_the_interval_covers_the_truth_as_often_as_it_says(chances: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(0)
    truth = chances[0] + 0.5 * chances[1]
    matches = [MatchScore(*map(int, rng.multinomial(100, chances))) for _ in range(2000)]
    covered = sum(low <= truth <= high for low, high in (m.score_interval() for m in matches)) / len(matches)
    assert 0.93 <= covered <= 0.97


def test_an_interval_in_words() -> None:
    assert MatchScore(20, 0, 0).elo_words.startswith("more than +")
    assert MatchScore(0, 0, 20).elo_words.startswith("less than -")
    assert MatchScore(39, 0, 1).elo_words == "+636 [+381, no limit]"
    assert MatchScore(1, 0, 39).elo_words == "-636 [no limit, -381]"
    assert MatchScore(5, 3, 5).elo_words == "+0 [-161, +161]"
