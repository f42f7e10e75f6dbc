"""Driving an external UCI engine: for matches, for labelling positions, for comparing ourselves with others.

Every wait has a deadline, and what goes wrong is told apart: an engine that died (:class:`EngineDied`), one that does
not answer (:class:`EngineStalled`), one that answers nonsense (:class:`EngineMisbehaved`). After any of these the
process is gone and the client is to be thrown away. Memory stays bounded however much the engine writes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import BinaryIO, Self

from ..engine.clock import Stopwatch
from ..engine.errors import EngineProcessError
from ..engine.limits import Limits
from .lines import clean, one_line

START_S = 10.0  # for `uciok`
READY_S = 30.0  # for `readyok`: an engine may load a large net or clear a large table
GRACE_S = 5.0  # for a `bestmove` beyond the time that the limits allow
ENDLESS_S = 600.0  # for a `bestmove` when the limits name no time
QUIT_S = 2.0  # from `quit` to the end of the process
BACKLOG = 5000  # unread lines kept; of more, the info lines are dropped
LONGEST = 1 << 16  # bytes of a line; what is beyond is taken as another line

_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][nbrqk]?")
_NO_MOVE = ("(none)", "0000", "NULL")
_NUMBERS = {"depth", "seldepth", "multipv", "nodes", "nps", "time"}


class EngineDied(EngineProcessError):
    """The engine's process ended."""


class EngineStalled(EngineProcessError):
    """The engine did not answer in time; it was killed."""


class EngineMisbehaved(EngineProcessError):
    """The engine's answer is not UCI or not a legal move; it was killed."""


@dataclass(frozen=True, slots=True)
class PvInfo:
    """The last ``info`` line of one principal variation; scores from the view of the side to move."""

    multipv: int = 1
    depth: int | None = None
    seldepth: int | None = None
    cp: int | None = None
    mate: int | None = None
    bound: str = ""  # "lowerbound", "upperbound" or exact
    wdl: tuple[int, int, int] | None = None  # 1/1000
    nodes: int | None = None
    nps: int | None = None
    time: int | None = None  # ms
    pv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine answered to one ``go``. ``move`` is ``None`` when it says there is none."""

    move: str | None
    ponder: str | None
    lines: tuple[PvInfo, ...]  # by multipv, the best first; empty when it sent no score
    seconds: float  # from `go` to `bestmove`, as a match clock counts them


def parse_info(line: str) -> PvInfo | None:
    """One ``info`` line that has a score; ``None`` for any other, also for one that is malformed."""
    words = line.split()
    if words[:1] != ["info"] or "score" not in words or "string" in words[:2]:
        return None
    found: dict[str, object] = {}
    i = 1
    try:
        while i < len(words):
            word = words[i]
            i += 1
            if word in _NUMBERS or (word in ("cp", "mate") and words[i - 2] == "score"):
                found[word] = int(words[i])
                i += 1
            elif word in ("lowerbound", "upperbound"):
                found["bound"] = word
            elif word == "wdl":
                win, draw, loss = (int(w) for w in words[i : i + 3])
                found["wdl"] = (win, draw, loss)
                i += 3
            elif word == "pv":
                found["pv"] = tuple(words[i:])
                break
            elif word == "string":
                break
    except (ValueError, IndexError):
        return None
    return PvInfo(**found)  # type: ignore[arg-type]


def go_command(limits: Limits) -> str:
    """The ``go`` line of some limits."""
    words = ["go"]
    if limits.ponder:
        words.append("ponder")
    for name, number in (
        ("wtime", limits.time[0]),
        ("btime", limits.time[1]),
        ("winc", limits.increment[0] or None),
        ("binc", limits.increment[1] or None),
        ("movestogo", limits.movestogo or None),
        ("nodes", limits.nodes),
        ("depth", limits.depth),
        ("mate", limits.mate),
        ("movetime", limits.movetime),
    ):
        if number is not None:
            words += [name, str(number)]
    if limits.infinite or not (limits.bounded or limits.ponder):
        words.append("infinite")
    if limits.searchmoves:
        words += ["searchmoves", *limits.searchmoves]
    return " ".join(words)


class UciClient:
    """One external engine. Methods say whether they block; use as a context manager, or call :meth:`close`."""

    def __init__(
        self,
        command: str | Sequence[str],
        options: Mapping[str, object] | None = None,
        *,
        start_s: float = START_S,
        ready_s: float = READY_S,
        endless_s: float = ENDLESS_S,
        directory: str | None = None,
    ) -> None:
        """Start it and set ``options``. BLOCKS up to ``start_s`` + ``ready_s`` seconds.

        endless_s: how long an answer may take when the limits name no time. directory: where it is started.
        Errors: EngineProcessError when it cannot be started, lacks an option or does not answer.
        """
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.name = self.command[0] if self.command else ""
        self.author = ""
        self.offered: dict[str, str] = {}  # option name -> the rest of its line
        self._ready_s = ready_s
        self._endless_s = endless_s
        self._epoch = Stopwatch()
        self._lines: queue.SimpleQueue[tuple[str | None, float]] = queue.SimpleQueue()  # line, when it came
        self._complaints: deque[str] = deque(maxlen=5)  # the end of stderr
        self._asked: float | None = None  # when the running `go` was sent
        self._patience = endless_s  # seconds its answer may take, pondering not counted
        self._deadline = 0.0  # for its answer
        self._scores: dict[int, PvInfo] = {}
        self._legal: Callable[[str], bool] | None = None
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            reason = getattr(error, "strerror", None) or error
            raise EngineProcessError(f"the engine {self.name!r} cannot be started: {reason}") from error
        threading.Thread(target=self._read_answers, args=(self._process.stdout,), daemon=True).start()
        self._complainer = threading.Thread(target=self._read_complaints, args=(self._process.stderr,), daemon=True)
        self._complainer.start()
        try:
            self._greet(start_s, options or {})
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; kill at once when something went wrong."""
        if kind is None:
            self.close()
        else:
            self.kill()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def new_game(self) -> None:
        """Tell it that another game begins, and wait until it is ready. BLOCKS."""
        self._send("ucinewgame")
        self.ready()

    def ready(self) -> None:
        """BLOCKS until it has answered ``isready``. Not between :meth:`go` and :meth:`wait`."""
        if self._asked is not None:
            raise EngineProcessError(f"{self.name} is still thinking: wait() for its answer first")
        self._send("isready")
        self._wait_for("readyok", self._ready_s)

    def set_option(self, name: str, value: object) -> None:
        """Set one option. Returns at once. Errors: EngineProcessError when it does not offer that name."""
        known = {offered.lower(): offered for offered in self.offered}
        if name.lower() not in known:
            raise EngineProcessError(f"{self.name} has no option {name!r}; it offers {', '.join(sorted(self.offered))}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._send(f"setoption name {known[name.lower()]}" + ("" if value is None else f" value {text}"))

    def play(
        self,
        root: str | None,
        moves: Sequence[str],
        limits: Limits,
        legal: Callable[[str], bool] | None = None,
    ) -> Answer:
        """:meth:`go` and :meth:`wait`. BLOCKS."""
        self.go(root, moves, limits, legal)
        return self.wait()

    def go(
        self,
        root: str | None,
        moves: Sequence[str],
        limits: Limits,
        legal: Callable[[str], bool] | None = None,
    ) -> None:
        """Let it think about the position after ``moves`` from the FEN ``root`` (None: the start).

        BLOCKS only until it has read the position, which its clock does not pay for. ``legal`` judges its move; without
        it only the form of the move is checked. Use :meth:`stop` and :meth:`ponderhit` meanwhile; :meth:`wait` gives
        the answer.
        """
        if self._asked is not None:
            raise EngineProcessError(f"{self.name} is still thinking: wait() for its answer first")
        self._patience = self._allowed(replace(limits, ponder=False), moves, root)
        place = "startpos" if root is None else f"fen {root}"
        self._send(f"position {place}" + (" moves " + " ".join(moves) if moves else ""))
        self.ready()
        self._scores = {}
        self._legal = legal
        self._asked = self._epoch.seconds
        self._deadline = self._asked + (self._endless_s if limits.ponder else self._patience)
        self._send(go_command(limits))

    def stop(self) -> None:
        """Ask it to answer. Returns at once; harmless when idle."""
        if self._asked is not None:
            self._deadline = self._epoch.seconds + GRACE_S
            self._send("stop")

    def ponderhit(self) -> None:
        """Tell it that the expected move was played; its time counts from now. Returns at once; harmless when idle."""
        if self._asked is not None:
            self._asked = self._epoch.seconds
            self._deadline = self._asked + self._patience
            self._send("ponderhit")

    def wait(self) -> Answer:
        """Its answer to the last :meth:`go`. BLOCKS until the limits' time and a grace have passed at most.

        Errors: EngineDied, EngineStalled, EngineMisbehaved.
        """
        if self._asked is None:
            raise EngineProcessError(f"{self.name} was not asked for a move")
        while True:
            line, came = self._line(self._deadline - self._epoch.seconds, "bestmove")
            words = line.split()
            if words[:1] == ["bestmove"]:
                break
            info = parse_info(line)
            if info is not None:
                self._scores[info.multipv] = info
        seconds = max(came - self._asked, 0.0)
        self._asked = None
        move = words[1] if len(words) > 1 else ""
        ponder = words[3] if len(words) > 3 and words[2] == "ponder" else None
        lines = tuple(self._scores[rank] for rank in sorted(self._scores))
        if move in _NO_MOVE:
            return Answer(None, None, lines, seconds)
        if not _MOVE.fullmatch(move) or (self._legal is not None and not self._legal(move)):
            self.kill()
            raise EngineMisbehaved(f"{self.name} answered with an illegal move: {one_line(line, 80)}")
        return Answer(move, ponder, lines, seconds)

    def close(self) -> None:
        """Ask it to quit, and kill it if it does not. BLOCKS up to two seconds."""
        if self.alive:
            with contextlib.suppress(EngineProcessError):
                self._send("quit")
            try:
                self._process.wait(QUIT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._release()

    def kill(self) -> None:
        """End it and the processes it started, at once."""
        if self.alive:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except OSError:  # it has just ended, or changed its group
                self._process.kill()
            self._process.wait()
        self._release()

    def _release(self) -> None:
        with contextlib.suppress(OSError):  # what it never read is lost
            if self._process.stdin is not None:
                self._process.stdin.close()

    def _greet(self, start_s: float, options: Mapping[str, object]) -> None:
        self._send("uci")
        for line in self._wait_for("uciok", start_s):
            words = line.split(maxsplit=2)
            if words[:2] == ["id", "name"] and len(words) == 3:
                self.name = one_line(words[2], 80)
            elif words[:2] == ["id", "author"] and len(words) == 3:
                self.author = one_line(words[2], 80)
            found = re.match(r"\s*option\s+name\s+(.+?)\s+type\s+(.*)", line)
            if found is not None:
                self.offered[found[1]] = found[2]
        for name, value in options.items():
            self.set_option(name, value)
        self.ready()

    def _allowed(self, limits: Limits, moves: Sequence[str], root: str | None) -> float:
        """Seconds after which no answer means that it hangs."""
        if limits.infinite:
            return self._endless_s
        if limits.movetime is not None:
            return max(limits.movetime, 0) / 1000.0 + GRACE_S
        black = (len(moves) + (1 if root is not None and root.split()[1:2] == ["b"] else 0)) % 2
        clock = limits.time[black]
        return self._endless_s if clock is None else max(clock, 0) / 1000.0 + GRACE_S

    def _send(self, line: str) -> None:
        stream = self._process.stdin
        try:
            if stream is None or stream.closed:
                raise BrokenPipeError
            stream.write(line.encode() + b"\n")
            stream.flush()
        except OSError as error:
            raise self._died() from error

    def _wait_for(self, word: str, seconds: float) -> list[str]:
        """The lines before the one that is ``word``. Nothing was asked, so that a move among them is one too many."""
        lines: list[str] = []
        deadline = self._epoch.seconds + seconds
        while True:
            line, _ = self._line(deadline - self._epoch.seconds, word)
            if line.split() == [word]:
                return lines
            if line.startswith("bestmove") and self._asked is None:
                self.kill()
                raise EngineMisbehaved(f"{self.name} sent a move that nobody asked for: {one_line(line, 80)}")
            if len(lines) < BACKLOG:
                lines.append(line)

    def _line(self, seconds: float, wanted: str) -> tuple[str, float]:
        try:
            line, came = self._lines.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            self.kill()
            raise EngineStalled(f"{self.name} did not answer in time (waiting for {wanted}); it was killed") from None
        if line is None:
            self._lines.put((None, came))
            raise self._died()
        return line, came

    def _died(self) -> EngineDied:
        self._asked = None
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:  # it closed its output but lives
            self.kill()
            code = self._process.wait()
        self._release()
        self._complainer.join(0.5)
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        last = f"; its last words: {self._complaints[-1]}" if self._complaints else ""
        return EngineDied(f"{self.name} ended by itself ({how}){last}")

    def _read_answers(self, stream: BinaryIO) -> None:
        with stream:
            while raw := stream.readline(LONGEST):
                if self._lines.qsize() < BACKLOG or not raw.startswith(b"info"):
                    self._lines.put((clean(raw), self._epoch.seconds))
        self._lines.put((None, self._epoch.seconds))

    def _read_complaints(self, stream: BinaryIO) -> None:
        with stream:
            while raw := stream.readline(LONGEST):
                text = one_line(clean(raw), 200)
                if text:
                    self._complaints.append(text)
