"""Who plays the games of a run beside its learner: processes of this machine, or actors of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config import RunConfig
from ..folder import RunFolder
from ..show.status import Observer
from .processes import Supervisor

if TYPE_CHECKING:
    from .ray import ClusterPlayers


def make_players(folder: RunFolder, run: RunConfig, observer: Observer) -> Supervisor | ClusterPlayers:
    """They do not play yet."""
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
