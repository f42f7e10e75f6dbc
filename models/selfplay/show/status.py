"""The status of a self-play run, and the observer that it reports to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...signals import done
from ..folder import Heartbeat
from ..play.processes import worker_command


@dataclass(slots=True)
class Status:
    """A snapshot of a run for display."""

    step: int = 0
    progress: float = 0.0  # 0..1
    seconds: float = 0.0  # over all starts
    games: int = 0
    positions: int = 0  # with a policy target, of all games
    window_games: int = 0
    window_positions: int = 0
    reuse: float = 0.0  # positions trained on for each new one so far
    losses: dict[str, float] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    heartbeats: list[Heartbeat] = field(default_factory=list)
    net: int = 0  # step of the net that plays
    length: float = 0.0  # mean plies of recent games
    resign: float | None = None
    elo: dict[str, tuple[float, float, float]] = field(default_factory=dict)  # newest rated net: (elo, low, high)
    anchor: str = ""  # the player of 0 Elo
    doing: str = ""
    rating_share: float = 0.0  # of the time


@dataclass(slots=True)
class Observer:
    """What a run calls to report, and to ask whether to stop."""

    on_status: Callable[[Status], None] = lambda status: None  # several times a second
    on_event: Callable[[str], None] = lambda text: None  # a sentence
    on_row: Callable[[dict[str, Any]], None] = lambda row: None  # what is logged
    stop: Callable[[], bool] = lambda: False
    attempt: Callable[[Callable[[], object]], bool] = done  # see StopSignals.attempt
    worker_command: Callable[[Path, int], Sequence[str]] = worker_command
