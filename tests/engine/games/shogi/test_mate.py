"""The search for a forced mate against cshogi: every answer is proved again, move by move, by :mod:`slow_mate`.

``tests/data/mate_shogi.jsonl`` is made by ``python -m tests.engine.games.shogi.slow_mate``.
"""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.shogi.mate import ShogiMate

from .slow_mate import (
    Attack,
    TooMany,
    Undecided,
    assert_forced,
    assert_safe,
    checking_moves,
    cshogi,
    defend,
    sharp_positions,
    solve,
)

GAME = get_game("shogi")
PROBLEMS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "mate_shogi.jsonl").read_text(encoding="utf-8").splitlines()
]
MATES = [p for p in PROBLEMS if p["plies"]]
SAFE = [p for p in PROBLEMS if not p["plies"]]
ENOUGH = 200_000  # nodes


def test_a_problem_without_the_attackers_king() -> None:
    line, _ = GAME.parse_position("7nl/7k1/6p2/6S1p/9/9/9/9/9 b GS2r2b3g2s3n3l16p 1")
    search = ShogiMate(line, 1 << 20)
    assert search.advance(ENOUGH) == "mate"
    assert GAME.format_moves(line[-1], search.moves) == ("S*2c", "2b1c", "2c1b+", "1c1b", "G*2c")


def test_there_are_enough_of_each() -> None:
    assert sorted(p["plies"] for p in MATES) == [n for n in (3, 5, 7, 9, 11) for _ in range(4)]
    assert len(SAFE) == 20


@pytest.mark.parametrize("problem", MATES, ids=lambda p: f"{p['plies']} {p['sfen']}")
def test_mates(problem: dict[str, Any]) -> None:
    verdict, moves = solve(problem["sfen"], ENOUGH)
    assert verdict == "mate"
    assert len(moves) >= problem["plies"]
    assert len(moves) % 2 == 1
    board = cshogi.Board(problem["sfen"])
    for i, move in enumerate(moves):
        assert board.push_usi(move), f"{move} is illegal"
        assert board.is_check() == (i % 2 == 0)
    assert board.is_game_over()
    assert assert_forced(problem["sfen"], Attack(problem["sfen"])) >= problem["plies"]


@pytest.mark.parametrize("problem", SAFE, ids=lambda p: p["sfen"])
def test_no_mates(problem: dict[str, Any]) -> None:
    assert solve(problem["sfen"], ENOUGH) == ("nomate", [])
    assert assert_safe(problem["sfen"], defend)[1] == problem["loops"]


@pytest.mark.slow
def test_answers_in_random_games() -> None:
    """Whatever is answered within 3,000 nodes is proved, mate or not."""
    chance, proved = random.Random(7), {"mate": 0, "nomate": 0}
    while min(proved.values()) < 10:
        for sfen in sharp_positions(chance):
            if chance.random() < 0.8 or not checking_moves(cshogi.Board(sfen)):
                continue
            verdict, moves = solve(sfen, 3_000)
            if verdict == "mate" and len(moves) > 1:
                assert_forced(sfen, Attack(sfen))
                proved["mate"] += 1
            elif verdict == "nomate" and solve(sfen, 50)[0] is None:
                with contextlib.suppress(Undecided, TooMany):
                    assert_safe(sfen, defend, 200)
                    proved["nomate"] += 1


@pytest.mark.parametrize(
    ("sfen", "verdict"),
    [
        ("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "mate"),
        ("4k4/9/4P4/9/9/9/9/9/4K4 w g 1", "nomate"),  # white has no check
        ("7nk/9/8S/9/9/9/9/9/4K4 b P 1", "nomate"),  # a pawn drop must not mate
        ("7nk/9/8S/9/9/9/9/9/4K4 b L 1", "mate"),
        ("7rk/7np/9/9/9/9/9/9/K8 b N 1", "mate"),
        ("8k/9/9/9/9/9/9/7R1/K8 b - 1", "nomate"),  # the rook checks for ever
    ],
)
def test_plain_positions(sfen: str, verdict: str) -> None:
    assert solve(sfen)[0] == verdict
    assert assert_forced(sfen, Attack(sfen)) if verdict == "mate" else assert_safe(sfen, defend)


def test_slices_and_a_tiny_table_give_the_same() -> None:
    for problem in (MATES[-1], MATES[5], SAFE[0]):
        line, _ = GAME.parse_position(problem["sfen"])
        for nodes, memory in ((1, 1 << 20), (137, 1 << 24), (10_000, 1)):
            search = ShogiMate(line, memory)
            verdict = None
            while verdict is None and search.nodes < 3_000_000:
                before = search.nodes
                verdict = search.advance(nodes)
                assert search.nodes <= before + nodes + 2_000
            if memory > 1 or verdict is not None:  # with 4 entries it may take for ever, but not lie
                assert verdict == ("mate" if problem["plies"] else "nomate")


def test_a_repetition_from_the_game_is_no_mate() -> None:
    """What has been on the board three times ends the game when it comes again."""
    line, _ = GAME.parse_position("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    assert ShogiMate(line, 1 << 20).advance(100_000) == "mate"
    after = GAME.play(line, GAME.parse_move(line, "G*5b"))[-1:].copy()
    seen = np.concatenate([after, line])
    seen[0]["repetitions"] = 2
    assert ShogiMate(seen, 1 << 20).advance(100_000) == "nomate"
