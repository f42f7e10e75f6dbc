"""Self-play on a Ray cluster: actors play, and this process alone writes into the run's folder.

Each actor plays a few seconds for every order, which names the net (its bytes are in Ray's object store), and reports
its finished games. So games come home as fast as the folder takes them: an actor without an order waits. An actor that
is lost takes its unfinished games with it; the one that follows begins behind the games that are stored.
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ....cluster import Actor, Crew, Needs, connected, fetched
from ....engine.errors import DataError, counted
from ...storage import Patience
from ..config import RunConfig
from ..folder import Current, Heartbeat, RunFolder, WorkerSlot
from ..store.replay import GameRecord, ShardWriter, title
from .games import Player
from .processes import COMPILE_SECONDS

ORDER_SECONDS = 2.0  # of playing for one order
AHEAD = 2  # orders of an actor at a time: it plays while its report travels
TURN_SECONDS = 1.0


class Order(NamedTuple):
    """What an actor shall do: play for some seconds with a net."""

    seconds: float
    current: dict[str, Any]  # fields of Current
    net: list[Any]  # a reference to the net's bytes, in a list so that it is fetched only when the net is new


class Report(NamedTuple):
    heartbeat: dict[str, Any]
    games: list[bytes]  # payloads of the games that ended


class SelfPlayActor(Actor):
    """Plays for a run on any node."""

    title = "self-play"

    def __init__(self, settings: dict[str, Any], number: int, first_id: int) -> None:
        """``settings``: of the RunConfig; ``number``: of the worker; ``first_id``: of its games."""
        self.title = f"self-play {number} of {settings['game']}"
        self._run, self._first = RunConfig.from_values(settings), first_id
        self._heartbeat = Heartbeat(number, os.getpid(), socket.gethostname(), state="playing")
        self._player: Player | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="az-engine-")

    def work(self, task: Order) -> Report:
        """Play until the order's seconds are over. BLOCKS. Errors: NetError."""
        current = Current(**task.current)
        path = Path(self._folder.name) / current.net
        if self._player is None or self._player.current.net != current.net:
            path.write_bytes(fetched(task.net[0]))
        if self._player is None:
            self._player = Player(self._run, self._heartbeat, self._first, path, current)
        else:
            self._player.use(path, current)
        path.unlink(missing_ok=True)
        games, end = self._player.advance(), time.monotonic() + task.seconds
        while time.monotonic() < end:
            games += self._player.advance()
        self._heartbeat.count += 1
        return Report(asdict(self._player.count()), games)


class ClusterPlayers:
    """Keeps actors playing for a run and stores what they report, on a thread of its own."""

    def __init__(self, folder: RunFolder, run: RunConfig, say: Callable[[str], None]) -> None:
        self.folder, self.run, self.say = folder, run, say
        self.games = 0  # stored
        self.crew: Crew | None = None
        self._heartbeats: dict[int, Heartbeat] = {}
        self._slots: dict[int, WorkerSlot] = {}
        self._writers: dict[int, ShardWriter] = {}
        self._title = title(run.get_game(), str(run.seed))
        self._stamp = (0, 0)
        self._order: Order | None = None
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._patiently = Patience(folder.folder, say, stopping=self._stopping.is_set)
        self._connection = connected(run.machine.ray)
        self._thread = threading.Thread(target=self._keep_playing, name="cluster", daemon=True)

    def start(self) -> None:
        """Connect and let actors start. BLOCKS. Errors: OptionError without Ray, ClusterError."""
        ray, machine = self._connection.__enter__(), self.run.machine
        self.crew = Crew(
            ray,
            SelfPlayActor,
            self._arguments,
            count=machine.workers,
            say=self.say,
            needs=Needs(machine.actor_cpus, machine.actor_gpus),
            ahead=AHEAD,
            again=False,
            limits=(max(COMPILE_SECONDS, machine.hang_seconds), ORDER_SECONDS * AHEAD + machine.hang_seconds),
        )
        self.say(f"Ray at {machine.ray}: {_described(ray)}")
        self._thread.start()

    def heartbeats(self) -> list[Heartbeat]:
        """The newest heartbeat of every worker of the run, including processes started by hand."""
        taken = {slot.number for slot in self._slots.copy().values()}
        paths = [path for path in sorted(self.folder.workers.glob("????.json")) if int(path.stem) not in taken]
        others = [heartbeat for path in paths if (heartbeat := Heartbeat.read(path)) is not None]
        return sorted([*self._heartbeats.copy().values(), *others], key=lambda heartbeat: heartbeat.worker)

    def check(self) -> None:
        """Errors: what ended the thread."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End all actors and leave the cluster."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.crew is not None:
            self.crew.close()
            self._connection.__exit__(None, None, None)
        for writer in self._writers.values():
            writer.close()
        for slot in self._slots.values():
            slot.__exit__()

    def _arguments(self, place: int) -> tuple[dict[str, Any], int, int]:
        """Of the actor at a place: it goes on behind the stored games of its number."""
        if place not in self._slots:
            slot = self._slots[place] = WorkerSlot(self.folder)
            self._writers[place] = ShardWriter(self.folder.games, slot.number, self._title, say=self.say)
        number = self._slots[place].number
        self._heartbeats[place] = Heartbeat(number, 0, "", state="waiting for room")
        return self.run.to_json(), number, self._writers[place].next_id

    def _next_order(self, place: int) -> Order | None:
        """The order of the moment; None while the learner is behind."""
        self._heartbeats[place].state = "playing"
        if self.folder.paused or self.folder.finished or self._stopping.is_set():
            self._heartbeats[place].state = "waiting"
            return None
        stamp = self.folder.current_stamp()
        if self._order is None or stamp != self._stamp:
            current = self.folder.current
            if current is None:
                raise DataError(f"{self.folder.folder} has no net yet")
            assert self.crew is not None
            known = self._order is not None and self._order.current["net"] == current.net
            net = self._order.net if known and self._order else [self._put(current)]
            self._order, self._stamp = Order(ORDER_SECONDS, asdict(current), net), stamp
        return self._order

    def _put(self, current: Current) -> Any:
        assert self.crew is not None
        return self.crew.ray.put((self.folder.nets / current.net).read_bytes())

    def _keep_playing(self) -> None:
        assert self.crew is not None
        try:
            while not self._stopping.is_set():
                for place, _, report in self.crew.turn(self._next_order, TURN_SECONDS):
                    for payload in report.games:
                        self._store(place, GameRecord.from_bytes(payload))
                    self._heartbeats[place] = Heartbeat(**report.heartbeat)
        except BaseException as error:  # noqa: BLE001 - raised again in the learner's thread
            self._failure = error

    def _store(self, place: int, record: GameRecord) -> None:
        self.games += self._patiently(lambda: self._writers[place].write(record), "a finished game")


def _described(ray: Any) -> str:
    nodes = [node for node in ray.nodes() if node["Alive"]]
    room = ray.cluster_resources()
    return f"{counted(len(nodes), 'node')}, CPU {room.get('CPU', 0):g}, GPU {room.get('GPU', 0):g}"
