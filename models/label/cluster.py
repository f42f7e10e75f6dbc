"""Labelling on a Ray cluster: each actor has a teacher of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ...cluster import Actor, Crew, Freight, connected, unpacked
from ...engine.games.base import Game
from ...engine.nets.weights import net_path
from ..data.shards import Records
from .flags import Net
from .job import Job
from .pool import Worker

TURN_SECONDS = 0.5


class Labeller(Actor):
    """Labels on any node; an engine's command must exist there."""

    title = "label"

    def __init__(self, job: Job, freight: Freight) -> None:
        """freight: the files and the nets that source and teacher name."""
        self._folder, places = unpacked(freight)
        self._worker = Worker(replace(job, source=moved(job.source, places), teacher=moved(job.teacher, places)))

    def work(self, task: int) -> Records:
        """The records of one task. BLOCKS. Errors: EngineProcessError, NetError, DataError."""
        return self._worker.records(task)


def files_in(value: Any, game: Game) -> dict[str, Path]:
    """The files and nets that a source or a teacher names, by their names."""
    if isinstance(value, Net):
        path = net_path(value, game) if value not in ("", "default") else None
        return {} if path is None else {str(value): path}
    if isinstance(value, Path):
        return {str(value): value} if value.is_file() else {}
    parts = [getattr(value, f.name) for f in fields(value)] if is_dataclass(value) else value
    results: dict[str, Path] = {}
    for part in parts if isinstance(parts, list | tuple) else ():
        results |= files_in(part, game)
    return results


def moved(value: Any, places: Mapping[str, str]) -> Any:
    """The same with files and nets at their ``places``."""
    if isinstance(value, Net | Path):
        return type(value)(places.get(str(value), value))
    if isinstance(value, tuple):
        return tuple(moved(part, places) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: moved(getattr(value, f.name), places) for f in fields(value)})
    return value


def label_on(
    address: str, job: Job, tasks: Iterable[int], processes: int, stop: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[Records]:
    """Yield the records of each task as it ends; a lost actor's task is done by another one.

    ``processes``: actors, 0 = one for each CPU. Once ``stop()`` is true, only the tasks that have begun are finished.
    Errors: EngineProcessError, NetError, ClusterError.
    """
    files = files_in(job.source, job.game) | files_in(job.teacher, job.game)
    with connected(address) as ray:
        freight, waiting = Freight(ray, files), iter(tasks)
        upcoming = next(waiting, None)

        def next_task(place: int) -> int | None:
            nonlocal upcoming
            task, upcoming = upcoming, None if upcoming is None else next(waiting, None)
            return task

        crew = Crew(ray, Labeller, lambda place: (job, freight), count=processes, say=say, patience=1)
        try:
            while upcoming is not None or crew.busy:
                if stop():
                    upcoming = None
                for done in crew.turn(next_task, TURN_SECONDS):
                    yield done.result
        finally:
            crew.close()
