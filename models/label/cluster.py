"""Labelling on a Ray cluster: each actor has a teacher of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...cluster import Actor, Crew, Freight, connected, unpacked
from ...engine.games import get_game
from ...engine.nets.weights import net_path
from ..data.shards import Records
from .lesson import Recipe, Worker

TURN_SECONDS = 0.5


class Labeller(Actor):
    """Labels games on any node; an engine's command must exist there."""

    title = "label"

    def __init__(self, recipe: Recipe, freight: Freight) -> None:
        """``freight``: the nets and the recorded games that the recipe names."""
        self._folder, here = unpacked(freight)
        teacher, student = recipe.teacher, here.get(recipe.student, recipe.student)
        if isinstance(teacher, str):
            teacher = here.get(teacher, teacher)
        records = tuple(Path(here[str(path)]) for path in recipe.records)
        self._worker = Worker(replace(recipe, teacher=teacher, student=student, records=records))

    def work(self, task: int) -> Records:
        """The records of one game. BLOCKS. Errors: EngineProcessError, NetError."""
        return self._worker.play(task)


def label_on(
    address: str,
    recipe: Recipe,
    games: Sequence[int],
    processes: int,
    stop: Callable[[], bool],
    say: Callable[[str], None],
) -> Iterator[Records]:
    """Yield each game's records as it ends; a lost actor's game is labelled by another one.

    ``processes``: actors, 0 = one for each CPU. Once ``stop()`` is true, only the games that have begun are played to
    their end. Errors: EngineProcessError, NetError, ClusterError.
    """
    files = {str(path): path for path in recipe.records}
    for net in (recipe.teacher, recipe.student):
        if isinstance(net, str) and net not in ("", "default"):
            path = net_path(net, get_game(recipe.game))
            if path is not None:
                files[net] = path
    with connected(address) as ray:
        freight, left = Freight(ray, files), list(reversed(games))
        crew = Crew(ray, Labeller, lambda place: (recipe, freight), count=processes, say=say, patience=1)
        try:
            while left or crew.busy:
                if stop():
                    left.clear()
                for done in crew.turn(lambda place: left.pop() if left else None, TURN_SECONDS):
                    yield done.result
        finally:
            crew.close()
