"""Processes that do the tasks of a job, on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize

from ...engine.errors import EngineProcessError
from ...protocols.clients.process import EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled
from ..data.shards import Records
from .job import Job, Labelling, Teacher


class Worker:
    """A job at work in one process; source and teacher are opened with the first task."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._label: Labelling | None = None
        self._teacher: Teacher | None = None

    def records(self, task: int) -> Records:
        """The records of one task; a teacher whose engine fails is opened once more. BLOCKS.

        Errors: EngineProcessError when the engine fails twice, NetError, DataError, OptionError.
        """
        job = self._job
        for attempt in range(2):
            try:
                self._label = self._label or job.source.open(job)
                self._teacher = self._teacher or job.teacher.open(job)
                return self._label(task, self._teacher)
            except (EngineDied, EngineStalled, EngineFlooded, EngineMisbehaved) as error:
                self.close()
                if attempt:
                    where = f"{'task' if job.source.alone else 'game'} {task}"
                    raise EngineProcessError(
                        f"the engine {job.teacher.name!r} failed twice in {where} ({error})"
                    ) from error
        raise AssertionError("unreachable")

    def close(self) -> None:
        if self._teacher is not None:
            self._teacher.close()
        self._teacher = None


_worker: list[Worker] = []


def _begin(job: Job) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent decides
    os.environ["OMP_NUM_THREADS"] = "1"
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    _worker[:] = [Worker(job)]
    Finalize(None, _worker[0].close, exitpriority=10)


def _end_with(parent: BaseProcess) -> None:
    """Let no process outlive a parent that was killed; its engine ends with its input."""
    parent.join()
    os._exit(1)


def _records(task: int) -> Records:
    return _worker[0].records(task)


def label(
    job: Job, tasks: Iterable[int], processes: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Records]:
    """Do ``tasks`` in ``processes`` processes; yield each one's records.

    Once ``stop()``, called twice a second, is true, only those that have begun are finished. Errors: AzError.
    """
    left = iter(tasks)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(job,)) as pool:
        running: set[Future[Records]] = {pool.submit(_records, task) for task in islice(left, 2 * processes)}
        try:
            while running:
                done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                if stop():
                    left = iter(())
                    running = {future for future in running if not future.cancel()}
                for future in done:
                    running |= {pool.submit(_records, task) for task in islice(left, 1)}
                    yield future.result()
        except BrokenProcessPool as error:
            if stop():  # an interrupt from the terminal ends processes that have not begun
                return
            raise EngineProcessError(f"a labelling process with {job.teacher.name} died; try again") from error
        finally:
            for future in running:
                future.cancel()
