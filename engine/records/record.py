"""A recorded game: a tree of moves with what people wrote about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

Reason = Literal[
    "",  # unknown
    "resignation",
    "mate",
    "no mate",  # a problem without a solution
    "stalemate",
    "time",
    "illegal move",
    "pawn drop mate",  # an illegal move of shogi
    "repetition",
    "perpetual check",  # a repetition that the checking side loses
    "declaration",  # entering king
    "impasse",  # both kings have entered
    "draw",  # agreed
    "maximum moves",
    "forfeit",
    "disconnection",
    "no game",
    "sealed move",
    "takeback",
    "error",
    "interrupted",
]
Ending = tuple[Reason, int | None]  # why, and the points of the side to move: 1, 0, -1, None = unknown
LINE = "line"  # in Node.more: the number of the line of a list that a position stands on
SET_UP = frozenset({"AB", "AW", "AE", "PL"})  # in Node.more, by SGF's names: what changes the position
ILLEGAL = "illegal"  # in Node.more: the rules refuse the move, and the game ended with it


@dataclass(slots=True, eq=False)
class Node:
    """A move, a position that is set up, the end of a game, or a remark between them; its first child goes on."""

    move: str = ""  # as the game's protocol writes it; "": none
    comment: str = ""  # after the move
    before: str = ""  # comment before it, at the beginning of a variation
    seconds: float | None = None  # spent on the move
    nags: tuple[int, ...] = ()  # PGN's numbers of annotations
    position: str | None = None  # that is set up here, in the game's own notation
    end: Ending | None = None  # the game, or the variation, ends here
    more: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what a format has beyond, by its own names
    children: list[Node] = field(default_factory=list, repr=False)

    def add(self, node: Node) -> Node:
        """Append a child; the child."""
        self.children.append(node)
        return node

    def descendants(self) -> Iterator[Node]:
        """This node and all below it; a node comes before its children, the main line first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def line(self) -> Iterator[Node]:
        """This node and the main line below it."""
        node = self
        yield node
        while node.children:
            node = node.children[0]
            yield node

    @property
    def sets_up(self) -> bool:
        """Whether another position begins here; in variations only the format's own words may say so."""
        return self.position is not None or not SET_UP.isdisjoint(self.more)

    @property
    def bare(self) -> bool:
        """Whether the node holds nothing beyond the move or the end."""
        return not (self.comment or self.before or self.nags or self.more or self.children or self.seconds is not None)

    def contents(self) -> tuple[object, ...]:
        """All that the node says, and the number of its children."""
        ours = (self.move, self.comment, self.before, self.seconds, self.nags, self.position, self.end, self.more)
        return (*ours, len(self.children))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return all(a.contents() == b.contents() for a, b in zip(self.descendants(), other.descendants(), strict=False))

    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True)
class Record:
    """One game with its variations."""

    tree: Node = field(default_factory=Node)  # before the first move; its position is the start, None the usual one
    result: int | None = None  # 1 the first player won, 0 drawn, -1 the second player won, None not known
    reason: Reason = ""
    margin: float | None = None  # points by which it was won, in games that count points
    names: tuple[str, str] = ("", "")  # of the first and the second player
    headers: dict[str, str] = field(default_factory=dict)  # by PGN's names: Event, Site, Date, TimeControl ...
    fault: str = ""  # one sentence: why some of the text was not read
    note: str = field(default="", compare=False)  # one sentence: how the text was read, where that is a guess
    assumed: str = field(default="", compare=False)  # one sentence: what positions are judged by for want of a word
    whole_in: str = field(default="", compare=False)  # name of the format that loses nothing of it for the fault
    source: str = field(default="", compare=False)  # name of the format that it was read from

    @classmethod
    def of_line(
        cls,
        moves: Sequence[str] = (),
        root: str | None = None,
        result: int | None = None,
        reason: Reason = "",
        names: tuple[str, str] = ("", ""),
        times: Sequence[float | None] = (),
        comments: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        fault: str = "",
        margin: float | None = None,
    ) -> Record:
        """A game without variations. times: seconds of each move, comments: of the start and each move, or ()."""
        tree = node = Node(position=root, comment=comments[0] if comments else "")
        for i, move in enumerate(moves):
            text = comments[i + 1] if comments else ""
            node = node.add(Node(move, text, seconds=times[i] if times else None))
        return cls(tree, result, reason, margin, names, dict(headers or {}), fault)

    def copy(self) -> Record:
        """The same with a tree of its own."""
        tree = _copy_of(self.tree)
        waiting = [(self.tree, tree)]
        while waiting:
            old, new = waiting.pop()
            new.children = [_copy_of(child) for child in old.children]
            waiting += zip(old.children, new.children, strict=True)
        return replace(self, tree=tree, headers=dict(self.headers))

    def main_line(self) -> list[Node]:
        """The nodes of the main line, from the last position that is set up in it."""
        nodes = list(self.tree.line())
        begin = max(i for i, node in enumerate(nodes) if node.position is not None or i == 0)
        return nodes[begin:]

    def moved(self) -> list[Node]:
        """The nodes of the main line with the moves that were played, up to one that the rules refuse."""
        right = takewhile(lambda node: ILLEGAL not in node.more, self.main_line())
        return [node for node in right if node.move]

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves of the main line, as the game's protocol writes them."""
        return tuple(node.move for node in self.moved())

    @property
    def root(self) -> str | None:
        """The position that they begin from, in the game's own notation; None = its usual start."""
        return self.main_line()[0].position

    @property
    def times(self) -> tuple[float | None, ...]:
        """Seconds spent on each move, or ()."""
        times = tuple(node.seconds for node in self.moved())
        return times if any(t is not None for t in times) else ()

    @property
    def comments(self) -> tuple[str, ...]:
        """Comments before the first move and after each one, len(moves) + 1, or ()."""
        texts: list[list[str]] = [[]]
        moved = {id(node) for node in self.moved()}
        for node in self.main_line():
            if id(node) in moved:
                texts.append([])
            texts[-1] += filter(None, (node.before, node.comment))
        return tuple(map("\n".join, texts)) if any(texts) else ()


def _copy_of(node: Node) -> Node:
    """The node alone."""
    return replace(node, more=dict(node.more), children=[])
