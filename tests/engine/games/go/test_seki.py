"""Sekis that show without reading, whatever a net expects of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from az_engine.engine.errors import PositionError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.go.state import EMPTY, stones_to_array

GO = get_game("go")
_WALLS = ["...XO...."] * 6
SEKI = (".OO.XXXX.", "OOOOXXXXX", "XXXXOOOOO", *_WALLS)  # an eye each, D9 between them
SEKIS = {  # the chains that nobody can take, by one of their points
    SEKI: {1, 4},
    ("OOO.XXXX.", "OOOOXXXXX", "XXXXOOOOO", *_WALLS): set(),  # white has no eye
    (".OO.XXXXX", "OOOOXXXXX", "XXXXOOOOO", *_WALLS): set(),  # black has none
    (".OO.XXXX.", "OOOOXXXXX", "XXX.OOOOO", *_WALLS): set(),  # white has a liberty more
    (
        "X.XX.....",
        "XX.X..XXX",
        "OOX.XXX.X",
        "OXXXX..X.",
        "OOOOOXXX.",
        "XOXXOOXXX",
        "XXXOOOOXO",
        "X.XXXO.OO",
        "XO.XOOO.O",
    ): set(),  # white sacrifices B1
    (".OO.O.XX.", "OOOOXXXXX", "XXXXOOOOO", *_WALLS): set(),  # white's stone between them belongs to another chain
}


def state_of(rows: Sequence[str], game: Game = GO) -> State:
    text = re.sub(r"\.+", lambda empty: str(len(empty[0])), "/".join(rows))
    return game.parse_position(f"{text} b - 7 japanese")[0]


def spared(line: State, game: Game) -> list[frozenset[int]]:
    """The chains that do not count as dead even where a net is sure of their death, and of the others' life."""
    territory = game.territory
    assert territory is not None
    stones, result = stones_to_array(line[-1]), []
    for chain in territory.chains(line[-1]):
        expected = np.where(stones == line[-1]["turn"], 1.0, -1.0)
        expected[list(chain)] *= -1
        if chain not in territory.dead_chains(line[-1], expected.tolist()):
            result.append(chain)
    return result


@pytest.mark.parametrize("rows", SEKIS)
def test_who_cannot_be_taken_is_not_dead(rows: tuple[str, ...]) -> None:
    found = spared(state_of(rows), GO)
    assert {point for point in (0, 1, 4, 63) if any(point in chain for chain in found)} == SEKIS[rows]


def test_a_dead_wall_ends_it() -> None:
    territory, line = GO.territory, state_of(SEKI)
    assert territory is not None
    expected = np.where(stones_to_array(line[-1]) == 0, 1.0, -1.0)
    chains = [next(c for c in territory.chains(line[-1]) if point in c) for point in (4, 18)]
    for chain in chains:  # black's group, and black's wall around white's
        expected[list(chain)] *= -1
    assert set(territory.dead_chains(line[-1], expected.tolist())) == set(chains)


def test_scoring_decides_nothing_of_a_seki() -> None:
    """F6 lives by the eye E6 that it shares, which Japanese rules do not count."""
    game = get_game("go7")
    rows = "1X1OOXX/XXXO1OX/OOOOOXX/XXXXXX1/7/7/7"
    for rules in ("chinese", "japanese"):
        state = game.parse_position(f"{rows} b - 0 {rules} 0 2 0 0")[0][-1]
        assert game.territory is not None
        seki = {game.format_move(state, p) for chain in game.territory.seki(state) for p in chain}
        assert "F6" in seki, rules


def can_take(game: Game, line: State, chain: frozenset[int], points: Sequence[int], depth: int, attacks: bool) -> bool:
    """Whether a chain's opponent takes it by moves on some points, by trying all of them; passes are moves."""
    if any(stones_to_array(line[-1])[p] == EMPTY for p in chain):
        return True
    if not depth:
        return False
    moves = set(game.legal_moves(line).tolist()) & {*points, game.num_actions - 1}
    return (any if attacks else all)(
        can_take(game, game.play(line, move), chain, points, depth - 1, not attacks) for move in moves
    )


def test_nothing_takes_them_by_brute_force() -> None:
    """White is enclosed at the left, black at the right, with any stones on the edge."""
    game, checked = get_game("go").sized(5), 0
    for edge, width, first in product(product("XO.", repeat=5), range(1, 5), (0, 1)):
        white, black = "O" * width, "X" * width
        rows = ["".join(edge), white.ljust(5, "X"), *[black.ljust(5, "O")] * 2, "....."]
        try:
            line = state_of(rows, game)
        except PositionError:
            continue
        line["turn"] = first
        stones = stones_to_array(line[-1])
        for chain in spared(line, game):
            attacks = stones[min(chain)] != first
            assert not can_take(game, line, chain, range(5), 6, attacks), (rows, sorted(chain))
            checked += 1
    assert checked >= 8
