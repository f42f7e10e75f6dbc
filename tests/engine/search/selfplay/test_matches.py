"""Contests: openings, colours, adjudication, and that a player's moves are those of its search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.outcome import RUNNING
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.nets.netinfo import NetInfo
from az_engine.engine.params import paper_params
from az_engine.engine.search.search import Scope, Search
from az_engine.engine.search.selfplay.matches import NetPlayer, Seat, play_pairs, random_openings
from az_engine.engine.search.tree.tree import Tree

from ....fakes.evaluator import FunctionEvaluator
from ..pure_net import pure_net

GO, CHESS = get_game("go5"), get_game("chess")
AZ = paper_params("az")


def after(game: Game, moves: Any) -> State:
    line = game.initial()
    for move in moves.tolist():
        assert move in game.legal_moves(line)
        line = game.play(line, move)
    return line


def net(game: Game, seed: int = 0) -> FunctionEvaluator:
    """A net, which has an info."""
    evaluator = FunctionEvaluator(pure_net(game.num_actions, wdl=True, seed=seed), history=game.history)
    evaluator.info = NetInfo(
        game=game.name, planes=game.planes, actions=game.num_actions, planes_version=game.encoder.planes_version,
        moves_version=game.encoder.moves_version, value_head="wdl",
    )  # fmt: skip
    return evaluator


@pytest.mark.parametrize("name", ["go5", "chess", "shogi"])
def test_openings_are_legal_different_and_repeatable(name: str) -> None:
    game = get_game(name)
    openings = random_openings(game, 20, 4, seed=5)
    assert len({moves.tobytes() for moves in openings}) == 20
    for moves in openings:
        assert len(moves) == 4
        assert game.outcome(after(game, moves)) == RUNNING
    again = random_openings(game, 20, 4, seed=5)
    assert [moves.tolist() for moves in again] == [moves.tolist() for moves in openings]
    assert [m.tolist() for m in random_openings(game, 20, 4, seed=6)] != [m.tolist() for m in openings]


def test_both_players_begin_once_from_every_opening() -> None:
    """Two searches of different strength: swapping the players swaps the games of each pair, and nothing else."""
    a, b = (NetPlayer(str(v), UniformEvaluator(GO), v, AZ) for v in (30, 5))
    openings = random_openings(GO, 4, 2, seed=1)
    games = play_pairs(GO, a, b, openings, seed=1, max_moves=50)
    swapped = play_pairs(GO, b, a, openings, seed=1, max_moves=50)
    assert len(games) == 8
    for i, game in enumerate(games):
        assert game.moves[:2].tolist() == openings[i // 2].tolist()
        assert game.opening == 2
        assert game.moves.tolist() == swapped[i ^ 1].moves.tolist()
        assert game.result == swapped[i ^ 1].result
    assert games[0].moves.tolist() != games[1].moves.tolist()


def test_results_are_the_first_players_and_cut_games_are_scored() -> None:
    player = NetPlayer("a", UniformEvaluator(GO), 3, AZ)
    games = play_pairs(GO, player, player, random_openings(GO, 6, 3, seed=1), seed=1, max_moves=11)
    assert {game.reason for game in games} == {"max moves"}
    for game in games:
        line = after(GO, game.moves)
        assert len(game.moves) == 11
        assert game.result == -GO.adjudicate(line)  # white is to move after 11 plies
    drawn = play_pairs(CHESS, player_of(CHESS, 2), player_of(CHESS, 0), [np.zeros(0, np.uint16)], seed=1, max_moves=6)
    assert [(game.result, game.reason) for game in drawn] == [(0, "max moves")] * 2


def player_of(game: Game, visits: int) -> NetPlayer:
    return NetPlayer(str(visits), UniformEvaluator(game), visits, AZ)


def test_a_searching_player_plays_what_the_search_finds() -> None:
    evaluator = net(GO)
    lines = [after(GO, moves) for moves in random_openings(GO, 5, 3, seed=2)]
    moves = Seat(GO, NetPlayer("a", evaluator, 40, AZ), 5, 60, 0).moves(lines)
    for line, move in zip(lines, moves, strict=True):
        search = Search(GO, Tree(2**22), evaluator, AZ, GO.window(line), visits=40, scope=Scope(batch_size=1))
        search.run(lambda: False)
        edges, nodes = search.tree.children_of(search.tree.root)
        best = edges["move"][: len(nodes)][nodes["n"] == nodes["n"].max()]
        assert move in best


def test_a_raw_net_plays_its_most_probable_legal_move() -> None:
    lines = [after(GO, moves) for moves in random_openings(GO, 5, 6, seed=3)]
    evaluator = net(GO)
    moves = Seat(GO, NetPlayer("raw", evaluator, 0, AZ), 5, 60, 0).moves(lines)
    for line, move in zip(lines, moves, strict=True):
        planes = np.zeros((1, *GO.planes), np.uint8)
        GO.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes)
        logits = evaluator.evaluate(planes.reshape(1, -1))[0][0]
        legal = GO.legal_moves(line)
        assert move == legal[np.argmax(logits[legal.astype(int)])]  # on a board of one size a point is its action


def test_a_raw_player_without_a_net_moves_at_random_and_by_its_seed() -> None:
    lines = [GO.initial()] * 200
    player = player_of(GO, 0)
    moves = Seat(GO, player, 200, 60, 7).moves(lines)
    assert len(set(moves)) > 20
    assert moves == Seat(GO, player, 200, 60, 7).moves(lines)
    assert moves != Seat(GO, player, 200, 60, 8).moves(lines)
