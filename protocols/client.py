"""Driving an external engine over UCI or USI: for matches, for labelling positions, for comparing engines.

The two protocols differ in words more than in kind, so :class:`UsiClient` says what is different. Errors are those of
:mod:`pipes`: EngineDied, EngineStalled, EngineMisbehaved; after any of them the client is to be thrown away.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from ..engine.errors import EngineProcessError, OptionError
from ..engine.limits import Limits
from .lines import one_line
from .pipes import BACKLOG, EnginePipes

START_S = 10.0  # for `uciok`
READY_S = 30.0  # for `readyok`: an engine may load a large net or clear a large table
GRACE_S = 5.0  # for a `bestmove` beyond the time that the limits allow
ENDLESS_S = 600.0  # for a `bestmove` when the limits name no time
QUIT_S = 2.0  # from `quit` to the end of the process
LONG_MATE = 999  # moves to a mate of which the engine says only that it is there (USI: `score mate +`)

_NO_MOVE = ("(none)", "0000", "NULL")
_NUMBERS = {"depth", "seldepth", "multipv", "nodes", "nps", "time"}


@dataclass(frozen=True, slots=True)
class PvInfo:
    """The last ``info`` line of one principal variation; scores from the view of the side to move."""

    multipv: int = 1
    depth: int | None = None
    seldepth: int | None = None
    cp: int | None = None
    mate: int | None = None  # UCI: moves; USI: plies
    bound: str = ""  # "lowerbound", "upperbound" or exact
    wdl: tuple[int, int, int] | None = None  # 1/1000
    nodes: int | None = None
    nps: int | None = None
    time: int | None = None  # ms
    pv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine answered to one ``go``. ``move`` is ``None`` when it says there is none, gives up or declares."""

    move: str | None
    ponder: str | None
    lines: tuple[PvInfo, ...]  # by multipv, the best first; empty when it sent no score
    seconds: float  # from `go` to `bestmove`, as a match clock counts them
    resign: bool = False  # USI: it gives the game up
    win: bool = False  # USI: it declares its king entered


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
                only_sign = word == "mate" and words[i] in ("+", "-")
                found[word] = int(f"{words[i]}{LONG_MATE}" if only_sign else words[i])
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


class UciClient:
    """One external UCI engine. Methods say whether they block; use as a context manager, or call :meth:`close`."""

    greeting = ("uci", "uciok")
    another_game = "ucinewgame"
    notation = "fen"  # the keyword before a position
    second = "b"  # the second player in the position's second field
    move = re.compile(r"[a-h][1-8][a-h][1-8][nbrqk]?")
    always: tuple[str, ...] = ()  # options that may be sent without being offered
    has_byoyomi = False
    increment_first = False  # a move's increment is added before the move, not after it

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
        self.author = ""
        self.offered: dict[str, str] = {}  # option name -> the rest of its line
        self._ready_s = ready_s
        self._endless_s = endless_s
        self._asked: float | None = None  # when the running `go` was sent
        self._patience = endless_s  # seconds its answer may take, pondering not counted
        self._deadline = 0.0  # for its answer
        self._scores: dict[int, PvInfo] = {}
        self._legal: Callable[[str], bool] | None = None
        self._pipes = EnginePipes(command, directory)
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
    def name(self) -> str:
        """What it calls itself."""
        return self._pipes.name

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._pipes.alive

    @property
    def pid(self) -> int:
        """The process."""
        return self._pipes.pid

    def new_game(self) -> None:
        """Tell it that another game begins, and wait until it is ready. BLOCKS."""
        self._pipes.send(self.another_game)
        self.ready()

    def ready(self) -> None:
        """BLOCKS until it has answered ``isready``. Not between :meth:`go` and :meth:`wait`."""
        self._check_idle()
        self._pipes.send("isready")
        self._wait_for("readyok", self._ready_s)

    def set_option(self, name: str, value: object) -> None:
        """Set one option. Returns at once. Errors: EngineProcessError when it does not offer that name."""
        known = {offered.lower(): offered for offered in (*self.always, *self.offered)}
        if name.lower() not in known:
            raise EngineProcessError(f"{self.name} has no option {name!r}; it offers {', '.join(sorted(self.offered))}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._pipes.send(f"setoption name {known[name.lower()]}" + ("" if value is None else f" value {text}"))

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
        """Let it think about the position after ``moves`` from the position ``root`` (None: the start).

        BLOCKS only until it has read the position, which its clock does not pay for. ``legal`` judges its move; without
        it only the form of the move is checked. Use :meth:`stop` and :meth:`ponderhit` meanwhile; :meth:`wait` gives
        the answer.
        """
        self._check_idle()
        self._patience = self._allowed(replace(limits, ponder=False), moves, root)
        place = "startpos" if root is None else f"{self.notation} {root}"
        self._pipes.send(f"position {place}" + (" moves " + " ".join(moves) if moves else ""))
        self._settle()
        self._scores = {}
        self._legal = legal
        self._asked = self._pipes.seconds
        self._deadline = self._asked + (self._endless_s if limits.ponder else self._patience)
        self._pipes.send(self.go_line(limits))

    def stop(self) -> None:
        """Ask it to answer. Returns at once; harmless when idle."""
        if self._asked is not None:
            self._deadline = self._pipes.seconds + GRACE_S
            self._pipes.send("stop")

    def ponderhit(self) -> None:
        """Tell it that the expected move was played; its time counts from now. Returns at once; harmless when idle."""
        if self._asked is not None:
            self._asked = self._pipes.seconds
            self._deadline = self._asked + self._patience
            self._pipes.send("ponderhit")

    def wait(self) -> Answer:
        """Its answer to the last :meth:`go`. BLOCKS until the limits' time and a grace have passed at most.

        Errors: EngineDied, EngineStalled, EngineMisbehaved.
        """
        if self._asked is None:
            raise EngineProcessError(f"{self.name} was not asked for a move")
        while True:
            line, came = self._pipes.line(self._deadline, "bestmove")
            words = line.split()
            if words[:1] == ["bestmove"]:
                break
            info = parse_info(line)
            if info is not None:
                self._scores[info.multipv] = info
        seconds = max(came - self._asked, 0.0)
        self._asked = None
        lines = tuple(self._scores[rank] for rank in sorted(self._scores))
        move = words[1] if len(words) > 1 else ""
        answer = self._without_move(move, lines, seconds)
        if answer is not None:
            return answer
        if not self.move.fullmatch(move) or (self._legal is not None and not self._legal(move)):
            raise self._pipes.misbehaved(f"answered with an illegal move: {one_line(line, 80)}")
        ponder = words[3] if len(words) > 3 and words[2] == "ponder" else None
        return Answer(move, ponder, lines, seconds)

    def game_over(self, result: str) -> None:
        """Tell it how the game ended for it, "win", "lose" or "draw", where the protocol has it. Returns at once."""

    def close(self) -> None:
        """Ask it to quit, and kill it if it does not. BLOCKS up to two seconds."""
        if self.alive:
            with contextlib.suppress(EngineProcessError):
                self._pipes.send("quit")
        self._pipes.close(QUIT_S)

    def kill(self) -> None:
        """End it and the processes it started, at once."""
        self._pipes.kill()

    @classmethod
    def go_line(cls, limits: Limits) -> str:
        """The ``go`` line of some limits."""
        words = ["go"]
        if limits.ponder:
            words.append("ponder")
        for name, number in cls._numbers(limits):
            if number is not None:
                words += [name, str(number)]
        if limits.infinite or not (limits.bounded or limits.ponder):
            words.append("infinite")
        if limits.searchmoves:
            words += ["searchmoves", *limits.searchmoves]
        return " ".join(words)

    @staticmethod
    def _numbers(limits: Limits) -> Sequence[tuple[str, int | None]]:
        """What ``go`` says in numbers; None is left out."""
        return (
            ("wtime", limits.time[0]),
            ("btime", limits.time[1]),
            ("winc", limits.increment[0] or None),
            ("binc", limits.increment[1] or None),
            ("movestogo", limits.movestogo or None),
            ("nodes", limits.nodes),
            ("depth", limits.depth),
            ("mate", limits.mate),
            ("movetime", limits.movetime),
        )

    def _settle(self) -> None:
        """Before `go`: let it read the position."""
        self.ready()

    def _without_move(self, word: str, lines: tuple[PvInfo, ...], seconds: float) -> Answer | None:
        """The answer that such a word after ``bestmove`` is; None when it is to be a move."""
        return Answer(None, None, lines, seconds) if word in _NO_MOVE else None

    def _check_idle(self) -> None:
        if self._asked is not None:
            raise EngineProcessError(f"{self.name} is still thinking: wait() for its answer first")

    def _greet(self, start_s: float, options: Mapping[str, object]) -> None:
        hello, done = self.greeting
        self._pipes.send(hello)
        for line in self._wait_for(done, start_s):
            words = line.split(maxsplit=2)
            if words[:2] == ["id", "name"] and len(words) == 3:
                self._pipes.name = one_line(words[2], 80)
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
        second_began = root is not None and root.split()[1:2] == [self.second]
        clock = limits.time[(len(moves) + second_began) % 2]
        if clock is None and not limits.byoyomi:
            return self._endless_s
        return (max(clock or 0, 0) + limits.byoyomi) / 1000.0 + GRACE_S

    def _wait_for(self, word: str, seconds: float) -> list[str]:
        """The lines before the one that is ``word``. Nothing was asked, so that a move among them is one too many."""
        lines: list[str] = []
        deadline = self._pipes.seconds + seconds
        while True:
            line, _ = self._pipes.line(deadline, word)
            if line.split() == [word]:
                return lines
            self._check_unasked(line)
            if len(lines) < BACKLOG:
                lines.append(line)

    def _check_unasked(self, line: str) -> None:
        if line.startswith("bestmove"):
            raise self._pipes.misbehaved(f"sent a move that nobody asked for: {one_line(line, 80)}")


class UsiClient(UciClient):
    """One external USI engine. ``isready`` begins a game and is not sent during one."""

    greeting = ("usi", "usiok")
    another_game = "usinewgame"
    notation = "sfen"
    second = "w"
    move = re.compile(r"(?:[1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])")
    always = ("USI_Hash", "USI_Ponder")
    has_byoyomi = True
    increment_first = True

    def new_game(self) -> None:
        """Tell it that another game begins, and wait until it is ready. BLOCKS."""
        self.ready()
        self._pipes.send(self.another_game)

    def game_over(self, result: str) -> None:
        """See UciClient."""
        self._pipes.send(f"gameover {result}")

    @staticmethod
    def _numbers(limits: Limits) -> Sequence[tuple[str, int | None]]:
        timed = any(t is not None for t in limits.time) or limits.byoyomi > 0
        fischer = any(limits.increment) and not limits.byoyomi
        black, white = (
            max((time or 0) - increment, 0) for time, increment in zip(limits.time, limits.increment, strict=True)
        )  # USI counts the increment of the coming move apart
        return (
            ("btime", black if timed else None),
            ("wtime", white if timed else None),
            ("byoyomi", limits.byoyomi if timed and not fischer else None),
            ("binc", limits.increment[0] if fischer else None),
            ("winc", limits.increment[1] if fischer else None),
            ("nodes", limits.nodes),
            ("depth", limits.depth),
            ("movetime", limits.movetime),
        )

    def _settle(self) -> None:
        for line in self._pipes.waiting():
            self._check_unasked(line)

    def _without_move(self, word: str, lines: tuple[PvInfo, ...], seconds: float) -> Answer | None:
        if word in ("resign", "win"):
            return Answer(None, None, lines, seconds, resign=word == "resign", win=word == "win")
        return super()._without_move(word, lines, seconds)


CLIENTS: Mapping[str, type[UciClient]] = {"uci": UciClient, "usi": UsiClient}


def client_of(protocol: str) -> type[UciClient]:
    """The class that drives engines of a protocol. Errors: OptionError for a protocol without one."""
    if protocol not in CLIENTS:
        raise OptionError(f"engines are driven over {' and '.join(CLIENTS)}, not over {protocol}")
    return CLIENTS[protocol]
