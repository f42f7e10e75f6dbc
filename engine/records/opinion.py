"""What a search says of a recorded position, and how formats write it where programs that draw graphs look for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .record import Node

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
    """Add to what people have written."""
    if text:
        node.comment = between.join(filter(None, (node.comment, text)))


def opine(node: Node, opinion: Opinion) -> None:
    """Write an opinion where a format has no place for values."""
    add_comment(node, opinion.remark)
