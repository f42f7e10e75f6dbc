"""Short mates at the leaves of the search against trying everything (:mod:`naive_mates`)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.outcome import LOSS, RUNNING, WIN
from az_engine.engine.games.shogi import EnteringKing
from az_engine.engine.games.tactics.mates import NO_MOVE

from .naive_mates import mates
from .slow_mate import sharp_positions

GAME = get_game("shogi")
_PROBLEMS = (Path(__file__).parents[3] / "data" / "mate_shogi.jsonl").read_text(encoding="utf-8").splitlines()
MATE_IN_THREE = next(p["sfen"] for p in map(json.loads, _PROBLEMS) if p["plies"] == 3)


def look(line: State, path: list[int], plies: int) -> tuple[int, int, int]:
    """(outcome, plies, first move) that the kernel finds after a path from the end of a line."""
    states, leaves = GAME.encoder.leaf_after(line, path, plies)
    GAME.encoder.describe(states, leaves, 1, 1, plies)
    leaf = leaves.rows[0]
    return int(leaf["outcome"]), int(leaf["end"]), int(leaf["begin"])


def assert_agrees(line: State, path: list[int], plies: int) -> int:
    """The kernel and the oracle say the same of the leaf; returns the plies of its mate, 0 without one."""
    leaf = line
    for move in path:
        leaf = GAME.play(leaf, move)
    outcome, ends, begins = look(line, path, plies)
    mate = mates(leaf[-1:], plies)
    if mate is None:
        assert (outcome, ends, begins) == (RUNNING, -1, NO_MOVE)
        return 0
    assert ends == mate[0]
    assert outcome == (WIN if ends % 2 else LOSS)
    assert begins in (mate[1] or [NO_MOVE])
    return ends


def test_all_short_mates_and_no_others() -> None:
    rng = random.Random(3)
    found = dict.fromkeys(range(4), 0)
    for _ in range(20):
        for sfen in sharp_positions(rng):
            if rng.random() < 0.06:
                line = GAME.parse_position(sfen)[0]
                moves = GAME.legal_moves(line).tolist()
                checks = [move for move in moves if GAME.play(line, move)[-1]["checked"]]
                move = rng.choice(checks or moves)
                if GAME.outcome(GAME.play(line, move)) == RUNNING:
                    found[assert_agrees(line, [move], 3)] += 1
    assert min(found.values()) >= 3, found


def test_at_the_root_only_the_move_is_told() -> None:
    line = GAME.parse_position("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")[0]
    assert look(line, [], 3) == (RUNNING, -1, GAME.parse_move(line, "G*5b"))


@pytest.mark.parametrize(("left", "found"), [(2, False), (3, True)])
def test_the_draw_by_plies_may_come_first(left: int, found: bool) -> None:
    line = GAME.parse_position(MATE_IN_THREE)[0]
    EnteringKing().set_rules(line, max_plies=int(line[-1]["ply"]) + left)
    assert (look(line, [], 3)[2] != NO_MOVE) == found


def test_where_a_position_may_come_for_the_fourth_time_only_a_mate_at_once_counts() -> None:
    line = GAME.parse_position(MATE_IN_THREE)[0]
    line["repetitions"] = 2
    assert look(line, [], 3)[2] == NO_MOVE
    line = GAME.parse_position("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")[0]
    line["repetitions"] = 2
    assert look(line, [], 3)[2] != NO_MOVE
