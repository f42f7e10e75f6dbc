"""Starts the run's self-play processes, restarts the dead, and kills and restarts those that hang."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ....engine.errors import DataError
from ....engine.os.process import module_command
from ....engine.os.system import NEW_GROUP
from ...storage import RETRY_SECONDS
from ..folder import COMPILING, Heartbeat, RunFolder, evaluator_file

CHECK_SECONDS = 1.0
COMPILE_SECONDS = 900.0  # for one kernel, which takes seconds on an idle machine; a worker that compiles longer hangs
STOP_SECONDS = 5.0  # from the request to end until a worker is killed
QUICK_SECONDS = 60.0  # a worker that ends sooner has failed
MAX_FAILURES = 5  # in a row


@dataclass(slots=True)
class _Child:
    number: int
    name: str = ""  # what it is called
    file: str = ""  # of its heartbeat and its log, in the run's folder of workers, without suffix
    command: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    heartbeat: tuple[int, int] = (-1, 0)  # count and file time of its newest heartbeat
    seen: float = 0.0  # time of that heartbeat
    compiling: bool = False  # whether its state was COMPILING
    failures: int = 0
    wait_until: float = 0.0
    pids: list[int] = field(default_factory=list)


def worker_command(folder: Path, number: int) -> list[str]:
    return module_command("az_engine", "selfplay", str(folder), "--number", str(number), "--parent", str(os.getpid()))


def evaluator_command(folder: Path, number: int) -> list[str]:
    return module_command(
        "az_engine", "selfplay", str(folder), "--evaluator", str(number), "--parent", str(os.getpid())
    )


class Supervisor:
    """Runs ``count`` workers, numbered from 1, and the evaluators that they share, watched by a thread."""

    def __init__(
        self,
        folder: RunFolder,
        count: int,
        hang_seconds: float,
        say: Callable[[str], None],
        command: Callable[[Path, int], Sequence[str]] = worker_command,
        *,
        evaluators: int = 0,
    ) -> None:
        """``command``: that starts the worker of a number; ``evaluators``: see ``machine.evaluators``."""
        self.folder, self.hang_seconds, self.say = folder, hang_seconds, say
        self.restarts = 0
        self.failed = ""  # why the supervisor gave up
        self._children = [
            _Child(number, f"evaluator {number}", evaluator_file(number), evaluator_command(folder.folder, number))
            for number in range(evaluators)
        ]
        self._children += [
            _Child(number, f"worker {number}", f"{number:04d}", command(folder.folder, number))
            for number in range(1, count + 1)
        ]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def start(self) -> None:
        self.folder.workers.mkdir(parents=True, exist_ok=True)
        for child in self._children:
            self._start(child)
        self._thread.start()

    @property
    def pids(self) -> list[int]:
        return [c.process.pid for c in self._children if c.process is not None and c.process.poll() is None]

    def heartbeats(self) -> list[Heartbeat]:
        """The newest heartbeat of every worker of the run, including those started elsewhere."""
        result = (Heartbeat.read(path) for path in sorted(self.folder.workers.glob("????.json")))
        return [heartbeat for heartbeat in result if heartbeat is not None]

    def check(self) -> None:
        """Errors: DataError once a worker has failed MAX_FAILURES times in a row."""
        if self.failed:
            raise DataError(self.failed)

    def stop(self) -> None:
        """End all workers; kill those that still run after STOP_SECONDS."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        running = [c.process for c in self._children if c.process is not None and c.process.poll() is None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _log(self, child: _Child) -> Path:
        return self.folder.workers / f"{child.file}.log"

    def _start(self, child: _Child) -> None:
        with self._log(child).open("ab") as log:
            child.process = subprocess.Popen(
                child.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                **NEW_GROUP,  # Ctrl-C reaches the learner, which then ends its workers
            )
        child.started = child.seen = time.monotonic()
        child.heartbeat, child.compiling = (-1, 0), False
        child.pids.append(child.process.pid)

    def _watch(self) -> None:
        while not self._stopping.wait(CHECK_SECONDS):
            for child in self._children:
                self._look_after(child)

    def _look_after(self, child: _Child) -> None:
        now = time.monotonic()
        if child.process is None:
            if now >= child.wait_until and not self._stopping.is_set():
                try:
                    self._start(child)
                except OSError as error:
                    child.wait_until = now + RETRY_SECONDS
                    self.say(f"{child.name} cannot be started ({error.strerror})")
            return
        status = child.process.poll()
        if status is not None:
            self._ended(child, status, now)
            return
        path = self.folder.workers / f"{child.file}.json"
        heartbeat = Heartbeat.read(path)
        if heartbeat is not None and (seen := (heartbeat.count, path.stat().st_mtime_ns)) != child.heartbeat:
            child.heartbeat = seen
            if heartbeat.pid == child.process.pid:
                child.seen, child.compiling = now, heartbeat.state == COMPILING
        if now - child.seen > (max(COMPILE_SECONDS, self.hang_seconds) if child.compiling else self.hang_seconds):
            self.say(f"{child.name} has shown no progress for {now - child.seen:.0f} s: killed, started again")
            child.process.kill()  # works on a stopped process, too
            child.process.wait()
            child.process, child.wait_until = None, now
            self.restarts += 1

    def _ended(self, child: _Child, status: int, now: float) -> None:
        if self.folder.finished:
            return
        quick = now - child.started < QUICK_SECONDS and status > 0
        child.failures = child.failures + 1 if quick else 0
        last = self._log(child).read_text(errors="replace").strip().splitlines()[-1:]
        why = f"signal {-status}" if status < 0 else f"status {status}: {last[0] if last else 'it said nothing'}"
        if child.failures >= MAX_FAILURES:
            self.failed = f"{child.name} fails again and again ({why}); see {self._log(child)}"
            self._stopping.set()
            return
        self.say(f"{child.name} ended ({why}): started again")
        child.process, child.wait_until = None, now + min(30.0, 2.0**child.failures - 1)
        self.restarts += 1
