"""The real commands, such as ``az-engine uci``, as a GUI sees them: processes with pipes."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Self

COMMAND = [sys.executable, "-m", "az_engine"]


class EngineProcess:
    """One engine process. Context manager: kills what is left."""

    protocol = "uci"

    def __init__(self, *flags: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, self.protocol, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.complaints = bytearray()
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._listen, self._listen_to_stderr)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        for raw in self.stdout:
            self._lines.put(raw.decode("utf-8").rstrip("\n"))
        self._lines.put(None)

    def _listen_to_stderr(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read1(65536):  # type: ignore[attr-defined]
            self.complaints += chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(60)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, *lines: str) -> None:
        """Send lines."""
        self.raw("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))

    def line(self, timeout: float = 60.0) -> str | None:
        """The next line of output; None at its end."""
        try:
            return self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no line within {timeout} s; stderr: {self.complaints.decode()[-2000:]}") from None

    def until(self, first_word: str, timeout: float = 60.0) -> list[str]:
        """Lines up to the one that begins with that word."""
        lines = []
        while (line := self.line(timeout)) is not None:
            lines.append(line)
            if line.split()[:1] == [first_word]:
                return lines
        raise AssertionError(f"ended without {first_word}: {lines[-5:]}; stderr: {self.complaints.decode()[-2000:]}")

    def ask(self, lines: Sequence[str], last_word: str = "readyok", timeout: float = 60.0) -> list[str]:
        """Send lines, the last of which is answered by a line beginning with ``last_word``."""
        self.send(*lines)
        return self.until(last_word, timeout)

    def end(self, patience: float = 60.0) -> tuple[int, list[str]]:
        """Exit status and the rest of the output."""
        code = self.process.wait(patience)
        rest = []
        while (line := self.line()) is not None:
            rest.append(line)
        return code, rest


class UsiProcess(EngineProcess):
    protocol = "usi"


class GtpProcess(EngineProcess):
    """Responses are parsed strictly."""

    protocol = "gtp"

    def response(self) -> str:
        """The next response: its head must be right and one blank line must end it."""
        lines = []
        while line := self.line(120.0):
            lines.append(line)
        assert lines, "the output ended, or an empty line stands where a response should begin"
        assert re.match(r"[=?]\d*( |$)", lines[0]), lines[0]
        return "\n".join(lines)

    def responses(self, *lines: str) -> list[str]:
        """The responses to lines, each of which is a command."""
        self.send(*lines)
        return [self.response() for _ in lines]
