"""Random symmetries: what the net is shown, what becomes of its answer, and what the cache makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.params import SearchParams, paper_params
from az_engine.engine.search.leaves.cache import PositionCache
from az_engine.engine.search.leaves.symmetry import salt, turn
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.tree import Tree
from az_engine.protocols.options import BY_KEY

from ....fakes.evaluator import FunctionEvaluator
from ..pure_net import pure_net

GAME = get_game("go5")
LINE = GAME.parse_position("5/1X3/2O2/3X1/5 w")[0]
TURNING = replace(paper_params("agz"), c_puct=2.0)
STRAIGHT = replace(TURNING, symmetries=False)


def searched(function: Any, params: SearchParams, cache: PositionCache | None = None) -> np.ndarray:
    """The nodes of a tree of 300 visits."""
    tree = Tree(2**20)
    search = Search(GAME, tree, FunctionEvaluator(function, 4), params, LINE, cache=cache, visits=300)
    search.run(lambda: False)
    assert search.error is None
    return tree.nodes[: tree.counters[0]].copy()


def test_the_papers_symmetries() -> None:
    assert paper_params("agz").symmetries
    assert not paper_params("az").symmetries
    assert not SearchParams().symmetries


def test_only_where_the_game_has_symmetries_can_they_be_asked_for() -> None:
    for name in ("chess", "shogi", "go"):
        game = get_game(name)
        assert BY_KEY["random_symmetry"].offered(game.protocol) == (game.symmetries is not None)


def test_every_logit_comes_back_to_its_point() -> None:
    """A lopsided net: logits of the image, read at the turned actions, are what the image's own points were given."""
    rng = np.random.default_rng(0)
    lopsided = rng.standard_normal(26).astype(np.float32)
    leaves = GAME.encoder.make_leaves(40)
    leaves.rows["key"] = keys = np.arange(40, dtype=np.uint64)
    row = np.where(rng.random(40) < 0.7, 0, -1).astype(np.int32)
    row[row == 0] = np.arange((row == 0).sum())
    boards = rng.integers(0, 2, ((row >= 0).sum(), 17, 5, 5)).astype(np.uint8)
    straight = np.tile(np.arange(26, dtype=np.uint16), (40, 1))
    actions = leaves.actions
    actions[:], leaves.rows["row"] = straight, row
    assert GAME.symmetries is not None
    turned = turn(GAME.symmetries, leaves, 40, boards.reshape(len(boards), -1)).reshape(boards.shape)
    assert (actions[row < 0] == straight[row < 0]).all()
    assert (actions[:, 25] == 25).all(), "the pass stays"
    seen = set()
    for b in np.flatnonzero(row >= 0):
        k = int(keys[b] % np.uint64(8))
        image = np.rot90(boards[row[b]][:, :, ::-1] if k >= 4 else boards[row[b]], k % 4, axes=(1, 2))
        assert (turned[row[b]] == image).all()
        logits = lopsided + np.append(image[0].ravel(), 0)
        points = np.arange(25).reshape(5, 5)
        places = np.rot90(points[:, ::-1] if k >= 4 else points, k % 4).ravel()  # places[image's point] = point
        expected = np.append(np.empty(25, np.float32), logits[25])
        expected[places] = logits[:25]
        assert (logits[actions[b]] == expected).all()
        seen.add(k)
    assert seen == set(range(8))


def test_a_net_that_looks_at_each_point_alone_says_the_same_of_every_image() -> None:
    asked: list[np.ndarray] = []

    def pointwise(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = planes.reshape(len(planes), 17, 25).astype(np.float32)
        asked.append(planes.reshape(len(planes), 17, 25).copy())
        logits = np.concatenate([x[:, 0] - 2 * x[:, 3] + 0.1 * x[:, 4], np.full((len(x), 1), -3, np.float32)], axis=1)
        return logits, np.tanh((x[:, 0] - x[:, 1]).sum(axis=1, keepdims=True) / 5)

    plain, turned = searched(pointwise, STRAIGHT), searched(pointwise, TURNING)
    assert (plain == turned).all()
    half = len(asked) // 2
    straight, images = np.concatenate(asked[:half]), np.concatenate(asked[half:])
    assert straight.shape == images.shape
    assert (straight != images).any(axis=(1, 2)).mean() > 0.6
    assert (np.sort(straight, axis=2) == np.sort(images, axis=2)).all()


@pytest.mark.parametrize("memory", [1, 2**20])
def test_a_lopsided_net_and_the_cache(memory: int) -> None:
    """The cache changes nothing, kept or overwritten all the time; straight evaluations never pass for turned ones."""
    net, cache = pure_net(GAME.num_actions), PositionCache(memory)
    straight, turned = searched(net, STRAIGHT), searched(net, TURNING)
    another = replace(TURNING, seed=1)
    assert straight[0]["w"] != turned[0]["w"]
    assert turned[0]["w"] != searched(net, another)[0]["w"]
    for params, expected in ((TURNING, turned), (STRAIGHT, straight), (TURNING, turned), (STRAIGHT, straight)):
        assert (searched(net, params, cache) == expected).all()


def test_salts_differ_and_are_never_nothing() -> None:
    salts = {int(salt(seed)) for seed in (0, 1, 2, 1000, 2**53)}
    assert len(salts) == 5
    assert 0 not in salts
