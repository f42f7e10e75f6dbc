"""GTP conversations for tests: in this process, with the real engine without a net unless told otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from az_engine.engine.engine import Engine
from az_engine.engine.info import Estimate
from az_engine.engine.params import EngineOptions
from az_engine.protocols.gtp.game import GoEngine
from az_engine.protocols.gtp.session import GtpSession
from az_engine.protocols.lines import LineWriter
from az_engine.protocols.options import OptionValues, Value

from ..talk import Conversation

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

        def estimate(self, seconds: float = math.inf) -> Estimate | None:
            seen = ownership(self.position or "")
            return Estimate(None, None if seen is None else tuple(seen))

    return lambda options: Seeing("go", options)


class GtpTalk(Conversation):
    """Questions and responses in GTP."""

    patience_s = 240.0  # a test may have to compile kernels

    def __init__(
        self, make: Callable[[EngineOptions], GoEngine] = make_engine, *, status: int = 0, **start: Value
    ) -> None:
        super().__init__(status)
        self.writer = LineWriter(self.session_out)
        values = OptionValues("gtp", {**PLAIN, **start})
        assert set(start) <= set(values), "there is no such option"
        self.session = GtpSession(make, values, self.writer)
        self.start(self.session.run)

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
