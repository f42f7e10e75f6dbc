"""Leaves of the legal move tree against counts made by cshogi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.games import get_game

SAMPLES = Path(__file__).parents[3] / "data" / "perft_shogi.jsonl"
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"


def samples() -> list[Any]:
    return [json.loads(line) for line in SAMPLES.read_text().splitlines()]


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample["id"])
def test_counts(sample: dict[str, Any]) -> None:
    game = get_game("shogi")
    line, _ = game.parse_position(sample["sfen"])
    counts = [sum(game.perft(line[-1], depth).values()) for depth in range(1, len(sample["perft"]) + 1)]
    assert counts == sample["perft"]


def test_start_position_five_plies() -> None:
    game = get_game("shogi")
    assert sum(game.perft(game.initial()[-1], 5).values()) == 19_861_490


def test_the_position_with_most_moves() -> None:
    game = get_game("shogi")
    line, _ = game.parse_position(MOST_MOVES)
    assert [sum(game.perft(line[-1], depth).values()) for depth in (1, 2, 3)] == [593, 105_677, 53_393_368]
    assert len(game.legal_moves(line[-1])) <= game.max_moves
