"""What an analysing engine or a net says of Go, as records of :mod:`labelled_go`.

Visits or a net's probabilities become the policy, the win chance the value; score lead and ownership are kept where
they are told. Stones in an opponent's pass-alive territory are dead. The game's own row in ``g`` is made when a shard
is written; until then each record carries it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...engine.errors import OptionError
from ...engine.files import write_atomically
from ...engine.games import get_game
from ...engine.games.base import Game, State
from ..data.go import ADJUDICATED, OWN_SCALE, RULES, read_shard
from ..data.shards import Ended, LabelFormat, Records, Teaching

LINES = 16
SCALE = 500.0  # of win chances as centipawns, where moves are drawn
_DECIDED = 1950  # centipawns: a win chance of 98 %
_REASONS: dict[Ended, int] = {"rules": 1, "adjudicated": ADJUDICATED, "max plies": 3}
_ONE = 65535
_OPENING = 16  # moves
_KOMI, _RULES = 3, 4  # fields of a position's text


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

    def read(self, path: Path) -> Records:
        """The positions of one file. Errors: DataError."""
        return read_shard(path, self.points)[0]

    def write(self, path: Path, records: Records) -> None:
        """Write whole games atomically: positions and games apart."""
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


def record_of(game: Game, line: State, teaching: Teaching) -> Records:
    """Record[1] of a line's last position."""
    assert game.territory is not None
    state, size = line[-1], int(line[-1]["size"])
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
        row["own"][0] = np.rint(OWN_SCALE * np.clip(teaching.ownership, -1, 1))
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
    """A position with the rules and the komi of ``start``: nets see neither, so labels must agree in them."""
    fields, usual = text.split(), start.split()
    fields[_KOMI : _RULES + 1] = usual[_KOMI : _RULES + 1]
    return " ".join(fields)


def code_of(state: State, move: int) -> int:
    """A move as records write it: they have the game's own form."""
    return move


def labels(size: int) -> LabelFormat:
    """How an engine's games on a board of that size are recorded. Errors: OptionError for one without a format."""
    if not 2 <= size <= 19:
        raise OptionError(f"Go is labelled on boards of 2 to 19 lines, not {size}")
    territory = get_game("go").territory
    assert territory is not None
    start = territory.start(size, None, RULES)
    return LabelFormat(
        GoShards(size * size),
        LINES,
        SCALE,
        _DECIDED,
        2 * size * size,
        record_of,
        code_of,
        start=start,
        root=partial(root_of, start=start),
        longest_opening=_OPENING,
        never_blind=("pass",),
        of_nets=True,
        finish=finish,
    )
