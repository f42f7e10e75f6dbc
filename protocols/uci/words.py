"""The words after ``position`` and ``go`` of UCI and USI."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...engine.limits import Limits
from ..lines import one_line

_MOVES = re.compile(r"(^|(?<=\s))moves(\s|$)")
_WHOLE = re.compile(r"([+-]?)([0-9]+)")
_LARGEST = 2**63 - 1


def read_position(words: str, notation: str) -> tuple[str | None, str] | None:
    """(root, moves) after ``position``; root None for the start position. None where it is neither form.

    notation: the word before a root, "fen" or "sfen". The moves stay one text.
    """
    moves = _MOVES.search(words)
    root, rest = (words, "") if moves is None else (words[: moves.start()], words[moves.end() :])
    kind, *text = root.split(maxsplit=1) or [""]
    if kind == "startpos" and not text:
        return None, rest
    return (" ".join(text[0].split()), rest) if kind == notation and text else None


@dataclass(frozen=True, slots=True)
class GoWords:
    """The words after ``go``: the keywords seen, numbers by keyword, and complaints about wrong numbers."""

    seen: frozenset[str]
    numbers: dict[str, int]
    searchmoves: tuple[str, ...]
    complaints: tuple[str, ...]

    def limits(self, first: str, second: str) -> Limits:
        """The limits that both protocols know; ``first`` and ``second`` are the players' letters, the opener first."""
        numbers = self.numbers
        time = numbers.get(f"{first}time"), numbers.get(f"{second}time")
        if time == (None, None) and {f"{first}inc", f"{second}inc", "byoyomi"} & numbers.keys():
            time = 0, 0  # an increment alone: an empty clock
        return Limits(
            nodes=numbers.get("nodes"),
            depth=numbers.get("depth"),
            movetime=numbers.get("movetime"),
            rtime=numbers.get("rtime"),
            time=time,
            increment=(numbers.get(f"{first}inc", 0), numbers.get(f"{second}inc", 0)),
            byoyomi=numbers.get("byoyomi", 0),
            infinite="infinite" in self.seen,
            ponder="ponder" in self.seen,
            searchmoves=self.searchmoves,
        )


def read_go(words: Sequence[str], numbers: Mapping[str, int | None], optional: Collection[str] = ()) -> GoWords:
    """Read the words after ``go``, in any order; skip unknown words, leave out unreadable numbers.

    ``numbers``: keywords that a whole number follows, and the least one that means something, if there is one: what is
    less (``nodes 0``, ``depth -1``) is complained of and becomes that, so that no search is endless for it.
    ``optional`` ones may stand without a number.
    """
    keywords = {*numbers, "infinite", "ponder", "searchmoves"}
    seen: set[str] = set()
    results: dict[str, int] = {}
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
                least = numbers[word]
                results[word] = number if least is None else max(number, least)
                if results[word] != number:
                    complaints.append(f"go: {word} {one_line(text, 40)} is less than {least}; it counts as {least}")
            elif text or word not in optional:
                complaints.append(f"go: {word} needs a whole number, not '{one_line(text, 40)}'; left out")
    return GoWords(frozenset(seen), results, tuple(moves), tuple(complaints))


CLOCKS: dict[str, int | None] = {"wtime": None, "btime": None, "winc": 0, "binc": 0}  # that have run out: negative
BOUNDS: dict[str, int | None] = {"depth": 1, "nodes": 1, "movetime": 0}
_UCI_NUMBERS = {**CLOCKS, **BOUNDS, "movestogo": 0, "mate": None, "perft": None}


def read_uci_go(words: Sequence[str]) -> tuple[GoWords, Limits]:
    """The words after UCI's ``go``, and the limits they mean."""
    go = read_go(words, _UCI_NUMBERS)
    limits = go.limits("w", "b")
    mate = go.numbers.get("mate")
    if mate is not None and mate < 1:  # no mate is shorter than one move: as little search as possible
        go = replace(go, complaints=(*go.complaints, f"go: mate {mate} is less than 1; one node is searched"))
        limits, mate = replace(limits, nodes=1), None
    return go, replace(limits, mate=mate, movestogo=go.numbers.get("movestogo") or None)


def _whole(text: str) -> int | None:
    match = _WHOLE.fullmatch(text)
    if match is None:
        return None
    size = int(match[2]) if len(match[2]) < 20 else _LARGEST
    return min(size, _LARGEST) * (-1 if match[1] == "-" else 1)
