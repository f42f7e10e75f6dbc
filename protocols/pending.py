"""One ``go`` of UCI or USI: its words, the limits they mean, and what is known of it until its answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from ..engine.clock import Stopwatch
from ..engine.info import BestMove, Line, ThinkingInfo, Wdl
from ..engine.limits import Limits
from .lines import one_line

_WHOLE = re.compile(r"([+-]?)([0-9]+)")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GoWords:
    """The words after ``go``: keywords that were there, numbers by keyword, and what could not be read."""

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
            time=time,
            increment=(numbers.get(f"{first}inc", 0), numbers.get(f"{second}inc", 0)),
            byoyomi=max(numbers.get("byoyomi", 0), 0),
            infinite="infinite" in self.seen,
            ponder="ponder" in self.seen,
            searchmoves=self.searchmoves,
        )


def read_go(words: Sequence[str], numbers: Collection[str], optional: Collection[str] = ()) -> GoWords:
    """Read the words after ``go``, in any order; unknown ones are skipped, unreadable numbers left out.

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


def _whole(text: str) -> int | None:
    """A whole number, held within 64 bits."""
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
    game_over: bool = False  # it belongs to a game that is over
    restart: bool = False  # its search was stopped to begin again with other limits
    ponder_hit: bool = False
    latest: ThinkingInfo | None = None  # the search's last report
    printed: ThinkingInfo | None = None
    report_posted: bool = False  # an event that prints the latest report is under way
    next_report: float = 0.0  # on ``waited``: no report before

    @property
    def endless(self) -> bool:
        """Whether nothing but ``stop`` will end it."""
        return not self.limits.bounded or (self.limits.ponder and not self.ponder_hit)

    def limits_left(self) -> Limits:
        """The limits less what the clock has lost while the ``go`` waited (for a net to load, for another search)."""
        limits = replace(self.limits, ponder=self.limits.ponder and not self.ponder_hit)
        waited = self.waited.milliseconds
        if limits.ponder or waited < 2:
            return limits
        first, second = (t if t is None else t - waited for t in limits.time)
        # What the clock could not pay is gone from the byoyomi.
        beyond = max((min(-t, waited) for t in (first, second) if t is not None and t < 0), default=0)
        movetime = limits.movetime if limits.movetime is None else limits.movetime - waited
        return replace(limits, time=(first, second), byoyomi=max(limits.byoyomi - beyond, 0), movetime=movetime)

    def final_report(self, best: BestMove, move: str) -> ThinkingInfo:
        """The report before the answer: the last one, brought up to what the search ended with."""
        last = self.latest
        if last is None:
            # Clients insist on a score before every move; a search that evaluated nothing has said why in its messages.
            lines = best.lines or (Line(0, None, Wdl(0.0, 1.0, 0.0), 0, 0.0, (move,)),)
            return ThinkingInfo(1, 1, best.nodes, 1000 * best.nodes // max(best.time_ms, 1), best.time_ms, 0, lines)
        if not best.lines or best.lines == last.lines[: len(best.lines)]:
            return last
        return replace(
            last, lines=best.lines, nodes=max(best.nodes, last.nodes), time_ms=max(best.time_ms, last.time_ms)
        )
