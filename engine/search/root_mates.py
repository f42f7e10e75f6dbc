"""Forced mates beside the search of a tree: the game's mate search at the root and after the move that is preferred.

The tree's own search follows the net, which sees few of the long mates that consist of checks. The mate search gets so
many nodes for each simulation that it costs little, and always the same number at the same simulation: one worker
still gives the same tree every time.

Mates that begin with a quiet move are looked for once: a root move after which every reply allows a short mate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..games.base import Game, State
from ..games.capabilities import MateSearch
from ..games.outcome import LOSS, RUNNING, WIN
from .mate import short_mate
from .tree.tree import Tree

_FIRST_NODES = 500  # of the mate search, and ...
_NODES = 5  # ... more for each simulation
_SLICE = 500  # nodes at least, once it is called
_TABLE = 4 << 20  # bytes of the mate search's table; memory is committed as it is used
_QUIET_AFTER = 200  # simulations before mates with a quiet first move are looked for
_ALTERNATIVES = 4  # preferred moves after which the opponent's mates are looked for
_SHORTEN_NODES = 100_000  # to find a shorter mate than the one that is known
_SHORTEN_SLICE = 2_000


class Proof(NamedTuple):
    """A root move whose outcome is forced."""

    outcome: int  # code after the move, for the side to move there
    moves: list[int]  # the whole line, the root move first


class RootMates:
    """What is left to look at from one root. Not safe to use from two threads at once."""

    def __init__(self, game: Game, line: State, plies: int) -> None:
        """``line``: the game up to the root, as far as the rules need it; plies: longest of the short mates."""
        self._game, self._line, self._plies = game, line, plies
        self._search: MateSearch | None = None
        self._before: list[int] = []  # moves from the root to where the mate search looks
        self._done: set[int | None] = set()  # moves after which there is nothing left to find; None: the root itself
        self._nodes = 0  # of mate searches that are over
        self._quiet = False  # quiet moves have been tried
        self._due: float = 0 if game.mate_search is not None else math.inf  # simulations until the mate search goes on
        self._most = 0  # nodes of mate searches in all, once a mate is to be shortened
        self._longest = 0  # plies of the mate that is looked for to shorten another
        self.shortest = game.mate_search is None  # no shorter mate is to be found than the one that is known

    def due(self, simulations: int) -> bool:
        """Whether :meth:`look` has something to look at after so many simulations."""
        return simulations >= self._due or (not self._quiet and simulations >= _QUIET_AFTER)

    def look(self, tree: Tree, simulations: int) -> Proof | None:
        """Go on after so many simulations of ``tree``, whose lock is held; blocks for a millisecond or less."""
        if not self._quiet and simulations >= _QUIET_AFTER:
            self._quiet = True
            moves = self._quiet_mate(tree)
            if moves:
                return Proof(LOSS, moves)
        if self._game.mate_search is None:
            return None
        most = _FIRST_NODES + _NODES * simulations
        while most - self._spent >= _SLICE:
            if self._search is None and not self._begin(tree):
                self._due = simulations + min(simulations, _SLICE // _NODES) + 1  # another move may be preferred then
                return None
            search = self._search
            assert search is not None
            verdict = search.advance(_SLICE)
            if verdict is None:
                continue
            self._search = None
            self._nodes += search.nodes
            if verdict == "mate" and self._sound(search.moves):
                moves = [*self._before, *search.moves]
                return Proof(WIN if self._before else LOSS, moves)
        self._due = -((_FIRST_NODES - _SLICE - self._spent) // _NODES)  # rounded up
        return None

    @property
    def _spent(self) -> int:
        """Nodes of the mate searches so far."""
        return self._nodes + (self._search.nodes if self._search is not None else 0)

    def shorten(self, tree: Tree) -> Proof | None:
        """Look on for a mate from the root that is shorter than the proven one; a slice, with the tree's lock held."""
        longest = int(tree.nodes[tree.root]["plies"]) - 2
        if not self._longest:
            self._most = self._nodes + _SHORTEN_NODES
        refused = self._longest == longest and self._search is None  # the tree did not take the mate
        if self._longest != longest:
            self._search, self._longest = None, longest
        if longest < 1 or self._nodes >= self._most or refused:
            self.shortest = True
            return None
        assert self._game.mate_search is not None
        search = self._search = self._search or self._game.mate_search(self._line, _TABLE, longest)
        before = search.nodes
        verdict = search.advance(_SHORTEN_SLICE)
        self._nodes += search.nodes - before
        if verdict == "mate" and len(search.moves) <= longest and self._sound(search.moves):
            self._search = None
            return Proof(LOSS, search.moves)
        self.shortest = verdict is not None
        return None

    def _begin(self, tree: Tree) -> bool:
        """Choose where to look next: the root, then after its most visited moves; False when nothing is left."""
        if None not in self._done:
            self._done.add(None)
            self._before, line = [], self._line
        else:
            if len(self._done) > _ALTERNATIVES:
                return False
            edges, children = tree.children_of(tree.root)
            open_ = np.where(children["bound"] == RUNNING, children["n"], 0)
            if not len(children) or not open_.max():
                return False
            move = int(edges["move"][int(open_.argmax())])
            if move in self._done:
                return False
            self._done.add(move)
            self._before, line = [move], self._game.play(self._line, move)
        assert self._game.mate_search is not None
        self._search = self._game.mate_search(line, _TABLE)
        return True

    def _sound(self, moves: list[int]) -> bool:
        """Whether the mate comes before any other end of the game by the rules, such as a draw by its length."""
        game, line = self._game, self._line
        for move in self._before:
            line = game.play(line, move)
        for move in moves:
            if game.outcome(line) != RUNNING:
                return False
            line = game.play(line, move)
        return game.outcome(line) == LOSS

    def _quiet_mate(self, tree: Tree) -> list[int]:
        """The line of a mate after a root move that every reply allows; empty without one."""
        game, encoder = self._game, self._game.encoder
        plies = self._plies
        firsts = tree.children_of(tree.root)[0]["move"]
        if not encoder.finds_mates or not len(firsts):
            return []
        states = np.zeros((1, len(self._line) + 2 + plies + 1), game.state_dtype)
        states[0, : len(self._line)] = self._line
        leaves = encoder.make_leaves(len(firsts), 2)
        leaves.rows["root"] = len(self._line) - 1
        leaves.paths[:, 0], leaves.rows["length"] = firsts, 1
        encoder.describe(states, leaves, len(firsts), 1, 0)
        replies = [leaves.moves[b, : leaves.rows["count"][b]].copy() for b in range(len(firsts))]
        alive = np.flatnonzero((leaves.rows["outcome"] == RUNNING) & (leaves.rows["count"] > 0))
        leaves.rows["length"] = 2
        longest = np.zeros(len(firsts), np.int64)
        for k in range(encoder.max_moves):
            trying = [int(b) for b in alive if len(replies[b]) > k]
            if not trying:
                break
            leaves.paths[: len(trying), 0] = firsts[trying]
            leaves.paths[: len(trying), 1] = [replies[b][k] for b in trying]
            encoder.describe(states, leaves, len(trying), 1, plies)
            rows = leaves.rows[: len(trying)]
            mated = (rows["outcome"] == WIN) & (rows["end"] > 0)
            longest[trying] = np.maximum(longest[trying], rows["end"])
            alive = np.array([b for b in alive if len(replies[b]) <= k or mated[trying.index(int(b))]], np.int64)
        if not len(alive):
            return []
        quickest = int(alive[longest[alive].argmin()])
        first = int(firsts[quickest])
        rest = short_mate(game, self._line, [first], int(longest[quickest]) + 1)
        return [first, *rest] if len(rest) == longest[quickest] + 1 else []
