"""What a net says of many positions at once: a compiled net's kernel against the evaluator's whole policy."""

from __future__ import annotations

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.search.leaves.minibatch import Minibatch
from az_engine.models.label.guide import Guide

from .labelling import job


def lines(game: Game, number: int, plies: int) -> State:
    """The positions of games of random moves."""
    random, result = np.random.default_rng(7), []
    for _ in range(number):
        line = game.initial()
        for _ in range(plies):
            legal = game.legal_moves(line)
            if not len(legal) or game.outcome(line) != RUNNING:
                break
            line = game.play(line, int(random.choice(legal)))
        result.append(line)
    return np.concatenate(result)


@pytest.mark.parametrize(("game_name", "judge"), [("chess", "nnue"), ("shogi", "shogi_nnue")])
def test_a_compiled_net_is_asked_for_the_legal_moves_alone(
    game_name: str, judge: str, request: pytest.FixtureRequest
) -> None:
    game = get_game(game_name)
    states = lines(game, 8, 120)
    guide = Guide("default", job("--game", game_name, "--nnue", request.getfixturevalue(judge)))
    assert guide.evaluator.compiled is not None
    batch = Minibatch(guide.game, guide.params, guide.tree.arrays, states.reshape(-1, 1), len(states))
    batch.leaves.rows["slot"] = np.arange(len(states))
    assert batch.evaluate(len(states), guide.evaluator) is None
    expected, got = batch.leaves, guide.look(states)
    running = expected.rows["outcome"] == RUNNING
    assert running.sum() > 200
    for name in ("outcome", "count", "key", "value", "draw"):
        assert (got.rows[name][running] == expected.rows[name][running]).all(), name
    legal = running[:, None] & (np.arange(expected.moves.shape[1]) < expected.rows["count"][:, None])
    assert (got.moves == expected.moves)[legal].all()
    assert (got.priors == expected.priors)[legal].all()
    assert (guide.look(states, values=True).rows["value"] == expected.rows["value"])[running].all()
