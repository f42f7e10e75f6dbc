"""Workers that die or hang are started again; those that cannot work are given up, with the reason."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.kernels import cache
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.folder import Current, Heartbeat, RunFolder, WorkerSlot
from az_engine.models.selfplay.play import processes as supervisor
from az_engine.models.selfplay.play import worker
from az_engine.models.selfplay.play.processes import Supervisor

from ...fakes.waiting import wait_for

ONE_BEAT = """
import json, os, sys, time
with open(sys.argv[1] + ".new", "w") as file:
    json.dump({"worker": 1, "pid": os.getpid(), "host": "here", "count": 1, "state": sys.argv[2]}, file)
os.replace(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""
BEATS = """
import json, os, sys, time
path, count = sys.argv[1], 0
while True:
    count += 1
    with open(path + ".new", "w") as file:
        json.dump({"worker": 1, "pid": os.getpid(), "host": "here", "count": count}, file)
    os.replace(path + ".new", path)
    time.sleep(0.05)
"""


def beating(folder: Path, number: int) -> list[str]:
    return [sys.executable, "-S", "-c", BEATS, str(folder / "workers" / f"{number:04d}.json")]


def failing(folder: Path, number: int) -> list[str]:
    return [sys.executable, "-S", "-c", "import sys; sys.exit('no net to be had')"]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def running(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.1)
    started = Supervisor(RunFolder(tmp_path), 1, 60.0, said.append, beating)
    started.start()
    try:
        wait_for(lambda: [b.pid for b in started.heartbeats()] == started.pids)
        yield started
    finally:
        started.stop()


def replaced(running: Supervisor, pid: int) -> bool:
    return bool(running.pids) and running.pids != [pid] and [b.pid for b in running.heartbeats()] == running.pids


def test_a_killed_worker_is_started_again(running: Supervisor, said: list[str]) -> None:
    (pid,) = running.pids
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: replaced(running, pid))
    assert said == ["worker 1 ended (signal 9): started again"]
    assert running.restarts == 1
    running.check()


@pytest.mark.slow
def test_a_stopped_worker_is_killed_and_started_again(running: Supervisor, said: list[str]) -> None:
    (pid,) = running.pids
    os.kill(pid, signal.SIGSTOP)
    running.hang_seconds = 1.0
    wait_for(lambda: said)
    running.hang_seconds = 60.0
    wait_for(lambda: replaced(running, pid))
    assert re.match(r"worker 1 has shown no progress for [1-9]\d* s: killed", said[0])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(("state", "restarts"), [("compiling", 0), ("playing", 1)])
def test_a_worker_that_compiles_is_given_more_time(
    state: str, restarts: int, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "COMPILE_SECONDS", 900.0)

    def command(folder: Path, number: int) -> list[str]:
        return [sys.executable, "-S", "-c", ONE_BEAT, str(folder / "workers" / "0001.json"), state]

    watched = Supervisor(RunFolder(tmp_path), 1, 60.0, said.append, command)
    watched.folder.workers.mkdir()
    (child,) = watched._children
    watched._start(child)
    try:
        wait_for(lambda: [b.pid for b in watched.heartbeats()] == watched.pids)
        watched._look_after(child)
        child.seen -= 500.0  # as if it were so long ago
        watched._look_after(child)
        assert watched.restarts == restarts
        child.seen -= 500.0
        watched._look_after(child)  # no kernel takes that long
        assert watched.restarts == 1
    finally:
        watched.stop()


def test_a_worker_says_that_it_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two heartbeats lies one kernel, not all of them."""
    states: list[Any] = []

    class Compiling:
        def __init__(self, folder: RunFolder, *_: Any, **__: Any) -> None:
            self.folder = folder

        def work(self) -> None:
            for kernel in ("first", "second"):
                assert cache._state.on_compile is not None
                cache._state.on_compile(kernel)
                heartbeat = Heartbeat.read(self.folder.workers / "0003.json")
                states.append((heartbeat.state, heartbeat.count) if heartbeat is not None else None)

    monkeypatch.setattr(worker, "SelfPlayWorker", Compiling)
    monkeypatch.setattr(worker, "load_run", lambda folder: RunConfig("chess"))
    monkeypatch.setattr(cache._state, "on_compile", None)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    RunFolder(tmp_path).current = Current("net_00000000.onnx", 0, 0)
    try:
        words = {"run": tmp_path, "number": 3, "provider": "", "parent": 0, "measure": None, "evaluator": None}
        assert worker.main(argparse.Namespace(**words)) == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert states == [("compiling", 1), ("compiling", 2)]


def test_stopping_ends_all_workers(tmp_path: Path, said: list[str]) -> None:
    started = Supervisor(RunFolder(tmp_path), 2, 60.0, said.append, beating)
    started.start()
    pids = started.pids
    assert len(pids) == 2
    started.stop()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_worker_that_always_fails_is_given_up(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "MAX_FAILURES", 2)
    started = Supervisor(RunFolder(tmp_path), 1, 60.0, said.append, failing)
    started.start()
    wait_for(lambda: started.failed)
    with pytest.raises(DataError, match=r"again and again .*no net to be had"):
        started.check()
    started.stop()


def test_worker_numbers_are_free_again_and_never_shared(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with WorkerSlot(folder) as one, WorkerSlot(folder) as two:
        assert (one.number, two.number) == (1, 2)
        with pytest.raises(DataError, match=r"worker 2 .* is running already"):
            WorkerSlot(folder, 2)
    with WorkerSlot(folder) as again:
        assert again.number == 1


def test_a_torn_message_of_a_worker_is_no_message(tmp_path: Path) -> None:
    path = tmp_path / "0001.json"
    heartbeat = Heartbeat(1, 7, "here", count=3, games=5)
    heartbeat.write(path)
    assert Heartbeat.read(path) == heartbeat
    path.write_text(path.read_text()[:20])
    assert Heartbeat.read(path) is None


def test_a_pause_that_nobody_renews_is_over(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert not folder.paused
    folder.paused = True
    assert RunFolder(tmp_path).paused
    os.utime(tmp_path / "pause", (time.time() - 3600,) * 2)
    assert not RunFolder(tmp_path).paused
    folder.paused = False
    assert not (tmp_path / "pause").exists()
