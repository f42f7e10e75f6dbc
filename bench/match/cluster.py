"""Games of a match on a Ray cluster: each actor plays one after another, with engines of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...cluster import Actor, Crew, Freight, connected, unpacked
from .game import EnginePool, MatchGame, MatchSettings, Pairing, play_game
from .tournament import Tournament

TURN_SECONDS = 0.5


class Board(Actor):
    """Plays games of a match on any node; other engines' commands must exist there."""

    title = "match"

    def __init__(self, settings: MatchSettings, freight: Freight) -> None:
        """``freight``: the nets of players that have files."""
        self._folder, nets = unpacked(freight)
        players = [replace(player, net=nets.get(player.net, player.net)) for player in settings.players]
        self._settings = replace(settings, players=tuple(players))
        self._pool = EnginePool(self._settings)

    def work(self, task: Pairing) -> dict[str, Any]:
        """One game, as its JSON. BLOCKS. Errors: AzError when a player does not start."""
        self._pool.fill(task.first, task.second)
        return play_game(task, self._settings, self._pool, threading.Event()).to_json()


def play_on(
    address: str,
    tournament: Tournament,
    concurrency: int,
    on_game: Callable[[], None],
    decided: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    """Play what is missing on a cluster, until ``decided``; a lost actor's game is played by another one. BLOCKS.

    ``concurrency``: games at a time, 0 = one for each CPU. Errors: AzError when a player does not start, ClusterError;
    a KeyboardInterrupt leaves the finished games.
    """
    settings = tournament.settings
    nets = {each.net: each.net_file(settings.game) for each in settings.players if each.net}
    with connected(address) as ray:
        freight = Freight(ray, {name: path for name, path in nets.items() if path is not None})
        waiting = iter(tournament.missing)
        crew = Crew(ray, Board, lambda place: (settings, freight), count=concurrency, say=say, patience=1)
        try:
            tasks = len(tournament.missing)
            while tasks and not decided():
                for done in crew.turn(lambda place: next(waiting, None), TURN_SECONDS):
                    tasks -= 1
                    tournament.add(MatchGame.from_json(done.result))
                    on_game()
        finally:
            crew.close()
