"""Transcripts, in UCI and USI: what is sent, what has to come back, and nothing left over.

A transcript is text. ``> line`` is sent as it is; ``< pattern`` is a regular expression that the whole next output line
must match; ``<* pattern`` swallows any number of such lines; ``. seconds`` asserts silence for that long. The
patterns INFO, BEST and REPLY are the protocol's: any report, and the fake engine's moves at the start and a ply later.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Self

from az_engine.engine.games import get_game
from az_engine.engine.params import EngineOptions
from az_engine.protocols.lines import LineReader, LineWriter
from az_engine.protocols.loader import EngineSeam
from az_engine.protocols.options import OptionValues, Value
from az_engine.protocols.uci.uci import UciSession
from az_engine.protocols.uci.usi import UsiSession

from ..fakes.engine import FakeEngine, FakeShogiEngine, faulty

INFO = r"info depth \d+ seldepth \d+ multipv \d+ score cp -?\d+ nodes \d+ nps \d+ hashfull \d+ time \d+ pv( \w+)+"
READY = """
> isready
< info string playing with the embedded net
< readyok
"""


class Reader(LineReader):
    """Whose end one can wait for."""

    join: Callable[[], None] = lambda: None

    def start(self, *callbacks: Any) -> threading.Thread:
        thread = super().start(*callbacks)
        self.join = thread.join
        return thread


class Conversation:
    """One session in this process, its ends held by the test. The ``with`` block ends it; nothing may be left over.

    Subclasses make the session, which writes to ``session_out``, and then call :meth:`start`.
    """

    patience_s = 60.0  # for any one line; only a failing test waits as long

    def __init__(self, status: int) -> None:
        self._status = status
        self._session_in, self._ours_out = os.pipe()
        self._ours_in, self.session_out = os.pipe()
        self._result: list[int] = []
        self._ended = threading.Event()  # the session
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def start(self, run: Callable[[LineReader], int]) -> None:
        """Begin: ``run`` reads the lines and returns the exit status."""

        reader = Reader(self._session_in)

        def run_and_close() -> None:
            try:
                self._result.append(run(reader))
            finally:
                os.close(self.session_out)
                self._ended.set()
                reader.join()  # else it reads the next conversation's lines, whose pipe gets the same number
                os.close(self._session_in)

        threading.Thread(target=run_and_close, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

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
            rest = self.rest()
            assert rest == [], f"left over: {rest}"
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

    def line(self) -> str | None:
        """The next output line; None at the end. Fails when none comes."""
        try:
            line = self._lines.get(timeout=self.patience_s)
        except queue.Empty:
            raise AssertionError(f"no line within {self.patience_s} s") from None
        if line is None:
            self._lines.put(None)  # for the next one who asks
        return line

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
        self._ended.wait(self.patience_s)
        return self._result[0]


class Talk(Conversation):
    """Transcripts in UCI."""

    kind: type[UciSession] = UciSession
    engine: type[FakeEngine] = FakeEngine
    protocol = "uci"
    info = INFO
    best, reply = "bestmove a2a3 ponder a7a5", "bestmove a7a5 ponder a2a3"
    first_move = "e2e4"
    hash_option, weights_option, ponder_option = "Hash", "WeightsFile", "Ponder"
    prepare: Callable[[], None] = staticmethod(lambda: None)

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], EngineSeam] | None = None,
        start: Mapping[str, Value] | None = None,
        *,
        status: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.prepare()
        super().__init__(status)
        values = OptionValues(self.protocol, start)
        self.writer = LineWriter(self.session_out)
        self.session = self.kind(make_engine or self.engine, values, self.writer, notes)
        self._back: list[str | None] = []
        self.start(self.session.run)

    def line(self) -> str | None:
        """The next output line, or the one that was put back."""
        return self._back.pop() if self._back else super().line()

    def expect(self, pattern: str) -> str:
        """The next line, which must match."""
        line = self.line()
        assert line is not None, f"the output ended; expected {pattern}"
        assert re.fullmatch(pattern, line), f"got      {line}\nexpected {pattern}"
        return line

    def skip(self, pattern: str) -> list[str]:
        """All next lines that match. Needs a line after them that does not."""
        found = []
        while (line := self.line()) is not None and re.fullmatch(pattern, line):
            found.append(line)
        self._back.append(line)
        return found

    def until(self, pattern: str) -> list[str]:
        """All lines up to the first that matches, which comes last."""
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
            if re.fullmatch(pattern, line):
                return lines
        raise AssertionError(f"the output ended without {pattern}: {lines}")

    def run(self, transcript: str) -> None:
        """Play a transcript."""
        for number, row in enumerate(transcript.strip("\n").split("\n"), start=1):
            kind, _, text = row.strip().partition(" ")
            text = {"INFO": self.info, "BEST": self.best, "REPLY": self.reply}.get(text, text)
            try:
                if kind == ">":
                    self.send(text)
                elif kind == "<":
                    self.expect(text)
                elif kind == "<*":
                    self.skip(text)
                elif kind == ".":
                    self.silence(float(text))
                else:
                    assert kind in ("", "#"), f"not a transcript row: {row}"
            except AssertionError as error:
                raise AssertionError(f"row {number}, {row.strip()}:\n{error}") from None

    @classmethod
    def broken(cls, **faults: object) -> Callable[[EngineOptions], FakeEngine]:
        """A maker of engines with these class attributes."""
        return faulty(cls.engine, **faults)

    @classmethod
    def play(
        cls, transcript: str, make: Callable[[EngineOptions], EngineSeam] | None = None, *, ready: bool = True
    ) -> None:
        """Play a transcript in a session of its own, after `isready` unless told otherwise."""
        with cls(make) as talk:
            if ready:
                talk.run(READY)
            talk.run(transcript)


@cache
def load_shogi() -> None:
    """The fake shogi engine's rules: a test's patience is not for their compilation."""
    game = get_game("shogi")
    line = game.initial()
    game.play(line, int(game.legal_moves(line)[0]))


class UsiTalk(Talk):
    """Transcripts in USI."""

    kind = UsiSession
    engine = FakeShogiEngine
    protocol = "usi"
    info = INFO.replace(r"score cp -?\d+", r"score (cp -?\d+|mate -?\d+)").replace(r"\w+", r"[\w*+]+")
    best, reply = "bestmove 1g1f ponder 1a1b", "bestmove 1a1b ponder 1g1f"
    first_move = "7g7f"
    hash_option, weights_option, ponder_option = "USI_Hash", "DNN_Model", "USI_Ponder"
    prepare = staticmethod(load_shogi)
