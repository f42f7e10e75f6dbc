"""An engine that judges millions of bare positions, one after another, over UCI or USI.

An engine that searches some hundred nodes answers in less time than a thread takes to hand over its lines. So here the
asking thread itself reads the pipe and looks at the last line of each rank only. A second thread ends an engine that
does not answer.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import threading
import time

import numpy as np

from ...engine.errors import EngineProcessError, IllegalMoveError, OptionError
from ...engine.games.base import Game, State
from ...engine.limits import Limits
from ...engine.system import OWN_GROUP, kill_group
from ...protocols.clients import client_of
from ...protocols.clients.process import QUIT_S, EngineDied, EngineFlooded, EngineMisbehaved, EngineStalled
from ...protocols.clients.uci import UciClient, parse_info
from ...protocols.lines import one_line
from ..data.shards import LabelFormat, Teaching
from .teacher import DEFAULTS, Engine, centipawns

_CHUNK = 1 << 16  # bytes read at a time
_LONGEST = 1 << 22  # bytes of an answer; more is a flood
_RANK = re.compile(rb" multipv (\d+)")


class BulkTeacher:
    """One engine's process. Not for several threads."""

    def __init__(self, engine: Engine, game: Game, form: LabelFormat, lines: int) -> None:
        """lines: moves labelled a position. BLOCKS. Errors: OptionError for another protocol, EngineProcessError."""
        kind = client_of(game.protocol)
        if not issubclass(kind, UciClient):
            raise OptionError(f"an engine of {game.name} is not asked about positions without their game")
        self.name = shlex.join(engine.command)
        self._kind, self._game, self._form, self._lines = kind, game, form, lines
        self._go = f"\n{kind.go_line(Limits(nodes=engine.nodes))}\n"
        self._ahead, self._timeout = engine.ahead, engine.timeout
        self._owed = 0  # answers that have not come
        self._heard, self._late = 0.0, False  # when it was last asked or heard; whether it has been silent too long
        self._rest = b""
        self._ended = threading.Event()
        try:
            self._process = subprocess.Popen(
                list(engine.command),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                **OWN_GROUP,
            )
        except (OSError, ValueError, IndexError) as error:
            raise EngineProcessError(f"the engine {self.name!r} cannot be started: {error}") from error
        threading.Thread(target=self._watch, name="watch", daemon=True).start()
        try:
            self._greet(engine)
        except EngineProcessError as error:
            self.kill()
            raise EngineProcessError(f"the engine {self.name!r} does not start ({error})") from error

    def judge(self, states: State) -> list[Teaching]:
        """What the engine says of each position of State[N], without the game before it. BLOCKS.

        Errors: EngineProcessError; the engine is gone then.
        """
        texts = [self._game.format_position(state) for state in states]
        questions = [f"position {self._kind.notation} {text}{self._go}" for text in texts]
        found, asked, more = list[Teaching](), 0, max(1, self._ahead // 2)
        for i, text in enumerate(texts):
            while asked < len(texts) and asked - i <= self._ahead - more:
                self._ask(questions[asked : asked + more])
                asked += more
            found.append(self._read(states[i : i + 1], text))
        return found

    def close(self) -> None:
        """End it. BLOCKS for up to two seconds."""
        with contextlib.suppress(EngineProcessError):
            self._write("quit\n")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(QUIT_S)
        self.kill()

    def kill(self) -> None:
        self._ended.set()
        if self._process.poll() is None:
            kill_group(self._process)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what it never read is lost
                    stream.close()

    def _greet(self, engine: Engine) -> None:
        hello, done = self._kind.greeting
        self._ask([hello + "\n"])
        found = re.findall(rb"^\s*option\s+name\s+(.+?)\s+type\s", self._until(done), re.MULTILINE)
        offered = {name.decode("utf-8", "replace").lower() for name in found} | set(map(str.lower, self._kind.always))
        wanted = {name: value for name, value in DEFAULTS.items() if name.lower() in offered}
        wanted |= dict(engine.options) | ({"MultiPV": str(self._lines)} if self._lines > 1 else {})
        for name, value in wanted.items():
            if name.lower() not in offered:
                raise EngineProcessError(f"it has no option {name!r}")
            self._write(f"setoption name {name} value {value}\n")
        self._ask(["isready\n"])
        self._until("readyok")

    def _read(self, line: State, text: str) -> Teaching:
        """The next answer, which is about the last position of ``line``. BLOCKS."""
        ranks: dict[int, bytes] = {}
        for raw in self._until("bestmove").split(b"\n"):
            if raw.startswith(b"info ") and b" pv " in raw and b" score " in raw:
                rank = _RANK.search(raw)
                ranks[int(rank[1]) if rank else 1] = raw
        infos = [parse_info(raw.decode("utf-8", "replace")) for _, raw in sorted(ranks.items())][: self._lines]
        said = [info for info in infos if info is not None and info.pv]
        if not said:
            raise self._misbehaved(f"answered without a score in {text}")
        try:
            moves = [self._game.parse_move(line, info.pv[0]) for info in said]
        except IllegalMoveError as error:
            raise self._misbehaved(f"recommends an illegal move in {text}: {error}") from error
        scores = np.array([centipawns(info, self._form.scale) for info in said], np.int64)
        return Teaching(np.array(moves, np.uint16), scores, None, max(said[0].depth or 0, 1))

    def _ask(self, questions: list[str]) -> None:
        self._heard = time.monotonic()
        self._owed += len(questions)
        self._write("".join(questions))

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode())
        except (OSError, ValueError) as error:
            raise self._gone() from error

    def _until(self, word: str) -> bytes:
        """What the engine writes up to the line that begins with ``word``, without that line. BLOCKS."""
        assert self._process.stdout is not None
        mark, text = b"\n" + word.encode(), b"\n" + self._rest
        while (found := text.find(mark)) < 0 or text.find(b"\n", found + 1) < 0:
            try:
                chunk = os.read(self._process.stdout.fileno(), _CHUNK)
            except (OSError, ValueError):  # the watch has ended it
                chunk = b""
            if not chunk:
                raise self._gone()
            text += chunk.replace(b"\r", b"")
            if len(text) > _LONGEST:
                self.kill()
                raise EngineFlooded(f"{self.name} writes without end; it was killed")
        self._heard = time.monotonic()
        self._owed -= 1
        self._rest = text[text.find(b"\n", found + 1) + 1 :]
        return text[:found]

    def _watch(self) -> None:
        """End an engine that has not answered in time."""
        while not self._ended.wait(0.5):
            if self._owed and time.monotonic() - self._heard > self._timeout:
                self._late = True
                kill_group(self._process)
                return

    def _gone(self) -> EngineDied | EngineStalled:
        self.kill()
        if self._late:
            return EngineStalled(f"{self.name} did not answer within {self._timeout:g} s; it was killed")
        code = self._process.returncode
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return EngineDied(f"{self.name} ended by itself ({how})")

    def _misbehaved(self, text: str) -> EngineMisbehaved:
        self.kill()
        return EngineMisbehaved(f"{one_line(self.name, 80)} {text}")
