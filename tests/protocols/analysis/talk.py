"""Conversations in KataGo's analysis protocol: in this process, without a net unless told otherwise."""

from __future__ import annotations

import json
from typing import Any

from az_engine.engine.engine import Engine
from az_engine.engine.params import EngineOptions
from az_engine.protocols.analysis.session import AnalysisSession
from az_engine.protocols.lines import LineWriter
from az_engine.protocols.options import OptionValues, Value

from ..talk import Conversation

PLAIN: dict[str, Value] = {"weights_file": "uniform", "hash": 8, "threads": 1}
GO: dict[str, Any] = {"moves": [], "rules": "tromp-taylor", "boardXSize": 5, "boardYSize": 5, "maxVisits": 20}
Answer = dict[str, Any]


class AnalysisTalk(Conversation):
    """Queries and answers."""

    patience_s = 240.0  # a test may have to compile kernels

    def __init__(
        self, game: str = "go", *, status: int = 0, remote: bool = False, analysts: int = 2, waits: bool = True,
        make: Any = None, **start: Value
    ) -> None:  # fmt: skip
        super().__init__(status)

        def make_engine(options: EngineOptions) -> Engine:
            return Engine(game, options)

        values = OptionValues("gtp", {**PLAIN, **start}, caps={} if remote else None)
        kind = AnalysisSession.of(game, analysts, waits=waits)
        self.session = kind(make or make_engine, values, LineWriter(self.session_out))
        self.start(self.session.run)

    def ask(self, **fields: Any) -> None:
        """Send one query: Go on 5x5 with 20 visits, but for what is given. None leaves a field out."""
        self.tell({key: value for key, value in {**GO, "id": "q", **fields}.items() if value is not None})

    def tell(self, given: Any) -> None:
        """Send one line of JSON."""
        self.send(json.dumps(given))

    def answer(self) -> Answer:
        """The next one."""
        line = self.line()
        assert line is not None, "the output has ended"
        found: Answer = json.loads(line)
        return found

    def one(self, **fields: Any) -> Answer:
        """The answer to one query."""
        self.ask(**fields)
        return self.answer()

    def answers(self) -> list[Answer]:
        """Everything up to the end."""
        self.close_input()
        return [json.loads(line) for line in self.rest()]
