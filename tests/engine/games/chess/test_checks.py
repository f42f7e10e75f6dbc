"""Short mates at the leaves of the search against trying everything (:mod:`naive_mates`)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from az_engine.engine.games.base import State
from az_engine.engine.games.chess.checks import _checks
from az_engine.engine.games.mates import NO_MOVE
from az_engine.engine.games.outcome import LOSS, RUNNING, WIN
from az_engine.engine.kernels.jit import kernel
from az_engine.engine.search.mate import short_mate

from .agreement import CHESS960, GAME, choose, internal, random_start
from .naive_mates import mates


def look(line: State, path: list[int], plies: int) -> tuple[int, int, int]:
    """(outcome, plies, first move) that the kernel finds after a path from the end of a line."""
    states, leaves = GAME.encoder.leaf_after(line, path, plies)
    GAME.encoder.describe(states, leaves, 1, 1, plies)
    leaf = leaves.rows[0]
    return int(leaf["outcome"]), int(leaf["end"]), int(leaf["begin"])


def expected(line: State, plies: int) -> tuple[int, int, int]:
    mate = mates(line, plies)
    if mate is None:
        return RUNNING, -1, NO_MOVE
    return (WIN, *mate) if mate[0] % 2 else (LOSS, mate[0], NO_MOVE)


@kernel
def list_checks(states, moves):  # type: ignore[no-untyped-def]
    """How many moves of states[0] may give check; they are written to moves u2[1, M]."""
    return _checks(states[0], moves, 0)


@pytest.mark.slow
def test_moves_that_give_check_are_listed_in_the_order_of_all_moves() -> None:
    """All that do, and of the others only some: the budget of the search for mates counts them."""
    rng, listed = random.Random(2), np.empty((1, GAME.max_moves), np.uint16)
    checks, others = 0, 0
    for _ in range(30):
        board = random_start(rng)
        while not board.is_game_over() and board.ply() < 200:
            line = (CHESS960 if board.chess960 else GAME).parse_position(board.fen())[0]
            found = listed[0, : list_checks(line[-1:], listed)].tolist()
            giving = {internal(board, move) for move in board.legal_moves if board.gives_check(move)}
            assert giving <= set(found), board.fen()
            assert found == [move for move in GAME.legal_moves(line).tolist() if move in found], board.fen()
            checks, others = checks + len(giving), others + len(found) - len(giving)
            board.push(choose(board, rng))
    assert checks > 1000
    assert others < checks


@pytest.mark.slow
def test_all_short_mates_and_no_others() -> None:
    rng = random.Random(1)
    found = {1: 0, 2: 0, 3: 0}
    for _ in range(20):
        board = random_start(rng)
        while not board.is_game_over() and board.ply() < 200 and board.halfmove_clock < 90:
            game = CHESS960 if board.chess960 else GAME
            line = game.parse_position(board.fen())[0]
            move = choose(board, rng)
            words = {game.format_move(line[-1], m): m for m in GAME.legal_moves(line).tolist()}
            path = [words[board.uci(move)]]
            board.push(move)
            if not board.is_game_over() and (board.is_check() or rng.random() < 0.15):
                after = GAME.play(line, path[0])[-1:]
                outcome, ends, begins = expected(after, 3)
                for plies in (1, 2, 3):
                    told = (outcome, ends, begins) if ends <= plies else (RUNNING, -1, NO_MOVE)
                    assert look(line, path, plies) == told, board.fen()
                if ends > 0:
                    found[ends] += 1
    assert min(found.values()) >= 3, found


def test_the_moves_of_a_mate_that_is_shorter_than_was_found() -> None:
    """As where a repetition leaves the defender no reply but a shorter one."""
    line = GAME.parse_position("6k1/5ppp/8/8/8/8/8/R5K1 b - - 0 1")[0]
    moves = short_mate(GAME, line, [GAME.parse_move(line, "g8h8")], 5)
    assert GAME.format_moves(line[-1], [GAME.parse_move(line, "g8h8"), *moves]) == ("g8h8", "a1a8")


def test_longer_ones() -> None:
    line = GAME.parse_position("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1")[0]
    assert look(line, [], 4) == (RUNNING, -1, NO_MOVE)
    assert look(line, [], 5) == (RUNNING, -1, GAME.parse_move(line, "f6a6"))


def test_at_the_root_only_the_move_is_told() -> None:
    line = GAME.parse_position("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")[0]
    assert look(line, [], 3) == (RUNNING, -1, GAME.parse_move(line, "a1a8"))


@pytest.mark.parametrize(("quiet", "outcome"), [(96, WIN), (97, RUNNING)])
def test_the_fifty_moves_may_come_first(quiet: int, outcome: int) -> None:
    line = GAME.parse_position(f"8/6k1/R7/8/8/8/1R6/6K1 b - - {quiet} 90")[0]
    assert look(line, [GAME.parse_move(line, "g7h7")], 3)[0] == outcome


@pytest.mark.parametrize(
    ("fen", "moves", "outcome"),
    [
        ("8/7k/R7/8/8/8/1R6/6K1 w - - 0 1", "g1h1 h7g7 h1g1 g7h7", RUNNING),
        ("8/7k/R7/8/8/8/1R6/6K1 w - - 0 1", "g1h1 h7g7 h1h2 g7h7", WIN),
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "g1f1 g8f8 f1g1 f8g8", WIN),
    ],
)
def test_a_third_occurrence_may_come_first_but_to_a_mate_at_once(fen: str, moves: str, outcome: int) -> None:
    line = GAME.parse_position(fen)[0]
    *before, last = moves.split()
    for word in before:
        line = GAME.play(line, GAME.parse_move(line, word))
    assert look(line, [GAME.parse_move(line, last)], 3)[0] == outcome
