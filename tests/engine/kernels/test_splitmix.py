"""Random numbers by key: their distributions, against numpy's and the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from az_engine.engine.kernels.jit import kernel
from az_engine.engine.kernels.splitmix import chance_key, draw, draw_dirichlet, draw_gumbel, draw_normal, uniform


@kernel
def draws(kind, count, alpha, width, key):  # type: ignore[no-untyped-def]
    """out f8[count, width]."""
    stream = np.empty(1, np.uint64)
    stream[0] = key
    out = np.empty((count, width))
    for i in range(count):
        if kind == 0:
            out[i, 0] = draw(stream)
        elif kind == 1:
            out[i, 0] = draw_normal(stream)
        elif kind == 2:
            out[i, 0] = draw_gumbel(stream)
        else:
            draw_dirichlet(stream, alpha, width, out[i])
    return out


def test_keys_and_the_first_number() -> None:
    keys = {chance_key(seed, game, ply) for seed in range(5) for game in range(50) for ply in range(50)}
    assert len(keys) == 5 * 50 * 50
    assert chance_key(1, 2) != chance_key(2, 1)
    numbers = np.array([uniform(key) for key in keys])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert numbers.mean() == pytest.approx(0.5, abs=0.01)
    assert np.histogram(numbers, 10, (0, 1))[0].min() > 1100


def test_uniform_normal_and_gumbel() -> None:
    n = 200_000
    flat = draws(0, n, 1.0, 1, np.uint64(chance_key(1)))[:, 0]
    assert 0 < flat.min() < 1e-4
    assert 1 - 1e-4 < flat.max() < 1
    assert np.corrcoef(flat[:-1], flat[1:])[0, 1] == pytest.approx(0, abs=0.01)
    assert (flat.mean(), flat.var()) == pytest.approx((0.5, 1 / 12), abs=0.003)
    normal = draws(1, n, 1.0, 1, np.uint64(chance_key(2)))[:, 0]
    assert (normal.mean(), normal.var(), (normal**4).mean()) == pytest.approx((0, 1, 3), abs=0.08)
    gumbel = draws(2, n, 1.0, 1, np.uint64(chance_key(3)))[:, 0]
    assert (gumbel.mean(), gumbel.var()) == pytest.approx((0.5772, np.pi**2 / 6), abs=0.02)


@pytest.mark.parametrize(("alpha", "width"), [(0.03, 82), (0.3, 30), (0.15, 80), (1.0, 4), (5.0, 3)])
def test_dirichlet(alpha: float, width: int) -> None:
    n = 20_000
    ours = draws(3, n, alpha, width, np.uint64(chance_key(4)))
    theirs = np.random.default_rng(5).dirichlet(np.full(width, alpha), n)
    assert ours.sum(axis=1) == pytest.approx(1)
    assert ours.min() >= 0
    mean, total = 1 / width, alpha * width
    variance = mean * (1 - mean) / (total + 1)
    assert ours.mean(axis=0) == pytest.approx(mean, abs=6 * np.sqrt(variance / n))
    assert ours.var(axis=0).mean() == pytest.approx(variance, rel=0.03)
    for percent in (50, 90, 99):  # of the greatest part: the shape of the whole distribution
        assert np.percentile(ours.max(axis=1), percent) == pytest.approx(
            np.percentile(theirs.max(axis=1), percent), rel=0.03
        )
