"""Labelling on a Ray cluster: each actor has a teacher of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ...cluster import Actor, Crew, Freight, connected, unpacked
from ...engine.games import get_game
from ...engine.nets.weights import net_path
from ..data.shards import Records
from .lesson import Worker
from .recipe import Recipe

TURN_SECONDS = 0.5


class Labeller(Actor):
    """Labels games, or tasks of walks, on any node; an engine's command must exist there."""

    title = "label"

    def __init__(self, recipe: Recipe, freight: Freight) -> None:
        """``freight``: the nets and the recorded games that the recipe names."""
        self._folder, here = unpacked(freight)
        teacher, student = recipe.teacher, here.get(recipe.student, recipe.student)
        if isinstance(teacher, str):
            teacher = here.get(teacher, teacher)
        records = tuple(Path(here[str(path)]) for path in recipe.records)
        around = tuple(replace(source, path=Path(here[str(source.path)])) for source in recipe.around)
        self._worker = Worker(replace(recipe, teacher=teacher, student=student, records=records, around=around))

    def work(self, task: int) -> Records:
        """The records of one task. BLOCKS. Errors: EngineProcessError, NetError, DataError."""
        return self._worker.play(task)


def label_on(
    address: str,
    recipe: Recipe,
    tasks: Iterable[int],
    processes: int,
    stop: Callable[[], bool],
    say: Callable[[str], None],
) -> Iterator[Records]:
    """Yield the records of each task as it ends; a lost actor's task is done by another one.

    ``processes``: actors, 0 = one for each CPU. Once ``stop()`` is true, only the tasks that have begun are finished.
    Errors: EngineProcessError, NetError, ClusterError.
    """
    files = {str(path): path for path in (*recipe.records, *(source.path for source in recipe.around))}
    for net in (recipe.teacher, recipe.student):
        if isinstance(net, str) and net not in ("", "default"):
            path = net_path(net, get_game(recipe.game))
            if path is not None:
                files[net] = path
    with connected(address) as ray:
        freight, waiting = Freight(ray, files), iter(tasks)
        upcoming = next(waiting, None)

        def next_task(place: int) -> int | None:
            nonlocal upcoming
            task, upcoming = upcoming, None if upcoming is None else next(waiting, None)
            return task

        crew = Crew(ray, Labeller, lambda place: (recipe, freight), count=processes, say=say, patience=1)
        try:
            while upcoming is not None or crew.busy:
                if stop():
                    upcoming = None
                for done in crew.turn(next_task, TURN_SECONDS):
                    yield done.result
        finally:
            crew.close()
