"""External engines over UCI; :mod:`usi` says what USI does differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...engine.errors import EngineProcessError
from ...engine.limits import Limits
from ..lines import one_line
from . import base
from .base import Answer, EngineClient, Legal, PvInfo
from .process import BACKLOG

LONG_MATE = 999  # moves to a mate of unknown length (USI: `score mate +`)

_NO_MOVE = ("(none)", "0000", "NULL")
_RANK = re.compile(r" multipv (\d+) ")
_NUMBERS = {"depth", "seldepth", "multipv", "nodes", "nps", "time"}


def parse_info(line: str) -> PvInfo | None:
    """Read an ``info`` line that has a score; ``None`` for any other line, and for a malformed one."""
    words = line.split()
    if words[:1] != ["info"] or "score" not in words or "string" in words[:2]:
        return None
    results: dict[str, object] = {}
    i = 1
    try:
        while i < len(words):
            word = words[i]
            i += 1
            if word in _NUMBERS or (word in ("cp", "mate") and words[i - 2] == "score"):
                only_sign = word == "mate" and words[i] in ("+", "-")
                results[word] = int(f"{words[i]}{LONG_MATE}" if only_sign else words[i])
                i += 1
            elif word in ("lowerbound", "upperbound"):
                results["bound"] = word
            elif word == "wdl":
                win, draw, loss = (int(w) for w in words[i : i + 3])
                results["wdl"] = (win, draw, loss)
                i += 3
            elif word == "pv":
                results["pv"] = tuple(words[i:])
                break
            elif word == "string":
                break
    except (ValueError, IndexError):
        return None
    return PvInfo(**results)  # type: ignore[arg-type]


def last_of_each_rank(lines: Sequence[str]) -> tuple[PvInfo, ...]:
    """The last report of each rank, the best first; the lines before it are not read."""
    results: dict[int, PvInfo] = {}
    for line in reversed(lines):
        rank = _RANK.search(line)
        if (int(rank[1]) if rank else 1) not in results:
            info = parse_info(line)
            if info is not None:
                results.setdefault(info.multipv, info)
    return tuple(results[rank] for rank in sorted(results))


class UciClient(EngineClient):
    """One external UCI engine."""

    greeting = ("uci", "uciok")
    another_game = "ucinewgame"
    notation = "fen"  # the keyword before a position
    second = "b"  # the second player's letter in a position's second field
    move = re.compile(r"(?!(?:resign|win)$)\S+")  # a move of whatever game: who asks knows which are legal
    always: tuple[str, ...] = ()  # options that may be sent without being offered

    _patience = 0.0  # seconds that the answer may take, pondering not counted

    def new_game(self) -> None:
        self.send(self.another_game)
        self.ready()

    def ready(self) -> None:
        self._check_idle()
        self.send("isready")
        self._wait_for("readyok", self._ready_s)

    def set_option(self, name: str, value: object) -> None:
        known = {offered.lower(): offered for offered in (*self.always, *self.offered)}
        if name.lower() not in known:
            raise EngineProcessError(f"{self.name} has no option {name!r}; it offers {', '.join(sorted(self.offered))}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        allowed = _allowed_unless(self.offered.get(known[name.lower()], ""), text)
        if allowed:
            raise EngineProcessError(f"{self.name} takes as {name} {allowed}, not {text!r}")
        self.send(f"setoption name {known[name.lower()]}" + ("" if value is None else f" value {text}"))

    def go(self, root: str | None, moves: Sequence[str], limits: Limits, legal: Legal | None = None) -> None:
        """As EngineClient says; use :meth:`stop` and :meth:`ponderhit` meanwhile."""
        self._check_idle()
        second_began = root is not None and root.split()[1:2] == [self.second]
        self._patience = self._allowed(replace(limits, ponder=False), (len(moves) + second_began) % 2)
        self.send(self._position(root, moves))
        self._settle()
        self._legal = legal
        self._sent_at = self.seconds
        self._deadline = self._sent_at + (self._endless_s if limits.ponder else self._patience)
        self.send(self.go_line(limits))

    def _position(self, root: str | None, moves: Sequence[str]) -> str:
        place = "startpos" if root is None else f"{self.notation} {root}"
        return f"position {place}" + (" moves " + " ".join(moves) if moves else "")

    def judge_all(
        self, positions: Sequence[tuple[str | None, Sequence[str]]], limits: Limits, lines: int, ahead: int = 1
    ) -> Iterator[Answer]:
        """As EngineClient says. An engine reads on after a search, so it is sent half of ``ahead`` at a time."""
        self._check_idle()
        self._settle()
        self.tolerate(ahead)
        self._legal, go = None, self.go_line(limits)
        sent, more = 0, max(1, ahead // 2)
        for i in range(len(positions)):
            while sent < len(positions) and sent - i <= ahead - more:
                some = positions[sent : sent + more]
                self.send("\n".join(f"{self._position(*position)}\n{go}" for position in some))
                sent += len(some)
            self._sent_at = self.seconds
            self._deadline = self._sent_at + self._allowed(limits, 0)
            yield self.wait()

    def stop(self) -> None:
        """Ask for the answer. Returns at once; harmless when idle."""
        if self._sent_at is not None:
            self._deadline = self.seconds + base.GRACE_S
            self.send("stop")

    def ponderhit(self) -> None:
        """Say that the expected move was played: the clock runs from now. Returns at once; harmless when idle."""
        if self._sent_at is not None:
            self._sent_at = self.seconds
            self._deadline = self._sent_at + self._patience
            self.send("ponderhit")

    def wait(self) -> Answer:
        if self._sent_at is None:
            raise EngineProcessError(f"{self.name} was not asked for a move")
        reports: list[str] = []
        while True:
            line, came = self.line(self._deadline, "bestmove")
            if line.startswith("info"):
                reports.append(line)
            elif line.split(maxsplit=1)[:1] == ["bestmove"]:
                break
        words = line.split()
        seconds = max(came - self._sent_at, 0.0)
        self._sent_at = None
        lines = last_of_each_rank(reports)
        move = words[1] if len(words) > 1 else ""
        answer = self._without_move(move, lines, seconds)
        if answer is not None:
            return answer
        if not self.move.fullmatch(move) or (self._legal is not None and not self._legal(move)):
            raise self.misbehaved(f"answered with an illegal move: {one_line(line, 80)}")
        ponder = words[3] if len(words) > 3 and words[2] == "ponder" else None
        return Answer(move, ponder, lines, seconds)

    @classmethod
    def go_line(cls, limits: Limits) -> str:
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
        """Keywords of ``go`` and their numbers; None is left out."""
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
        """Before `go`: wait until the position is read."""
        self.ready()

    def _without_move(self, word: str, lines: tuple[PvInfo, ...], seconds: float) -> Answer | None:
        """The answer for a word after ``bestmove`` that is no move; None for a move."""
        return Answer(None, None, lines, seconds) if word in _NO_MOVE else None

    def _greet(self, start_s: float, options: Mapping[str, object]) -> None:
        hello, done = self.greeting
        self.send(hello)
        for line in self._wait_for(done, start_s):
            words = line.split(maxsplit=2)
            if words[:2] == ["id", "name"] and len(words) == 3:
                self.name = one_line(words[2], 80)
            elif words[:2] == ["id", "author"] and len(words) == 3:
                self.author = one_line(words[2], 80)
            match = re.match(r"\s*option\s+name\s+(.+?)\s+type\s+(.*)", line)
            if match is not None:
                self.offered[match[1]] = match[2]
        for name, value in options.items():
            self.set_option(name, value)
        self.ready()

    def _wait_for(self, word: str, seconds: float) -> list[str]:
        """The lines before the line ``word``. No search runs, so a ``bestmove`` among them is an error."""
        lines: list[str] = []
        deadline = self.seconds + seconds
        while True:
            line, _ = self.line(deadline, word)
            if line.split() == [word]:
                return lines
            self._check_unasked(line)
            if len(lines) < BACKLOG:
                lines.append(line)

    def _check_unasked(self, line: str) -> None:
        if line.startswith("bestmove"):
            raise self.misbehaved(f"sent a move that nobody asked for: {one_line(line, 80)}")


def _allowed_unless(declared: str, value: str) -> str:
    """What an option with this declaration ("spin default 1 min 0 max 9") takes; empty when it takes ``value``.

    Engines ignore a wrong value silently, so it must be refused here.
    """
    numbers = dict(re.findall(r"\b(min|max) (-?\d+)", declared))
    choices = re.findall(r"\bvar (.+?)(?= var |$)", declared)
    if declared.startswith("spin") and len(numbers) == 2:
        low, high = int(numbers["min"]), int(numbers["max"])
        whole = re.fullmatch(r"[+-]?\d+", value) is not None
        return "" if whole and low <= int(value) <= high else f"a whole number from {low} to {high}"
    if declared.startswith("check") and value.lower() not in ("true", "false"):
        return "true or false"
    if declared.startswith("combo") and choices and value.lower() not in (choice.strip().lower() for choice in choices):
        return f"one of {', '.join(choice.strip() for choice in choices)}"
    return ""
