"""The position cache: what it gives back is what was stored, whatever has been overwritten since."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from az_engine.engine.games.leaves import Leaves, make_leaves
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.tree.nodes import Ownerships, make_ownerships

WIDTH, POINTS = 40, 9


def leaves_of(keys: np.ndarray, counts: np.ndarray) -> tuple[Leaves, Ownerships]:
    """What a net says of positions, different for each key."""
    leaves, owned = make_leaves(len(keys), WIDTH, 1), make_ownerships(len(keys), POINTS)
    rows = leaves.rows
    rows["key"], rows["count"], rows["outcome"] = keys, counts, RUNNING
    for b, key in enumerate(keys):
        random = np.random.default_rng(int(key))
        rows["value"][b], rows["draw"][b] = random.random(2)
        leaves.moves[b] = random.integers(0, 1 << 16, WIDTH)
        leaves.priors[b] = np.ldexp(random.integers(1 << 11, 1 << 12, WIDTH), -random.integers(12, 20))
        owned.owners[b], owned.scores[b] = random.integers(-127, 128, POINTS), random.random()
    owned.known[:] = 1
    return leaves, owned


@pytest.mark.parametrize(("fewest", "most"), [(1, 4), (1, 40), (40, 40)])
def test_it_gives_back_what_was_stored(fewest: int, most: int) -> None:
    """With few moves the ring of ownerships wraps first, with many that of moves."""
    cache, random = PositionCache(1 << 15, 16.0, POINTS), np.random.default_rng(most)
    cache.keep_ownerships(POINTS)
    hits = asked = 0
    for _ in range(400):
        keys = np.unique(random.integers(1, 600, 16)).astype(np.uint64)
        counts = np.array([np.random.default_rng(int(key) + 7).integers(fewest, most + 1) for key in keys])
        truth, owners = leaves_of(keys, counts)
        leaves, owned = make_leaves(len(keys), WIDTH, 1), make_ownerships(len(keys), POINTS)
        leaves.rows["key"], leaves.rows["count"], leaves.rows["outcome"] = keys, counts, RUNNING
        cache.probe(leaves, len(keys), owned)
        known = np.flatnonzero(leaves.rows["row"] < 0)
        hits, asked = hits + len(known), asked + len(keys)
        for b in known:
            assert leaves.rows["value"][b] == truth.rows["value"][b]
            assert leaves.rows["draw"][b] == truth.rows["draw"][b]
            assert (leaves.moves[b, : counts[b]] == truth.moves[b, : counts[b]]).all()
            assert (leaves.priors[b, : counts[b]] == truth.priors[b, : counts[b]]).all()
            assert (owned.owners[b] == owners.owners[b]).all()
            assert owned.scores[b] == owners.scores[b]
        truth.rows["row"] = leaves.rows["row"]
        cache.store(truth, len(keys), owners)
    assert 0.1 * asked < hits < 0.9 * asked  # some were overwritten


def test_it_takes_the_memory_that_it_is_given() -> None:
    tracemalloc.start()
    try:
        cache = PositionCache(1 << 24, 217.0, 361)
        cache.keep_ownerships(361)
        assert 0.99 < tracemalloc.get_traced_memory()[0] / (1 << 24) < 1.01
    finally:
        tracemalloc.stop()
