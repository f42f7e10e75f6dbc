"""Fetches work, lets a UCI engine do it and streams its lines; newer work, or a closed stream, ends the older."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn, Self

from ...engine.clock import Stopwatch
from ...engine.errors import EngineProcessError, counted
from ..clients.uci import UciClient, parse_info
from .api import AnswerStream, LichessApi
from .work import Work, WorkError

IDLE_S = 300.0  # without work, after which the engine is closed and its memory given back
_GLANCE_S = 0.1  # between two looks at whether somebody still listens
_ENDLESS_S = 1e7  # a search may take so long: the site ends it


class Analyst(UciClient):
    """A UCI engine that analyses what the site asks for."""

    def __init__(self, command: Sequence[str], threads: int, hash_mb: int) -> None:
        """``threads``, ``hash_mb``: the most that it gets. BLOCKS. Errors: EngineProcessError."""
        self._most = {"Threads": threads, "Hash": hash_mb}
        self._set: dict[str, object] = {}
        self._game = ""
        super().__init__(command, endless_s=_ENDLESS_S)
        self._option("UCI_AnalyseMode", value=True)
        self._option("UCI_Chess960", value=True)

    def analyse(self, work: Work, send: Callable[[str], None], stopped: Callable[[], bool]) -> bool:
        """Pass on each report up to the end of the search, or until ``stopped``. BLOCKS.

        False when the engine had nothing to say. Errors: EngineProcessError; what ``send`` raises, the search having
        ended.
        """
        self._option("Threads", work.threads)
        self._option("Hash", work.hash_mb)
        self._option("MultiPV", work.lines)
        if work.session != self._game:
            self._game = work.session
            self.new_game()
        self.go(work.fen, work.moves, work.limits)
        sent, stopping, fault = False, False, None
        while (line := self._report()) != "bestmove":
            try:
                if line and fault is None and not stopping:
                    send(line)
                    sent = True
            except OSError as error:
                fault = error
            if not stopping and (fault is not None or stopped()):
                stopping = True
                self.stop()
        self._sent_at = None
        if fault is not None:
            raise fault
        return sent or stopping

    def _report(self) -> str:
        """The next report, "bestmove", or "" after a while without one. Errors: EngineProcessError."""
        result = self._next(min(self.seconds + _GLANCE_S, self._deadline))
        if result is None:
            if self.seconds >= self._deadline:
                raise self._stalled("bestmove")
            return ""
        line, _ = result
        if line.split(maxsplit=1)[:1] == ["bestmove"]:
            return "bestmove"
        info = parse_info(line)
        return line if info is not None and info.pv and not info.bound else ""

    def _option(self, name: str, value: int | bool) -> None:
        """Set an option that the engine has, within its bounds and ours."""
        if name not in self.offered:
            return
        if not isinstance(value, bool):
            value = min(value, self._most.get(name, value), self._greatest(name))
        if self._set.get(name) != value:
            self._set[name] = value
            self.set_option(name, value)

    def _greatest(self, name: str) -> int:
        words = self.offered[name].split()
        return int(words[words.index("max") + 1]) if "max" in words[:-1] else 1 << 20


class Provider:
    """Does one piece of work after another. Context manager: ends the work and the engine."""

    def __init__(self, api: LichessApi, start: Callable[[], Analyst], tell: Callable[[str], None]) -> None:
        """Start the engine, to see that it does. BLOCKS. Errors: EngineProcessError."""
        self._api, self._start, self._tell = api, start, tell
        self._engine: Analyst | None = start()
        self._idle = Stopwatch()
        self._job: threading.Thread | None = None
        self._newer = threading.Event()  # ends the job

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_job()
        self._close()

    def run(self) -> NoReturn:
        """Fetch and do work without end. BLOCKS. Errors: LichessError."""
        while True:
            self.step()

    def step(self) -> None:
        """Wait for work once, and begin it if there is some. BLOCKS. Errors: LichessError."""
        given = self._api.work()
        if given is None:
            if self._engine is not None and not self.working and self._idle.seconds > IDLE_S:
                self._close()
            return
        self._end_job()
        try:
            work = Work.read(given)
        except WorkError as error:
            self._tell(str(error))
            if error.work is not None:
                self._refuse(error.work)
            self._api.pause()
            return
        self._job = threading.Thread(target=self._do, args=(work,), name="work", daemon=True)
        self._job.start()

    @property
    def working(self) -> bool:
        return self._job is not None and self._job.is_alive()

    def _end_job(self) -> None:
        if self._job is not None:
            self._newer.set()
            self._job.join()
            self._newer.clear()
            self._job = None

    def _do(self, work: Work) -> None:
        """One job, on a thread of its own. A fault costs this job only."""
        try:
            with self._api.answer(work.id) as stream:
                self._analyse(work, stream)
        except (OSError, http.client.HTTPException):  # the usual end: nobody listens any more
            return
        except EngineProcessError as error:
            self._tell(f"{error}; it is started again for the next work")
            self._close()
        finally:
            self._idle.restart()

    def _analyse(self, work: Work, stream: AnswerStream) -> None:
        if self._engine is None or not self._engine.alive:
            self._engine = self._start()
        spoke = self._engine.analyse(work, stream.send, lambda: self._newer.is_set() or stream.closed)
        if not spoke:
            self._tell(
                f"{self._engine.name} has nothing to say about {work.fen} with {counted(len(work.moves), 'move')}"
            )
        stream.finish()

    def _refuse(self, work: str) -> None:
        """Answer with nothing, so that the site does not wait."""
        try:
            with self._api.answer(work) as stream:
                stream.finish()
        except (OSError, http.client.HTTPException):
            return

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
