"""A search looked at while it grows."""

from __future__ import annotations

import pytest

from az_engine.engine.errors import OptionError
from az_engine.engine.games import get_game
from az_engine.engine.params import SearchParams
from az_engine.models.report.search import grow

CHESS = get_game("chess")
MATE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"  # Ra8


def test_the_most_visited_states() -> None:
    snapshots = list(grow(CHESS, CHESS.initial(), "uniform", SearchParams(), [100, 1000], states=10))
    assert [snapshot.simulations for snapshot in snapshots] == [100, 1000]
    for snapshot in snapshots:
        root, *below = snapshot.states
        assert (root.parent, root.depth, root.move, root.share) == (-1, 0, "", 1.0)
        assert root.visits >= snapshot.simulations
        assert len(below) == 10
        assert [s.visits for s in below] == sorted((s.visits for s in below), reverse=True)
        for state in below:
            above = snapshot.states[state.parent]
            assert state.depth == above.depth + 1
            assert state.visits <= above.visits
            assert state.share == pytest.approx(state.visits / root.visits)
        line = CHESS.initial()
        for move in snapshot.line:
            line = CHESS.play(line, CHESS.parse_move(line, move))
    most = max(s.visits for s in snapshots[1].states if s.depth == 1)
    assert most == snapshots[1].states[1].visits


@pytest.mark.parametrize("name", ["shogi", "go9"])
def test_memory_is_enough(name: str) -> None:
    game = get_game(name)
    (snapshot,) = grow(game, game.initial(), "uniform", SearchParams(), [3000])
    assert snapshot.simulations == 3000


@pytest.mark.parametrize("colour", ["w", "b"])
def test_values_are_the_first_players(colour: str) -> None:
    line = CHESS.parse_position(MATE if colour == "w" else "r5k1/8/8/8/8/8/5PPP/6K1 b - - 0 1")[0]
    (snapshot,) = grow(CHESS, line, "uniform", SearchParams(solver=False), [2000])
    mating = next(s for s in snapshot.states if s.depth == 1)
    assert mating.move == ("a1a8" if colour == "w" else "a8a1")
    assert mating.value == (100 if colour == "w" else 0)
    assert (snapshot.states[0].value > 60) == (colour == "w")


def test_a_proven_result_ends_it() -> None:
    line = CHESS.parse_position(MATE)[0]
    assert len(list(grow(CHESS, line, "uniform", SearchParams(), [100, 1000, 10_000]))) < 3
    over = CHESS.play(line, CHESS.parse_move(line, "a1a8"))
    with pytest.raises(OptionError, match="is over"):
        list(grow(CHESS, over, "uniform", SearchParams(), [100]))
