"""The sequential test: its bounds, its likelihoods, and how often it errs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from az_engine.bench.ratings.elo import score_of_elo
from az_engine.bench.ratings.sprt import GAME_SCORES, PAIR_SCORES, Sprt, most_likely, parse_sprt
from az_engine.engine.errors import OptionError


def test_bounds_and_arguments() -> None:
    low, high = Sprt(0, 10).bounds
    assert (low, high) == pytest.approx((-math.log(19), math.log(19)))
    assert parse_sprt("0,10") == Sprt(0, 10, 0.05, 0.05)
    assert parse_sprt("-5,0,0.1,0.02") == Sprt(-5, 0, 0.1, 0.02)
    for text in ("", "0", "10,0", "0,10,0.6", "0,x", "0,1,0.05,0.05,1", "0,inf", "0,20000", "-200000,0"):
        with pytest.raises(OptionError):
            parse_sprt(text)


def test_two_outcomes_are_walds_test() -> None:
    """Without draws the mean leaves no freedom: the ratio is that of two binomial distributions."""
    test = Sprt(0, 100)
    p0, p1 = score_of_elo(0), score_of_elo(100)
    exact = 60 * math.log(p1 / p0) + 40 * math.log((1 - p1) / (1 - p0))
    assert test.llr((40, 60), (0.0, 1.0)) == pytest.approx(exact, rel=1e-9)
    assert test.llr((40, 0, 60), GAME_SCORES) == pytest.approx(exact, abs=1e-3)


def test_the_constrained_distribution_is_the_most_likely_one() -> None:
    counts, mean = (3.0, 10.0, 25.0, 12.0, 5.0), 0.55
    best = most_likely(counts, PAIR_SCORES, mean)
    assert sum(best) == pytest.approx(1)
    assert sum(p * x for p, x in zip(best, PAIR_SCORES, strict=True)) == pytest.approx(mean)

    def log_likelihood(p: np.ndarray) -> float:
        return float((np.array(counts) * np.log(p)).sum())

    rng = np.random.default_rng(0)
    free = np.linalg.svd(np.stack([np.ones(5), np.array(PAIR_SCORES)]))[2][2:]  # directions that change neither sum
    for _ in range(200):
        other = np.array(best) + rng.normal(0, 0.01, 3) @ free
        if (other > 0).all():
            assert log_likelihood(other) <= log_likelihood(np.array(best)) + 1e-12


def pair_distribution(elo: float, draws: float, bias: float) -> np.ndarray:
    """Points of pairs of games whose openings favour one side by up to ``bias`` Elo: they are not independent."""
    chances = np.zeros(5)
    for favour in np.linspace(-bias, bias, 9):
        games = []
        for sign in (1, -1):
            score = score_of_elo(elo + sign * favour)
            wins = score * (1 - draws)
            games.append(np.array([1 - draws - wins, draws, wins]))
        chances += np.convolve(games[0], games[1]) / 9
    return chances


@pytest.mark.slow
@pytest.mark.parametrize("right", ["H0", "H1"])
def test_error_rates_over_simulated_events(right: str) -> None:
    """At the hypotheses themselves, where it errs most; of 400 events 20 may be wrong, and 2.6 deviations more."""
    test, events, seeds = Sprt(0, 80, 0.05, 0.05), 400, {"H0": 1, "H1": 2}
    # the mean score must be that of the hypothesis exactly: shift the underlying Elo until it is
    wanted, low, high = score_of_elo(test.elo0 if right == "H0" else test.elo1), -200.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = float(pair_distribution(middle, 0.3, 150) @ np.array(PAIR_SCORES))
        low, high = (middle, high) if mean < wanted else (low, middle)
    chances = pair_distribution(low, 0.3, 150)
    rng = np.random.default_rng(seeds[right])
    wrong = lengths = 0
    for _ in range(events):
        counts, verdict = np.zeros(5, np.int64), None
        while verdict is None:
            counts += rng.multinomial(2, chances)  # looked at after every other pair
            verdict = test.verdict(counts.tolist(), PAIR_SCORES)
        wrong += verdict != right
        lengths += int(counts.sum())
    assert wrong / events <= 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / events)
    assert 10 < lengths / events < 200  # a test of fixed length with these errors takes about twice as many
