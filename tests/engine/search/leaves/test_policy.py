"""Priors from logits: the softmax and the order of the moves, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from az_engine.engine.games.leaves import make_leaves
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.search.leaves.policy import digest, put_first


def digested(logits: np.ndarray, actions: np.ndarray, temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray, int]:
    """(moves u2[n], priors f4[n], bad rows) of one row of logits f4[A] and its legal actions u2[n]."""
    n = len(actions)
    leaves = make_leaves(1, n, 1)
    leaves.moves[0], leaves.actions[0] = np.arange(n) + 7, actions
    leaves.rows["count"], leaves.rows["outcome"] = n, RUNNING
    bad = digest(leaves, 1, logits[None], np.zeros((1, 3), np.float32), np.float32(temperature))
    return leaves.moves[0] - 7, leaves.priors[0], int(bad)


@pytest.mark.parametrize("count", [1, 2, 39, 40, 41, 82, 362, 593])
def test_softmax_and_order(count: int) -> None:
    rng = np.random.default_rng(count)
    for spread, temperature in ((0.0, 1.0), (0.001, 1.0), (1.0, 1.0), (4.0, 1.4), (60.0, 1.0)):
        logits = (rng.normal(size=700) * spread).astype(np.float32)
        logits[::5] = logits[0]  # equal ones
        actions = np.sort(rng.choice(700, count, replace=False)).astype(np.uint16)
        moves, priors, bad = digested(logits, actions, temperature)
        assert bad == 0
        exact = logits[actions].astype(np.float64) / temperature
        exact = np.exp(exact - exact.max())
        exact /= exact.sum()
        assert sorted(moves.tolist()) == list(range(count))
        np.testing.assert_allclose(priors, exact[moves], rtol=2e-5, atol=1e-30)
        assert (np.diff(priors) <= 0).all()
        tied = np.flatnonzero(np.diff(priors) == 0)
        assert (moves[tied + 1] > moves[tied]).all()  # equal priors keep the order of the moves
        if spread:
            assert priors[0] >= priors[-1]


def test_order_of_priors_that_the_tree_cannot_tell_apart() -> None:
    rng = np.random.default_rng(0)
    logits = (rng.integers(0, 50, 100) * 1e-6).astype(np.float32)
    moves, priors, _ = digested(logits, np.arange(100, dtype=np.uint16))
    assert (np.diff(priors) <= 0).all()
    assert len(np.unique(priors)) > 5
    assert logits[moves[0]] == logits.max()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_logits_that_are_not_finite(wrong: float) -> None:
    logits = np.zeros(50, np.float32)
    logits[3] = wrong
    assert digested(logits, np.arange(50, dtype=np.uint16))[2] == 1
    assert digested(logits, np.arange(4, 50, dtype=np.uint16))[2] == 0  # an illegal move's logit does not matter
    logits[3] = -np.inf  # a net may say never
    moves, priors, bad = digested(logits, np.arange(50, dtype=np.uint16))
    assert bad == 0
    assert moves[-1] == 3
    assert priors[-1] < 1e-30


def test_put_first_raises_a_move_to_the_front() -> None:
    moves = np.array([4, 7, 1, 9], np.uint16)
    priors = np.array([0.5, 0.25, 0.125, 0.125], np.float32)
    put_first(1, moves, priors)
    assert moves.tolist() == [1, 4, 7, 9]
    assert priors.tolist() == pytest.approx(np.array([0.5, 0.5, 0.25, 0.125]) / 1.375)
    before = priors.copy()
    put_first(2, moves, priors)  # not there: a search of other moves only
    assert moves.tolist() == [1, 4, 7, 9]
    assert (priors == before).all()
    put_first(1, moves, priors)
    assert priors.tolist() == pytest.approx(before.tolist())
