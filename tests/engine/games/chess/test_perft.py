"""Leaves of the legal move tree against counts made by python-chess and Stockfish."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import chess
import pytest

from az_engine.engine.games import get_game

from .agreement import CHESS960, choose

SAMPLES = Path(__file__).parents[3] / "data" / "perft_chess.jsonl"


def samples() -> list[Any]:
    return [json.loads(line) for line in SAMPLES.read_text().splitlines()]


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample["id"])
def test_counts(sample: dict[str, Any]) -> None:
    game = get_game("chess").variant(sample["variant"])
    line, _ = game.parse_position(sample["fen"])
    counts = [sum(game.perft(line[-1], depth).values()) for depth in range(1, len(sample["perft"]) + 1)]
    assert counts == sample["perft"]


def test_start_position_six_plies() -> None:
    game = get_game("chess")
    assert sum(game.perft(game.initial()[-1], 6).values()) == 119_060_324


def named_counts(fen: str) -> dict[str, int]:
    """Leaves two plies deep below each move of a position, by its name in Chess960."""
    state = CHESS960.parse_position(fen)[0][-1]
    return {CHESS960.format_move(state, move): leaves for move, leaves in CHESS960.perft(state, 2).items()}


@pytest.mark.slow
def test_chess960_names_every_move() -> None:
    rng, castled = random.Random(1), 0
    for start in range(0, 960, 8):
        board = chess.Board.from_chess960_pos(start)
        for _ in range(12):
            expected = {}
            for move in board.legal_moves:
                castled += board.is_castling(move)
                name = board.uci(move)
                board.push(move)
                expected[name] = board.legal_moves.count()
                board.pop()
            assert named_counts(board.fen()) == expected
            if not expected:
                break
            board.push(choose(board, rng))
    assert castled > 100


def test_castling_to_where_the_king_may_step() -> None:
    assert len(named_counts("4k3/8/8/8/8/8/8/RK6 w A - 0 1")) == 12
