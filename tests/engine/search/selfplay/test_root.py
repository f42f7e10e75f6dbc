"""What is special at the root: noise, Gumbel search against the plain reference, the choice of a move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.engine.kernels.jit import kernel
from az_engine.engine.params import paper_params
from az_engine.engine.search.selfplay.root import choose, plan
from az_engine.engine.search.tree.nodes import unpack_priors

from ..pure_net import pure_net
from . import slow_gumbel
from .test_lockstep import VISITS, finish, lockstep_of, random_lines, visits_of

GO, GO9 = get_game("go5"), get_game("go9")
AZ = paper_params("az")


@kernel
def planned(schedule, considered, simulations):  # type: ignore[no-untyped-def]
    plan(schedule, considered, simulations)


@kernel
def chosen(shares, temperature, count, key):  # type: ignore[no-untyped-def]
    stream = np.empty(1, np.uint64)
    stream[0] = key
    picks = np.zeros(shares.shape[0], np.int64)
    for _ in range(count):
        picks[choose(shares, shares.shape[0], temperature, stream)] += 1
    return picks


def rooted(visits: int, seed: int = 0, game: Game = GO, **root: Any) -> Any:
    """A Lockstep whose searches are over, with fields of its ROOTs set. Its net never passes."""
    function = pure_net(game.num_actions)

    def evaluate(planes: Any) -> Any:
        logits, values = function(planes)
        logits[:, -1] = -30
        return logits, values

    lines = random_lines(game, 4, seed)
    lockstep = lockstep_of(game, lines, evaluate, AZ, 1, nodes=visits + 1, kept_moves=game.max_moves)
    lockstep.searches = lockstep.searches._replace(schedule=np.zeros((4, visits), np.int32))
    lockstep.empty(np.arange(4, dtype=np.int32))
    lockstep.roots["requested"], lockstep.roots["key"] = visits, np.arange(4) + 100 * seed
    for name, value in root.items():
        lockstep.roots[name] = value
    lockstep.begin(np.arange(4, dtype=np.int32))
    finish(lockstep)
    return lockstep


def edges_of(lockstep: Any, slot: int) -> Any:
    root = lockstep.nodes[slot, 0]
    return lockstep.edges[slot, root["first_edge"] : root["first_edge"] + root["edges"]]


def priors_of(lockstep: Any, slot: int) -> dict[int, float]:
    edges = edges_of(lockstep, slot)
    return dict(zip(edges["move"].tolist(), unpack_priors(edges["prior"]).tolist(), strict=True))


def test_noise_at_the_root_alone() -> None:
    plain, noisy = rooted(VISITS), rooted(VISITS, noise_share=0.25, noise_alpha=0.3)
    for slot in range(4):
        before, after = priors_of(plain, slot), priors_of(noisy, slot)
        eta = np.array([(after[move] - 0.75 * before[move]) / 0.25 for move in before])
        assert eta.sum() == pytest.approx(1, abs=0.01)
        assert eta.min() > -0.002  # a prior has 12 bits
        assert eta.max() > 0.1
        assert (np.diff(unpack_priors(edges_of(noisy, slot)["prior"])) <= 0).all()
        assert visits_of(plain, slot) != visits_of(noisy, slot)
        child = noisy.nodes[slot, edges_of(noisy, slot)[0]["child"]]
        below = noisy.edges[slot, child["first_edge"] : child["first_edge"] + child["edges"]]
        assert unpack_priors(below["prior"]).sum() == pytest.approx(1, abs=0.01)


def test_noise_at_a_root_that_was_searched_before() -> None:
    lockstep = rooted(VISITS)
    slots = np.arange(4, dtype=np.int32)
    picked = lockstep.conclude(slots)[3]
    lockstep.play(slots, picked[:, 0], picked[:, 1])
    before = [priors_of(lockstep, slot) for slot in range(4)]
    lockstep.roots["requested"], lockstep.roots["noise_share"], lockstep.roots["noise_alpha"] = 10, 0.25, 0.3
    lockstep.begin(slots)
    for slot in range(4):
        after = priors_of(lockstep, slot)
        eta = np.array([(after[move] - 0.75 * before[slot][move]) / 0.25 for move in after])
        assert eta.sum() == pytest.approx(1, abs=0.01)
        edges, children = edges_of(lockstep, slot), int(lockstep.nodes[slot, 0]["children"])
        assert (edges["child"][:children] >= 0).all()
        assert (edges["child"][children:] < 0).all()
        assert (np.diff(unpack_priors(edges["prior"][children:])) <= 0).all()


@pytest.mark.parametrize(("considered", "simulations"), [(16, 32), (16, 199), (8, 15), (4, 3), (3, 50), (2, 9), (1, 5)])
def test_the_plan_is_sequential_halving(considered: int, simulations: int) -> None:
    """With values that never change, the plan leads to the visits that the paper's phases give."""
    schedule = np.zeros(simulations, np.int32)
    planned(schedule, considered, simulations)
    scores = np.linspace(1, 0, 20)
    visits = np.zeros(20, np.int64)
    for wanted in schedule:
        a = next(a for a in range(considered) if visits[a] == wanted)
        visits[a] += 1
    expected, _ = slow_gumbel.sequential_halving(scores, lambda a, n: 0.0, considered, simulations, 1.0)
    assert sorted(visits) == sorted(expected)
    assert visits.sum() == simulations


@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("considered", [1, 4, 16, 26])
@pytest.mark.parametrize("visits", [2, 9, 33, 70])
def test_gumbel_search_is_the_papers(considered: int, visits: int, scale: float) -> None:
    lockstep = rooted(visits, seed=visits, game=GO9, gumbel=considered, gumbel_visit=50.0, gumbel_scale=scale)
    moves, target, _, picked = lockstep.conclude(np.arange(4, dtype=np.int32))
    for slot in range(4):
        edges, nodes = edges_of(lockstep, slot), lockstep.nodes[slot]
        scores = lockstep.searches.scores[slot, : len(edges)]
        assert (np.diff(scores) <= 0).all()
        logits = np.log(unpack_priors(edges["prior"]))
        seen = edges["child"] >= 0
        counts = np.where(seen, nodes["n"][edges["child"]], 0).astype(np.float64)
        assert counts.sum() == visits - 1
        history = {int(c): values_by_visits(lockstep, slot, int(c)) for c in edges["child"][seen]}

        def mean_value(a: int, n: int, edges: Any = edges, history: Any = history) -> float:
            return float(history[int(edges["child"][a])][n - 1])

        expected, best = slow_gumbel.sequential_halving(
            scores, mean_value, min(considered, len(edges)), visits - 1, scale
        )
        assert counts.tolist() == expected.tolist()
        assert picked[slot, 0] == edges["move"][best]
        q = np.where(seen, -nodes["w"][edges["child"]] / np.maximum(counts, 1), 0.0)
        shares = slow_gumbel.improved_policy(logits, counts, q, float(nodes[0]["net_value"]), scale)
        ours = np.zeros(GO9.num_actions)
        np.add.at(ours, moves[slot], target[slot])  # unused places have no share
        assert ours[edges["move"]] == pytest.approx(shares, abs=1e-4)


def values_by_visits(lockstep: Any, slot: int, top: int) -> list[float]:
    """Q of the action that leads to node ``top`` after 1, 2, ... of its simulations, the root's mover's view.

    Nodes are made in the order of their first visits, and no position of these short searches is final, so that each
    simulation below ``top`` made the next node below it.
    """
    nodes = lockstep.nodes[slot]
    depth, values = {top: 0}, [-float(nodes[top]["net_value"])]
    for i in range(top + 1, int(lockstep.counters[slot, 0])):
        if int(nodes[i]["parent"]) in depth:
            depth[i] = depth[int(nodes[i]["parent"])] + 1
            values.append(float(nodes[i]["net_value"]) * (-1 if depth[i] % 2 == 0 else 1))
    assert len(values) == nodes[top]["n"], "a position was final"
    means: list[float] = (np.cumsum(values) / np.arange(1, len(values) + 1)).tolist()
    return means


def test_gumbels_are_gumbels() -> None:
    lockstep = rooted(2, gumbel=4, gumbel_visit=50.0, gumbel_scale=1.0)
    plain = rooted(2)
    drawn = [
        lockstep.searches.scores[slot, k] - np.log(priors_of(plain, slot)[int(edge["move"])])
        for slot in range(4)
        for k, edge in enumerate(edges_of(lockstep, slot))
        if edge["move"] < 25
    ]
    assert len(drawn) > 80
    assert np.mean(drawn) == pytest.approx(0.577, abs=0.6)
    assert np.var(drawn) == pytest.approx(np.pi**2 / 6, abs=1.2)


def test_the_choice_of_a_move() -> None:
    shares = np.array([0.5, 0.25, 0.0, 0.125, 0.125])
    n = 40_000
    assert chosen(shares, 1.0, n, np.uint64(1)) / n == pytest.approx(shares, abs=0.01)
    squared = shares**2 / (shares**2).sum()
    assert chosen(shares, 0.5, n, np.uint64(2)) / n == pytest.approx(squared, abs=0.01)
    assert chosen(shares, 0.0, n, np.uint64(3)).tolist() == [n, 0, 0, 0, 0]
    ties = chosen(np.array([0.1, 0.45, 0.45]), 0.0, n, np.uint64(4)) / n
    assert ties == pytest.approx([0, 0.5, 0.5], abs=0.01)
