"""Planes and actions against the slow, independent ones of slow_encoding.py."""

from __future__ import annotations

import itertools
import random

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from .agreement import GAME, Match, internal, random_positions
from .slow_encoding import action, move_of, planes

CHANNELS = 119
FEW_PLIES = 60


def encoded(match: Match, history: int = 0) -> NDArray[np.uint8]:
    """Our planes of the match's position, u1[119, 8, 8]; the array is dirty before."""
    out = np.full((1, *GAME.planes), 7, np.uint8)
    GAME.encode(match.line, np.array([len(match.line) - 1]), np.array([0]), out, history)
    return out.reshape(GAME.planes)


def our_actions(match: Match) -> dict[int, int]:
    """{move: action} of all legal moves."""
    moves = GAME.legal_moves(match.line[-1])
    out = np.full((1, len(moves)), -1, np.int32)
    GAME.actions(match.line, np.array([len(match.line) - 1]), moves[None], out)
    return dict(zip(moves.tolist(), out[0].tolist(), strict=True))


def test_constants() -> None:
    assert GAME.planes == (CHANNELS, 8, 8)
    assert GAME.num_actions == 8 * 8 * 73
    assert GAME.encoder.plane_scale.shape == (CHANNELS,)
    assert GAME.encoder.plane_scale.dtype == np.float32
    counts = [113, 118]
    assert (np.delete(GAME.encoder.plane_scale, counts) == 1).all()
    assert (GAME.encoder.plane_scale[counts] == 1 / 128).all()


def test_planes_of_random_games() -> None:
    for match in itertools.islice(random_positions(random.Random(31), FEW_PLIES), 0, 2000, 3):
        ours, theirs = encoded(match), planes(match.board)
        wrong = sorted(set(np.nonzero(ours != theirs)[0].tolist()))
        assert wrong == [], f"planes {wrong} of {match.board.fen()}"


def test_repetition_planes() -> None:
    match = Match(chess.Board())
    seen = []
    for text in "g1f3 g8f6 f3g1 f6g8".split() * 3:
        match.push(chess.Move.from_uci(text))
        assert (encoded(match) == planes(match.board)).all()
        seen.append((int(encoded(match)[12].max()), int(encoded(match)[13].max())))
    assert set(seen) == {(0, 0), (1, 0), (1, 1)}


def test_counts_saturate() -> None:
    match = Match(chess.Board("4k3/8/8/8/8/8/8/R3K3 w Q - 254 300"))
    for text in ("a1a2", "e8e7", "a2a3"):
        assert (encoded(match) == planes(match.board)).all()
        assert (encoded(match)[113] == 255).all()
        match.push(chess.Move.from_uci(text))
    assert (encoded(match)[118] == 255).all()


@pytest.mark.parametrize("history", [1, 2, 5, 8])
def test_shorter_history(history: int) -> None:
    """A net may be shown fewer positions; the planes of the older ones are zero."""
    for match in itertools.islice(random_positions(random.Random(13), 20), 100):
        expected = planes(match.board)
        expected[14 * history : 112] = 0
        assert (encoded(match, history) == expected).all()


def test_actions_of_random_games() -> None:
    for match in itertools.islice(random_positions(random.Random(32)), 0, 2000, 3):
        board, ours = match.board, our_actions(match)
        theirs = {internal(board, move): action(board, move) for move in board.legal_moves}
        assert ours == theirs, board.fen()
        assert len(set(ours.values())) == len(ours), f"two moves share an action in {board.fen()}"
        for move in board.legal_moves:
            assert move_of(board, ours[internal(board, move)]) == move


@pytest.mark.parametrize(
    ("fen", "move", "plane", "square"),
    [
        # Table S2, by hand: N 1 from e2; seen from black the same; castling both sides; an underpromotion; a knight
        (chess.STARTING_FEN, "e2e3", 0, "e2"),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "e7e5", 1, "e2"),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "b8c6", 56, "b1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", 2 * 7 + 1, "e1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8c8", 6 * 7 + 1, "e1"),
        ("8/k3P3/8/8/8/8/8/4K3 w - - 0 1", "e7e8q", 0, "e7"),
        ("5n2/k3P3/8/8/8/8/8/4K3 w - - 0 1", "e7f8r", 64 + 8, "e7"),
        ("7k/8/8/8/8/8/1p6/2R4K b - - 0 1", "b2c1n", 64 + 2, "b7"),
        ("7k/8/8/8/8/8/3p4/2R4K b - - 0 1", "d2c1b", 64 + 4, "d7"),
        ("6k1/8/8/8/8/8/8/Q6K w - - 0 1", "a1g7", 1 * 7 + 5, "a1"),
        ("6k1/8/8/8/8/8/7K/q7 b - - 0 1", "a1g7", 3 * 7 + 5, "a8"),
    ],
)
def test_actions_by_hand(fen: str, move: str, plane: int, square: str) -> None:
    match = Match(chess.Board(fen))
    number = GAME.parse_move(match.line[-1], move)
    assert our_actions(match)[number] == 64 * plane + chess.parse_square(square)
