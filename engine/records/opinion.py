"""What a search says of a recorded position, and how formats write it where programs that draw graphs look for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .record import Node

_SIGN = "az-engine: "  # tells our remarks from what people write
Kind = Literal["", "blunder", "mistake", "inaccuracy", "good"]
_MOVE = r"(?:[▲△]同\s\S+|\S*\d\S*|O-O(?:-O)?[+#]?|pass)"  # as people write them
_REMARK = re.compile(
    rf"(?:\s\|)?\s?{_SIGN.strip()}\s(?P<kind>Blunder|Mistake|Inaccuracy), gives away [0-9]+ %"
    rf"(?:;\sbetter(?:\s{_MOVE})+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a search says of the position after a move; its values are the first player's."""

    position: str  # in the game's own notation
    score: float  # expected points, 0 to 1
    cp: int  # the same in centipawns
    mate: int | None = None  # full moves to mate, negative when the second player mates
    lead: float | None = None  # points ahead, in games that count points
    depth: int = 0
    nodes: int = 0
    line: tuple[str, ...] = ()  # what it would play from there, as the game's protocol writes it
    over: bool = False  # the game ends there: there was nothing to search
    kind: Kind = ""  # of the move
    remark: str = ""  # about the move, for people


def add_comment(node: Node, text: str, between: str = "\n") -> None:
    """Add to what people have written, unless it stands there."""
    if text and text not in node.comment.split("\n"):
        node.comment = between.join(filter(None, (node.comment, text)))


def add_remark(node: Node, opinion: Opinion, between: str = "\n") -> None:
    """Add the remark under our name, unless an earlier review has left one."""
    if opinion.remark and _SIGN not in node.comment:
        add_comment(node, f"{_SIGN}{opinion.remark}", between)


def take_remark(node: Node) -> Kind:
    """Take off the remark that an earlier review has left; the kind of its mistake, "" where there is none."""
    match = _REMARK.search(node.comment)
    if match is None:
        return ""
    node.comment = (node.comment[: match.start()] + node.comment[match.end() :]).strip()
    kinds: dict[str, Kind] = {"blunder": "blunder", "mistake": "mistake", "inaccuracy": "inaccuracy"}
    return kinds[match["kind"].lower()]


def take_lines(node: Node, pattern: str) -> bool:
    """Take off the lines of a comment that begin so; whether there were any."""
    lines = node.comment.split("\n")
    left = [line for line in lines if not re.match(pattern, line)]
    node.comment = "\n".join(left)
    return len(left) < len(lines)


def forget(node: Node) -> bool:
    """Take off what reviews have written; whether there was anything."""
    return bool(take_remark(node))


def opine(node: Node, opinion: Opinion) -> None:
    """Write an opinion where a format has no place for values."""
    add_remark(node, opinion)
