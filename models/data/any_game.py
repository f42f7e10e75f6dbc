"""Labelled records of any game: its own text of each position, with a teacher's moves, chances and the game's result.

How they lie in files: :mod:`shards`. A game needs nothing for them; one with a form of its own has a module in
:mod:`games`.

| field    | type  | meaning |
|----------|-------|---------|
| position | S200  | the position in the game's notation |
| ply      | u2    | moves since the start of the game |
| n        | u1    | number of labelled moves |
| mv       | 8 u2  | moves in the game's own numbers, most likely first |
| p        | 8 u2  | the teacher's probability of each in 1/65535 |
| w, l     | u2    | the teacher's chances of winning and losing in 1/65535, for the side to move |
| played   | u2    | the move played |
| z        | i1    | the game's result for the side to move: 1 won, 0 drawn, -1 lost |
| rnd      | u1    | 1 = the played move was drawn blindly from all legal moves: not to be imitated |
| game     | u4    | game id |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, PositionError
from ...engine.games.base import Game, State
from .shards import CUT, LabelFormat, Records, ShardFormat, TargetOptions, Teaching, first_wrong

LINES = 8
LONGEST = 200  # bytes of a position's text
RECORD = np.dtype(
    [
        ("position", f"S{LONGEST}"),
        ("ply", "<u2"),
        ("n", "u1"),
        ("mv", "<u2", (LINES,)),
        ("p", "<u2", (LINES,)),
        ("w", "<u2"),
        ("l", "<u2"),
        ("played", "<u2"),
        ("z", "i1"),
        ("rnd", "u1"),
        ("game", "<u4"),
    ]
)
SCALE, TEMPERATURE, DECIDED = 180.0, 0.02, 1200  # centipawns, expected points and centipawns
WITHOUT_SCORES = ("temperature", "centipawns", "value")  # what means nothing to records of probabilities and chances
_ONE = 65535


def first_fault(records: Records) -> str:
    """What is wrong with the first impossible record, "" when none is; to_states reads positions and moves."""
    used = np.arange(LINES) < records["n"][:, None]
    checks: list[tuple[str, Any]] = [
        ("there is no labelled move, or more than eight", (records["n"] < 1) | (records["n"] > LINES)),
        ("the labelled moves have no probability", (records["p"] * used).astype(np.int64).sum(axis=1) == 0),
        ("win and loss chances exceed 1", records["w"].astype(np.int64) + records["l"] > _ONE),
        ("the result is not -1, 0 or 1", np.abs(records["z"].astype(np.int64)) > 1),
    ]
    return first_wrong(checks)


def to_states(game: Game, records: Records, first: NDArray[np.int64]) -> State:
    """The records' positions as the game's own states, with repetitions counted.

    Errors: DataError for a position that is none, and for a move that is not legal in it.
    """
    states = np.zeros(len(records), game.state_dtype)
    for i, record in enumerate(records):
        text = bytes(record["position"]).decode("utf-8", "replace")
        try:
            line = game.parse_position(text)[0]
        except PositionError as error:
            raise DataError(f"record {i}: {error}; the file is damaged, remove it or make it again") from None
        moves = {int(record["played"]), *record["mv"][: record["n"]].tolist()}
        if not moves <= set(game.legal_moves(line).tolist()):
            raise DataError(
                f"record {i}: a move is not legal in {text}; the file is damaged, remove it or make it again"
            )
        states[i] = line[-1]
    game.count_repetitions(states, first)
    return states


def same_moves(records: Records, moves: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Moves u2 [N, K] of records that write them in the game's own form."""
    return moves


def same_move(state: State, move: int) -> int:
    """A move as such records write it."""
    return move


def kept_policy(records: Records, options: TargetOptions) -> NDArray[np.float32]:
    """f4 [N, K]: the recorded probabilities ``p`` of the labelled moves, scaled to add up to 1."""
    weights = records["p"].astype(np.float64) * (np.arange(records["p"].shape[1]) < records["n"][:, None])
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


def chances(records: Records, options: TargetOptions) -> NDArray[np.float64]:
    """Win, draw and loss f8 [N, 3] as the teacher sees them."""
    win, loss = records["w"] / _ONE, records["l"] / _ONE
    return np.stack([win, 1 - win - loss, loss], axis=1)


def taught(teaching: Teaching, scale: float, temperature: float) -> tuple[NDArray[np.float64], float]:
    """A teacher's policy f8[n] over its moves and its expected points: as reported, or made of its scores.

    W(cp) = 1 / (1 + exp(-cp / scale)), 0 or 1 for a mate; p = softmax((W(cp_i) - W(cp_1)) / temperature).
    """
    if teaching.policy is not None and teaching.chance is not None:
        return teaching.policy, teaching.chance
    points = 1 / (1 + np.exp(-teaching.scores / scale))
    mates = np.abs(teaching.scores) > CUT
    points[mates] = teaching.scores[mates] > 0
    weights = np.exp((points - points[0]) / temperature)
    return weights / weights.sum(), float(points[0])


def record_of(game: Game, line: State, teaching: Teaching) -> Records:
    """Record[1] of a line's last position. Errors: DataError for a position with too long a text."""
    text, row, count = game.format_position(line[-1]).encode(), np.zeros(1, RECORD), len(teaching.moves)
    if len(text) > LONGEST:
        raise DataError(f"a position of {game.name} takes {len(text)} bytes; records of any game hold {LONGEST}")
    policy, points = taught(teaching, SCALE, TEMPERATURE)
    win, loss = (points, 1 - points) if teaching.wdl is None else (teaching.wdl[0] / 1000, teaching.wdl[2] / 1000)
    row["position"], row["ply"], row["n"] = text, len(line) - 1, count
    row["mv"][0, :count], row["p"][0, :count] = teaching.moves, np.rint(_ONE * policy)
    row["w"], row["l"] = int(_ONE * win), int(_ONE * loss)
    return row


FORMAT = ShardFormat(RECORD, first_fault, to_states, same_moves, kept_policy, chances, WITHOUT_SCORES)


def labels(game: Game) -> LabelFormat:
    return LabelFormat(FORMAT, LINES, SCALE, DECIDED, game.training.longest_game, record_of, same_move)
