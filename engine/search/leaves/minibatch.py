"""A batch of leaves on its way from selection to backup, of one tree that threads share or of many trees.

One step of any search: select leaves (:meth:`Minibatch.select`, ``lockstep.select_all``), :meth:`Minibatch.choose` what
the net must evaluate, :meth:`Minibatch.take` its answers, :meth:`Minibatch.expand` the trees. Only the first and the
last touch the trees, so only these two need their owner's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NetError
from ...games.base import Game, State
from ...games.capabilities import Tablebase
from ...games.leaves import make_leaves
from ...games.outcome import BY_TABLES, RUNNING
from ...kernels.jit import entry
from ...nets.evaluator import Evaluator, Output
from ...params import SearchParams
from ..tree.biases import Biases, make_biases
from ..tree.expansion import expand
from ..tree.nodes import EDGE, MAX_DEPTH, NODE, Ownerships, TreeArrays, copy_ownerships, make_ownerships
from ..tree.ownership import apply_rules, note_finished, note_outputs
from ..tree.puct import PARAMS, select
from ..tree.recycling import Kept
from .cache import PositionCache
from .policy import digest, keep_only, put_first
from .symmetry import turn


def _of_game(kernel: Callable[..., None], state_dtype: np.dtype[Any]) -> Callable[..., None]:
    """The entry point of a game's kernel; all leaves have the same types, and so have all states of a game."""
    return _entry_of_game(kernel, state_dtype) if hasattr(kernel, "compile") else kernel


@cache
def _entry_of_game(kernel: Callable[..., None], state_dtype: np.dtype[Any]) -> Callable[..., None]:
    return entry(kernel, np.zeros((1, 1), state_dtype), make_leaves(1, 1, 1), 0, 0, 0)


@cache
def _of_tree(corrects: bool = False) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The entry points of ``select`` and ``expand``; ``corrects``: the one that corrects the net's biases."""
    leaves = make_leaves(1, 1, 1)
    trees = TreeArrays(np.zeros((1, 1), NODE), np.zeros((1, 1), EDGE), np.zeros((1, 8), np.int64))
    biases = make_biases(1) if corrects else None
    return entry(select, trees, np.zeros(1, PARAMS), 0, leaves, 0, 0), entry(expand, trees, leaves, 0, True, biases)


@cache
def _of_answers() -> Callable[..., Any]:
    """The entry point of ``digest``."""
    answer = np.zeros((1, 1), np.float32)
    return entry(digest, make_leaves(1, 1, 1), 0, answer, answer, np.float32(1))


class Minibatch:
    """Up to B leaves and what is done with them. Not safe to use from two threads at once."""

    def __init__(
        self,
        game: Game,
        params: SearchParams,
        trees: TreeArrays,
        states: State,
        size: int,
        *,
        cache: PositionCache | None = None,
        salts: NDArray[np.uint64] | None = None,
        mate_plies: int = 0,
        ladders: bool = False,
        only: NDArray[np.uint16] | None = None,
        ownerships: Ownerships | None = None,
        tables: Tablebase | None = None,
        biases: Biases | None = None,
        by_rules: bool = False,
    ) -> None:
        """``game``: as its net sees it; states State[G, T]: the game of each tree up to its root; ``size``: B.

        salts u8[G]: evaluate each position under a symmetry that its key and its tree's salt decide, None = as it is;
        mate_plies: longest mates to look for at the leaves, 0 = none; ladders: whether to read them there; only u2[K]:
        the roots' moves, None = all; ownerships: of the nodes of tree 0, to be filled in; tables: where to look leaves
        up; biases: of tree 0; by_rules: values depend on komi and rules that the net does not see.
        """
        self.leaves = game.encoder.make_leaves(size, MAX_DEPTH)
        self.count = 0  # leaves in it
        self.missing = 0  # of these, how many the net evaluates
        self.failed = 0  # of these, how many the net gave no finite answer for
        self._game, self._trees, self.states, self._cache = game, trees, states, cache
        self._solver, self._temperature = params.solver, np.float32(params.policy_temperature)
        self._salts, self._only = salts, only
        self._describe = _of_game(game.encoder.describe, game.state_dtype)
        self.mate_plies = mate_plies if game.encoder.finds_mates else 0
        self._reading = max(self.mate_plies, int(ladders and game.encoder.advises))
        self._ownerships, self._tables, self._biases = ownerships, tables, biases
        self._of_leaves = (
            None if ownerships is None else make_ownerships(size, ownerships.owners.shape[1])
        )  # of the leaves
        self.leaves.rows["row"] = np.arange(size)  # where no cache says otherwise
        self._by_rules, self._utility = by_rules, params.score_utility
        self._roots = True  # whether the root of a tree may be among them
        self._ask: tuple[Evaluator, int, Callable[[int], Output]] | None = None  # evaluates what lies in our planes

    def select(self, params: NDArray[Any], root: int, requested: int, budget: int) -> tuple[int, int]:
        """Select leaves of tree 0: see ``puct.select``."""
        count, finished = _of_tree()[0](self._trees, params, root, self.leaves, requested, budget)
        self.count = count
        self._roots = count == 1  # while the root is a leaf, it is the only one
        return count, finished

    def ending_moves(self, moves: NDArray[np.uint16], history: int) -> NDArray[np.uint16]:
        """Those of a root's legal moves u2[K] after which the rules end the game; the leaves are used up."""
        leaves, result = self.leaves, [moves[:0]]
        for some in np.array_split(moves, range(len(leaves.rows), len(moves), len(leaves.rows))):
            leaves.paths[: len(some), 0] = some
            leaves.rows["length"][: len(some)] = 1
            self._describe(self.states, leaves, len(some), history, 0)
            result.append(some[leaves.rows["outcome"][: len(some)] != RUNNING])
        return np.concatenate(result)

    def choose(self, count: int, history: int) -> NDArray[np.uint8]:
        """Describe the ``count`` leaves that were selected; planes u1[K, C * H * W] of those to evaluate, K <= count.

        history: positions that the net's planes show.
        """
        self._choose(count, history)
        return self._turned()

    def _turned(self) -> NDArray[np.uint8]:
        """The planes to evaluate, as the net is to see them."""
        planes, symmetries = self.leaves.planes[: self.missing], self._game.symmetries
        if symmetries is None or self._salts is None or not self.missing:
            return planes
        return turn(symmetries, self.leaves, self.count, planes)

    def _choose(self, count: int, history: int) -> None:
        """As :meth:`choose`, but that nothing is turned; the planes to evaluate are the first ``missing``."""
        leaves = self.leaves
        self.count, self.failed = count, 0
        self._describe(self.states, leaves, count, history, self._reading)
        if self._tables is not None:
            self._look_up(self._tables, count)
        if self._salts is not None:
            leaves.rows["key"][:count] ^= self._salts[leaves.rows["slot"][:count]]
        if self._of_leaves is not None:
            rows = leaves.rows[:count]
            self._of_leaves.known[:count] = 0
            for b in np.flatnonzero((rows["outcome"] != RUNNING) & (rows["end"] < 0)):
                line = self.states[0, : rows["root"][b] + 1]
                note_finished(self._game, line, leaves.paths[b, : rows["length"][b]], int(b), self._of_leaves)
        self.missing = count if self._cache is None else self._cache.probe(leaves, count, self._of_leaves)

    def _look_up(self, tables: Tablebase, count: int) -> None:
        """Let tables say how leaves end."""
        rows, paths = self.leaves.rows, self.leaves.paths
        for b in np.flatnonzero((rows["outcome"][:count] == RUNNING) & (rows["length"][:count] > 0)):
            line, at = self.states[rows["slot"][b]], int(rows["root"][b])
            for move in paths[b, : rows["length"][b]].tolist():
                self._game.play_at(line, at, move)
                at += 1
            outcome = tables.outcome(line[at])
            if outcome is not None:
                rows["outcome"][b], rows["end"][b] = outcome, BY_TABLES

    def look_up(self) -> None:
        """Let tables tell how the one leaf ends."""
        if self._tables is not None:
            self._look_up(self._tables, 1)

    def arrange_root(self) -> None:
        """Put the mates of the root, which is the one leaf, first and leave only the moves to search."""
        self.count, self._roots = 1, True
        self._arrange_roots()

    def take(
        self,
        logits: NDArray[np.float32] | None = None,
        values: NDArray[np.float32] | None = None,
        ownership: NDArray[np.float32] | None = None,
        score: NDArray[np.float32] | None = None,
    ) -> None:
        """The net's logits f4[K, A] and values f4[K, 3 or 1] for the planes that :meth:`choose` gave; None where K = 0.

        ownership f4[K, H, W] and score f4[K]: where ownership is kept and the net has these outputs. Rows that are not
        finite are counted in ``failed``.
        """
        leaves, count = self.leaves, self.count
        if logits is not None:
            self._digest(np.ascontiguousarray(logits, np.float32), np.ascontiguousarray(values, np.float32))
            if self._of_leaves is not None:
                evaluated = np.flatnonzero(leaves.rows["row"][:count] >= 0)
                note_outputs(
                    self._game, leaves, evaluated, (ownership, score), self._salts is not None, self._of_leaves
                )
            self._keep()
        else:
            self._apply_rules()
            self._arrange_roots()

    def _keep(self) -> None:
        """Give the cache the net's outputs, then arrange the roots."""
        if self._cache is not None:
            self._cache.store(self.leaves, self.count, self._of_leaves)
        self._apply_rules()
        if self._roots:
            self._arrange_roots()

    def _apply_rules(self) -> None:
        """Count in what the net does not see; what the cache keeps is without it."""
        if self._of_leaves is not None or self._by_rules:
            root = self.states[0, self.leaves.rows["root"][0]]
            apply_rules(
                self._game,
                root,
                self.leaves,
                self.count,
                self._of_leaves,
                values=self._by_rules,
                utility=self._utility,
            )

    def _digest(self, logits: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Turn a net's answers, which lie in rows one after another, into priors and values."""
        self.failed = _of_answers()(self.leaves, self.count, logits, values, self._temperature)

    def _arrange_roots(self) -> None:
        """Put the roots' mates first and leave only the moves to search."""
        leaves, count = self.leaves, self.count
        if not self._roots or (not self.mate_plies and self._only is None):
            return
        for b in np.flatnonzero(leaves.rows["length"][:count] == 0):
            if self.mate_plies:
                legal = max(int(leaves.rows["count"][b]), 0)
                put_first(int(leaves.rows["begin"][b]), leaves.moves[b, :legal], leaves.priors[b, :legal])
            if self._only is not None:
                keep_only(self._only, leaves, b)

    def evaluate(self, count: int, evaluator: Evaluator, slot: int = 0) -> NetError | None:
        """Choose, ask ``evaluator`` and take its answers. Blocks for one evaluation.

        Returns what is wrong with the net; the leaves that failed are then left as they were by :meth:`expand`.
        """
        self._choose(count, evaluator.history)
        plain = (
            self._salts is None and self._of_leaves is None
        )  # the net sees our planes, and only priors and values count
        try:
            if not self.missing:
                self.take()
            elif plain:
                self._digest(*self._bound(evaluator, slot)(self.missing))
                self._keep()
            else:
                ask = evaluator.evaluate if self._of_leaves is None else evaluator.evaluate_all
                self.take(*ask(self._turned(), slot))
        except NetError as error:
            self.failed = count
            self.leaves.rows["count"][:count] = -1
            self.leaves.rows["outcome"][:count] = RUNNING
            return error
        return self.fault if self.failed else None

    def _bound(self, evaluator: Evaluator, slot: int) -> Callable[[int], Output]:
        """What evaluates the first rows of our planes."""
        known = self._ask
        if known is None or known[0] is not evaluator or known[1] != slot:
            known = self._ask = evaluator, slot, evaluator.bind(self.leaves.planes, slot)
        return known[2]

    @property
    def fault(self) -> NetError | None:
        """What was wrong with the answers that were taken last."""
        if not self.failed:
            return None
        return NetError(
            f"the net gives NaN or infinity in {self.failed} of {self.count} positions; its weights are damaged"
        )

    def follow(self, kept: Kept) -> None:
        """Follow the nodes of tree 0 to their places; those of the leaves are still there."""
        rows = self.leaves.rows[: self.count]
        rows["node"], rows["top"] = kept.places(rows["node"]), kept.places(rows["top"])

    def expand(self) -> int:
        """Expand the leaves in their trees and back their values up; returns how many simulations that makes.

        A leaf that had its value already, and now gets its edges, makes none.
        """
        made = _of_tree(self._biases is not None)[1](self._trees, self.leaves, self.count, self._solver, self._biases)
        if self._ownerships is not None and self._of_leaves is not None:
            rows = self.leaves.rows[: self.count]
            known = np.flatnonzero((self._of_leaves.known[: self.count] > 0) & (rows["count"] >= 0))
            copy_ownerships(self._of_leaves, known, self._ownerships, rows["node"][known])
        return int(made)
