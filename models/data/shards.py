"""Files of labelled records, for every game: reading them safely, and making them what a learner samples from.

A shard is a compressed .npz file with one structured array ``d`` (nothing is pickled; :mod:`openings` may be in ``g``).
The records of a game are consecutive and complete from its first recorded position, so the history planes of a record
are rebuilt from the records before it. Files whose name begins with ``holdout`` are measured on and never trained on.

Each game has its own :class:`ShardFormat`; these fields mean the same in all: ``mv`` K u2, the labelled moves, best
first, of which the first ``n`` count; ``played`` u2, the move played; ``rnd`` u1, 1 where it was drawn blindly; ``z``
i1, the result for the side to move; ``game`` u4; ``ply`` u2.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, counted
from ...engine.games.base import Game, State
from ...engine.os.files import write_atomically
from ...engine.settings import check, setting
from .dataset import HOLDOUT_EVERY, HOLDOUT_REST, Positions, games_begin, one_hot_result
from .openings import check_openings, openings_of, with_openings

MAX_SHARD_BYTES = 1 << 30  # of one unpacked file
_AT_ONCE = 1 << 19  # records whose targets are made together: what they need meanwhile is ten times their size

Records = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """How records become targets."""

    policy: Literal["soft", "best", "played"] = setting(
        "soft",
        "soft: softmax over the labelled lines; best or played move: one-hot (game records: always played)",
        flag=True,
    )
    temperature: float = setting(
        0.02,
        "temperature of the soft policy, in expected points; for labels that are scores (chess), as the next two",
        above=0,
        flag=True,
    )
    centipawns: float = setting(
        500.0, "scale of the soft policy: expected points of a score = 1 / (1 + exp(-cp / scale))", above=0, flag=True
    )
    value: Literal["score", "wdl"] = setting(
        "score",
        "the teacher's chances: from its score (a net can tell a won piece from a won queen), or its own WDL",
        flag="--value-target",
    )
    teacher: float = setting(
        0.85, "weight of the teacher's chances; the rest is the game's result", low=0, high=1, flag="--teacher-weight"
    )
    mask: bool = setting(True, "let the policy's softmax run over illegal moves too", flag="--no-mask")

    def __post_init__(self) -> None:
        check(self)


def read_arrays(path: Path, names: tuple[str, ...]) -> list[NDArray[Any]]:
    """The arrays of those names in an .npz file; nothing is unpickled. Errors: DataError naming what is wrong."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [archive.getinfo(f"{name}.npy") for name in names]
            size = sum(member.file_size for member in members)
            if size > MAX_SHARD_BYTES:
                raise DataError(f"{path.name} would unpack to {size >> 20} MiB; split it into smaller shards")
            contents = [archive.read(member) for member in members]
        return [np.lib.format.read_array(io.BytesIO(content), allow_pickle=False) for content in contents]
    except DataError:
        raise
    except (
        OSError,
        KeyError,
        ValueError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        MemoryError,
    ) as error:
        raise DataError(f"{path.name} is no shard of labelled records ({error}); remove it or make it again") from error


def first_wrong(checks: Sequence[tuple[str, Any]]) -> str:
    """What is wrong with the first record that fails one of the checks (text, wrong bool[N]); "" when all pass."""
    return next((f"record {int(np.argmax(wrong))}: {text}" for text, wrong in checks if wrong.any()), "")


def hold_out(paths: list[Path], read: Callable[[Path], Records]) -> Iterator[tuple[Records, Records]]:
    """(records to train on, records held out) of each file, by the files' names or else the games' numbers.

    Errors: DataError.
    """
    apart = sorted(path for path in paths if path.name.startswith("holdout"))
    others = sorted(path for path in paths if not path.name.startswith("holdout"))
    if not others:
        raise DataError("there is no .npz file to train on besides the hold-out")
    games, trained, held = np.zeros(0, np.uint32), 0, 0
    for path in apart:
        kept = read(path)
        games, held = np.union1d(games, kept["game"]), held + len(kept)
        yield kept[:0], kept
    for path in others:
        records = read(path)
        out = np.isin(records["game"], games) if apart else records["game"] % HOLDOUT_EVERY == HOLDOUT_REST
        training, kept = records[~out], records[:0] if apart else records[out]
        trained, held = trained + len(training), held + len(kept)
        yield training, kept
    if not trained or not held:
        raise DataError("too few games to hold some out; give more data")


def array_names(path: Path) -> list[str]:
    """Names of the arrays in a shard that has been read."""
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


@dataclass(frozen=True, slots=True)
class ShardFormat:
    """How one game's records are laid out and what they become; N records of ``dtype`` with K labelled moves."""

    dtype: np.dtype[Any]
    first_fault: Callable[[Records], str]  # what is wrong with the first impossible record, "" when all can be used
    to_states: Callable[[Game, Records, NDArray[np.int64]], State]  # with i8[N], where each row's game begins
    to_moves: Callable[[Records, NDArray[np.uint16]], NDArray[np.uint16]]  # u2[N, K] in the game's own form
    soft_policy: Callable[[Records, TargetOptions], NDArray[np.float32]]  # f4[N, K]
    chances: Callable[[Records, TargetOptions], NDArray[np.float64]]  # f8[N, 3] win, draw, loss by the teacher
    unused: tuple[str, ...] = ()  # see ShardStore
    line_chances: Callable[[Records], NDArray[np.float32]] | None = None  # f4[N, K, 3] after each labelled move
    has_openings: bool = False  # whether shards may tell the games' openings, see openings

    def read(self, path: Path) -> Records:
        """The records of one file, checked. Errors: DataError, naming the file and what is wrong with it."""
        (records,) = read_arrays(path, ("d",))
        if records.dtype != self.dtype or records.ndim != 1:
            result = str(records.dtype)[:80]
            raise DataError(
                f"{path.name} holds an array of {result}, not of labelled records; remove it or make it again"
            )
        fault = self.first_fault(records)
        if fault:
            raise DataError(f"{path.name}: {fault}; the file is damaged, remove it or make it again")
        return records

    def write(self, path: Path, records: Records) -> None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, d=records.astype(self.dtype))
        write_atomically(path, buffer.getvalue())

    def to_positions(self, game: Game, records: Records, options: TargetOptions, description: str) -> Positions:
        """Records as a data set; in ``played`` mode the blindly drawn moves are not among the positions."""
        gathered = _Gathered(self, game, options)
        gathered.add(records)
        return gathered.positions(description)

    def targets(self, records: Records, options: TargetOptions) -> dict[str, NDArray[Any]]:
        """Moves, probabilities and wdl: see :class:`Positions`."""
        if options.policy == "soft":
            unused = np.arange(records["mv"].shape[1]) >= records["n"][:, None]
            moves = np.where(unused, records["mv"][:, :1], records["mv"])
            probabilities = self.soft_policy(records, options)
        else:
            moves = records["mv"][:, :1] if options.policy == "best" else records["played"][:, None]
            probabilities = np.ones(moves.shape, np.float32)
        wdl = options.teacher * self.chances(records, options) + (1 - options.teacher) * one_hot_result(records["z"])
        return {
            "moves": self.to_moves(records, moves),
            "probabilities": probabilities,
            "wdl": wdl.astype(np.float32),
        }

    def read_folder(self, game: Game, paths: list[Path], options: TargetOptions) -> tuple[Positions, Positions]:
        """The training and the held-out positions of .npz files, read in the order of their names.

        Files named ``holdout*`` are the hold-out; without any, every 50th game is. Errors: DataError.
        """
        training, kept = (_Gathered(self, game, options) for _ in range(2))
        for records, held in hold_out(paths, self.read):
            training.add(records)
            kept.add(held)
        openings: dict[int, list[int]] = {}
        for path in paths if self.has_openings else ():
            if "g" in array_names(path):
                (games,) = read_arrays(path, ("g",))
                check_openings(path, games)
                openings |= openings_of(games)
        games = training.games
        text = f"{counted(len(games), 'position')} of {counted(len(np.unique(games['game'])), 'labelled game')}"
        train = with_openings(training.positions(text), games, openings)
        return train, with_openings(kept.positions(text), kept.games, openings)


class _Gathered:
    """Positions of records that come shard by shard; of the records, one shard at a time is in memory."""

    def __init__(self, form: ShardFormat, game: Game, options: TargetOptions) -> None:
        self._form, self._game, self._options = form, game, options
        self._columns: dict[str, NDArray[Any]] = {}
        self._lines: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []  # rows and what follows their moves
        self._waiting = np.zeros(0, form.dtype)  # the last shard: its last game may go on in the next

    def add(self, records: Records) -> None:
        joined, seam = np.concatenate([self._waiting, records]), len(self._waiting)
        pair = joined[seam - 1 : seam + 1] if seam else records[:0]
        if len(pair) == 2 and games_begin(pair["game"], pair["ply"])[1]:  # a game begins
            self._convert()
            joined = records
        self._waiting = joined

    def _convert(self) -> None:
        """Turn the waiting records into rows behind those there are."""
        form, records = self._form, self._waiting
        if self._columns and not len(records):
            return
        present = len(self._columns.get("z", ()))
        first = games_begin(records["game"], records["ply"])
        made = {
            "states": form.to_states(self._game, records, first),
            "first": first + present,
            "z": records["z"].astype(np.float32),
            "blind": records["rnd"] != 0,
            "game": records["game"],
            "ply": records["ply"],
        }
        begins = range(0, max(1, len(records)), _AT_ONCE)
        pieces = [form.targets(records[i : i + _AT_ONCE], self._options) for i in begins]
        made |= {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        for name, values in made.items():
            column = self._columns.setdefault(name, np.zeros((0, *values.shape[1:]), values.dtype))
            column.resize(
                (present + len(records), *values.shape[1:]), refcheck=False
            )  # without a copy of what is there
            column[present:] = values
        if form.line_chances is not None and self._options.policy == "soft":
            chances = form.line_chances(records)
            known = np.flatnonzero(np.isfinite(chances).any(axis=(1, 2)))
            self._lines.append((known + present, chances[known]))
        self._waiting = records[:0]

    @property
    def games(self) -> Records:
        """The game and ply of each row."""
        self._convert()
        games = np.zeros(len(self._columns["game"]), [("game", "<u4"), ("ply", "<u2")])
        games["game"], games["ply"] = self._columns["game"], self._columns["ply"]
        return games

    def positions(self, description: str) -> Positions:
        """All of them; nothing may be added afterwards."""
        self._convert()
        columns: dict[str, Any] = {n: v for n, v in self._columns.items() if n not in ("blind", "game", "ply")}
        rows, lines = zip(*self._lines, strict=True) if self._lines else (None, None)
        return Positions(
            self._game,
            drawn=np.flatnonzero(~self._columns["blind"]) if self._options.policy == "played" else None,
            description=description,
            mask=self._options.mask,
            lines=None if lines is None else np.concatenate(lines),
            line_rows=None if rows is None else np.concatenate(rows),
            **columns,
        )


MATE = 32000  # score of a mate in 0, centipawns; a mate in k is MATE - k, other scores are cut to +-CUT
CUT = 20000


@dataclass(frozen=True, slots=True)
class Teaching:
    """The judgement of one position by an engine or a net, for the side to move."""

    moves: NDArray[np.uint16]  # [n] in the game's own form, best first
    scores: NDArray[np.int64]  # [n] centipawns, see MATE; of a net: the position's
    wdl: tuple[int, int, int] | None  # of the first move, 1/1000, where the engine tells
    depth: int  # of the first line
    policy: NDArray[np.float64] | None = None  # [n] the moves' probabilities among all legal ones, where known
    chance: float | None = None  # expected points, 0 to 1, likewise
    lead: float | None = None  # points ahead at the end, likewise
    ownership: tuple[float, ...] = ()  # of each point, 1 = surely the side to move's; empty: unknown


Ended = Literal["rules", "adjudicated", "max plies"]


class ShardStore(Protocol):
    """What reads and writes the files of a game's records."""

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the :class:`TargetOptions` that mean nothing to these records."""

    def read(self, path: Path) -> Records:
        """The records of one file, checked. Errors: DataError."""

    def write(self, path: Path, records: Records) -> None:
        """Write one file atomically."""

    def read_folder(self, game: Game, paths: list[Path], options: TargetOptions) -> tuple[Positions, Positions]:
        """The training and the held-out positions of .npz files. Errors: DataError."""


def _as_they_are(game: Game, line: State, opening: tuple[int, ...], records: Records, ended: Ended) -> Records:
    return records


@dataclass(frozen=True, slots=True)
class LabelFormat:
    """How a teacher's games are recorded in one game."""

    shards: ShardStore
    lines: int  # K, labelled moves of a record
    scale: float  # centipawns: expected points of a score = 1 / (1 + exp(-cp / scale)) where moves are chosen
    decided: int  # centipawns beyond which a game counts as decided
    max_plies: int  # after which a game is drawn
    record: Callable[[Game, State, Teaching], Records]  # Record[1] of a line's last position; played, z, game unset
    code: Callable[[State, int], int]  # a move in State[] as records write it
    start: str | None = None  # the position that games begin from; None: the game's own
    root: Callable[[str], str] = str  # a recorded game's first position, under the rules that labels are kept by
    longest_opening: int = 1000  # moves that a record can hold before the first one
    never_blind: tuple[str, ...] = ()  # moves that are not drawn blindly
    # Record[N] of State[N], moves u2[N, K] with their policy f8[N, K], and scores i8[N] without a search; z, game unset
    judged: Callable[[State, NDArray[np.uint16], NDArray[np.float64], NDArray[np.int64]], Records] | None = None
    judged_scale: float = 1.0  # centipawns, as ``scale``, of the chances that ``judged`` makes of scores
    # the records of a game: its line, the moves before the first record, the records, how it ended; z is set by then
    finish: Callable[[Game, State, tuple[int, ...], Records, Ended], Records] = _as_they_are
