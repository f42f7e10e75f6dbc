"""Rows of KataGo's answers (its ``kata-raw-nn``) as lines of our game: for tests of planes and of nets."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.go import rulesets
from az_engine.engine.games.go.notation import point_of
from az_engine.engine.games.go.rulesets import RuleSet
from az_engine.engine.games.go.state import BLACK

Row = dict[str, Any]
_KO = {"SIMPLE": rulesets.SIMPLE, "POSITIONAL": rulesets.POSITIONAL, "SITUATIONAL": rulesets.SITUATIONAL}
_BONUS = {"0": rulesets.NO_BONUS, "N": rulesets.BONUS_N, "N-1": rulesets.BONUS_N_MINUS_1}
_TAX = {"NONE": 0, "SEKI": rulesets.SEKI_TAX, "ALL": rulesets.ALL_TAX}
FOREIGN = "AZ_ENGINE_FOREIGN"


def read_rows(path: Path) -> list[Row]:
    """The rows of a .jsonl.gz file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def foreign(name: str) -> Path:
    """A file among the other programs' nets and vectors; the test is skipped where they are not at hand."""
    folder = os.environ.get(FOREIGN)
    if not folder:
        pytest.skip(f"set {FOREIGN} to a folder with other programs' nets and their answers")
    path = Path(folder) / name
    if not path.is_file():
        pytest.skip(f"{FOREIGN} has no {name}")
    return path


def flags(rules: dict[str, Any]) -> int:
    """The state's rule flags of KataGo's rules."""
    plain = RuleSet(
        "", _KO[rules["ko"]], rules["suicide"], _BONUS[rules["whiteHandicapBonus"]], rules["friendlyPassOk"]
    )
    extra = rulesets.TERRITORY * (rules["scoring"] == "TERRITORY") | rulesets.BUTTON * rules["hasButton"]
    return int(plain.flags | extra | _TAX[rules["tax"]])


def start(size: int, komi: float, rules: str) -> State:
    """State[1], an empty board."""
    return get_game(f"go{size}").parse_position(f"{'/'.join([str(size)] * size)} b - {komi} {rules}")[0]


def line_of(row: Row) -> tuple[Game, State]:
    """The game of a row's size and its line. KataGo takes black's stones before white's first for a handicap."""
    columns: int = row["x"]
    moves = row["moves"]
    rows: int = row.get("y", columns)
    game = get_game(f"go{columns}x{rows}")
    line = np.zeros(2 * len(moves) + 2, game.state_dtype)
    line[:1] = game.initial()
    line[0]["komi"], line[0]["rules"] = round(2 * row["komi"]), flags(row["rules"])
    stones = [colour for colour, vertex in moves if vertex.lower() != "pass"]
    alone = stones.index("W") if "W" in stones else len(stones)
    line[0]["handicap"] = alone if alone > 1 else 0
    at = 0
    for colour, vertex in [*moves, (row["to_play"], None)]:
        if (colour == "B") != (line[at]["turn"] == BLACK):
            game.play_at(line, at, columns * rows + 1)  # the side to move changes
            at += 1
        if vertex is not None:
            game.play_at(line, at, point_of(vertex, columns, rows))
            at += 1
    return game, line[: at + 1]
