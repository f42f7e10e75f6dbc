"""Leaves of the legal move tree against counts made by python-chess and Stockfish, and by cshogi."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import chess
import pytest

from az_engine.engine.games import get_game

from .chess.agreement import CHESS960, choose

DATA = Path(__file__).parents[2] / "data"
FILES = [DATA / f"perft_{name}.jsonl" for name in ("chess", "shogi")]
SAMPLES = [json.loads(line) for path in FILES for line in path.read_text().splitlines()]
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["id"])
def test_counts(sample: dict[str, Any]) -> None:
    game = get_game("chess").variant(sample["variant"]) if "fen" in sample else get_game("shogi")
    line, _ = game.parse_position(sample["fen" if "fen" in sample else "sfen"])
    counts = [sum(game.perft(line[-1], depth).values()) for depth in range(1, len(sample["perft"]) + 1)]
    assert counts == sample["perft"]


@pytest.mark.parametrize(("name", "depth", "leaves"), [("chess", 6, 119_060_324), ("shogi", 5, 19_861_490)])
def test_the_start_position(name: str, depth: int, leaves: int) -> None:
    game = get_game(name)
    assert sum(game.perft(game.initial()[-1], depth).values()) == leaves


@pytest.mark.parametrize("name", ["chess", "shogi", "go9"])
def test_a_count_can_be_ended(name: str) -> None:
    game, halt, counts = get_game(name), bytearray(4), list[dict[int, int]]()
    state = game.initial()[-1]
    game.perft(state, 2)  # loads the kernel
    thread = threading.Thread(target=lambda: counts.append(game.perft(state, 99, halt)), daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    halt[0] = 1
    thread.join(60.0)
    assert [*counts[0]] == game.legal_moves(game.initial()).tolist()


def test_the_position_with_most_moves() -> None:
    game = get_game("shogi")
    line, _ = game.parse_position(MOST_MOVES)
    assert [sum(game.perft(line[-1], depth).values()) for depth in (1, 2, 3)] == [593, 105_677, 53_393_368]
    assert len(game.legal_moves(line[-1])) <= game.max_moves


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
