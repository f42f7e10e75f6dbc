"""Transcripts in USI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from az_engine.engine.games import get_game
from az_engine.engine.params import EngineOptions
from az_engine.protocols.loader import EngineSeam
from az_engine.protocols.options import Value
from az_engine.protocols.usi import UsiSession

from ..fakes.engine import FakeEngine, FakeShogiEngine, faulty
from . import talk

INFO = talk.INFO.replace(r"score cp -?\d+", r"score (cp -?\d+|mate -?\d+)").replace(r"\w+", r"[\w*+]+")
BEST = "bestmove 1g1f ponder 1a1b"  # of the fake engine in the start position
REPLY = "bestmove 1a1b ponder 1g1f"  # and after 7g7f


@cache
def load_rules() -> None:
    """The fake engine's rules: a test's patience is not for their compilation."""
    game = get_game("shogi")
    line = game.initial()
    game.play(line, int(game.legal_moves(line)[0]))


class UsiTalk(talk.Talk):
    """One USI session in this process."""

    kind = UsiSession
    protocol = "usi"

    def __init__(
        self,
        make_engine: Callable[[EngineOptions], EngineSeam] = FakeShogiEngine,
        start: Mapping[str, Value] | None = None,
        *,
        status: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        load_rules()
        super().__init__(make_engine, start, status=status, notes=notes)


def broken(**faults: object) -> Callable[[EngineOptions], FakeEngine]:
    """A maker of shogi engines with these class attributes."""
    return faulty(FakeShogiEngine, **faults)


def play(transcript: str, make: Callable[[EngineOptions], EngineSeam] = FakeShogiEngine, *, ready: bool = True) -> None:
    """Play a transcript in a session of its own, after `isready` unless told otherwise."""
    with UsiTalk(make) as session:
        if ready:
            session.run(talk.READY)
        session.run(transcript)
