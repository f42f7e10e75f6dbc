"""Labelled Go records: boards with a teacher's policy, win chance and result, for ``az-engine train --game go``.

A shard is a compressed .npz file with two structured arrays (nothing is pickled): ``d``, one record a position, and
``g``, one row a game. The records of a game are consecutive and complete; its opening moves stand in ``g``, so history
planes are rebuilt from the empty board. Points count from the top left corner, N * N is a pass. Fields used here:

| d      | meaning |
|--------|---------|
| stones | N * N x u1: 0 empty, 1 black, 2 white |
| turn   | 1 = black to move, 2 = white |
| ko     | point that a simple ko forbids, -1 = none |
| ply    | moves since the empty board |
| n, mv, p | labelled moves, most likely first, and their probabilities in 1/65535 |
| w      | win chance of the side to move in 1/65535, a draw counts half |
| played, rnd | the move played; rnd = 1: drawn blindly, not to be imitated |
| z      | the game's result for the side to move |
| dead   | 1 = stones that the teacher takes for dead are still on the board: counted without them it ends otherwise |
| own    | N * N x i1: expected owner of each point * 20 for the side to move (may be missing) |
| lead   | score lead of the side to move in 1/100 points, komi included (may be missing) |
| game   | game id |

``g`` adds nopen and open (the opening), komi, reason (1 two passes, 2 adjudicated, 3 move limit) and tt, black's score
less white's by strict Tromp-Taylor. The teacher takes dead stones off before it counts; play here does not. So counted
games get the result of ``tt``, and where ``dead`` is 1 passing is no target and the result alone is the value's. Owners
and leads stay the teacher's: they say which stones are dead.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import DataError, OptionError, counted
from ....engine.games.base import Game, State
from ....engine.os.files import write_atomically
from ..any_game import WITHOUT_SCORES, same_move
from ..dataset import Positions, games_begin, one_hot_result
from ..openings import openings_of, with_openings
from ..shards import Ended, LabelFormat, Records, TargetOptions, Teaching, first_wrong, hold_out, read_arrays

RULES = "chinese-ogs"  # positional superko, no suicide: what the labels were made with
_D_FIELDS = ("stones", "turn", "ko", "ply", "n", "mv", "p", "w", "played", "z", "rnd", "dead", "game")
_G_FIELDS = ("game", "nopen", "open", "komi", "reason", "tt")
_EXTRA_FIELDS = ("own", "lead")
OWNERSHIP_UNIT = 20
_INTEGERS = {*_D_FIELDS, *_EXTRA_FIELDS, "nopen", "open", "reason"}
ADJUDICATED = 2
LINES = 16
SCALE = 500.0  # of win chances as centipawns, where moves are drawn
_DECIDED = 1950  # centipawns: a win chance of 98 %
_REASONS: dict[Ended, int] = {"rules": 1, "adjudicated": ADJUDICATED, "max plies": 3}
_ONE = 65535
_OPENING = 16  # moves
_KOMI, _RULES = 3, 4  # fields of a position's text


def read_shard(path: Path, points: int) -> tuple[Records, Records]:
    """(positions, games) of one file for boards of ``points`` points, checked. Errors: DataError naming the fault."""
    d, g = read_arrays(path, ("d", "g"))
    for array, fields in ((d, _D_FIELDS), (g, _G_FIELDS)):
        names = array.dtype.names or ()
        missing = [name for name in fields if name not in names]
        if missing or array.ndim != 1:
            raise DataError(f"{path.name} holds no labelled Go records: the field {(missing or ['?'])[0]!r} is missing")
        for name in (*fields, *(n for n in _EXTRA_FIELDS if n in names)):
            if array.dtype[name].base.kind not in ("iu" if name in _INTEGERS else "iuf"):
                raise DataError(f"{path.name}: the field {name!r} holds no numbers; make the file again")
    if d.dtype["stones"].shape != (points,):
        raise DataError(
            f"{path.name} has boards of {d['stones'].size // max(1, len(d))} points, not {points}; set --size"
        )
    if d.dtype["mv"].shape != d.dtype["p"].shape or len(d.dtype["mv"].shape) != 1 or len(g.dtype["open"].shape) != 1:
        raise DataError(f"{path.name}: mv, p and open have odd shapes; make the file again")
    if "own" in (d.dtype.names or ()) and d.dtype["own"].shape != (points,):
        raise DataError(f"{path.name}: own does not fit the board; make the file again")
    fault = first_fault(d, g, points)
    if fault:
        raise DataError(f"{path.name}: {fault}; the file is damaged, remove it or make it again")
    return d, g


def alike(arrays: list[Records], fields: Sequence[str]) -> list[Records]:
    """The arrays with those fields alone, as wide and as long as the widest: files of several makers fit together."""
    kinds = []
    for name in fields:
        types = [array.dtype[name] for array in arrays]
        longest = tuple(max(lengths) for lengths in zip(*(t.shape for t in types), strict=True))
        kinds.append((name, np.result_type(*(t.base for t in types)), longest))
    same = [np.zeros(len(array), np.dtype(kinds)) for array in arrays]
    for array, copy in zip(arrays, same, strict=True):
        for name in fields:
            row = tuple(slice(length) for length in array.dtype[name].shape)
            copy[name][(slice(None), *row)] = array[name]
    return same


def first_fault(d: Records, g: Records, points: int) -> str:
    """What is wrong with the first impossible record, "" when all can be used safely (moves are checked when drawn)."""
    ko = d["ko"].astype(np.int64)
    beside = np.take_along_axis(d["stones"], np.clip(ko, 0, points - 1)[:, None], axis=1)[:, 0]
    checks: list[tuple[str, Any]] = [
        ("a stone is neither black nor white", (d["stones"] > 2).any(axis=1)),
        ("the side to move is unknown", (d["turn"] < 1) | (d["turn"] > 2)),
        ("the ko point is no empty point", (ko < -1) | (ko >= points) | ((ko >= 0) & (beside != 0))),
        ("there is no labelled move, or too many", (d["n"] < 1) | (d["n"] > d["mv"].shape[1])),
        ("a move is off the board", (d["mv"] > points).any(axis=1) | (d["played"] > points)),
        ("the first move has no probability", d["p"][:, 0] == 0),
        ("the result is not -1, 0 or 1", np.abs(d["z"].astype(np.int64)) > 1),
        ("its game is not in g", ~np.isin(d["game"], g["game"])),
    ]
    if "own" in (d.dtype.names or ()):
        checks.append(("an owner is impossible", (np.abs(d["own"].astype(np.int64)) > OWNERSHIP_UNIT).any(axis=1)))
    if fault := first_wrong(checks):
        return fault
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        half_points, scores = 2 * g["komi"].astype(np.float64), g["tt"].astype(np.float64)
    wrong = (g["nopen"] > g["open"].shape[1]) | (g["open"] > points).any(axis=1)
    wrong |= ~((np.abs(half_points) < 16000) & (half_points == np.round(half_points))) | ~np.isfinite(scores)
    if wrong.any():
        return f"game {int(np.argmax(wrong))}: its opening, komi or score is impossible"
    if len(np.unique(g["game"])) != len(g):
        return "two games have one number"
    return ""


def results(d: Records, games: Records) -> NDArray[np.int64]:
    """z i8 [N] of positions by the rules played here; games: the row of ``g`` of each position."""
    strict = np.sign(games["tt"]).astype(np.int64) * np.where(d["turn"] == 1, 1, -1)
    return np.where(games["reason"] == ADJUDICATED, d["z"], strict)


def policy(d: Records, points: int) -> NDArray[np.float32]:
    """f4 [N, K]: the labelled moves' probabilities, without passing where dead stones are left."""
    p = d["p"].astype(np.float64)
    p[np.arange(p.shape[1]) >= d["n"][:, None]] = 0.0
    kept = np.where((d["dead"][:, None] == 1) & (d["mv"] == points), 0.0, p)
    kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, p)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True), np.float32)


def to_positions(game: Game, d: Records, g: Records, options: TargetOptions, description: str) -> Positions:
    """Records as a data set, openings in front of their games; ``played`` mode leaves out blindly drawn moves."""
    points, lines = game.num_actions - 1, game.planes[1]
    order = np.argsort(g["game"])
    games = g[order][np.searchsorted(g["game"][order], d["game"])]
    empty = game.parse_position(f"{'/'.join([str(lines)] * lines)} b - 0 {RULES}")[0]
    roots = np.repeat(empty, len(d))
    roots["komi"] = np.round(2 * games["komi"].astype(np.float64))
    states, first = roots.copy(), games_begin(d["game"], d["ply"])
    states["ko"], states["ply"], states["turn"] = d["ko"], d["ply"], d["turn"] - 1
    states["stones"] = _bitboards(d["stones"], states["stones"].shape[2])
    follows = first[1:] < np.arange(1, len(d))
    states["passes"][1:] = (d["played"][:-1] == points) & follows
    states["last"][1:] = np.where(follows, d["played"][:-1].astype(np.uint16) + 1, 0)
    opened = np.flatnonzero((first == np.arange(len(d))) & (games["nopen"] > 0) & (games["nopen"] == d["ply"]))
    states["last"][opened] = games["open"][opened, games["nopen"][opened] - 1].astype(np.uint16) + 1
    game.normalise(states)

    if options.policy == "soft":
        probabilities, moves = policy(d, points), np.where(d["p"] > 0, d["mv"], d["mv"][:, :1])
        moves = np.where(np.arange(moves.shape[1]) < d["n"][:, None], moves, d["mv"][:, :1])
    else:
        moves = d["mv"][:, :1] if options.policy == "best" else d["played"][:, None]
        probabilities = np.ones(moves.shape, np.float32)
    z = results(d, games)
    win = d["w"].astype(np.float64) / 65535
    weight = np.where(d["dead"] == 1, 0.0, options.teacher)[:, None]
    wdl = weight * np.stack([win, np.zeros(len(d)), 1 - win], axis=1) + (1 - weight) * one_hot_result(z)
    names = d.dtype.names or ()
    owners = (d["own"] * (Positions.OWNERSHIP_SCALE // OWNERSHIP_UNIT)).astype(np.int8) if "own" in names else None
    data = Positions(
        game,
        states,
        first,
        moves.astype(np.uint16),
        probabilities,
        wdl.astype(np.float32),
        z.astype(np.float32),
        drawn=np.flatnonzero(d["rnd"] == 0) if options.policy == "played" else None,
        description=description,
        mask=options.mask,
        ownership=owners,
        score=leads(d, games) if "lead" in names else None,
    )
    return with_openings(data, d, openings_of(g), roots)


def leads(d: Records, games: Records) -> NDArray[np.float32]:
    """f4 [N]: the side to move's lead on the board in points, komi taken out again."""
    komi = np.where(d["turn"] == 1, 1.0, -1.0) * games["komi"]
    return np.asarray(d["lead"] / 100 + komi, np.float32)


def _bitboards(stones: NDArray[np.uint8], words: int) -> NDArray[np.uint64]:
    """u8 [N, 2, words] of boards u1 [N, points]: bit p is set where black (1) and where white (2) has a stone."""
    bits = np.zeros((len(stones), 2, 64 * words), np.uint8)
    bits[:, 0, : stones.shape[1]] = stones == 1
    bits[:, 1, : stones.shape[1]] = stones == 2
    return np.packbits(bits, axis=2, bitorder="little").view(np.uint64)


def read_folder(game: Game, paths: list[Path], options: TargetOptions) -> tuple[Positions, Positions]:
    """The training and the held-out positions of .npz files, as in ShardFormat.read_folder. Errors: DataError."""
    read = [(path, *read_shard(path, game.num_actions - 1)) for path in sorted(paths)]
    extra = [name for name in _EXTRA_FIELDS if all(name in (d.dtype.names or ()) for _, d, _ in read)]
    positions = alike([d for _, d, _ in read], (*_D_FIELDS, *extra))
    games = np.concatenate(alike([g for _, _, g in read], _G_FIELDS))
    if len(np.unique(games["game"])) != len(games):
        raise DataError("a game occurs in two files; remove one of them")
    records_of = {path: d for (path, _, _), d in zip(read, positions, strict=True)}
    records, kept = map(np.concatenate, zip(*hold_out(paths, records_of.__getitem__), strict=True))
    text = f"{counted(len(records), 'position')} of {counted(len(np.unique(records['game'])), 'labelled game')}"
    return to_positions(game, records, games, options, text), to_positions(game, kept, games, options, text)


def _dtype(points: int, *, owners: bool) -> np.dtype[np.void]:
    """Of a record, with its game's row in ``g`` behind it."""
    move = "u1" if points < 256 else "<u2"
    known = [("own", "i1", (points,)), ("lead", "<i2")] if owners else []
    return np.dtype(
        [
            ("stones", "u1", (points,)),
            ("turn", "u1"),
            ("ko", "<i2"),
            ("ply", "<u2"),
            ("n", "u1"),
            ("mv", move, (LINES,)),
            ("p", "<u2", (LINES,)),
            ("w", "<u2"),
            *known,
            ("played", move),
            ("z", "i1"),
            ("rnd", "u1"),
            ("dead", "u1"),
            ("game", "<u4"),
            ("nopen", "u1"),
            ("open", move, (_OPENING,)),
            ("komi", "<f4"),
            ("reason", "u1"),
            ("tt", "<f4"),
        ]
    )


_OF_GAME = ("nopen", "open", "komi", "reason", "tt")


@dataclass(frozen=True, slots=True)
class GoShards:
    """Files of labelled Go records for boards of ``points`` points."""

    points: int

    unused = WITHOUT_SCORES

    def read(self, path: Path) -> Records:
        return read_shard(path, self.points)[0]

    def write(self, path: Path, records: Records) -> None:
        names = [name for name in records.dtype.names or () if name not in _OF_GAME]
        first = np.flatnonzero(np.diff(records["game"].astype(np.int64), prepend=-1))
        positions = np.zeros(len(records), np.dtype([(n, records.dtype[n]) for n in names]))
        for name in names:
            positions[name] = records[name]
        games = np.zeros(len(first), np.dtype([(n, records.dtype[n]) for n in ("game", *_OF_GAME)]))
        for name in ("game", *_OF_GAME):
            games[name] = records[name][first]
        buffer = io.BytesIO()
        np.savez_compressed(buffer, d=positions, g=games)
        write_atomically(path, buffer.getvalue())

    read_folder = staticmethod(read_folder)


def record_of(game: Game, line: State, teaching: Teaching) -> Records:
    assert game.territory is not None
    state, size = line[-1], int(line[-1]["columns"])
    row = np.zeros(1, _dtype(size * size, owners=bool(teaching.ownership)))
    row["stones"][0] = (game.territory.stones(state) + 1) % 3  # 0 empty, 1 black, 2 white
    row["turn"] = 1 + state["turn"]
    row["ko"], row["ply"] = state["ko"], state["ply"]
    assert teaching.policy is not None
    assert teaching.chance is not None
    number = len(teaching.moves)
    row["n"] = number
    row["mv"][0, :number] = teaching.moves
    row["p"][0, :number] = np.rint(_ONE * teaching.policy)
    row["w"] = round(_ONE * teaching.chance)
    row["dead"] = game.territory.counts_dead_stones(state)
    if teaching.ownership:
        row["own"][0] = np.rint(OWNERSHIP_UNIT * np.clip(teaching.ownership, -1, 1))
        row["lead"] = round(100 * min(max(teaching.lead or 0.0, -300.0), 300.0))
    return row


def finish(game: Game, line: State, opening: tuple[int, ...], records: Records, ended: Ended) -> Records:
    """The records of a game that has ended, with its row of ``g`` and, where the board decides, its result."""
    assert game.territory is not None
    margin, komi = game.territory.score(line[-1])[0], line[-1]["komi"] / 2
    records["nopen"], records["komi"], records["reason"], records["tt"] = len(opening), komi, _REASONS[ended], margin
    records["open"][:, : len(opening)] = opening
    if ended != "adjudicated":
        records["z"] = np.sign(margin) * np.where(records["turn"] == 1, 1, -1)
    return records


def root_of(text: str, start: str) -> str:
    """A position with the rules and the komi of ``start``: most nets see neither, so labels must agree in them."""
    fields, usual = text.split(), start.split()
    fields[_KOMI : _RULES + 1] = usual[_KOMI : _RULES + 1]
    return " ".join(fields)


def labels(game: Game) -> LabelFormat:
    """How a teacher's games on the game's board are recorded. Errors: OptionError for a size without a format."""
    size, territory = game.planes[1], game.territory
    assert territory is not None
    if size > 19:
        raise OptionError(f"Go is labelled on boards of 2 to 19 lines, not {size}")
    start = territory.start(size, size, None, RULES)
    return LabelFormat(
        GoShards(size * size),
        LINES,
        SCALE,
        _DECIDED,
        2 * size * size,
        record_of,
        same_move,
        start=start,
        root=partial(root_of, start=start),
        longest_opening=_OPENING,
        never_blind=("pass",),
        finish=finish,
    )
