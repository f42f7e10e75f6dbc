"""The folder of a self-play run.

config.json              the run's settings
lock                     held by the one learner
checkpoints/             tensors, optimiser, random state (see checkpoint)
nets/net_00001000.onnx   published nets; current.json says which one generates the games
games/0001-00000.games   the games of worker 1 (see replay)
examples/                some of the newest games at each checkpoint, as PGN, CSA or SGF
workers/0001.json        the newest heartbeat of worker 1; 0001.lock is its lock, 0001.log its output
log.jsonl, ladder.jsonl  metrics; games of the rating
run.html                 the run as a page, written anew while the run goes on
pause                    workers wait for the learner while this file is younger than PAUSE_SECONDS
finished                 workers end when this file exists
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from ...engine.errors import DataError
from ...engine.os.files import write_atomically
from ...engine.os.system import BINARY, lock

COMPILING = "compiling"  # state of a worker: it writes no heartbeat until the kernel is compiled
HEARTBEAT_SECONDS = 2.0
PAUSE_SECONDS = 60.0  # a pause ends unless the learner renews it


def evaluator_file(number: int) -> str:
    """The name, without suffix, of the files of an evaluator in the folder of the workers."""
    return f"evaluator-{number}"


@dataclass(frozen=True, slots=True)
class Current:
    """The net that generates games."""

    net: str  # its file's name in nets/
    step: int  # its training step
    considered: int  # step of the newest checkpoint that was published or judged by the gate
    resign: float | None = None  # the mover resigns when its outlook is below; None = never


class RunFolder:
    """Paths and small files of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.games = folder / "games"
        self.nets = folder / "nets"
        self.workers = folder / "workers"
        self.checkpoints = folder / "checkpoints"
        self.examples = folder / "examples"
        self.log = folder / "log.jsonl"
        self.ladder = folder / "ladder.jsonl"
        self._current = self.nets / "current.json"
        self._pause = folder / "pause"
        self._finished = folder / "finished"

    def net(self, step: int) -> Path:
        return self.nets / f"net_{step:08d}.onnx"

    @property
    def net_steps(self) -> list[int]:
        return sorted(int(p.stem[4:]) for p in self.nets.glob("net_????????.onnx"))

    @property
    def current(self) -> Current | None:
        """The net that plays; None before the first. Errors: DataError."""
        try:
            return Current(**json.loads(self._current.read_text()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{self._current} cannot be read ({error}); remove it and start the run again") from error

    @current.setter
    def current(self, current: Current) -> None:
        write_atomically(self._current, json.dumps(asdict(current)).encode())

    def current_stamp(self) -> tuple[int, int]:
        """Changes whenever :attr:`current` is set; (0, 0) before."""
        try:
            status = self._current.stat()
        except FileNotFoundError:
            return 0, 0
        return status.st_mtime_ns, status.st_ino

    def address(self, evaluator: int) -> Any:
        """Where an evaluator of this machine listens; None before it does, "" when it is another machine's."""
        try:
            place = json.loads((self.workers / f"{evaluator_file(evaluator)}.address").read_text())
            return place["address"] if place["host"] == socket.gethostname() else ""
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def set_address(self, evaluator: int, address: Any) -> None:
        """Say where an evaluator listens; None: no more. Errors: OSError."""
        path = self.workers / f"{evaluator_file(evaluator)}.address"
        if address is None:
            path.unlink(missing_ok=True)
        else:
            write_atomically(path, json.dumps({"address": address, "host": socket.gethostname()}).encode())

    @property
    def paused(self) -> bool:
        """Whether the workers should wait for the learner."""
        try:
            return time.time() - self._pause.stat().st_mtime < PAUSE_SECONDS
        except FileNotFoundError:
            return False

    @paused.setter
    def paused(self, pause: bool) -> None:
        if pause:
            self._pause.touch()
        else:
            self._pause.unlink(missing_ok=True)

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end."""
        return self._finished.exists()

    @finished.setter
    def finished(self, over: bool) -> None:
        if over:
            self._finished.touch()
        else:
            self._finished.unlink(missing_ok=True)


@dataclass(slots=True)
class Heartbeat:
    """A worker's state, written every few seconds; counts are since its start."""

    worker: int
    pid: int
    host: str
    count: int = 0  # of heartbeats; a worker whose count stays the same hangs
    state: str = "starting"  # or COMPILING, "playing", "waiting", "disk full", "ended"
    games: int = 0
    positions: int = 0
    simulations: int = 0
    evaluations: int = 0
    batches: int = 0
    rows: int = 0  # capacity of the batches, in positions
    seconds: float = 0.0  # of playing
    net: int = -1  # training step of the net that it plays with

    def write(self, path: Path) -> None:
        """Replace the file; need not survive a power loss."""
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Heartbeat | None:
        """A worker's newest heartbeat; None when the file is missing or torn."""
        try:
            values: dict[str, Any] = json.loads(path.read_text())
            return cls(**values)
        except (OSError, ValueError, TypeError):
            return None


class Pulse:
    """Shows the supervisor that a worker is alive: writes its Heartbeat to the run's folder."""

    def __init__(self, folder: RunFolder, number: int, file: str = "") -> None:
        """``file``: the name of the heartbeat's file without suffix, empty = a worker's."""
        folder.workers.mkdir(parents=True, exist_ok=True)
        self.heartbeat = Heartbeat(number, os.getpid(), socket.gethostname())
        self._path = folder.workers / f"{file or f'{number:04d}'}.json"
        self._written = time.monotonic()

    def due(self, state: str) -> bool:
        """Whether the state is another one, or the last heartbeat is HEARTBEAT_SECONDS old."""
        return state != self.heartbeat.state or time.monotonic() - self._written >= HEARTBEAT_SECONDS

    def write(self, state: str) -> None:
        self._written = time.monotonic()
        self.heartbeat.state, self.heartbeat.count = state, self.heartbeat.count + 1
        try:
            self.heartbeat.write(self._path)
        except OSError:  # a full disk: at least the file's time is new
            self._path.touch()


class WorkerSlot:
    """One of the run's worker numbers, held by a lock that ends with the process."""

    def __init__(self, folder: RunFolder, number: int | None = None) -> None:
        """Take ``number``, or the lowest free one from 1 on. Errors: DataError when it is taken."""
        folder.workers.mkdir(parents=True, exist_ok=True)
        numbers = range(1, 10_000) if number is None else (number,)
        for candidate in numbers:
            file = os.open(folder.workers / f"{candidate:04d}.lock", os.O_RDWR | os.O_CREAT | BINARY, 0o644)
            try:
                lock(file)
            except OSError:
                os.close(file)
                continue
            self.number, self._file = candidate, file
            return
        raise DataError(
            f"worker {number} of {folder.folder} is running already; leave the number out to get a free one"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
