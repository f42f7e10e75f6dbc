"""The variations of a record: what the page shows of them, and the record again with what the page has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...engine.errors import DataError, PositionError
from ...engine.records.formats import MAX_PLIES
from ...engine.records.record import ILLEGAL, Node, Record
from .scoresheet import beginning

if TYPE_CHECKING:
    from ...engine.games.base import Game, State

_COMMAND = re.compile(r"\[%[^\]]*\]")  # for programs, in a comment of PGN: clocks, evaluations, arrows

Branch = tuple[int, str]  # a move of a tree: number of the move before it, from 1 on, 0 the root; and the move


@dataclass(frozen=True, slots=True)
class Outline:
    """What the page shows of a record's tree."""

    branches: list[Branch]  # each move before those that follow it, the main line first
    comments: list[str]  # before the first move, and of each branch
    hidden: int  # variations that are not among the branches, such as those with a null move


def outline(family: str, record: Record, most: int) -> Outline:
    """A record's tree from its last start on, with at most so many moves: those that the rules allow. Errors: AzError.

    ``family``: a game's name, without the size of a board.
    """
    main = record.main_line()
    game, line = beginning(family, record.root)
    states = np.empty(MAX_PLIES + 1, game.state_dtype)  # of the line that leads to a node
    states[0] = line[-1]
    branches, comments, shown = list[Branch](), [list[str]()], {*map(id, main)}
    waiting = [(0, 0, main[0])]
    while waiting:
        parent, ply, node = waiting.pop()
        if node is not main[0] and (node.sets_up or ILLEGAL in node.more):
            continue
        if node.move:
            if len(branches) >= most or not _play(game, states, ply, node.move):
                continue
            ply += 1
            branches.append((parent, node.move))
            comments.append([])
            parent = len(branches)
        shown.add(id(node))
        comments[parent] += filter(None, (_COMMAND.sub("", text).strip() for text in (node.before, node.comment)))
        waiting += [(parent, ply, child) for child in reversed(node.children)]
    hidden = 0
    for node in record.tree.descendants():
        begins = node.children if id(node) in shown else node.children[1:]  # of variations, or where one is cut off
        hidden += sum(id(child) not in shown for child in begins)
    return Outline(branches, ["\n".join(texts) for texts in comments], hidden)


def _play(game: Game, states: State, ply: int, text: str) -> bool:
    """Play a move after so many moves of a line, and whether the rules allow it."""
    if ply == MAX_PLIES:
        return False
    try:
        move = game.parse_move(states[: ply + 1], text)
    except PositionError:
        return False
    game.play_at(states, ply, move)
    return True


def read_tree(texts: Sequence[str]) -> list[Branch]:
    """A tree as the page sends it: "number move". Errors: DataError."""
    results = list[Branch]()
    for text in texts:
        number, _, move = text.partition(" ")
        if not (number.isdecimal() and len(number) < 6 and int(number) <= len(results) and move):
            raise DataError("each move of a tree follows one before it")
        results.append((int(number), move))
    return results


def merged(record: Record, root: str | None, moves: Sequence[str], tree: Sequence[Branch] = ()) -> Record:
    """A record whose main line has these moves, and which has those of a tree as variations; nothing in it is lost."""
    if record.root != root:
        record = Record.of_line((), root, names=record.names, headers=record.headers)
    node = start = record.main_line()[0]
    for move in moves:
        node = _child(node, move, first=True)
    nodes = [start]
    for parent, move in tree:
        nodes.append(_child(nodes[parent], move))
    return record


def _child(node: Node, move: str, *, first: bool = False) -> Node:
    """The child with a move, a new one if need be; remarks may lie between. first: it becomes the main line."""
    while len(node.children) == 1 and not node.children[0].move:
        node = node.children[0]
    child = next((each for each in node.children if each.move == move), None)
    if child is None:
        child = Node(move)
        node.children.append(child)
    if first:
        node.children.remove(child)
        node.children.insert(0, child)
    return child
