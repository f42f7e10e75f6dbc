"""Driving an external Go engine over GTP 2.

A GTP engine keeps the game itself, so the client sends only what the engine's board lacks. Its board size, komi and,
where it has ``kata-set-rules``, its rules are those of the position the game begins from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...engine.errors import EngineProcessError
from ...engine.limits import Limits
from ..gtp.board import Board, GtpError, read_vertex, vertex
from ..lines import one_line
from .base import Answer, EngineClient, Legal, PvInfo
from .process import EngineMisbehaved

EMPTY_BOARD = "9/9/9/9/9/9/9/9/9 b - 7 tromp-taylor 0 0 0"  # where a game begins when no position is given
COUNT_S = 60.0  # for `final_score`: some engines play the game out for themselves

_HEAD = re.compile(r"([=?])(\d*)(?:\s+(.*))?")
_SCORE = re.compile(r"([BW])\+(\d+(?:\.\d+)?)|0(?:\.0)?|draw|jigo", re.IGNORECASE)
_VISITS = {  # the command that bounds the visits of a move, in engines that have one
    "kata-set-param": "kata-set-param maxVisits {}",
    "lz-setoption": "lz-setoption name visits value {}",
}
_NOT_REACHED = 10**9  # visits: no bound
_ANALYSES = ("kata-analyze", "lz-analyze")  # what to ask for, the best first ...
_MOVES = ("kata-genmove_analyze", "lz-genmove_analyze")  # ... and for a move with what was thought of it
_OFTEN, _SELDOM = 5, 50  # centiseconds between reports
_PER_WINRATE = {"kata": 1.0, "lz": 10_000.0}  # the winrate that stands for certainty, by the commands' prefix


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """One line of an analysis: its moves, best first, and the ownership."""

    lines: tuple[PvInfo, ...]
    ownership: tuple[float, ...] = ()  # N * N from the top left, 1 = surely the side to move's

    @property
    def visits(self) -> int:
        return sum(line.nodes or 0 for line in self.lines)


def parse_analysis(line: str, per_winrate: float) -> AnalysisReport | None:
    """Read a line of ``lz-analyze`` or ``kata-analyze``; None for any other line, and for a malformed one.

    ``per_winrate``: the winrate that stands for certainty.
    """
    text, _, owners = line.partition(" ownership ")
    groups = re.split(r"(?:^|\s)info\s", text.partition(" rootInfo ")[0])
    if not line.startswith("info ") or not all(groups[1:]):
        return None
    results = []
    try:
        for rank, group in enumerate(groups[1:]):
            head, _, pv = group.partition(" pv ")
            words = head.split()
            fields = dict(zip(words[::2], words[1::2], strict=False))
            lead = fields.get("scoreLead", fields.get("scoreMean"))
            results.append(
                PvInfo(
                    int(fields.get("order", rank)) + 1,
                    nodes=int(fields["visits"]),
                    pv=tuple(pv.partition(" pvVisits ")[0].split()) or (fields["move"],),
                    chance=min(max(float(fields["winrate"]) / per_winrate, 0.0), 1.0),
                    lead=None if lead is None else float(lead),
                )
            )
        ownership = tuple(map(float, owners.split(" ownershipStdev ")[0].split()))
    except (ValueError, KeyError):
        return None
    return AnalysisReport(tuple(sorted(results, key=lambda info: info.multipv)), ownership)


class GtpClient(EngineClient):
    """One external GTP engine. An option is a command and its arguments: ``level`` and ``10``."""

    has_byoyomi = True
    counts_nodes = False
    tells_both_clocks = False
    lines_by_option = False

    _number = 0  # of the last command
    _held: tuple[str, list[str]] | None = None  # the position and the moves on the engine's board
    _visits: int | None = None  # the last bound sent
    _colour = "b"  # of the last move requested
    _warm = False  # the engine has searched once

    def new_game(self) -> None:
        """The board is cleared later, when the next position is known. BLOCKS."""
        self._held = None
        self.ready()

    def ready(self) -> None:
        self._check_idle()
        self._command("protocol_version", self._ready_s)

    def set_option(self, name: str, value: object) -> None:
        if name not in self.offered:
            raise EngineProcessError(f"{self.name} has no command {name!r}; it has {', '.join(sorted(self.offered))}")
        self._command(f"{name} {'' if value is None else value}".strip(), self._ready_s)

    def go(self, root: str | None, moves: Sequence[str], limits: Limits, legal: Legal | None = None) -> None:
        """As EngineClient says. Errors: EngineProcessError for a depth, and for nodes without a command for them."""
        self._check_idle()
        root = root or EMPTY_BOARD
        mover = (root.split()[1] == "w") ^ (len(moves) % 2)
        self._legal, self._colour = legal, "bw"[mover]
        if self._show(root, moves):
            self._tell_time(limits, mover)
            self._warm_up()
        self._tell_visits(limits)
        self._tell_left(limits, mover)
        analysing = next((command for command in _MOVES if command in self.offered), None)
        self._sent_at = self.seconds
        self._deadline = self._sent_at + self._allowed(limits, mover)
        self._send(f"{analysing} {self._colour} {_SELDOM}" if analysing else f"genmove {self._colour}")

    def wait(self) -> Answer:
        if self._sent_at is None or self._held is None:
            raise EngineProcessError(f"{self.name} was not asked for a move")
        success, text, came = self._response(self._deadline, "genmove")
        seconds = max(came - self._sent_at, 0.0)
        self._sent_at = None
        *analysis, last = text.split("\n")
        report = self._last_report(analysis)
        word = last.removeprefix("play ").strip()  # an analysis ends with it, and may have no line before
        if success and word.lower() == "resign":
            self._held = None
            return Answer(None, None, report.lines, seconds, resign=True, ownership=report.ownership)
        try:
            move = read_vertex(word, Board.read(self._held[0]).size)
        except GtpError:
            move = ""
        if not success or not move or (self._legal is not None and not self._legal(move)):
            raise self.misbehaved(f"answered with an illegal move: {one_line(word, 80)}")
        self._held[1].append(move)
        return Answer(move, None, report.lines, seconds, ownership=report.ownership)

    def _last_report(self, lines: Sequence[str]) -> AnalysisReport:
        family = next((command for command in (*_MOVES, *_ANALYSES) if command in self.offered), "kata-")
        per_winrate = _PER_WINRATE[family.partition("-")[0]]
        reports = (parse_analysis(line, per_winrate) for line in reversed(lines))
        return next((report for report in reports if report is not None), AnalysisReport(()))

    def final_score(self) -> float | None:
        """Black's points less white's. BLOCKS."""
        success, text = self._try("final_score", COUNT_S)
        match = _SCORE.fullmatch(text.split()[0]) if success and text else None
        if match is None:
            return None
        return float(match[2] or 0) * (-1 if (match[1] or "").upper() == "W" else 1)

    def ask(self, line: str, seconds: float) -> tuple[bool, str]:
        """Send a command of any kind: (success, the response's text). The next game is set up anew. BLOCKS."""
        self._check_idle()
        self._held = None
        return self._try(line, seconds)

    def limit(self, limits: Limits, mover: int) -> None:
        """Send the limits of the next move, for :meth:`ask`. Errors: as :meth:`go`. BLOCKS."""
        self._tell_time(limits, mover)
        self._tell_visits(limits)
        self._tell_left(limits, mover)

    # ------------------------------------------------------------------ its board

    def _show(self, root: str, moves: Sequence[str]) -> bool:
        """Bring the engine's board up to a game; returns whether that took a new game. BLOCKS."""
        begun = self._held is None or self._held[0] != root or self._held[1] != [*moves[: len(self._held[1])]]
        if begun:
            self._set_up(root)
        assert self._held is not None
        known = self._held[1]
        first = root.split()[1] == "w"
        for i, move in enumerate(moves[len(known) :], len(known)):
            self._show_move("bw"[first ^ (i % 2)], move)
            known.append(move)
        return begun

    def _show_move(self, colour: str, move: str) -> None:
        success, text = self._try(f"play {colour} {move}", self._ready_s)
        if not success:
            raise self.misbehaved(f"refuses the legal move {colour} {move}: {one_line(text, 80)}")

    def _set_up(self, root: str) -> None:
        fields = root.split()
        board, turn = Board.read(root), fields[1]
        ko, komi, rules, handicap = (*fields[2:6], *("-", "7.5", "tromp-taylor", "0")[len(fields) - 2 :])[:4]
        if ko != "-":
            raise EngineProcessError("GTP cannot set up a position in which a ko may not be retaken")
        size = board.size
        begin = f"boardsize {size.rows}" if size.square else f"rectangular_boardsize {size.columns} {size.rows}"
        for line in (begin, "clear_board", f"komi {komi}"):
            self._command(line, self._ready_s)
        if "kata-set-rules" in self.offered:
            self._command(f"kata-set-rules {rules}", self._ready_s)
        stones = {
            kind: [vertex(p, board.size) for p, stone in enumerate(board.stones) if stone == kind] for kind in "XO"
        }
        if int(handicap) > 1 and turn == "w" and not stones["O"] and "set_free_handicap" in self.offered:
            self._command(f"set_free_handicap {' '.join(stones['X'])}", self._ready_s)
        else:
            for kind, colour in (("X", "b"), ("O", "w")):
                for place in stones[kind]:
                    self._show_move(colour, place)
        self._held = root, []

    # ------------------------------------------------------------------ analysis

    def judge(self, root: str | None, moves: Sequence[str], limits: Limits, lines: int) -> Answer:
        """Analyse until the moves shown have ``limits.nodes`` visits together, or a few more. BLOCKS."""
        self._check_idle()
        root = root or EMPTY_BOARD
        mover = (root.split()[1] == "w") ^ (len(moves) % 2)
        self._colour = "bw"[mover]
        self._show(root, moves)
        words = f"{_OFTEN} maxmoves {lines} ownership true" if "kata-analyze" in self.offered else f"{_OFTEN}"
        began = self.seconds
        report = self._last_report(self._analyse(limits.nodes or 1, words, self._allowed(limits, mover)))
        best = report.lines[0].pv[0] if report.lines else None
        return Answer(best, None, report.lines, self.seconds - began, ownership=report.ownership)

    def _analyse(self, visits: int, words: str, seconds: float) -> list[str]:
        """The lines of an analysis of the engine's board, up to that many visits. BLOCKS.

        Errors: EngineProcessError for an engine without a command for it.
        """
        command = next((command for command in _ANALYSES if command in self.offered), None)
        if command is None:
            raise EngineProcessError(f"{self.name} does not analyse: it has none of {', '.join(_ANALYSES)}")
        deadline = self.seconds + seconds
        self._send(f"{command} {self._colour} {words}")
        lines: list[str] = []
        while self._last_report(lines[-1:]).visits < visits:
            line, _ = self.line(deadline, command)
            if lines and not line:
                return lines  # the analysis has ended by itself
            if line:
                lines.append(line)
                del lines[1:-1]  # the head and the last
            if lines and not lines[0].startswith(f"={self._number}"):
                raise self.misbehaved(f"answered {command} with {one_line(lines[0], 80)}")
        self._send("protocol_version")  # any command ends it
        while line := self.line(deadline, f"the end of {command}")[0]:
            lines.append(line)
        self._response(deadline, "protocol_version")
        return lines

    def _warm_up(self) -> None:
        """Search once before a clock runs: some engines load their net when they first need it."""
        if not self._warm and any(command in self.offered for command in _ANALYSES):
            self._analyse(1, str(_OFTEN), self._ready_s)
            if "clear_cache" in self.offered:
                self._command("clear_cache", self._ready_s)
        self._warm = True

    # ------------------------------------------------------------------ its limits

    def _tell_time(self, limits: Limits, mover: int) -> None:
        """Send the time system; once a game, before its first search."""
        main, increment = limits.time[mover], limits.increment[mover]
        if limits.movetime is not None:
            line = f"time_settings 0 {_seconds(limits.movetime)} 1"
        elif main is None and not limits.byoyomi:
            return
        elif increment and "kata-time_settings" in self.offered:
            line = f"kata-time_settings fischer {_seconds(main or 0)} {_seconds(increment)}"
        else:
            line = f"time_settings {_seconds(main or 0)} {_seconds(limits.byoyomi)} {1 if limits.byoyomi else 0}"
        try:
            self._command(line, self._ready_s)
        except EngineProcessError as error:
            if not isinstance(error, EngineMisbehaved) and self.alive:
                raise EngineProcessError(f"{error}; GTP promises whole seconds only") from error
            raise

    def _tell_left(self, limits: Limits, mover: int) -> None:
        """Send the time left to the player to move; in whole seconds unless the engine is known to read fractions."""
        main = limits.time[mover]
        if limits.movetime is not None:
            left, stones = limits.movetime, 1
        elif main is None and not limits.byoyomi:
            return
        else:
            left, stones = (max(main or 0, 0), 0) if (main or 0) > 0 or not limits.byoyomi else (limits.byoyomi, 1)
        shown = _seconds(left) if "kata-time_settings" in self.offered else str(left // 1000)
        self._try(f"time_left {'bw'[mover]} {shown} {stones}", self._ready_s)  # an engine without a clock refuses

    def _tell_visits(self, limits: Limits) -> None:
        if limits.depth is not None:
            raise EngineProcessError(f"{self.name} cannot be told a depth over GTP")
        if limits.nodes == self._visits:
            return
        form = next((form for command, form in _VISITS.items() if command in self.offered), None)
        if form is None:
            raise EngineProcessError(
                f"{self.name} has no command for a number of visits; give it a time, or its own setting in its command"
            )
        self._command(form.format(_NOT_REACHED if limits.nodes is None else limits.nodes), self._ready_s)
        self._visits = limits.nodes

    # ------------------------------------------------------------------ commands and responses

    def _greet(self, start_s: float, options: Mapping[str, object]) -> None:
        self.offered = dict.fromkeys(self._command("list_commands", start_s).split(), "")
        success, name = self._try("name", start_s)
        if success and name:
            self.name = one_line(name, 80)
        for option, value in options.items():
            self.set_option(option, value)
        self.ready()

    def _send(self, line: str) -> None:
        self._number += 1
        self.send(f"{self._number} {line}")

    def _command(self, line: str, seconds: float) -> str:
        success, text = self._try(line, seconds)
        if not success:
            raise EngineProcessError(f"{self.name} refuses {line!r}: {one_line(text, 80)}")
        return text

    def _try(self, line: str, seconds: float) -> tuple[bool, str]:
        """(success, the response's text). BLOCKS."""
        self._send(line)
        success, text, _ = self._response(self.seconds + seconds, line.partition(" ")[0])
        return success, text

    def _response(self, deadline: float, requested: str) -> tuple[bool, str, float]:
        """(success, text, when it came) of the response to the last command. BLOCKS."""
        match = None
        while match is None:  # skip what some engines print besides
            line, came = self.line(deadline, requested)
            match = _HEAD.fullmatch(line.strip())
        if match[2] != str(self._number):
            raise self.misbehaved(f"answered {requested} with what is no response to it: {one_line(line, 80)}")
        lines = [match[3] or ""]
        while line:
            line, came = self.line(deadline, requested)
            lines.append(line)
        return match[1] == "=", "\n".join(lines).strip(), came


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g}"
