"""Self-play games on disk: one record a game, written when the game ends, exactly once, by its id.

A worker appends to its own shards, ``games/<worker>-<number>.games`` (see :mod:`frames`); the first record of a shard
is its title. A position takes 8 bytes and 4 for each move of its policy target. A game's id is the worker's number
times 2^32 plus the worker's count, so that ids of different workers never collide.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import DataError, OptionError, counted
from ....engine.games.base import Game, State
from ...storage import NewerFormat, check_format
from .frames import FrameReader, FrameWriter

STORED = ".games"  # suffix of a shard
MAX_TARGET = 255  # moves of one policy target
SHARD_BYTES = 64 << 20  # after which a worker begins a new shard
WORKER_SHIFT = 32  # game id = worker << 32 | count
REASONS = ("rules", "resigned", "max moves")
_TITLE, _GAME = 0, 1  # first byte of a payload
_HEADER = struct.Struct(
    "<BBBBQIIIHHb"
)  # kind, format, reason, flags, id, first and last net, simulations, n, targets, z
# 4: with a board and draws; 3: a board alone; 1: neither; 2, and 3 with _EXTRA, have a u2 for each move that is skipped
_FORMAT = 4
_PLAYED_ON, _EXTRA = 1, 2  # flags
_SHARE, _VALUE, _DRAW = 65535.0, 32767.0, 255.0  # what a share, a value and a chance of a draw of 1 are stored as


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game of n moves from the start position.

    moves u2[n]; values f4[n], the root's value, and outlooks f4[n], the better of it and the most visited child's
    (the mover resigns when that is below the threshold), both in the mover's view; draws f4[n], the root's chance of
    a draw, 0 in records of earlier versions; counts u2[n], how many entries of the flat arrays ``target_moves`` u2 and
    ``target_shares`` f4 belong to each position (0: it is no target).
    """

    id: int
    nets: tuple[int, int]  # training steps of the nets that played its first and its last move
    moves: NDArray[np.uint16]
    values: NDArray[np.float32]
    outlooks: NDArray[np.float32]
    draws: NDArray[np.float32]
    counts: NDArray[np.uint16]
    target_moves: NDArray[np.uint16]
    target_shares: NDArray[np.float32]
    result: int  # +1 the first player won, 0, -1
    reason: str  # of REASONS
    simulations: int = 0
    played_on: bool = False  # resignation was off: no threshold yet, or a control game
    board: int = 0  # lines of its board, where that is not the run's own

    @property
    def targets(self) -> int:
        """Positions with a policy target."""
        return int(np.count_nonzero(self.counts))

    def to_bytes(self) -> bytes:
        """The game as a payload. Errors: DataError when it is too long or its reason unknown."""
        if len(self.moves) >= 1 << 16 or self.reason not in REASONS:
            raise DataError(
                f"a game of {counted(len(self.moves), 'move')} that ended by {self.reason!r} cannot be stored"
            )
        if self.counts.max(initial=0) > MAX_TARGET:
            raise DataError(f"a policy target of more than {MAX_TARGET} moves cannot be stored")
        header = _HEADER.pack(
            _GAME, _FORMAT, REASONS.index(self.reason), _PLAYED_ON * self.played_on, self.id,
            *self.nets, min(self.simulations, 2**32 - 1), len(self.moves), self.targets, self.result,
        )  # fmt: skip
        arrays: list[NDArray[Any]] = [
            self.moves.astype("<u2"),
            np.rint(np.clip(self.values, -1, 1) * _VALUE).astype("<i2"),
            np.rint(np.clip(self.outlooks, -1, 1) * _VALUE).astype("<i2"),
            self.counts.astype(np.uint8),
            self.target_moves.astype("<u2"),
            np.rint(self.target_shares * _SHARE).astype("<u2"),
            np.array([self.board], np.uint8),
            np.rint(np.clip(self.draws, 0, 1) * _DRAW).astype(np.uint8),
        ]
        return header + b"".join(a.tobytes() for a in arrays)

    @classmethod
    def from_bytes(cls, payload: bytes) -> GameRecord:
        """The inverse of :meth:`to_bytes`. Errors: DataError when the payload is no game."""
        try:
            kind, version, reason, flags, number, first, last, simulations, n, _, result = _HEADER.unpack_from(payload)
            check_format(f"game {number}", version, _FORMAT)
            if kind != _GAME or not 1 <= version <= _FORMAT or reason >= len(REASONS):
                raise ValueError(f"kind {kind}, format {version}")
            at = _HEADER.size

            def take(dtype: str, count: int) -> NDArray[Any]:
                nonlocal at
                values = np.frombuffer(payload, dtype, count, at)
                at += values.nbytes
                return values

            moves, values, outlooks, counts = take("<u2", n), take("<i2", n), take("<i2", n), take("u1", n)
            total = int(counts.sum())
            target_moves, shares = take("<u2", total), take("<u2", total)
            if version == 2 or (version == 3 and flags & _EXTRA):
                take("<u2", n)
            board = int(take("u1", 1)[0]) if version >= 3 else 0
            draws = take("u1", n) if version >= 4 else np.zeros(n, np.uint8)
            if at != len(payload):
                raise ValueError(f"{len(payload) - at} bytes too many")
            if abs(result) > 1:
                raise ValueError(f"its result is {result}")
            begins = np.cumsum(counts, dtype=np.int64) - counts
            if not np.add.reduceat(shares.astype(np.int64), begins[counts > 0]).all():
                raise ValueError("a policy target is empty")
        except (struct.error, ValueError) as error:
            raise DataError(f"a record of a self-play game cannot be read ({error})") from error
        return cls(
            number, (first, last), moves.astype(np.uint16), (values / _VALUE).astype(np.float32),
            (outlooks / _VALUE).astype(np.float32), (draws / _DRAW).astype(np.float32), counts.astype(np.uint16),
            target_moves.astype(np.uint16), (shares / _SHARE).astype(np.float32), result, REASONS[reason], simulations,
            bool(flags & _PLAYED_ON), board,
        )  # fmt: skip


def title(game: Game, run: str) -> dict[str, Any]:
    """The first record of a shard: game, board, version of the moves, and the run's seed."""
    version = game.encoder.moves_version
    return {"game": game.name, "board": list(game.planes[1:]), "moves_version": version, "run": run}


def on_its_board(game: Game, record: GameRecord) -> Game:
    """The run's game on the board of one of its games. Errors: DataError for a board that the game does not have."""
    try:
        return game.sized(record.board) if record.board else game
    except OptionError as error:
        raise DataError(f"game {record.id} cannot be played: {error}") from error


def line_of_game(game: Game, record: GameRecord) -> State:
    """The positions State[n + 1] of one of a run's games.

    Errors: DataError when a move, played or of a target, is illegal.
    """
    game = on_its_board(game, record)
    line = np.zeros(len(record.moves) + 1, game.state_dtype)
    line[:1] = game.initial()
    played = game.replay(line, record.moves, record.counts, record.target_moves)
    if played < len(record.moves):
        raise DataError(f"game {record.id} breaks the rules at move {played + 1}")
    return line


def shard_path(folder: Path, worker: int, number: int) -> Path:
    return folder / f"{worker:04d}-{number:05d}{STORED}"


class ShardWriter:
    """Stores one worker's games, each id once, also across restarts of the worker."""

    def __init__(
        self,
        folder: Path,
        worker: int,
        shard_title: dict[str, Any],
        *,
        shard_bytes: int = SHARD_BYTES,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """``say`` reports a torn end that was cut off. Errors: DataError when another process is this worker."""
        self.folder, self.worker, self._say = folder, worker, say
        self._title = shard_title
        self._shard_bytes = shard_bytes
        self.ids: set[int] = set()
        shards = sorted(folder.glob(f"{worker:04d}-?????{STORED}"))
        for path in shards[:-1]:
            self.ids |= {r.id for r in ShardReader(path, shard_title).read()}
        self._number = int(shards[-1].stem[5:]) if shards else 0
        self._open()
        if shards:
            self.ids |= {r.id for r in ShardReader(shards[-1], shard_title).read()}

    def _open(self) -> None:
        self._file = FrameWriter(shard_path(self.folder, self.worker, self._number))
        if self._file.cut:
            self._say(f"{self._file.path}: its last {self._file.cut} bytes, a game cut short, are removed")
        if self._file.records == 0:
            self._file.append(bytes([_TITLE]) + json.dumps(self._title).encode())

    @property
    def next_id(self) -> int:
        """An id above all that are stored."""
        return max(self.ids, default=(self.worker << WORKER_SHIFT) - 1) + 1

    def write(self, record: GameRecord) -> bool:
        """Store a game unless its id is stored; returns whether it was new. Errors: DiskFull, DataError."""
        if record.id in self.ids:
            return False
        if self._file.size > self._shard_bytes:
            self._file.close()
            self._number += 1
            self._open()
        self._file.append(record.to_bytes())
        self.ids.add(record.id)
        return True

    def close(self) -> None:
        self._file.close()


class ShardReader:
    """Reads one shard, which may still grow."""

    def __init__(
        self, path: Path, expected: dict[str, Any], game: Game | None = None, boards: Collection[int] | None = None
    ) -> None:
        """``expected``: see :func:`title`; ``game``: by whose rules the games are checked, None = not.

        ``boards``: those that games may be on, as in GameRecord; None = any.
        """
        self._frames = FrameReader(path)
        self._expected, self._game, self._boards = expected, game, boards
        self.path = path
        self.faults: list[str] = []  # of the games left out

    @property
    def damaged(self) -> int:
        """Number of damaged stretches and of games left out."""
        return self._frames.damaged + len(self.faults)

    def read(self) -> list[GameRecord]:
        """The games since the last call; those that cannot be read or break the rules are left out.

        Errors: DataError when the shard is of another game, board or run; NewerFormat.
        """
        records = []
        for payload in self._frames.read():
            if payload[:1] == bytes([_TITLE]):
                self._check_title(payload[1:])
                continue
            try:
                record = GameRecord.from_bytes(payload)
                if self._boards is not None and record.board not in self._boards:
                    raise DataError(f"game {record.id} is on a board of {record.board} lines, which the run has not")
                if self._game is not None:
                    line_of_game(self._game, record)
            except NewerFormat:
                raise
            except DataError as error:
                self.faults.append(str(error))
            else:
                records.append(record)
        return records

    def _check_title(self, text: bytes) -> None:
        try:
            result = dict(json.loads(text))
        except (ValueError, TypeError) as error:
            raise DataError(f"{self.path} has a broken title ({error}); leave it out") from error
        for field, expected in sorted(self._expected.items()):
            if result.get(field) != expected:
                raise DataError(
                    f"{self.path} holds games of another {field} ({result.get(field)}, here {expected}); leave it out"
                )


class ReplayFolder:
    """Reads all shards of a run and gives each game once, checked by the rules."""

    def __init__(
        self,
        folder: Path,
        game: Game,
        run: str,
        say: Callable[[str], None] = lambda text: None,
        boards: Collection[int] = (0,),
    ) -> None:
        """``run``: as in :func:`title`; ``say`` reports games that are left out; ``boards``: see ShardReader."""
        self.folder, self._game, self._say, self._boards = folder, game, say, boards
        self._title = title(game, run)
        self._readers: dict[Path, ShardReader] = {}
        self._seen: set[int] = set()
        self.repeated = 0  # games found a second time

    @property
    def damaged(self) -> int:
        """Damaged stretches skipped and games left out in all shards."""
        return sum(r.damaged for r in self._readers.values())

    def __len__(self) -> int:
        """Number of games read so far."""
        return len(self._seen)

    def read(self) -> Iterator[list[GameRecord]]:
        """The games since the last call, in parts of at most one shard of each worker.

        Older shards come first; within a part, games of older nets. Errors: DataError.
        """
        paths = sorted(self.folder.glob(f"????-?????{STORED}"), key=lambda path: (path.stem[5:], path.stem))
        for _, together in groupby(paths, key=lambda path: path.stem[5:]):
            records = []
            for path in together:
                reader = self._readers.setdefault(path, ShardReader(path, self._title, self._game, self._boards))
                before, result = len(reader.faults), reader.read()
                if new := reader.faults[before:]:
                    self._say(f"{path}: {counted(len(new), 'game')} left out, the first because {new[0]}")
                for record in result:
                    if record.id in self._seen:
                        self.repeated += 1
                    else:
                        self._seen.add(record.id)
                        records.append(record)
            if records:
                yield sorted(records, key=lambda r: r.nets[1])
