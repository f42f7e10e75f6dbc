"""The two sides of a match: what a SPEC says, and an engine process that is asked for moves over UCI.

Times are taken when a line arrives, by the thread that reads it, so that a busy match tool does not cost an engine its
clock.
"""

from __future__ import annotations

import contextlib
import queue
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from ..engine.errors import EngineProcessError, OptionError

HANDSHAKE_S = 60.0  # for uciok and readyok; a cold start compiles kernels
STALL_S = 10.0  # beyond its own limit without a bestmove before an engine counts as stalled
UNTIMED_S = 300.0  # the same for a move that has no limit of time
FaultKind = Literal["time loss", "illegal move", "crash", "stall"]

SPEC_HELP = """\
'default' (this engine and its own net), 'uniform' (this engine without a net), 'net=FILE.onnx' (this engine and that
net) or 'cmd=PROGRAM' (any UCI engine; with arguments: cmd="PROGRAM ARGUMENTS"). Behind it, separated by blanks:
name=TEXT, option.NAME=VALUE (with blanks: "option.Move Overhead=50") and a limit of its own: nodes=N, movetime=MS,
depth=N or tc=BASE+INCREMENT in seconds"""


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """What a player may use for a move; a clock when ``base_ms`` is given."""

    nodes: int | None = None
    depth: int | None = None
    movetime_ms: int | None = None
    base_ms: int | None = None  # on the clock at the start
    increment_ms: int = 0

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any(x is not None for x in (self.nodes, self.depth, self.movetime_ms, self.base_ms))

    def __str__(self) -> str:
        parts = []
        if self.nodes is not None:
            parts.append(f"{self.nodes} nodes")
        if self.depth is not None:
            parts.append(f"depth {self.depth}")
        if self.movetime_ms is not None:
            parts.append(f"{self.movetime_ms} ms a move")
        if self.base_ms is not None:
            parts.append(f"{self.base_ms / 1000:g}+{self.increment_ms / 1000:g} s")
        return ", ".join(parts) or "no limit"


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """One side of a match."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    limit: MoveLimit = MoveLimit()


def parse_clock(text: str) -> tuple[int, int]:
    """(base, increment) in ms of ``BASE[+INCREMENT]`` in seconds.

    Errors: OptionError.
    """
    base, _, increment = text.partition("+")
    try:
        base_ms, increment_ms = round(1000 * float(base)), round(1000 * float(increment or 0))
    except (ValueError, OverflowError):
        raise OptionError(f"{text!r} is no time control; write seconds as BASE+INCREMENT, for example 60+0.6") from None
    if base_ms <= 0 or increment_ms < 0:
        raise OptionError(f"time control {text!r} leaves no time; write seconds as BASE+INCREMENT, for example 60+0.6")
    return base_ms, increment_ms


def parse_spec(text: str) -> PlayerSpec:
    """Read a SPEC (see ``SPEC_HELP``).

    Errors: OptionError naming the word that is wrong.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(f"player {text!r}: {error}; close the quotes") from None
    command: tuple[str, ...] | None = None
    options: dict[str, str] = {}
    name = ""
    limit: dict[str, int] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if word in ("default", "uniform") or key == "net":
            command = (sys.executable, "-m", "az_engine", "uci")
            weights = {"default": "", "uniform": "uniform"}.get(word, value)
            if weights:
                options["WeightsFile"] = weights if word == "uniform" else str(Path(weights).resolve())
            name = name or (Path(value).stem if key == "net" else f"az-engine {word}")
        elif not equals:
            raise OptionError(f"player {text!r}: {word!r} is not understood; a player is {SPEC_HELP}")
        elif key == "cmd":
            command = tuple(shlex.split(value))
            name = name or (Path(command[0]).name if command else "")
        elif key == "name":
            name = value
        elif key.startswith("option."):
            options[key.removeprefix("option.")] = value
        elif key == "tc":
            limit["base_ms"], limit["increment_ms"] = parse_clock(value)
        elif key in ("nodes", "movetime", "depth"):
            if not value.isdecimal() or int(value) < 1:
                raise OptionError(f"player {text!r}: {key} must be a whole number of 1 or more, not {value!r}")
            limit["movetime_ms" if key == "movetime" else key] = int(value)
        else:
            raise OptionError(f"player {text!r}: {word!r} is not understood; a player is {SPEC_HELP}")
    if not command:
        raise OptionError(f"player {text!r} names no engine; a player is {SPEC_HELP}")
    return PlayerSpec(name, command, options, MoveLimit(**limit))


class PlayerFault(Exception):
    """A player lost its game by itself."""

    def __init__(self, kind: FaultKind, text: str) -> None:
        super().__init__(text)
        self.kind: FaultKind = kind


@dataclass(frozen=True, slots=True)
class Clock:
    """Both clocks before a move, in ms, first player first."""

    left: tuple[int, int]
    increment: tuple[int, int]
    turn: int  # whose move it is: 0 or 1


class UciProcess:
    """A running UCI engine and its lines. Every method blocks; an object belongs to one thread."""

    def __init__(
        self, command: Sequence[str], *, stderr: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it. Its standard error goes to the end of a file, or nowhere.

        Errors: EngineProcessError when it cannot be started.
        """
        self.started = time.perf_counter()  # s
        self._lines: queue.SimpleQueue[tuple[float, str | None]] = queue.SimpleQueue()  # (arrival in s, line or end)
        log: IO[bytes] | int = subprocess.DEVNULL if stderr is None else stderr.open("ab")
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=log, env=environment, text=True, errors="replace", bufsize=1
            )
        except OSError as error:
            raise EngineProcessError(f"cannot start {shlex.join(command)}: {error.strerror}") from error
        finally:
            if not isinstance(log, int):
                log.close()
        self.pid = self._process.pid
        threading.Thread(target=self._read, name="engine output", daemon=True).start()

    def send(self, line: str) -> None:
        """Errors: PlayerFault when the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
        except (OSError, ValueError):
            raise PlayerFault("crash", f"ended ({self._ending()}) before {line.partition(' ')[0]!r}") from None

    def until(self, word: str, seconds: float, on_line: Callable[[str], None] | None = None) -> tuple[float, str]:
        """(arrival in s of time.perf_counter, text) of the next line that begins with ``word``; ``on_line`` sees all.

        Errors: PlayerFault when the process ends or ``seconds`` pass.
        """
        deadline = time.perf_counter() + seconds
        while True:
            found = self._next(deadline)
            if found is None or found[0] > deadline:
                raise PlayerFault("stall", f"no {word} within {seconds:.0f} s")
            if on_line is not None:
                on_line(found[1])
            if found[1].split()[:1] == [word]:
                return found

    def drain(self, seconds: float, on_line: Callable[[str], None]) -> None:
        """Pass on all lines of the next ``seconds``. Errors: PlayerFault when the process ends."""
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            found = self._next(deadline)
            if found is not None:
                on_line(found[1])

    def _next(self, deadline: float) -> tuple[float, str] | None:
        """The next line and its arrival; None when none came before the deadline."""
        try:
            arrival, line = self._lines.get(timeout=max(0.0, deadline - time.perf_counter()))
        except queue.Empty:
            return None
        if line is None:
            self._lines.put((arrival, None))
            raise PlayerFault("crash", f"ended ({self._ending()})")
        return arrival, line

    def close(self, patience: float = 5.0) -> None:
        """End the process: asked to quit, killed when it has not ended after ``patience`` s."""
        with contextlib.suppress(PlayerFault):
            self.send("quit")
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # a flush into the pipe of a dead process
                if pipe is not None:
                    pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed meanwhile
            for line in self._process.stdout:
                self._lines.put((time.perf_counter(), line))
        self._lines.put((time.perf_counter(), None))

    def _ending(self) -> str:
        try:
            return f"exit status {self._process.wait(1)}"
        except subprocess.TimeoutExpired:
            return "its output is closed but it runs on"


class UciPlayer:
    """An engine that plays games. Every method blocks; an object belongs to one thread."""

    def __init__(self, spec: PlayerSpec, stderr: Path | None = None) -> None:
        """Start the process and wait until it is ready.

        Errors: EngineProcessError when it does not start, or does not say uciok and readyok in time.
        """
        self.spec = spec
        self._process = UciProcess(spec.command, stderr=stderr)
        try:
            self._process.send("uci")
            self._process.until("uciok", HANDSHAKE_S)
            for name, value in spec.options.items():
                self._process.send(f"setoption name {name} value {value}")
            self._ready()
        except PlayerFault as fault:
            self.close(0.1)
            raise EngineProcessError(f"{spec.name}: {fault}") from fault

    def new_game(self) -> None:
        """Errors: PlayerFault."""
        self._process.send("ucinewgame")
        self._ready()

    def think(self, root: str | None, moves: Sequence[str], limit: MoveLimit, clock: Clock | None) -> tuple[str, float]:
        """Ask for a move: (its text, ms from the question to the answer). root None = start position.

        Errors: PlayerFault when the process ends or does not answer.
        """
        position = "position startpos" if root is None else f"position fen {root}"
        self._process.send(" ".join([position, "moves", *moves]) if moves else position)
        words = ["go"]
        patience = UNTIMED_S
        if clock is not None:
            for side, left, increment in zip("wb", clock.left, clock.increment, strict=True):
                words += [f"{side}time", str(left), f"{side}inc", str(increment)]
            patience = clock.left[clock.turn] / 1000 + STALL_S
        if limit.nodes is not None:
            words += ["nodes", str(limit.nodes)]
        if limit.depth is not None:
            words += ["depth", str(limit.depth)]
        if limit.movetime_ms is not None:
            words += ["movetime", str(limit.movetime_ms)]
            patience = limit.movetime_ms / 1000 + STALL_S
        start = time.perf_counter()
        self._process.send(" ".join(words))
        arrival, line = self._process.until("bestmove", patience)
        answer = line.split()
        return (answer[1] if len(answer) > 1 else ""), 1000 * (arrival - start)

    def close(self, patience: float = 5.0) -> None:
        """End the process: asked to quit, killed when it has not ended after ``patience`` s."""
        self._process.close(patience)

    def _ready(self) -> None:
        self._process.send("isready")
        self._process.until("readyok", HANDSHAKE_S)
