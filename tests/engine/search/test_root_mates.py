"""Forced mates beside the search: at the root and against the preferred move, and as short as they can be."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from az_engine.engine.engine import Engine
from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.outcome import LOSS, WIN
from az_engine.engine.info import BestMove
from az_engine.engine.limits import Limits
from az_engine.engine.nets.evaluator import UniformEvaluator
from az_engine.engine.params import EngineOptions, SearchParams
from az_engine.engine.search.root_mates import RootMates
from az_engine.engine.search.search import Search
from az_engine.engine.search.tree.tree import Tree

SHOGI, CHESS = get_game("shogi"), get_game("chess")
MORPHY = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"
_ROWS = [json.loads(text) for text in (Path(__file__).parents[2] / "data/mate_shogi.jsonl").read_text().splitlines()]
MATES = [(row["sfen"], row["plies"]) for row in _ROWS if row["plies"] >= 3]
LONG = next(sfen for sfen, plies in MATES if plies == 9)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine("shogi", EngineOptions(weights_file="uniform", hash_mb=16, threads=1))
    engine.ready()
    yield engine
    engine.close()


def answer(engine: Engine, root: str, nodes: int) -> BestMove:
    engine.new_game()
    engine.set_position(root, [])
    done, answers = threading.Event(), list[BestMove]()

    def on_done(best: BestMove) -> None:
        answers.append(best)
        done.set()

    engine.go(Limits(nodes=nodes), lambda info: None, on_done)
    assert done.wait(60)
    assert engine.wait(60)
    assert answers[0].error is None
    return answers[0]


def played(line: State, moves: list[int]) -> State:
    game = SHOGI if line.dtype == SHOGI.state_dtype else CHESS
    for move in moves:
        line = game.play(line, move)
    return line


def grown(line: State, visits: int, mate_plies: int = 0) -> tuple[Search, Tree]:
    game = SHOGI if line.dtype == SHOGI.state_dtype else CHESS
    tree = Tree(8 << 20)
    params = SearchParams(mate_plies=mate_plies)
    search = Search(game, tree, UniformEvaluator(game), params, game.window(line), visits=visits)
    search.run(lambda: False)
    assert search.error is None
    return search, tree


@pytest.mark.parametrize(("root", "plies"), MATES)
def test_mates_of_checks_are_found_and_are_the_shortest(engine: Engine, root: str, plies: int) -> None:
    """Of these 20 the search alone found 2 longer than they are, and 8 not at all, with 300 nodes of the own net."""
    (line,) = answer(engine, root, 1000).lines
    assert line.mate == (plies + 1) // 2
    assert len(line.pv) == plies
    position = SHOGI.parse_position(root)[0]
    for word in line.pv:
        position = SHOGI.play(position, SHOGI.parse_move(position, word))
    assert SHOGI.outcome(position) == LOSS


def test_a_mate_that_begins_with_a_quiet_move() -> None:
    line = CHESS.parse_position(MORPHY)[0]
    _, tree = grown(line, 20)
    proof = RootMates(CHESS, CHESS.window(line), 5).look(tree, 1000)
    assert proof is not None
    assert proof.outcome == LOSS
    assert CHESS.format_move(line[-1], proof.moves[0]) == "a1a6"
    assert len(proof.moves) == 3
    assert CHESS.outcome(played(line, proof.moves)) == LOSS
    tree.settle(proof.moves, proof.outcome)
    assert tree.nodes[0]["bound"] == WIN
    assert tree.nodes[0]["plies"] == 3
    assert not tree.nodes["in_flight"][: int(tree.counters[0])].any()


def test_the_opponents_mate_after_the_preferred_move() -> None:
    line = SHOGI.parse_position(LONG)[0]
    (first, *_) = answer_of(line)
    line = SHOGI.play(line, first)
    _, tree = grown(line, 60)
    proof = RootMates(SHOGI, SHOGI.window(line), 5).look(tree, 20_000)
    assert proof is not None
    assert proof.outcome == WIN
    assert SHOGI.outcome(played(line, proof.moves)) == LOSS
    preferred = tree.children_of(0)
    assert proof.moves[0] == preferred[0]["move"][int(preferred[1]["n"].argmax())]
    tree.settle(proof.moves, proof.outcome)
    node = tree.child(0, proof.moves[0])
    assert tree.nodes[node]["bound"] == WIN
    assert tree.nodes[node]["plies"] == len(proof.moves) - 1


def answer_of(line: State) -> list[int]:
    assert SHOGI.mate_search is not None
    search = SHOGI.mate_search(line, 1 << 20)
    while search.advance(5000) is None:
        pass
    return search.moves


def test_a_mate_beyond_the_games_longest_is_none() -> None:
    line = SHOGI.parse_position(LONG)[0]
    assert SHOGI.declaration is not None
    for left, found in ((20, True), (4, False)):
        SHOGI.declaration.set_rules(line, max_plies=int(line[-1]["ply"]) + left)
        _, tree = grown(line, 20)
        proof = RootMates(SHOGI, SHOGI.window(line), 5).look(tree, 5_000)
        assert (proof is not None and proof.outcome == LOSS) == found


def test_one_worker_gives_the_same_tree_every_time() -> None:
    line = SHOGI.parse_position(LONG)[0]
    one, two = (grown(SHOGI.play(line, int(SHOGI.legal_moves(line)[3])), 400, 5)[1] for _ in range(2))
    used = int(one.counters[0])
    assert np.array_equal(one.nodes[:used], two.nodes[:used])


def test_a_settled_move_keeps_the_shorter_mate() -> None:
    line = CHESS.parse_position(MORPHY)[0]
    _, tree = grown(line, 20)
    quick = RootMates(CHESS, CHESS.window(line), 5).look(tree, 1000)
    assert quick is not None
    tree.settle(quick.moves, LOSS)
    tree.settle([*quick.moves, 1, 2], LOSS)
    assert tree.nodes[0]["plies"] == 3
    tree.settle([4095], LOSS)  # no such edge
    assert tree.nodes[0]["plies"] == 3


def test_what_is_not_due_would_do_nothing() -> None:
    """Nor is anything left out: both have looked at as many nodes in the end."""
    line = SHOGI.parse_position("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")[0]
    _, tree = grown(line, 400)
    always, when_due = (RootMates(SHOGI, SHOGI.window(line), 5) for _ in range(2))
    looked = 0
    for simulations in range(0, 1500, 7):
        before, due = always._spent, always.due(simulations)
        assert always.look(tree, simulations) is None
        assert due or always._spent == before
        if when_due.due(simulations):
            looked += 1
            assert when_due.look(tree, simulations) is None
    assert when_due._spent == always._spent > 0
    assert looked < 100


class _Refused:
    """A mate search that finds a mate at once."""

    nodes, moves = 0, [1, 2, 3]

    def advance(self, nodes: int) -> str:
        return "mate"


def test_a_mate_that_the_tree_does_not_take_ends_the_shortening(monkeypatch: pytest.MonkeyPatch) -> None:
    """It went on for ever: the mate was found again, for no nodes."""
    game = SimpleNamespace(mate_search=lambda line, table, longest: _Refused())
    monkeypatch.setattr(RootMates, "_sound", lambda self, moves: True)
    mates: Any = RootMates(game, SHOGI.initial(), 3)  # type: ignore[arg-type]
    tree = SimpleNamespace(root=0, nodes=[{"plies": 7}])
    assert mates.shorten(tree).moves == [1, 2, 3]
    assert not mates.shortest
    tree.nodes[0]["plies"] = 5  # it was taken: a shorter one is looked for
    assert mates.shorten(tree).moves == [1, 2, 3]
    assert mates.shorten(tree) is None  # it was not
    assert mates.shortest
