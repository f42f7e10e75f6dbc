"""An engine process and its raw lines, each with the time of its arrival: what latency and memory are measured on.

Times are taken by the thread that reads, so that a busy bench does not cost the engine anything. Whoever wants moves
rather than lines uses ``protocols.client``.
"""

from __future__ import annotations

import contextlib
import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from ...engine.errors import EngineProcessError


class EngineProcess:
    """A running UCI engine and its lines. Every method blocks; an object belongs to one thread."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start it; its standard error goes nowhere. Errors: EngineProcessError when it cannot be started."""
        self.started = time.perf_counter()  # s
        self.name = Path(command[0]).name
        self._lines: queue.SimpleQueue[tuple[float, str | None]] = queue.SimpleQueue()  # (arrival in s, line or end)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                text=True,
                errors="replace",
                bufsize=1,
            )
        except OSError as error:
            raise EngineProcessError(f"cannot start {shlex.join(command)}: {error.strerror}") from error
        self.pid = self._process.pid
        threading.Thread(target=self._read, name="engine output", daemon=True).start()

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close."""
        self.close()

    def send(self, line: str) -> None:
        """Errors: EngineProcessError when the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
        except (OSError, ValueError):
            raise self._ended() from None

    def until(self, word: str, seconds: float, on_line: Callable[[str], None] | None = None) -> tuple[float, str]:
        """(arrival in s of time.perf_counter, text) of the next line that begins with ``word``; ``on_line`` sees all.

        Errors: EngineProcessError when the process ends or ``seconds`` pass.
        """
        deadline = time.perf_counter() + seconds
        while True:
            found = self._next(deadline)
            if found is None or found[0] > deadline:
                raise EngineProcessError(f"{self.name} did not say {word} within {seconds:.0f} s")
            if on_line is not None:
                on_line(found[1])
            if found[1].split()[:1] == [word]:
                return found

    def drain(self, seconds: float, on_line: Callable[[str], None]) -> None:
        """Pass on all lines of the next ``seconds``. Errors: EngineProcessError when the process ends."""
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            found = self._next(deadline)
            if found is not None:
                on_line(found[1])

    def _next(self, deadline: float) -> tuple[float, str] | None:
        """The next line and its arrival; None when none came before the deadline."""
        try:
            arrival, line = self._lines.get(timeout=max(0.0, deadline - time.perf_counter()))
        except queue.Empty:
            return None
        if line is None:
            self._lines.put((arrival, None))
            raise self._ended()
        return arrival, line

    def close(self, patience: float = 5.0) -> None:
        """End the process: asked to quit, killed when it has not ended after ``patience`` s."""
        with contextlib.suppress(EngineProcessError):
            self.send("quit")
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # a flush into the pipe of a dead process
                if pipe is not None:
                    pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed meanwhile
            for line in self._process.stdout:
                self._lines.put((time.perf_counter(), line))
        self._lines.put((time.perf_counter(), None))

    def _ended(self) -> EngineProcessError:
        try:
            return EngineProcessError(f"{self.name} ended by itself (exit status {self._process.wait(1)})")
        except subprocess.TimeoutExpired:
            return EngineProcessError(f"{self.name} has closed its output but runs on")
