"""``az-engine selfplay``: a process that plays games against itself for a run.

It follows the run's newest net, writes each game when it ends, writes a heartbeat every few seconds and before each
kernel that it compiles, waits while the disk is full or the learner asks for it, and may be killed at any instant.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ....engine.errors import DataError
from ....engine.games.base import Game
from ....engine.kernels.cache import on_compile
from ...fields import Help
from ...net.providers import Provider
from ...signals import StopSignals
from ...storage import Patience
from ..config import RunConfig, load_run
from ..folder import COMPILING, Heartbeat, Pulse, RunFolder, WorkerSlot
from ..gpu.link import answers
from ..store.replay import GameRecord, ShardWriter, title
from .games import Player

HELP = "play games for a training run, in addition to the processes that train starts"
POLL_SECONDS = 1.0  # between checks for a newer net


class SelfPlayWorker:
    """Plays with the run's current net and stores the games."""

    def __init__(
        self,
        folder: RunFolder,
        run: RunConfig,
        number: int,
        say: Callable[[str], None],
        *,
        first_id: int | None = None,
        pulse: Pulse | None = None,
        address: Any = None,
    ) -> None:
        """Loads the run's current net. ``first_id``: of its games, None = after the stored ones; address: see Player.

        Errors: DataError when there is no net yet, NetError.
        """
        self.pulse = pulse or Pulse(folder, number)
        self.folder, self.run, self.number, self.say = folder, run, number, say
        self.game: Game = run.get_game()
        self.writer = ShardWriter(folder.games, number, title(self.game, str(run.seed)), say=say)
        self.stopping: Callable[[], bool] = lambda: False
        self._patiently = Patience(
            folder.folder,
            say,
            stopping=self._stops,
            waiting=lambda: self.tell("disk full", at_once=True),
        )
        self._polled = time.monotonic()
        current = folder.current
        if current is None:
            raise DataError(f"{folder.folder} has no net yet; start az-engine train first")
        self._stamp = folder.current_stamp()
        first = self.writer.next_id if first_id is None else first_id
        self.player = Player(run, self.pulse.heartbeat, first, folder.nets / current.net, current, address)

    def follow(self) -> None:
        """Load the run's current net if it has changed. Errors: NetError, DataError."""
        stamp = self.folder.current_stamp()
        if stamp == self._stamp:
            return
        current = self.folder.current
        assert current is not None
        self.player.use(self.folder.nets / current.net, current)
        self._stamp = stamp

    def state(self) -> bytes:
        """The games in progress as bytes; a worker that restores them plays on identically."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **self.player.state())
        return buffer.getvalue()

    def restore(self, state: bytes) -> None:
        """Restore a :meth:`state`, with the run's current net."""
        with np.load(io.BytesIO(state), allow_pickle=False) as kept:
            self.player.restore({name: kept[name] for name in kept.files})
        current = self.player.current
        self.player.use(self.folder.nets / current.net, current, reload=True)

    def advance(self) -> list[GameRecord]:
        """Advance all games by one batch; store and return the finished ones. Waits while the disk is full.

        Errors: AzError.
        """
        records = [GameRecord.from_bytes(payload) for payload in self.player.advance()]  # rounded as on disk
        for record in records:
            self._store(record)
        return records

    @property
    def heartbeat(self) -> Heartbeat:
        return self.pulse.heartbeat

    def _stops(self) -> bool:
        return self.stopping()

    def _store(self, record: GameRecord) -> None:
        self._patiently(lambda: self.writer.write(record), "a finished game")

    def tell(self, state: str, *, at_once: bool = False) -> None:
        """Write a heartbeat if one is due, or ``at_once``."""
        if not at_once and not self.pulse.due(state):
            return
        self.player.count()
        self.pulse.write(state)

    def work(self) -> None:
        """Play until :attr:`stopping` or the run has finished."""
        try:
            self._play()
        finally:
            self.player.close()

    def _play(self) -> None:
        self.tell("playing", at_once=True)
        while not self.stopping() and not self.folder.finished:
            if self.folder.paused:
                self.tell("waiting")
                time.sleep(POLL_SECONDS)
                continue
            self.advance()
            self.tell("playing")
            if time.monotonic() - self._polled > POLL_SECONDS:
                self._polled = time.monotonic()
                self.follow()
        self.tell("ended", at_once=True)
        self.writer.close()


def _awaited(folder: RunFolder, run: RunConfig, pulse: Pulse, stopping: Callable[[], bool]) -> Any:
    """Where the evaluator of a worker listens; None when the worker is to run its nets itself. BLOCKS."""
    if not run.machine.evaluators:
        return None
    while not stopping():
        address = folder.address((pulse.heartbeat.worker - 1) % run.machine.evaluators)
        if address == "":
            return None  # of another machine
        if address is not None and answers(address):  # else what a killed one left
            return address
        if pulse.due("waiting"):
            pulse.write("waiting")
        time.sleep(POLL_SECONDS)
    return None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Play games for a run of az-engine train, which starts such processes itself (--workers). Start more by hand "
        "on any machine that shares the run's folder, before or while the learner runs; Ctrl-C ends one. Each has its "
        "own number and games."
    )
    parser.formatter_class = Help
    parser.epilog = """\
example:
  az-engine selfplay runs/first      (beside az-engine train --game go --size 9 --out runs/first)"""
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of the run (--out of az-engine train)")
    parser.add_argument("--number", type=int, default=0, help="this worker's number; 0 = the lowest free one")
    parser.add_argument(
        "--provider", default="", choices=get_args(Provider), help="what runs the net; without it as the run says"
    )
    parser.add_argument(
        "--evaluator",
        type=int,
        metavar="N",
        help="run the nets for the run's other processes on this machine, by torch on GPU N, instead of playing",
    )
    parser.add_argument(
        "--measure",
        type=float,
        metavar="SECONDS",
        help="store nothing: print the leaves a second of the run's processes with one evaluator, and its limit",
    )
    parser.add_argument("--parent", type=int, default=0, help="end when the process of this id is gone; 0 = never")


def main(args: argparse.Namespace) -> int:
    signals = StopSignals()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's, where it runs the net: a process is one core's work

    def stopping() -> bool:
        return signals() or (args.parent != 0 and os.getppid() != args.parent)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    folder = RunFolder(args.run)
    run = load_run(args.run)
    if args.provider:
        run = replace(run, machine=replace(run.machine, provider=args.provider))
    if args.measure is not None:
        from ..gpu.speed import measure

        return measure(folder, run, args.measure)
    if args.evaluator is not None:
        from ..gpu.server import evaluate_for

        with signals:
            evaluate_for(folder, run, args.evaluator, stopping, say)
        return 130 if signals() else 0
    with signals, WorkerSlot(folder, args.number or None) as slot:
        pulse = Pulse(folder, slot.number)
        on_compile(lambda kernel: pulse.write(COMPILING))
        announced = False
        while folder.current is None and not stopping():
            if not announced:
                say(f"waiting for the first net of {args.run}")
                announced = True
            time.sleep(POLL_SECONDS)
        if stopping():
            return 130
        address = _awaited(folder, run, pulse, stopping)
        if stopping():
            return 130
        worker = SelfPlayWorker(folder, run, slot.number, say, pulse=pulse, address=address)
        worker.stopping = stopping
        say(f"worker {slot.number} plays {run.game} for {args.run}")
        worker.work()
    return 130 if signals() else 0
