"""Labelled chess records, 104 bytes a position: what ``az-engine label`` writes and ``train --supervised`` reads.

How they lie in files: :mod:`shards`.

| field  | type  | meaning |
|--------|-------|---------|
| bb     | 8 u8  | bitboards: pawns knights bishops rooks queens kings, white, black; bit 0 = a1, 63 = h8 |
| turn   | u1    | 1 = white to move, 0 = black |
| castle | u1    | rights: 1 white short, 2 white long, 4 black short, 8 black long |
| ep     | u1    | square passed over by a double pawn step just played (capturable or not), 255 = none |
| half   | u1    | half-moves since the last capture or pawn move |
| ply    | u2    | half-moves since the start position |
| n      | u1    | number of labelled moves |
| depth  | u1    | depth of the first line's search; 0: a net's opinion without a search |
| mv     | 5 u2  | moves, best first: from + 64 to + 4096 promotion (N B R Q = 1..4); castling: king's two squares |
| cp     | 5 i2  | score of each move for the side to move, centipawns; mate in k = 32000 - k, mated in k = k - 32000; |
|        |       | at depth 0: the position's score, then 1000 ln(p / p of the first move) of each further move |
| w, l   | u2    | the teacher's chances of winning and losing in 1/1000, for the side to move |
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
from ..shards import CUT, LabelFormat, Records, ShardFormat, TargetOptions, Teaching, first_wrong

LINES = 5
RECORD = np.dtype(
    [
        ("bb", "<u8", (8,)),
        ("turn", "u1"),
        ("castle", "u1"),
        ("ep", "u1"),
        ("half", "u1"),
        ("ply", "<u2"),
        ("n", "u1"),
        ("depth", "u1"),
        ("mv", "<u2", (LINES,)),
        ("cp", "<i2", (LINES,)),
        ("w", "<u2"),
        ("l", "<u2"),
        ("played", "<u2"),
        ("z", "i1"),
        ("rnd", "u1"),
        ("game", "<u4"),
    ]
)
Policy = NDArray[np.float64]
SCORE_SCALE, DRAW_MARGIN = 250.0, 80.0  # centipawns, see chances_of_score
LOG_SCALE = 1000.0  # of the logarithms of probabilities at depth 0


def first_fault(records: Records) -> str:
    """What is wrong with the first impossible record, "" when all can be used safely (moves are checked when drawn)."""
    bb = records["bb"]
    kinds, white, black = bb[:, :6], bb[:, 6], bb[:, 7]
    union = np.bitwise_or.reduce(kinds, axis=1)
    count = np.bitwise_count(kinds).sum(axis=1)
    rook, king = kinds[:, 3], kinds[:, 5]
    edge_ranks = np.uint64(0xFF000000000000FF)
    castling = np.zeros(len(records), bool)
    for bit, rook_square, king_square, ours in (
        (1, 7, 4, white),
        (2, 0, 4, white),
        (4, 63, 60, black),
        (8, 56, 60, black),
    ):
        stand = (rook & ours) >> np.uint64(rook_square) & (king & ours) >> np.uint64(king_square) & np.uint64(1)
        castling |= (records["castle"] & bit > 0) & (stand == 0)
    checks: list[tuple[str, Any]] = [
        ("pieces overlap", (white & black != 0) | (union != white | black) | (count != np.bitwise_count(union))),
        ("there is not one king a side", (np.bitwise_count(king & white) != 1) | (np.bitwise_count(king & black) != 1)),
        ("a pawn stands on the first or last rank", kinds[:, 0] & edge_ranks != 0),
        ("the side to move is unknown", records["turn"] > 1),
        ("castling rights do not fit the board", castling | (records["castle"] > 15)),
        ("the en-passant square is off the board", (records["ep"] > 63) & (records["ep"] != 255)),
        ("there is no labelled move, or more than five", (records["n"] < 1) | (records["n"] > LINES)),
        ("win and loss chances exceed 1000", records["w"].astype(np.int64) + records["l"] > 1000),
        ("the result is not -1, 0 or 1", np.abs(records["z"].astype(np.int64)) > 1),
    ]
    return first_wrong(checks)


def to_states(game: Game, records: Records, first: NDArray[np.int64]) -> NDArray[np.void]:
    """The records' positions as the game's own states, normalised and with repetitions counted."""
    states = np.zeros(len(records), game.state_dtype)
    for index, name in enumerate(("pawns", "knights", "bishops", "rooks", "queens", "kings", "white", "black")):
        states[name] = records["bb"][:, index]
    for bit, square in ((1, 7), (2, 0), (4, 63), (8, 56)):
        states["castling"] |= np.where(records["castle"] & bit, np.uint64(1 << square), np.uint64(0))
    states["rule50"] = records["half"]
    states["ply"] = records["ply"]
    states["ep"] = np.where(records["ep"] == 255, 64, records["ep"])
    states["turn"] = 1 - records["turn"]
    game.normalise(states)
    game.count_repetitions(states, first)
    return states


def to_moves(records: Records, moves: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Moves u2 [N, K] of the records in the game's own form, where castling is king takes rook."""
    source, target = moves & 63, moves >> 6 & 63
    king = (records["bb"][:, 5, None] >> source.astype(np.uint64) & np.uint64(1)).astype(bool)
    result = moves.copy()
    for home, goal, rook in ((4, 6, 7), (4, 2, 0), (60, 62, 63), (60, 58, 56)):
        result[king & (source == home) & (target == goal)] = home + 64 * rook
    return result


def soft_policy(records: Records, options: TargetOptions) -> NDArray[np.float32]:
    """f4 [N, 5]: softmax((W(cp_i) - W(cp_1)) / T) over the labelled moves, W(cp) = 1 / (1 + exp(-cp / scale)).

    At depth 0 the net's own probabilities of the labelled moves, scaled to add up to 1.
    """
    scores = records["cp"].astype(np.float64)
    points = 1.0 / (1.0 + np.exp(-scores / options.centipawns))
    weights = np.exp((points - points[:, :1]) / options.temperature)
    without_search = records["depth"] == 0
    weights[without_search] = np.exp(scores[without_search] / LOG_SCALE)
    weights[without_search, 0] = 1.0
    weights[np.arange(LINES) >= records["n"][:, None]] = 0.0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


def chances_of_score(centipawns: NDArray[Any]) -> NDArray[np.float64]:
    """Win, draw and loss [N, 3] of scores [N]: logistic, win = 1 / (1 + exp(-(cp - 80) / 250)), loss mirrored.

    The two constants are near the maximum-likelihood fit to the results of labelled games with blunders. An engine's
    own WDL assumes its own strength: two thirds of such positions are then as good as decided, and a net that learns
    them cannot tell a won piece from a won queen.
    """
    score = centipawns.astype(np.float64)
    win = 1 / (1 + np.exp(-(score - DRAW_MARGIN) / SCORE_SCALE))
    loss = 1 / (1 + np.exp((score + DRAW_MARGIN) / SCORE_SCALE))
    return np.stack([win, 1 - win - loss, loss], axis=1)


_SCORES = np.arange(-4000, 4001)
_POINTS = chances_of_score(_SCORES) @ np.array([1.0, 0.5, 0.0])


def score_of_points(points: float) -> int:
    """The score in centipawns, within 4000, whose :func:`chances_of_score` make so many expected points."""
    return round(float(np.interp(points, _POINTS, _SCORES)))


def chances(records: Records, options: TargetOptions) -> NDArray[np.float64]:
    """Win, draw and loss f8 [N, 3] as the teacher sees them: from its score, or its own WDL."""
    if options.value == "score":
        return chances_of_score(records["cp"][:, 0])
    return np.stack([records["w"], 1000 - records["w"] - records["l"], records["l"]], axis=1) / 1000


def line_chances(records: Records) -> NDArray[np.float32]:
    """Win, draw and loss f4 [N, 5, 3] after each labelled move, for the side that makes it; NaN where unknown.

    Without a search, at depth 0, the score is the position's and no move has one.
    """
    chances = chances_of_score(records["cp"].ravel()).reshape(*records["cp"].shape, 3).astype(np.float32)
    chances[records["depth"] == 0] = np.nan
    return chances


def records_of(states: State) -> Records:
    """Record[N] of State[N] with nothing but the positions."""
    rows = np.zeros(len(states), RECORD)
    for index, name in enumerate(("pawns", "knights", "bishops", "rooks", "queens", "kings", "white", "black")):
        rows["bb"][:, index] = states[name]
    for bit, square in ((1, 7), (2, 0), (4, 63), (8, 56)):
        rows["castle"] |= (bit * (states["castling"] >> np.uint64(square) & np.uint64(1))).astype(np.uint8)
    rows["turn"] = 1 - states["turn"]
    rows["ep"] = np.where(states["ep"] == 64, 255, states["ep"])
    rows["half"] = np.minimum(255, states["rule50"])
    rows["ply"] = states["ply"]
    return rows


def record_of(game: Game, line: State, teaching: Teaching) -> Records:
    """Record[1] of a line's last position as an engine sees it."""
    row = records_of(line[-1:])
    count = len(teaching.moves)
    row["n"], row["depth"] = count, min(255, teaching.depth)
    row["mv"][0, :count] = codes_of(line[-1:], teaching.moves[None])[0]
    row["cp"][0, :count] = teaching.scores if teaching.policy is None else _of_net(teaching)
    if teaching.wdl is None:
        chances = np.rint(1000 * chances_of_score(row["cp"][0, :1]))[0]
        row["w"], row["l"] = chances[0], chances[2]
    else:
        row["w"], row["l"] = teaching.wdl[0], teaching.wdl[2]
    return row


def judged_records(states: State, moves: NDArray[np.uint16], policy: Policy, scores: NDArray[np.int64]) -> Records:
    """Record[N] of State[N] by a score i8[N] without a search; moves u2[N, K] with their policy f8[N, K], best first.

    Moves behind the first of probability 0 do not count.
    """
    rows, known = records_of(states), policy > 0
    rows["n"] = known.sum(axis=1)
    rows["mv"] = np.where(known, codes_of(states, moves), 0)
    logs = LOG_SCALE * np.log(np.maximum(policy, 1e-9) / policy[:, :1])
    rows["cp"] = np.where(known, np.rint(logs), 0)
    rows["cp"][:, 0] = scores
    chances = np.rint(1000 * chances_of_score(scores))
    rows["w"], rows["l"] = chances[:, 0], chances[:, 2]
    rows["played"] = rows["mv"][:, 0]
    return rows


def _of_net(teaching: Teaching) -> NDArray[np.int64]:
    """The scores i8[n] that say a net's chance and policy, see the table."""
    assert teaching.policy is not None
    policy = np.maximum(teaching.policy, 1e-9)
    scores: NDArray[np.int64] = np.rint(LOG_SCALE * np.log(policy / policy[0])).astype(np.int64)
    scores[0] = teaching.scores[0]
    if teaching.chance is not None and abs(scores[0]) <= CUT:
        scores[0] = score_of_points(teaching.chance)
    return scores


def codes_of(states: State, moves: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Moves u2[N, K] of the game's own form, where castling is king takes rook, as records write them."""
    source, target = moves & 63, moves >> 6 & 63
    ours = np.where(states["turn"] == 0, states["white"], states["black"])
    castles = ours[:, None] >> target.astype(np.uint64) & np.uint64(1) > 0
    to = np.where(castles, source // 8 * 8 + np.where(target > source, 6, 2), target)
    codes: NDArray[np.uint16] = (source + 64 * to + (moves & 0xF000)).astype(np.uint16)
    return codes


def code_of(state: State, move: int) -> int:
    """A move in State[] as records write it."""
    return int(codes_of(np.array([state]), np.array([[move]], np.uint16))[0, 0])


FORMAT = ShardFormat(RECORD, first_fault, to_states, to_moves, soft_policy, chances, line_chances=line_chances)
read_shard, write_shard = FORMAT.read, FORMAT.write
to_positions, read_folder = FORMAT.to_positions, FORMAT.read_folder


def labels(game: Game) -> LabelFormat:
    return LabelFormat(FORMAT, LINES, 180.0, 1200, 260, record_of, code_of, judged=judged_records, judged_scale=256.0)
