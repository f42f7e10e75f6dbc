"""One ``go`` of UCI or USI: the words that ask, what is known of it until its answer, and the lines that report it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..engine.clock import Stopwatch
from ..engine.info import BestMove, Line, MoveStats, ThinkingInfo, Wdl, centipawns
from ..engine.limits import Limits
from .lines import one_line

_WHOLE = re.compile(r"([+-]?)([0-9]+)")
_LARGEST = 2**63 - 1
_SCORE_LIMIT = 32000  # centipawns; far beyond what a value in [-1, 1] maps to
OWN_SCORES = "WDL_mu"
SCORES: Mapping[str, Callable[[Line], int]] = {  # what stands behind "score cp", by Lc0's names
    OWN_SCORES: lambda line: line.cp,
    "centipawn": lambda line: centipawns(line.wdl.value),
    "win_percentage": lambda line: round(5000.0 * (1.0 + line.wdl.value)),
    "W-L": lambda line: round(10_000.0 * line.wdl.value),
    "Q": lambda line: round(10_000.0 * (line.wdl.value if line.mean is None else line.mean)),
}


@dataclass(frozen=True, slots=True)
class GoWords:
    """The words after ``go``: the keywords seen, numbers by keyword, and complaints about unreadable words."""

    seen: frozenset[str]
    numbers: dict[str, int]
    searchmoves: tuple[str, ...]
    complaints: tuple[str, ...]

    def limits(self, first: str, second: str) -> Limits:
        """The limits that both protocols know; ``first`` and ``second`` are the players' letters, the opener first.

        Limits below one (``nodes 0``, ``depth -1``) become the smallest search there is, never an endless one.
        """
        numbers = self.numbers
        nodes, depth = numbers.get("nodes"), numbers.get("depth")
        time = numbers.get(f"{first}time"), numbers.get(f"{second}time")
        if time == (None, None) and {f"{first}inc", f"{second}inc", "byoyomi"} & numbers.keys():
            time = 0, 0  # an increment alone: an empty clock
        return Limits(
            nodes=None if nodes is None else max(nodes, 1),
            depth=None if depth is None else max(depth, 1),
            movetime=numbers.get("movetime"),
            rtime=numbers.get("rtime"),
            time=time,
            increment=(numbers.get(f"{first}inc", 0), numbers.get(f"{second}inc", 0)),
            byoyomi=max(numbers.get("byoyomi", 0), 0),
            infinite="infinite" in self.seen,
            ponder="ponder" in self.seen,
            searchmoves=self.searchmoves,
        )


def read_go(words: Sequence[str], numbers: Collection[str], optional: Collection[str] = ()) -> GoWords:
    """Read the words after ``go``, in any order; skip unknown words, leave out unreadable numbers.

    ``numbers``: keywords that a whole number follows; ``optional`` ones may stand without it.
    """
    keywords = {*numbers, "infinite", "ponder", "searchmoves"}
    seen: set[str] = set()
    found: dict[str, int] = {}
    moves: list[str] = []
    complaints: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word not in keywords:
            continue
        seen.add(word)
        if word == "searchmoves":
            while i < len(words) and words[i] not in keywords:
                moves.append(words[i])
                i += 1
        elif word in numbers:
            text = words[i] if i < len(words) and words[i] not in keywords else ""
            i += 1 if text else 0
            number = _whole(text)
            if number is not None:
                found[word] = number
            elif text or word not in optional:
                complaints.append(f"go: {word} needs a whole number, not '{one_line(text, 40)}'; left out")
    return GoWords(frozenset(seen), found, tuple(moves), tuple(complaints))


_UCI_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft")


def read_uci_go(words: Sequence[str]) -> tuple[GoWords, Limits]:
    """The words after UCI's ``go``, and the limits they mean."""
    go = read_go(words, _UCI_NUMBERS)
    limits = go.limits("w", "b")
    mate, movestogo = go.numbers.get("mate"), go.numbers.get("movestogo", 0)
    if mate is not None and mate < 1:  # no mate is shorter than one move: as little search as possible
        limits, mate = replace(limits, nodes=1), None
    return go, replace(limits, mate=mate, movestogo=movestogo if movestogo > 0 else None)


def _whole(text: str) -> int | None:
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    size = int(found[2]) if len(found[2]) < 20 else _LARGEST
    return min(size, _LARGEST) * (-1 if found[1] == "-" else 1)


@dataclass(eq=False, slots=True)
class PendingGo:
    """One ``go`` that has to be answered."""

    limits: Limits
    waited: Stopwatch = field(default_factory=Stopwatch)  # since it was read; from the ponder hit on if there was one
    queued: bool = False  # read while an earlier one was unanswered: its clock starts when its turn comes
    stopped: bool = False
    position: tuple[str | None, str] = (None, "")  # root and moves that it is about
    early: bool = False  # its search runs on the position before the last of these moves: see Stochastic_Ponder
    game_over: bool = False  # it belongs to a game that is over
    restart: bool = False  # its search was stopped to begin again with other limits
    ponder_hit: bool = False
    latest: ThinkingInfo | None = None  # the search's last report
    printed: ThinkingInfo | None = None
    report_posted: bool = False  # an event that prints the latest report is under way
    next_report: float = 0.0  # on ``waited``: no report before

    @property
    def endless(self) -> bool:
        """Whether only ``stop`` (or ``ponderhit``) will end the search."""
        return not self.limits.bounded or (self.limits.ponder and not self.ponder_hit)

    def limits_left(self) -> Limits:
        """The limits less the time that the ``go`` has waited, for a net to load or for another search."""
        limits = replace(self.limits, ponder=self.limits.ponder and not self.ponder_hit)
        waited = self.waited.milliseconds
        if limits.ponder or waited < 2:
            return limits
        first, second = (t if t is None else t - waited for t in limits.time)
        # Time that the clock did not have comes off the byoyomi.
        beyond = max((min(-t, waited) for t in (first, second) if t is not None and t < 0), default=0)
        movetime = limits.movetime if limits.movetime is None else limits.movetime - waited
        return replace(limits, time=(first, second), byoyomi=max(limits.byoyomi - beyond, 0), movetime=movetime)

    def final_report(self, best: BestMove, move: str) -> ThinkingInfo:
        """The report before the answer: the last one, brought up to what the search ended with."""
        last = self.latest
        if last is None:
            # Clients insist on a score before every move; a search that evaluated nothing explains it in its messages.
            lines = best.lines or (Line(0, None, Wdl(0.0, 1.0, 0.0), 0, 0.0, (move,)),)
            return ThinkingInfo(1, 1, best.nodes, best.nodes, best.time_ms, 0, lines)
        if not best.lines or best.lines == last.lines[: len(best.lines)]:
            return last
        return replace(
            last, lines=best.lines, nodes=max(best.nodes, last.nodes), time_ms=max(best.time_ms, last.time_ms)
        )


class Searches:
    """Every ``go`` that has to be answered, in order."""

    def __init__(self) -> None:
        self._unanswered: dict[PendingGo, None] = {}  # of these ...
        self._unstopped: deque[PendingGo] = deque()  # ... those that nobody has stopped
        self._present: deque[PendingGo] = deque()  # ... those of the present game
        self._endless: PendingGo | None = None  # ... the one that only another command would end
        self.over = 0  # ... how many belong to a game that is over

    def __len__(self) -> int:
        return len(self._unanswered)

    def add(self, limits: Limits) -> PendingGo:
        go = PendingGo(limits, queued=bool(self._unanswered))
        self._unanswered[go] = None
        self._unstopped.append(go)
        self._present.append(go)
        if go.endless:
            self._endless = go
        return go

    def remove(self, go: PendingGo) -> None:
        """It gets its answer."""
        del self._unanswered[go]
        self.over -= go.game_over
        for waiting in (self._unstopped, self._present):
            if waiting and waiting[0] is go:
                waiting.popleft()

    def take_unstopped(self) -> list[PendingGo]:
        """Those to stop now, and no more afterwards."""
        unstopped, self._unstopped = list(self._unstopped), deque()
        return unstopped

    def take_endless(self) -> PendingGo | None:
        """The one that only another command would end, to stop it now."""
        go, self._endless = self._endless, None
        return go if go is not None and go.endless else None

    def end_game(self) -> None:
        for go in self._present:
            go.game_over = True
        self.over += len(self._present)
        self._present.clear()

    @property
    def pondering(self) -> PendingGo | None:
        """The one that waits for a ponder hit."""
        go = self._endless
        return go if go in self._unanswered and go.limits.ponder and not go.ponder_hit else None


def info_lines(
    info: ThinkingInfo, *, show_wdl: bool, mate: Callable[[int], str] = str, scores: str = OWN_SCORES
) -> list[str]:
    """One line for each principal variation, the best first.

    mate: writes a distance to mate from full moves; scores: one of ``SCORES``.
    """
    head = f"info depth {max(info.depth, 1)} seldepth {max(info.seldepth, info.depth, 1)}"
    tables = f" tbhits {info.tbhits}" if info.tbhits else ""
    full = min(max(info.hashfull, 0), 1000)
    middle = f"nodes {info.nodes} nps {info.nps} hashfull {full}{tables} time {info.time_ms}"
    return [
        " ".join(
            (head, f"multipv {rank}", score(line, show_wdl=show_wdl, mate=mate, scores=scores), middle, "pv", *line.pv)
        )
        for rank, line in enumerate(info.lines, start=1)
    ]


def score(line: Line, *, show_wdl: bool = False, mate: Callable[[int], str] = str, scores: str = OWN_SCORES) -> str:
    """``score cp x`` or ``score mate y`` from the side to move's view, with the chances if asked for."""
    if line.mate is not None:
        text = f"score mate {mate(line.mate)}"
    else:
        text = f"score cp {min(max(SCORES[scores](line), -_SCORE_LIMIT), _SCORE_LIMIT)}"
    return text + " wdl {} {} {}".format(*line.wdl.permille()) if show_wdl else text


def game_over_line(lines: tuple[Line, ...], *, mate: Callable[[int], str] = str) -> str:
    return f"info depth 0 {score(lines[0], mate=mate) if lines else 'score cp 0'}"


def stats_lines(info: ThinkingInfo) -> list[str]:
    """Statistics of all root edges as Lc0 prints them with VerboseMoveStats, the best last, then those of the root.

    N visits, P prior, WL win minus loss, D draw, M moves left (which our nets do not estimate), Q value, U exploration,
    S their sum, V the net's own value; all from the view of the side to move at the root. The number in brackets after
    the move, Lc0's policy index, is the edge's rank by prior here. Nibbler and others parse these lines by column.
    """
    if not info.move_stats:
        return []
    by_prior = sorted(info.move_stats, key=lambda s: -s.prior)
    place = {stats.move: i for i, stats in enumerate(by_prior)}
    worst_first = sorted(info.move_stats, key=lambda s: (s.visits, s.value + s.exploration))
    visited = [stats for stats in info.move_stats if stats.visits]
    return [*(_edge_line(stats, place[stats.move]) for stats in worst_first), _root_line(info, visited)]


def _edge_line(stats: MoveStats, place: int) -> str:
    known = f"(WL: {_fixed(stats.value, 8, 5)}) (D: {_fixed(stats.draw, 5, 3)})"
    parts = [
        _head(stats.move, place, stats.visits, stats.prior),
        known if stats.visits else "(WL:  -.-----) (D: -.---)",
        "(M:  -.-)",
        f"(Q: {_fixed(stats.value, 8, 5)})",
        f"(U: {_fixed(stats.exploration, 6, 5)})",
        f"(S: {_fixed(stats.value + stats.exploration, 8, 5)})",
        _net_value(stats.net_value),
    ]
    return " ".join([*parts, "(T)"] if stats.terminal else parts)


def _root_line(info: ThinkingInfo, visited: list[MoveStats]) -> str:
    visits = sum(stats.visits for stats in visited)
    mean = sum(stats.visits * stats.value for stats in visited) / max(visits, 1)
    draw = sum(stats.visits * stats.draw for stats in visited) / max(visits, 1)
    known = f"(WL: {_fixed(mean, 8, 5)}) (D: {_fixed(draw, 5, 3)})"
    prior = min(sum(stats.prior for stats in visited), 1.0)
    head = _head("node", len(info.move_stats), info.visits, prior)
    return f"{head} {known} (M:  -.-) (Q: {_fixed(mean, 8, 5)}) {_net_value(None)}"


def _head(name: str, number: int, visits: int, prior: float) -> str:
    percent = _fixed(100.0 * prior, 5, 1 if prior >= 0.99995 else 2)
    return f"info string {name:<5} ({number:<4}) N: {visits:>7} (+ 0) (P: {percent}%)"


def _net_value(value: float | None) -> str:
    return "(V:  -.----)" if value is None else f"(V: {_fixed(value, 7, 4)})"


def _fixed(number: float, width: int, digits: int) -> str:
    return f"{round(number, digits) + 0.0:{width}.{digits}f}"  # + 0.0: no minus before a zero
