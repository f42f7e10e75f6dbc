"""The tree and the position cache of an engine, which its searches use one after another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import OptionError
from ..games.base import Game, State
from ..games.outcome import RUNNING
from ..os.system import memory_bytes
from .leaves.cache import PositionCache
from .tree.nodes import BELOW, follow
from .tree.tree import Tree

_CACHE_SHARE = 1 / 2  # of the memory that goes to the position cache, with nets whose evaluations it keeps


class SearchMemory:
    """None of both before the first :meth:`fit`."""

    def __init__(self) -> None:
        self.tree: Tree | None = None
        self.cache: PositionCache | None = None
        self._size = (0, 0.0, False)  # bytes, moves a position, and whether there is a cache
        self._base: State | None = None  # the game up to the tree's base ...
        self._root_line: State | None = None  # ... and to its root, which a full tree makes its base
        self._restricted = False  # the tree's root lacks moves (searchmoves)
        self._kind: tuple[bool, ...] = ()  # of its root, see seat_root

    def fit(self, game: Game, megabytes: int, *, cached: bool) -> None:
        """Have a tree of so many MiB, or a tree and a cache. Errors: OptionError for more than the machine has."""
        memory, branching = megabytes << 20, game.branching
        if self.tree is not None and self._size == (memory, branching, cached):
            return
        _refuse_too_much(megabytes)
        self.tree = self.cache = None  # free the old ones' memory before allocating the new one's
        points = math.prod(game.planes[1:]) if game.territory is not None else 0
        of_cache = int(memory * _CACHE_SHARE) if cached else 0
        self.tree = Tree(memory - of_cache, points)
        self.cache = PositionCache(of_cache, branching, points) if cached else None
        self._size, self._base = (memory, branching, cached), None

    def new_tree(self) -> None:
        """Begin the next search from nothing but the position cache."""
        self._base = None

    def forget(self) -> None:
        """Begin the next search from nothing."""
        self._base = None
        if self.cache is not None:
            self.cache.clear()

    def seat_root(self, line: State, moves: Sequence[int], *, restricted: bool, kind: tuple[bool, ...]) -> None:
        """Put the tree's root on the line's last position, keeping what the tree holds below it.

        restricted: whether the root lacks moves; kind: whether the net sees no move before it, and whether passes leave
        open what is dead. A tree without moves, or for another kind of root, begins anew.
        """
        tree = self.tree
        assert tree is not None
        if self._base is not None and tree.root == 0:
            self._base = self._root_line
        base, before, self._root_line = self._base, self._root_line, line.copy()
        fresh = self._restricted or restricted or self._kind != kind
        if tree.softened and not (before is not None and _begins(line, before)):
            fresh = True  # above the root its priors would count
        self._restricted, self._kind = restricted, kind
        node = -1
        if base is not None and not fresh and _begins(line, base):
            node = 0
            for move in moves[len(base) - 1 :]:
                node = tree.child(node, move)
                if node < 0:
                    break
        if node < 0 or tree.nodes[node]["terminal"]:  # an unclaimed draw: the game goes on
            tree.clear()
            self._base = self._root_line
            return
        node = follow(tree.nodes, node)
        tree.root = node
        root = tree.nodes[node]
        if root["first_edge"] < 0 and root["bound"] != RUNNING:  # a mate at a leaf, or tables: moves are needed
            root["bound"] = RUNNING
            root["marks"] |= BELOW  # its visits, which may be many, went to none of them


def _begins(line: State, start: State) -> bool:
    """Whether a game begins with another."""
    return len(start) <= len(line) and np.array_equal(start, line[: len(start)])


def _refuse_too_much(megabytes: int) -> None:
    """Memory is committed as the tree grows: more than the machine has would kill the process in mid-game."""
    present = memory_bytes() >> 20
    if megabytes > 0.8 * present:
        most = present * 4 // 5
        raise OptionError(f"Hash {megabytes} MB is too much for this machine's {present} MB; set at most {most}")
