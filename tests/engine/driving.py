"""An engine driven by a test: a go, and what came of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from az_engine.engine.engine import Engine
from az_engine.engine.info import BestMove, ThinkingInfo
from az_engine.engine.limits import Limits


class Recorder:
    """What an engine said to one go."""

    def __init__(self) -> None:
        self.infos: list[ThinkingInfo] = []
        self.answers: list[BestMove] = []
        self.done = threading.Event()

    def on_done(self, answer: BestMove) -> None:
        self.answers.append(answer)
        self.done.set()

    @property
    def answer(self) -> BestMove:
        """The only answer, once it is there."""
        assert self.done.wait(300)
        (answer,) = self.answers
        if answer.error is not None:
            raise answer.error
        return answer

    @property
    def report(self) -> ThinkingInfo:
        """The last report with lines."""
        return [info for info in self.infos if info.message is None][-1]


def go(engine: Engine, **limits: Any) -> Recorder:
    recorder = Recorder()
    engine.go(Limits(**limits), recorder.infos.append, recorder.on_done)
    return recorder


def think(engine: Engine, root: str | None = None, moves: Sequence[str] = (), **limits: Any) -> Recorder:
    """Set a position and search it to the end."""
    engine.set_position(root, moves)
    recorder = go(engine, **limits)
    assert recorder.done.wait(300)
    assert engine.wait(60)
    return recorder
