"""Labelled shogi records, 146 bytes a position, for ``az-engine train --game shogi --supervised``.

How they lie in files: :mod:`shards`. Board and moves are absolute (not turned for the mover), in the engine's numbers:
a square is 9 * (file - 1) + rank with rank a = 0; pieces and moves are those of ``engine/games/shogi`` (and the 16-bit
moves of cshogi). Only the order of the hands differs: pawn, lance, knight, silver, gold, bishop, rook.

| field  | type  | meaning |
|--------|-------|---------|
| board  | 81 u1 | the piece on each square, 0 = none, white's + 16 |
| hand   | 14 u1 | numbers in black's hand, P L N S G B R, then in white's |
| turn   | u1    | 0 = black to move, 1 = white |
| ply    | u2    | plies since the start position |
| check  | u1    | 1 = the side to move is in check (not read: it is computed) |
| rep    | u1    | earlier occurrences of the position in its game, at most 3 (not read: they are counted) |
| n      | u1    | number of labelled moves |
| mv     | 8 u2  | moves, most likely first: to + 128 from + 16384 promotes; from = 81 .. 87 drops P L N S B R G |
| p      | 8 u2  | the teacher's probability of each in 1/65535, among all legal moves |
| rest   | u2    | the same of all other legal moves together (not read: the labelled moves share it; an engine's: 0) |
| q      | i2    | the teacher's value for the side to move in 1/32767, -1 .. +1 |
| m1     | u1    | 1 = the first move mates (it has p = 1 and q = 1) |
| played | u2    | the move played |
| z      | i1    | the game's result for the side to move: 1 won, 0 drawn, -1 lost |
| rnd    | u1    | 1 = the played move was drawn blindly from all legal moves: not to be imitated |
| game   | u4    | game id |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.games.base import Game, State
from ....engine.games.outcome import LOSS
from ..any_game import WITHOUT_SCORES, kept_policy, same_move, same_moves, taught
from ..shards import LabelFormat, Records, ShardFormat, TargetOptions, Teaching, first_wrong

LINES = 8
Policy = NDArray[np.float64]
RECORD = np.dtype(
    [
        ("board", "u1", (81,)),
        ("hand", "u1", (14,)),
        ("turn", "u1"),
        ("ply", "<u2"),
        ("check", "u1"),
        ("rep", "u1"),
        ("n", "u1"),
        ("mv", "<u2", (LINES,)),
        ("p", "<u2", (LINES,)),
        ("rest", "<u2"),
        ("q", "<i2"),
        ("m1", "u1"),
        ("played", "<u2"),
        ("z", "i1"),
        ("rnd", "u1"),
        ("game", "<u4"),
    ]
)
_HAND_ORDER = (0, 1, 2, 3, 5, 6, 4)  # of the engine's P L N S B R G in a record's P L N S G B R
_RECORD_ORDER = (0, 1, 2, 3, 6, 4, 5)  # of a record's in the engine's
SCALE, TEMPERATURE = 600.0, 0.02  # centipawns and expected points, see record_of; 600 is what shogi engines use
_TOTALS = (18, 4, 4, 4, 2, 2, 4)  # pieces of a set, P L N S B R G
_KING, _PROMOTED, _LAST_SQUARE, _LAST_SOURCE = 8, 8, 80, 87


def _hands(records: Records) -> NDArray[np.uint8]:
    """Numbers in hand as the engine orders them, u1[N, 2, 7]."""
    hands: NDArray[np.uint8] = records["hand"].reshape(-1, 2, 7)[:, :, _HAND_ORDER]
    return hands


def first_fault(records: Records) -> str:
    """What is wrong with the first impossible record, "" when all can be used safely (legality is seen when drawn)."""
    board, hands = records["board"], _hands(records)
    piece = board & 15
    in_set = np.zeros(len(records), bool)
    for kind, total in enumerate(_TOTALS, 1):
        on_board = (piece == kind).sum(axis=1) + ((piece == kind + _PROMOTED) & (kind != 7)).sum(axis=1)
        in_set |= on_board + hands[:, :, kind - 1].astype(np.int64).sum(axis=1) > total
    used = np.arange(LINES) < records["n"][:, None]
    moves = np.column_stack([np.where(used, records["mv"], records["mv"][:, :1]), records["played"]])
    off_board = ((moves & 127 > _LAST_SQUARE) | (moves >> 7 & 127 > _LAST_SOURCE) | (moves >> 15 > 0)).any(axis=1)
    checks: list[tuple[str, Any]] = [
        ("there is an unknown piece on the board", ((board > 30) | (piece == 15) | (board == 16)).any(axis=1)),
        ("there is not one king a side", ((board == _KING).sum(1) != 1) | ((board == _KING + 16).sum(1) != 1)),
        ("there are more pieces than in a shogi set", in_set),
        ("the side to move is unknown", records["turn"] > 1),
        ("there is no labelled move, or more than eight", (records["n"] < 1) | (records["n"] > LINES)),
        ("a move leads off the board", off_board),
        ("the labelled moves have no probability", (records["p"] * used).astype(np.int64).sum(axis=1) == 0),
        ("the result is not -1, 0 or 1", np.abs(records["z"].astype(np.int64)) > 1),
    ]
    return first_wrong(checks)


def to_states(game: Game, records: Records, first: NDArray[np.int64]) -> NDArray[np.void]:
    """The records' positions as the game's own states, normalised and with repetitions counted."""
    states = np.zeros(len(records), game.state_dtype)
    states["board"] = records["board"]
    states["hands"] = _hands(records)
    states["turn"] = records["turn"]
    states["ply"] = records["ply"]
    game.normalise(states)
    game.count_repetitions(states, first)
    return states


def chances(records: Records, options: TargetOptions) -> NDArray[np.float64]:
    """Win, draw and loss f8 [N, 3] of the teacher's value q: (1 + q) / 2, 0, (1 - q) / 2; few games are drawn."""
    q = np.clip(records["q"].astype(np.float64) / 32767, -1, 1)
    return np.stack([(1 + q) / 2, np.zeros(len(q)), (1 - q) / 2], axis=1)


def records_of(states: State) -> Records:
    """Record[N] of State[N] with nothing but the positions."""
    rows = np.zeros(len(states), RECORD)
    rows["board"], rows["turn"], rows["ply"], rows["check"] = (
        states["board"],
        states["turn"],
        states["ply"],
        states["checked"],
    )
    rows["hand"] = states["hands"][:, :, _RECORD_ORDER].reshape(-1, 14)
    rows["rep"] = np.minimum(3, states["repetitions"])
    return rows


def judged_records(
    states: State, moves: NDArray[np.uint16], policy: NDArray[np.float64], scores: NDArray[np.int64]
) -> Records:
    """Record[N] of State[N] by a score i8[N] without a search; moves u2[N, K] with their policy f8[N, K], best first.

    Moves behind the first of probability 0 do not count.
    """
    rows, known = records_of(states), policy > 0
    rows["n"] = known.sum(axis=1)
    rows["mv"] = np.where(known, moves, 0)
    rows["p"] = np.rint(65535 * policy)
    rows["rest"] = np.rint(65535 * np.maximum(0.0, 1 - policy.sum(axis=1)))
    rows["q"] = np.rint(32767 * np.tanh(scores / (2 * SCALE)))
    rows["played"] = rows["mv"][:, 0]
    return rows


def record_of(game: Game, line: State, teaching: Teaching) -> Records:
    """Record[1] of a line's last position; see :func:`any_game.taught` for p and q."""
    row = records_of(line[-1:])
    row["n"] = count = len(teaching.moves)
    row["mv"][0, :count] = teaching.moves
    mates = game.play(line, int(teaching.moves[0]))
    if len(game.legal_moves(mates)) == 0 and game.outcome(mates) == LOSS:
        row["m1"], policy, chance = 1, np.eye(count)[0], 1.0
    else:
        policy, chance = taught(teaching, SCALE, TEMPERATURE)
        row["rest"] = np.rint(65535 * max(0.0, 1 - policy.sum()))
    row["q"] = np.rint(32767 * (2 * chance - 1))
    row["p"][0, :count] = np.rint(65535 * policy)
    return row


FORMAT = ShardFormat(
    RECORD, first_fault, to_states, same_moves, kept_policy, chances, WITHOUT_SCORES, has_openings=True
)


def labels(game: Game) -> LabelFormat:
    return LabelFormat(FORMAT, LINES, SCALE, 3000, 320, record_of, same_move, judged=judged_records, judged_scale=SCALE)
