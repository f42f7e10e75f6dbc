"""Work on a Ray cluster: the connection, and a crew of actors that outlives lost processes and nodes.

Ray is imported here alone, once a command is given ``--ray``. Actors are plain classes that every node imports from
its own installation; what travels are plain records, bytes and arrays.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from .engine.errors import AzError, ClusterError

RAY_HELP = "ADDRESS of a Ray cluster: auto, local, HOST:6379 or ray://HOST:10001; needs the extra [ray]"
MAX_FAILURES = 5  # of an actor in a row, without a result between
KNOCK_SECONDS = 10.0  # until a machine that does not answer is taken for gone
RESIZE_SECONDS = 5.0  # between looks at the size of the cluster
# environment of the driver that actors get
PASSED_ON = ("AZ_ENGINE_GAMES", "AZ_ENGINE_FAMILIES", "AZ_ENGINE_CACHE", "NUMBA_NUM_THREADS")


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a cluster; gives the module ``ray``. BLOCKS. Errors: ModuleNotFoundError without it, ClusterError."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    in_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    try:
        _knock(address)
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": environment} if environment else None,
        )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError, ray.exceptions.RayError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ClusterError(
            f"there is no Ray cluster at {address} ({reason}); start one with ray start --head, or give --ray local"
        ) from error
    finally:
        if in_main:  # Ray ends the process on SIGTERM; a command saves first
            for number, handler in handlers.items():
                signal.signal(number, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Errors: OSError when nothing listens at HOST:PORT, for which Ray would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").partition("/")[0].rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()


def fetched(reference: Any) -> Any:
    """The object of a reference, in an actor. BLOCKS."""
    import ray

    return ray.get(reference)


class Freight:
    """Files that travel with work, by the names that the work knows them by."""

    def __init__(self, ray: Any, files: Mapping[str, Path]) -> None:
        """Put the files into the object store, which keeps them as long as this object lives. BLOCKS."""
        self.files = {name: (path.name, [ray.put(path.read_bytes())]) for name, path in files.items()}


def unpacked(freight: Freight) -> tuple[tempfile.TemporaryDirectory[str], dict[str, str]]:
    """A folder with the files, in an actor, and their paths by name. BLOCKS."""
    folder, paths = tempfile.TemporaryDirectory(prefix="az-engine-"), {}
    for number, (name, (file, reference)) in enumerate(freight.files.items()):
        path = Path(folder.name) / str(number) / file
        path.parent.mkdir()
        path.write_bytes(fetched(reference[0]))
        paths[name] = str(path)
    return folder, paths


class Needs(NamedTuple):
    """What Ray reserves for each actor of a crew."""

    cpus: float = 1.0
    gpus: float = 0.0


class Actor:
    """One process of a crew; its class is imported on the node where Ray places it."""

    title = "actor"  # in Ray's dashboard and logs

    def __repr__(self) -> str:
        return self.title

    def ready(self) -> tuple[str, str]:
        """(version of az-engine, name of the machine)."""
        return version("az-engine"), socket.gethostname()

    def work(self, task: Any) -> Any:
        """Do one task. BLOCKS."""
        raise NotImplementedError


class Done(NamedTuple):
    """The result of the task of the actor at a place."""

    place: int
    task: Any
    result: Any


@dataclass(slots=True)
class _Member:
    place: int
    actor: Any = None
    calls: dict[Any, Any] = field(default_factory=dict)  # reference to the result: the task, None for ready()
    ready: bool = False
    host: str = ""
    proven: bool = False  # it has given a result
    seen: float = 0.0  # time of its last sign of life
    failures: int = 0
    wait_until: float = 0.0


class Crew:
    """Actors of one class at places 1, 2, ...; a lost one is replaced at its place.

    Ray decides about the nodes. Where the cluster has no room an actor waits until there is some.
    """

    def __init__(
        self,
        ray: Any,
        kind: type[Actor],
        arguments: Callable[[int], tuple[Any, ...]],
        *,
        count: int,
        say: Callable[[str], None],
        needs: Needs = Needs(),  # noqa: B008 - immutable
        ahead: int = 1,
        again: bool = True,
        patience: int = MAX_FAILURES,
        limits: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Actors start with the first :meth:`turn`.

        ``arguments``: of the class, for each actor that starts at a place; ``count``: of actors, 0 = as many as the
        cluster has room for, also when nodes join; ``ahead``: tasks that an actor has at a time; ``again``: give a lost
        actor's tasks to others; ``patience``: tasks of an actor in a row whose AzErrors end the work; ``limits``:
        seconds without a result after which an actor hangs, before its first one and later, 0 = never.
        """
        self.ray, self.needs, self.say = ray, needs, say
        self.restarts = 0
        self._arguments, self._ahead, self._again, self._patience, self._limits = (
            arguments, ahead, again, patience, limits,
        )  # fmt: skip
        self._count = count
        self._title = kind.title
        self._kind = ray.remote(kind).options(
            num_cpus=needs.cpus, num_gpus=needs.gpus, scheduling_strategy="SPREAD", max_restarts=0
        )
        self._members: dict[int, _Member] = {}
        self._returned: deque[Any] = deque()  # tasks of lost actors
        self._sized = -RESIZE_SECONDS
        self.size = count

    @property
    def hosts(self) -> dict[int, str]:
        """The machine of each place; "" while its actor waits for room."""
        return {place: member.host for place, member in self._members.items()}

    @property
    def busy(self) -> bool:
        """Whether tasks have been given and have not come back."""
        return bool(self._returned) or any(
            task is not None for member in self._members.values() for task in member.calls.values()
        )

    def turn(self, next_task: Callable[[int], Any], seconds: float) -> list[Done]:
        """Give tasks to free actors (``next_task(place)``, None = nothing now), and collect what is done.

        BLOCKS for ``seconds`` at most while nothing comes. Errors: ClusterError, or the AzError of a task, once an
        actor has failed too often in a row.
        """
        now = time.monotonic()
        self._resize(now)
        for member in list(self._members.values()):
            if member.actor is None and now >= member.wait_until:
                self._start(member, now)
            self._give(member, next_task)
        pending = [ref for member in self._members.values() for ref in member.calls]
        if not pending:
            time.sleep(seconds)
            return []
        self.ray.wait(pending, num_returns=1, timeout=seconds)
        ready = set(self.ray.wait(pending, num_returns=len(pending), timeout=0)[0])
        done: list[Done] = []
        for member in list(self._members.values()):
            for ref in [ref for ref in member.calls if ref in ready]:
                if ref in member.calls:  # not lost with the one before
                    self._collect(member, ref, done)
            self._look_after(member)
        return done

    def close(self) -> None:
        """End all actors."""
        for member in self._members.values():
            self._kill(member)
        self._members.clear()

    def _resize(self, now: float) -> None:
        if now - self._sized < RESIZE_SECONDS:
            return
        self._sized = now
        if not self._count:
            room = self.ray.cluster_resources()
            shares = [(room.get("CPU", 0.0), self.needs.cpus), (room.get("GPU", 0.0), self.needs.gpus)]
            self.size = max(1, min(int(available / each) for available, each in shares if each))
        for place in range(1, self.size + 1):
            self._members.setdefault(place, _Member(place))

    def _start(self, member: _Member, now: float) -> None:
        member.actor = self._kind.remote(*self._arguments(member.place))
        member.ready = member.proven = False
        member.seen, member.host = now, ""
        member.calls = {member.actor.ready.remote(): None}

    def _give(self, member: _Member, next_task: Callable[[int], Any]) -> None:
        while member.ready and len(member.calls) < self._ahead:
            task = self._returned.popleft() if self._returned else next_task(member.place)
            if task is None:
                return
            if not member.calls:
                member.seen = time.monotonic()
            member.calls[member.actor.work.remote(task)] = task

    def _collect(self, member: _Member, ref: Any, done: list[Done]) -> None:
        errors = self.ray.exceptions
        try:
            result = self.ray.get(ref)
        except errors.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, BaseException) else error
            self._lost(member, f"{type(cause).__name__}: {cause}", cause, failed=True)
            return
        except errors.RayError as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            self._lost(member, why, error, failed=not member.proven)
            return
        task = member.calls.pop(ref)
        member.seen = time.monotonic()
        if member.ready:
            member.proven, member.failures = True, 0
            done.append(Done(member.place, task, result))
            return
        available, member.host = result
        if available != (ours := version("az-engine")):
            raise ClusterError(f"{member.host} has az-engine {available}, here is {ours}; install the same there")
        member.ready = True

    def _look_after(self, member: _Member) -> None:
        limit, silent = self._limits[member.proven], time.monotonic() - member.seen
        if limit and member.ready and member.calls and silent > limit:
            self._lost(member, f"no progress for {silent:.0f} s", None, failed=not member.proven)

    def _lost(self, member: _Member, why: str, cause: BaseException | None, *, failed: bool) -> None:
        """Drop an actor and begin again at its place. Errors: see :meth:`turn`."""
        place = f"{self._title} {member.place}" + (f" on {member.host}" if member.host else "")
        if self._again:
            self._returned.extend(task for task in member.calls.values() if task is not None)
        self._kill(member)
        member.calls.clear()
        if failed:
            member.failures += 1
            if member.failures >= (self._patience if isinstance(cause, AzError) else MAX_FAILURES):
                if isinstance(cause, AzError):
                    raise cause
                raise ClusterError(f"{place} fails again and again ({why}); see the logs of Ray") from cause
        self.restarts += 1
        member.wait_until = time.monotonic() + min(30.0, 2.0**member.failures - 1)
        if member.place > self.size:
            del self._members[member.place]
        else:
            self.say(f"{place} is lost ({why}): started again")

    def _kill(self, member: _Member) -> None:
        if member.actor is not None:
            with contextlib.suppress(self.ray.exceptions.RayError, ValueError):  # it is gone already
                self.ray.kill(member.actor)
            member.actor, member.ready = None, False
