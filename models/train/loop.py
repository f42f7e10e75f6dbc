"""The training loop: batches, steps, the clock, the log, measurements and checkpoints.

:class:`Trainer` takes the steps of runs of both kinds. :func:`run` is a whole supervised run; a self-play run takes its
steps between its games (see :mod:`~az_engine.models.selfplay.run`).
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from ...engine.errors import DataError, OptionError
from ..data.dataset import Batch, Dataset
from ..signals import done
from . import checkpoint
from .config import Intervals, LearnerConfig, Length
from .learner import Learner, Measured
from .log import Log

AHEAD = 4  # batches
JOIN_SECONDS = 2.0


class Batches:
    """The batches of steps ``start``, ``start + 1``, ..., made AHEAD by a thread; used as a context manager."""

    def __init__(
        self, data: Dataset, config: LearnerConfig, start: int, end: int | None = None, depth: int = 4
    ) -> None:
        """``end``: the first step without a batch, None = never."""
        self._queue: queue.Queue[Batch | Exception] = queue.Queue(depth)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._make, args=(data, config, start, end), name="batches", daemon=True)
        self._thread.start()

    def _make(self, data: Dataset, config: LearnerConfig, step: int, end: int | None) -> None:
        while not self._stopped.is_set() and step != end:
            made: Batch | Exception
            try:
                made = data.draw(config.batch, config.seed, step)
            except Exception as error:  # noqa: BLE001  (next raises it)
                made = error
            step += 1
            while not self._stopped.is_set():
                with contextlib.suppress(queue.Full):
                    self._queue.put(made, timeout=0.2)
                    break
            if isinstance(made, Exception):
                return

    def next(self, stop: Callable[[], bool]) -> Batch | None:
        """The next batch, None once ``stop()`` is true before there is one; raises what the thread raised."""
        while not stop():
            with contextlib.suppress(queue.Empty):
                made = self._queue.get(timeout=0.2)
                if isinstance(made, Exception):
                    raise made
                return made
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(JOIN_SECONDS)  # it may be compiling


class Trainer:
    """The steps of one start of a run; keeps the learner's clock and progress."""

    def __init__(self, learner: Learner, length: Length, stop: Callable[[], bool] = lambda: False) -> None:
        """The clock starts now, with the learner as it is. ``stop``: asked between steps, True ends them."""
        self.learner, self.length, self.stop = learner, length, stop
        self.step_seconds = 0.0  # of the last step, without the wait for its batch
        self._begun = time.monotonic()
        self._seconds_before, self._progress_before = self.learner.seconds, self.learner.progress

    @property
    def finished(self) -> bool:
        """Whether the run's length is reached."""
        learner, length = self.learner, self.length
        return learner.step >= length.steps if length.steps else learner.seconds >= length.minutes * 60

    def tick(self) -> None:
        """Bring the learner's seconds and progress up to date.

        By minutes, the rest of the schedule is laid over the rest of the time: it is monotone and ends in time.
        """
        learner, seconds = self.learner, time.monotonic() - self._begun
        learner.seconds = self._seconds_before + seconds
        if self.length.steps:
            learner.progress = learner.step / self.length.steps
        else:
            rest = max(1e-9, self.length.minutes * 60 - self._seconds_before)
            learner.progress = min(1.0, self._progress_before + (1 - self._progress_before) * seconds / rest)

    def steps(self, data: Dataset, end: int | None = None) -> Generator[dict[str, float]]:
        """Train on ``data`` to the run's end, or to step ``end``; yields the losses of each step."""
        learner = self.learner
        with Batches(data, learner.config, learner.step, end) as batches:
            while learner.step != end and not self.finished and (batch := batches.next(self.stop)) is not None:
                begun = time.monotonic()
                losses = learner.train_step(batch)
                self.step_seconds = time.monotonic() - begun
                self.tick()
                yield losses


def means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


@dataclass(slots=True)
class Callbacks:
    """What a supervised run calls, from the training thread."""

    on_step: Callable[[Learner, dict[str, float]], None] = lambda learner, losses: None
    on_measure: Callable[[Learner, Measured], None] = lambda learner, measured: None
    on_problem: Callable[[str], None] = lambda text: None
    on_export: Callable[[Learner], None] = lambda learner: None  # every ``export_minutes`` of training
    stop: Callable[[], bool] = lambda: False  # asked after every step; True saves and ends the run
    attempt: Callable[[Callable[[], object]], bool] = done  # see StopSignals.attempt


def run(
    learner: Learner,
    data: Dataset,
    heldout: Dataset,
    folder: Path,
    length: Length,
    intervals: Intervals,
    callbacks: Callbacks,
) -> bool:
    """Train until ``length`` is reached, resuming what ``folder`` holds. The caller holds the folder's RunLock.

    Returns whether the run came to its end (else it was stopped, and saved). Errors: DataError, OptionError.
    """
    if not (length.steps or length.minutes):
        raise OptionError("a run needs an end: give steps or minutes")
    fewest = min((len(part) for part in data.parts), default=0)
    if fewest < learner.config.batch:
        raise DataError(f"{fewest} positions are fewer than one batch of {learner.config.batch}; give more data")
    checkpoints = folder / "checkpoints"
    saved = checkpoint.load_newest(checkpoints, callbacks.on_problem)
    if saved is not None:
        learner.restore(saved)
    log = Log(folder / "log.jsonl", learner.step)
    trainer = Trainer(learner, length, callbacks.stop)

    def measure(limit: int) -> bool:
        return callbacks.attempt(lambda: _measure(learner, heldout, limit, log, callbacks))

    last = dict.fromkeys(("checkpoint", "measure", "export"), learner.seconds)

    def due(what: str, minutes: float) -> bool:
        if learner.seconds - last[what] < minutes * 60:
            return False
        last[what] = learner.seconds
        return True

    recent: list[dict[str, float]] = []
    recent_since = time.monotonic()
    with contextlib.closing(log), contextlib.closing(trainer.steps(data)) as steps:
        for losses in steps:
            callbacks.on_step(learner, losses)
            recent.append(losses)
            if len(recent) >= intervals.log_steps:
                now = time.monotonic()
                speed = len(recent) * learner.config.batch / (now - recent_since)
                log.write({**_where(learner, len(data)), **means(recent), "positions_per_s": speed})
                recent, recent_since = [], now
            if due("measure", intervals.measure_minutes):
                measure(intervals.measure_positions)
            timely = due("checkpoint", intervals.checkpoint_minutes)
            if timely or learner.step % intervals.checkpoint_steps == 0:
                try:
                    checkpoint.save(checkpoints, learner.to_checkpoint())
                except OSError as error:  # a full disk may be cleared: the run goes on, the checkpoints before it stay
                    callbacks.on_problem(
                        f"step {learner.step}: the checkpoint cannot be written ({error.strerror}); make room"
                    )
            if intervals.export_minutes and due("export", intervals.export_minutes):
                callbacks.attempt(lambda: callbacks.on_export(learner))
        try:
            checkpoint.save(checkpoints, learner.to_checkpoint())
        except OSError as error:
            raise DataError(f"the last checkpoint cannot be written ({error.strerror}); make room and go on") from error
        return trainer.finished and measure(0)


def _measure(learner: Learner, heldout: Dataset, limit: int, log: Log, callbacks: Callbacks) -> None:
    for index, part in enumerate(heldout.parts):
        measured = learner.measure(part, limit)
        log.write({**_where(learner, 0), f"heldout {part.board}" if index else "heldout": asdict(measured)})
        callbacks.on_measure(learner, measured)


def _where(learner: Learner, length: int) -> dict[str, Any]:
    positions = learner.step * learner.config.batch
    where: dict[str, Any] = {"step": learner.step, "positions": positions, "minutes": learner.seconds / 60}
    return where | ({"epoch": positions / length} if length else {})
