"""The steps of UCI in a session's backlog."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..steps import Step
from .pending import PendingGo


@dataclass(slots=True, kw_only=True)
class GoStep(Step):
    """A ``go`` that waits for its turn."""

    go: PendingGo


@dataclass(slots=True)
class PerftStep(Step):
    """A ``go perft``, which ``stop`` ends."""

    halt: bytearray = field(default_factory=lambda: bytearray(4))  # see ``Game.perft``


@dataclass(slots=True)
class PingStep(Step):
    """An ``isready`` that waits for the engine; answered at once when a search begins."""

    answered: bool = False


@dataclass(slots=True)
class ThrownStep(Step):
    """Lines that were thrown away, one after the other, because too much was waiting."""

    lines: int = 0
    positions: int = 0
    searches: Counter[bool] = field(default_factory=Counter)  # by whether they look for a mate: each gets an answer
