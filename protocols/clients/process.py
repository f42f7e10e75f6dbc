"""The process of an engine and the lines it exchanges, in any protocol: for clients, and for measuring latency.

Every wait has a deadline, and each fault has its error: the engine died (:class:`EngineDied`), does not answer
(:class:`EngineStalled`), writes without end (:class:`EngineFlooded`) or answers nonsense (:class:`EngineMisbehaved`).
After any of these the process is gone. Memory stays bounded, however much the engine writes. The thread that reads
takes each line's time of arrival, so the engine is not charged for the time of a busy caller.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO, Self

from ...engine.clock import Stopwatch
from ...engine.errors import EngineProcessError
from ...engine.os.system import NEW_GROUP, kill_group, split_command
from ..lines import clean, one_line

BACKLOG = 5000  # unread lines kept; beyond, info lines are dropped
FLOOD = 20_000  # unread lines, or lines instead of an answer, that are a flood
PER_ANSWER = 200  # so many more of each for every answer that is awaited at a time
LONGEST = 1 << 16  # bytes of a line; the rest counts as another line
QUIT_S = 2.0  # from `quit` to the end of the process


class EngineDied(EngineProcessError):
    """The engine's process ended."""


class EngineStalled(EngineProcessError):
    """The engine did not answer in time; it was killed."""


class EngineFlooded(EngineProcessError):
    """The engine wrote too many lines; it was killed."""


class EngineMisbehaved(EngineProcessError):
    """The engine's answer is not in its protocol or not a legal move; it was killed."""


class EngineProcess:
    """A running engine and its lines; times are seconds since its start. ``name`` stands for it in messages.

    A context manager: closes the engine, or kills it after an error.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it in ``directory`` with these environment variables (None: ours). Returns at once.

        Errors: EngineProcessError when it cannot be started.
        """
        words = split_command(command) if isinstance(command, str) else list(command)
        self.name = words[0] if words else ""
        self._epoch = Stopwatch()
        self._written = 0  # lines so far ...
        self._before = 0  # ... up to the last question
        self._flooded = False
        self._backlog, self._flood_lines = BACKLOG, FLOOD
        self._lines: queue.SimpleQueue[tuple[str | None, float]] = queue.SimpleQueue()  # line, when it came
        self._complaints: deque[str] = deque(maxlen=5)  # the end of stderr
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                env=environment,
                **NEW_GROUP,
            )
        except (OSError, ValueError, IndexError) as error:
            reason = getattr(error, "strerror", None) or error
            raise EngineProcessError(f"the engine {self.name!r} cannot be started: {reason}") from error
        threading.Thread(target=self._read_answers, args=(self._process.stdout,), daemon=True).start()
        self._complainer = threading.Thread(target=self._read_complaints, args=(self._process.stderr,), daemon=True)
        self._complainer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def seconds(self) -> float:
        """Seconds since the start; arrivals and deadlines are on this clock."""
        return self._epoch.seconds

    def send(self, line: str) -> None:
        """Write a line. Errors: EngineDied."""
        stream = self._process.stdin
        self._before = self._written
        try:
            if stream is None or stream.closed:
                raise BrokenPipeError
            stream.write(line.encode("utf-8", "surrogateescape") + b"\n")
            stream.flush()
        except OSError as error:
            raise self._died() from error

    def tolerate(self, answers: int) -> None:
        """Keep the lines of so many answers that are awaited at a time."""
        self._backlog, self._flood_lines = BACKLOG + PER_ANSWER * answers, FLOOD + PER_ANSWER * answers

    def line(self, deadline: float, requested: str) -> tuple[str, float]:
        """The next line and its arrival; ``wanted`` names what the caller waits for. BLOCKS.

        Errors: EngineDied; EngineStalled when no line came before ``deadline``; EngineFlooded when too much else did.
        """
        result = self._next(deadline)
        if result is None or result[1] > deadline:  # an engine that floods us always has a line waiting
            raise self._stalled(requested)
        return result

    def until(self, word: str, patience: float, on_line: Callable[[str], None] | None = None) -> tuple[str, float]:
        """The next line that begins with ``word``, and its arrival; ``on_line`` sees every line up to it. BLOCKS.

        Errors: as :meth:`line`, when ``patience`` seconds pass before.
        """
        deadline = self.seconds + patience
        while True:
            line, came = self.line(deadline, word)
            if on_line is not None:
                on_line(line)
            if line.split()[:1] == [word]:
                return line, came

    def drain(self, seconds: float, on_line: Callable[[str], None]) -> None:
        """Pass on all lines of the next ``seconds``. BLOCKS. Errors: EngineDied, EngineFlooded."""
        deadline = self.seconds + seconds
        while self.seconds < deadline and (result := self._next(deadline)) is not None:
            on_line(result[0])

    def _next(self, deadline: float) -> tuple[str, float] | None:
        """The next line and its arrival; None when none is there by the deadline."""
        if self._flooded:
            raise self._flood()
        try:
            line, came = self._lines.get(timeout=max(deadline - self.seconds, 0.0))
        except queue.Empty:
            return None
        if line is None:
            self._lines.put((None, came))
            raise self._died()
        return line, came

    def waiting(self) -> list[str]:
        """The unread lines that have arrived. Returns at once."""
        lines: list[str] = []
        with contextlib.suppress(queue.Empty):
            while True:
                line, came = self._lines.get_nowait()
                if line is None:
                    self._lines.put((None, came))
                    break
                lines.append(line)
        return lines

    def misbehaved(self, text: str) -> EngineMisbehaved:
        """Kill the engine; returns the error to raise, its name followed by ``text``."""
        self.kill()
        return EngineMisbehaved(f"{self.name} {text}")

    def close(self) -> None:
        """Ask it to quit and wait; kill it when it still runs after ``QUIT_S`` seconds. BLOCKS."""
        if self.alive:
            with contextlib.suppress(EngineProcessError):
                self.send("quit")
            try:
                self._process.wait(QUIT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._release()

    def kill(self) -> None:
        """Kill the engine and the processes it started, at once."""
        if self.alive:
            kill_group(self._process)
            self._process.wait()
        self._release()

    def _release(self) -> None:
        with contextlib.suppress(OSError):  # what it never read is lost
            if self._process.stdin is not None:
                self._process.stdin.close()

    def _stalled(self, requested: str) -> EngineStalled | EngineFlooded:
        self.kill()
        if self._written - self._before > self._flood_lines:
            return self._flood()
        return EngineStalled(f"{self.name} did not answer in time (waiting for {requested}); it was killed")

    def _flood(self) -> EngineFlooded:
        self.kill()
        return EngineFlooded(f"{self.name} writes without end ({self._written - self._before:,} lines); it was killed")

    def _died(self) -> EngineDied | EngineFlooded:
        if self._flooded:
            return self._flood()
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:  # it closed its output but lives
            self.kill()
            code = self._process.wait()
        self._release()
        self._complainer.join(0.5)
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        last = f"; its last words: {self._complaints[-1]}" if self._complaints else ""
        return EngineDied(f"{self.name} ended by itself ({how}){last}")

    def _read_answers(self, stream: BinaryIO) -> None:
        with stream:
            while raw := stream.readline(LONGEST):
                self._written += 1
                waiting = self._lines.qsize()
                if waiting < self._backlog or not raw.startswith(b"info"):
                    self._lines.put((clean(raw), self._epoch.seconds))
                if waiting > self._flood_lines:
                    self._flooded = True
                    break
        self._lines.put((None, self._epoch.seconds))

    def _read_complaints(self, stream: BinaryIO) -> None:
        with stream:
            while raw := stream.readline(LONGEST):
                text = one_line(clean(raw), 200)
                if text:
                    self._complaints.append(text)
