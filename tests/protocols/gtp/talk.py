"""GTP conversations for tests: in this process, with the real engine without a net unless told otherwise."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from az_engine.engine.engine import Engine
from az_engine.engine.info import Estimate
from az_engine.engine.params import EngineOptions
from az_engine.protocols.gtp.game import GoEngine
from az_engine.protocols.gtp.session import GtpSession
from az_engine.protocols.lines import LineReader, LineWriter
from az_engine.protocols.options import OptionValues, Value

PATIENCE_S = 240.0  # for any one line; only a failing test, or one that has to compile kernels, waits as long
SUICIDE = ("play b A3", "play b B2", "play b C1", "play w A2", "play b E5", "play w B1")  # of three stones on A1
PLAIN: dict[str, Value] = {"weights_file": "uniform", "hash": 16, "threads": 1, "move_time": 0.1, "resign": 0.0}


def make_engine(options: EngineOptions) -> GoEngine:
    """The real one."""
    return Engine("go", options)


def engine_that_says(
    ownership: Callable[[str], Sequence[float] | None], sizes: tuple[int, ...] = ()
) -> Callable[[EngineOptions], GoEngine]:
    """Makes real engines whose net, it seems, plays ``sizes`` and sees an ownership (of a position's text)."""

    class Seeing(Engine):
        def sizes(self) -> tuple[int, ...]:
            return sizes

        def estimate(self) -> Estimate | None:
            seen = ownership(self.position or "")
            return Estimate(None, None if seen is None else tuple(seen))

    return lambda options: Seeing("go", options)


class GtpTalk:
    """One session, its ends held by the test; the ``with`` block ends it and checks that nothing is left over."""

    def __init__(
        self, make: Callable[[EngineOptions], GoEngine] = make_engine, *, status: int = 0, **start: Value
    ) -> None:
        self._status = status
        self._session_in, self._ours_out = os.pipe()
        self._ours_in, self._session_out = os.pipe()
        self.session = GtpSession(make, OptionValues("gtp", {**PLAIN, **start}), LineWriter(self._session_out))
        self._result: list[int] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._run, self._listen)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self.session.run(LineReader(self._session_in)))
        finally:
            os.close(self._session_out)

    def _listen(self) -> None:
        with os.fdopen(self._ours_in, encoding="utf-8") as stream:
            for line in stream:
                self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close_input()
        if kind is None:
            assert self.rest() == []
            assert self.status() == self._status

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        os.write(self._ours_out, data)

    def send(self, *lines: str) -> None:
        """Send lines."""
        self.raw("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))

    def close_input(self) -> None:
        """End of input, once."""
        if self._ours_out >= 0:
            os.close(self._ours_out)
            self._ours_out = -1

    def line(self, timeout: float = PATIENCE_S) -> str | None:
        """The next output line; None at the end."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no line within {timeout} s") from None
        if line is None:
            self._lines.put(None)
        return line

    def response(self) -> str:
        """The next whole response, its lines joined, without the blank line that ends it."""
        lines = [self.line()]
        assert lines[0], f"a response cannot begin with {lines[0]!r}"
        assert lines[0][0] in "=?", lines[0]
        while line := self.line():
            lines.append(line)
        assert line == "", "the output ended inside a response"
        return "\n".join(map(str, lines))

    def ask(self, *commands: str) -> list[str]:
        """The responses to commands that are sent all at once."""
        self.send(*commands)
        return [self.response() for _ in commands]

    def one(self, command: str) -> str:
        """The response to one command."""
        return self.ask(command)[0]

    def silence(self, seconds: float) -> None:
        """Nothing comes for a while."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return
        raise AssertionError(f"expected silence, got {line}")

    def rest(self) -> list[str]:
        """Everything up to the end of the output."""
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        return lines

    def status(self) -> int:
        """The session's exit status."""
        self._threads[0].join(PATIENCE_S)
        return self._result[0]


def seconds(action: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.monotonic()
    action()
    return time.monotonic() - start
