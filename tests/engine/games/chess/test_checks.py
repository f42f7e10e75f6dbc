"""Short mates at the leaves of the search against trying everything (:mod:`naive_mates`)."""

from __future__ import annotations

import random
from collections import Counter

import chess
import numpy as np
import pytest

from az_engine.engine.games.base import State
from az_engine.engine.games.chess.checks import _checks
from az_engine.engine.games.outcome import LOSS, RUNNING, WIN
from az_engine.engine.games.tactics.mates import NO_MOVE
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


def mating(board: chess.Board, moves: int) -> bool:
    """Whether the side to move mates within so many moves of any kind, by trying everything."""
    for move in list(board.legal_moves):
        board.push(move)
        found = board.is_checkmate() or (
            moves > 1 and any(board.legal_moves) and all(_answered(board, reply, moves) for reply in board.legal_moves)
        )
        board.pop()
        if found:
            return True
    return False


def _answered(board: chess.Board, reply: chess.Move, moves: int) -> bool:
    board.push(reply)
    found = mating(board, moves - 1)
    board.pop()
    return found


def within(fen: str, moves: int, played: str = "") -> tuple[str | None, int, tuple[str, ...]]:
    """Verdict, plies and line of a mate in so many moves."""
    line = CHESS960.parse_position(fen)[0]
    for word in played.split():
        line = GAME.play(line, CHESS960.parse_move(line, word))
    assert CHESS960.mate_within is not None
    search = CHESS960.mate_within(line, 1 << 20, 2 * moves - 1)
    verdict = None
    while verdict is None:
        verdict = search.advance(1000)
    return verdict, search.plies, CHESS960.format_moves(line[-1], search.moves)


@pytest.mark.slow
def test_mates_within_some_moves_against_trying_everything() -> None:
    rng, verdicts = random.Random(5), Counter[str]()
    while verdicts.total() < 120:
        board = chess.Board(None)
        men = [*"KkQR", *rng.choices("NBPprnb", k=rng.randint(1, 4))]
        for square, man in zip(rng.sample(range(8, 56), len(men)), men, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        if not board.is_valid() or board.is_check():
            continue
        verdict, plies, line = within(board.fen(), 2)
        assert verdict == ("mate" if mating(board, 2) else "nomate"), board.fen()
        verdicts[verdict] += 1
        for word in line:
            board.push_uci(word)
        assert board.is_checkmate() == (verdict == "mate")
        assert len(line) <= plies <= 3
    assert min(verdicts.values()) > 20


ROOK = "k7/8/2K5/8/8/8/8/7R w - - {} 80"


@pytest.mark.parametrize(
    ("fen", "played", "moves", "verdict", "plies"),
    [
        ("1k5r/pP3ppp/3p2b1/1BN1n3/1Q2P3/P1B5/KP3P1P/7q w - - 1 0", "", 2, "nomate", 0),
        ("1k5r/pP3ppp/3p2b1/1BN1n3/1Q2P3/P1B5/KP3P1P/7q w - - 1 0", "", 4, "mate", 5),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "", 300, "mate", 3),
        ("7k/5K2/8/8/8/8/8/6R1 b - - 0 1", "", 5, "nomate", 0),
        (chess.STARTING_FEN, "", 3, "nomate", 0),
        (chess.STARTING_FEN, "f2f3 e7e5 g2g4", 1, "mate", 1),
        ("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "", 1, "mate", 1),  # other moves are stalemate
        (ROOK.format(97), "", 2, "mate", 3),  # the fiftieth move mates
        (ROOK.format(98), "", 2, "nomate", 0),
        (ROOK.format(99), "", 2, "nomate", 0),
        (
            ROOK.format(0),
            "c6b6 a8b8 b6c6 b8a8 c6b6 a8b8 b6c6 b8a8 c6c7 a8a7 c7c6 a7a8 c6c7 a8a7 c7c6 a7a8",
            2,
            "nomate",
            0,
        ),
    ],
)
def test_mates_within_some_moves(fen: str, played: str, moves: int, verdict: str, plies: int) -> None:
    found = within(fen, moves, played)
    assert found[0] == verdict
    assert verdict == "nomate" or found[1] in (plies, 2 * moves - 1) or moves > 10
