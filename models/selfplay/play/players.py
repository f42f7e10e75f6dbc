"""Who plays a run's games: processes of this machine, or actors of a Ray cluster.

Either way the games come home as records in the run's folder, where the learner reads them.
"""

from __future__ import annotations

from typing import Protocol

from ..config import RunConfig
from ..folder import Beat, RunFolder
from ..show.status import Observer
from .processes import Supervisor


class Players(Protocol):
    def start(self) -> None:
        """Let them play with the run's current net. Errors: AzError."""

    def beats(self) -> list[Beat]:
        """The newest beat of every worker of the run, including those started elsewhere."""

    def check(self) -> None:
        """Errors: AzError once they cannot go on."""

    def stop(self) -> None:
        """End them."""


def players_of(folder: RunFolder, run: RunConfig, observer: Observer) -> Players:
    machine = run.machine
    if machine.ray:
        from .ray import ClusterPlayers

        return ClusterPlayers(folder, run, observer.on_event)
    return Supervisor(
        folder,
        machine.workers,
        machine.hang_seconds,
        observer.on_event,
        observer.worker_command,
        evaluators=machine.evaluators,
    )
