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

from ...engine.errors import DataError, OptionError, counted
from ..data.dataset import Batch, Dataset
from ..signals import done
from . import checkpoint
from .config import Intervals, LearnerConfig, Length
from .learner import Learner, Measured
from .log import Log

AHEAD = 4  # batches
JOIN_SECONDS = 2.0
NOTICED = 0.01  # change of the progress that is worth a sentence


class Batches:
    """The batches of steps ``start``, ``start + 1``, ..., made AHEAD by a thread; used as a context manager."""

    def __init__(self, data: Dataset, config: LearnerConfig, start: int, end: int | None = None) -> None:
        """``end``: the first step without a batch, None = never."""
        self._queue: queue.Queue[Batch | Exception] = queue.Queue(AHEAD)
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
        """The clock starts now, with the learner as it is. ``stop``: called between steps, True ends them."""
        self.learner, self.length, self.stop = learner, length, stop
        self.step_seconds = 0.0  # of the last step, without the wait for its batch
        self._begun, self._seconds_before = time.monotonic(), self.learner.seconds
        self.tick()

    @property
    def finished(self) -> bool:
        """Whether the run's length is reached."""
        learner, length = self.learner, self.length
        return learner.step >= length.steps if length.steps else learner.seconds >= length.minutes * 60

    def tick(self) -> None:
        """Bring the learner's seconds and progress up to date.

        The schedule spans the whole length, by minutes from the first step on: a run that is given more of it goes on
        with the rate of a run that was so long from its start.
        """
        learner = self.learner
        learner.seconds = self._seconds_before + time.monotonic() - self._begun
        if self.length.steps:
            learner.progress = learner.step / self.length.steps
        elif learner.step:
            rest = max(1e-9, self.length.minutes * 60 - learner.begun)
            learner.progress = min(1.0, (learner.seconds - learner.begun) / rest)

    def respanned(self, before: float) -> str:
        """A sentence where the run's length is another than when it had ``before`` of its schedule behind it, or ""."""
        learner, length = self.learner, self.length
        if not learner.step or abs(learner.progress - before) < NOTICED:
            return ""
        whole = counted(length.steps, "step") if length.steps else f"{length.minutes:.3g} minutes"
        rate = learner.rate(learner.config, learner.step, learner.progress)
        return f"the schedule now spans {whole}, {learner.progress:.0%} of it is over: the rate goes on at {rate:.2g}"

    def steps(self, data: Dataset, end: int | None = None) -> Generator[dict[str, float]]:
        """Train on ``data`` to the run's end, or to step ``end``; yields the losses of each step."""
        learner = self.learner
        with Batches(data, learner.config, learner.step, end) as batches:
            while learner.step != end and not self.finished and (batch := batches.next(self.stop)) is not None:
                begun = time.monotonic()
                if not learner.step:
                    learner.begun = self._seconds_before + begun - self._begun
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
    stop: Callable[[], bool] = lambda: False  # called after every step; True saves and ends the run
    attempt: Callable[[Callable[[], object]], bool] = done  # see StopSignals.attempt


def check(config: LearnerConfig, data: Dataset, length: Length) -> None:
    """Refuse what :func:`run` cannot do. Errors: DataError, OptionError."""
    if not (length.steps or length.minutes):
        raise OptionError("a run needs an end: give steps or minutes")
    fewest = min((len(part) for part in data.parts), default=0)
    if fewest < config.batch:
        raise DataError(
            f"there {'is' if fewest == 1 else 'are'} {counted(fewest, 'position')}, "
            f"fewer than one batch of {config.batch}; give more data"
        )


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
    check(learner.config, data, length)
    trainer, log = _resumed(learner, folder, length, callbacks)
    checkpoints = folder / "checkpoints"

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


def _resumed(learner: Learner, folder: Path, length: Length, callbacks: Callbacks) -> tuple[Trainer, Log]:
    """The newest checkpoint in the learner, its log, and a line in that of what has changed. Errors: DataError."""
    saved = checkpoint.load_newest(folder / "checkpoints", callbacks.on_problem)
    changed = [] if saved is None else learner.restore(saved)
    log, before = Log(folder / "log.jsonl", learner.step), learner.progress
    trainer = Trainer(learner, length, callbacks.stop)
    if text := trainer.respanned(before):
        changed.append(text)
    for text in changed:
        callbacks.on_problem(text)
    if changed:
        log.write({**_where(learner, 0), "changed": changed})
    return trainer, log


def _measure(learner: Learner, heldout: Dataset, limit: int, log: Log, callbacks: Callbacks) -> None:
    for index, part in enumerate(heldout.parts):
        measured = learner.measure(part, limit)
        log.write({**_where(learner, 0), f"heldout {part.board}" if index else "heldout": asdict(measured)})
        callbacks.on_measure(learner, measured)


def _where(learner: Learner, length: int) -> dict[str, Any]:
    where: dict[str, Any] = {
        "step": learner.step,
        "positions": learner.positions,
        "minutes": learner.seconds / 60,
    }
    return where | ({"epoch": learner.positions / length} if length else {})
