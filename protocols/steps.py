"""Steps: the commands that wait in a session's backlog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Event = Callable[[], None]


@dataclass(slots=True)
class Step:
    """One command of the backlog. ``work`` runs on the worker and returns what then runs on the session's thread."""

    work: Callable[[], Event] | None = None
    then: Event | None = None  # without work
    failed: Event | None = None  # after an error in the work
    size: int = 0  # bytes


@dataclass(slots=True)
class EarlyStep(Step):
    """Loads the engine before a line asks for it; nothing waits for it at the end."""
