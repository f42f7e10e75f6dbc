"""Leaves of the legal move tree against counts made by python-chess and Stockfish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.games import get_game

SAMPLES = Path(__file__).parents[3] / "data" / "perft_chess.jsonl"


def samples() -> list[Any]:
    return [json.loads(line) for line in SAMPLES.read_text().splitlines()]


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample["id"])
def test_counts(sample: dict[str, Any]) -> None:
    game = get_game("chess")
    line, _ = game.parse_position(sample["fen"], chess960=sample["variant"] == "chess960")
    counts = [sum(game.perft(line[-1], depth).values()) for depth in range(1, len(sample["perft"]) + 1)]
    assert counts == sample["perft"]


def test_start_position_six_plies() -> None:
    game = get_game("chess")
    assert sum(game.perft(game.initial()[-1], 6).values()) == 119_060_324


def test_counts_by_move() -> None:
    game = get_game("chess")
    counts = game.perft(game.initial()[-1], 3)
    assert len(counts) == 20
    assert counts["e2e4"] == 600
    assert counts["g1h3"] == 400
