"""What a search says of a recorded position, and how formats write it where programs that draw graphs look for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .record import Node

_SIGN = "az-engine: "  # tells our remarks from what people write
Kind = Literal["", "blunder", "mistake", "inaccuracy", "good"]


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


def opine(node: Node, opinion: Opinion) -> None:
    """Write an opinion where a format has no place for values."""
    add_remark(node, opinion)
