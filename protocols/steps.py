"""Steps: the commands that wait in a session's backlog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .go_command import PendingGo

Event = Callable[[], None]


@dataclass(slots=True)
class Step:
    """One command of the backlog. ``work`` runs on the worker and returns what then runs on the session's thread."""

    work: Callable[[], Event] | None = None
    then: Event | None = None  # without work
    failed: Event | None = None  # after an error in the work
    size: int = 0  # bytes


@dataclass(slots=True, kw_only=True)
class GoStep(Step):
    """A ``go`` that waits for its turn."""

    go: PendingGo


@dataclass(slots=True)
class PingStep(Step):
    """An ``isready`` that waits for the engine; answered at once when a search begins."""

    answered: bool = False


@dataclass(slots=True)
class EarlyStep(Step):
    """Loads the engine before a line asks for it; nothing waits for it at the end."""


@dataclass(slots=True)
class ThrownStep(Step):
    """Lines that were thrown away, one after the other, because too much was waiting."""

    lines: int = 0
    positions: int = 0
    searches: Counter[bool] = field(default_factory=Counter)  # by whether they look for a mate: each gets an answer
