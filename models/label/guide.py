"""A net that makes a source's moves: many positions at once, as a search looks at its leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.games.base import Game, State
from ...engine.games.leaves import Leaves, make_leaves
from ...engine.games.outcome import RUNNING
from ...engine.kernels.jit import borrow, entry, kernel
from ...engine.nets.evaluator import CompiledNet, NetFunctions
from ...engine.params import SearchParams
from ...engine.search.leaves.minibatch import Minibatch
from ...engine.search.leaves.policy import outcome_of, softmax_in_place, sort_row
from ...engine.search.tree.tree import Tree
from ..net.providers import load_evaluator
from .job import Job

_MEMORY = 32 << 20  # bytes of the tree


@cache
def _judging(functions: NetFunctions) -> Callable[..., None]:
    make_space, value_of, policy_of = functions

    @kernel
    def judge(weights, leaves, count, ranks, temperature):
        """Value the running ones of the first ``count`` leaves; with ``ranks`` their moves are sorted by prior, too."""
        weights, leaves = borrow(weights), borrow(leaves)
        space, wdl = make_space(weights), np.empty((1, 3), np.float32)
        sorting = np.empty((2, leaves.moves.shape[1]), np.uint64)
        for b in range(count):
            leaf = leaves.rows[b]
            if leaf.outcome != RUNNING:
                continue
            value_of(weights, leaves.planes, b, space, wdl[0])
            leaf.value, leaf.draw = outcome_of(wdl, 0)
            if ranks:
                policy_of(weights, leaves.planes, b, space, leaves.actions, b, leaf.count, leaves.priors)
                softmax_in_place(leaves.priors, b, leaf.count, temperature)
                sort_row(leaves.priors, leaves.moves, b, leaf.count, sorting)

    return judge


def _entry(net: CompiledNet) -> Callable[..., None]:
    return entry(_judging(net.functions), net.weights, make_leaves(1, 1, 1), 0, True, np.float32(1))


class Guide:
    """A net with a tree for its searches. Not for several threads."""

    def __init__(self, net: str, job: Job) -> None:
        """net: "" or "default" the net inside the package. BLOCKS. Errors: NetError."""
        weights = "" if net == "default" else net
        self.evaluator = load_evaluator(weights, job.game, provider=job.provider, batch_size=8)
        self.game: Game = job.game.using(self.evaluator.encoder)
        settings: dict[str, Any] = {} if self.evaluator.info is None else dict(self.evaluator.info.search)
        self.params = SearchParams(**(settings | {"smart_pruning": False, "transpositions": False}))
        self.tree = Tree(_MEMORY)
        self._lines = job.form.lines
        compiled = self.evaluator.compiled
        self._judge = None if compiled is None else _entry(compiled)

    def look(self, states: State, *, values: bool = False) -> Leaves:
        """State[N] as leaves of a search that the net has judged: moves best first, policy, value, outcome.

        values: the moves may be in any order, without a policy. Errors: NetError.
        """
        batch = Minibatch(self.game, self.params, self.tree.arrays, states.reshape(-1, 1), len(states))
        batch.leaves.rows["slot"] = np.arange(len(states))
        if self._judge is not None and self.evaluator.compiled is not None:
            batch.choose(len(states), self.evaluator.history)
            temperature = np.float32(self.params.policy_temperature)
            self._judge(self.evaluator.compiled.weights, batch.leaves, len(states), not values, temperature)
            return batch.leaves
        fault = batch.evaluate(len(states), self.evaluator)
        if fault is not None:
            raise fault
        return batch.leaves

    def best_moves(self, states: State) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """The moves u2[N, K] of State[N] that the net gives most, and their policy f4[N, K]. Errors: NetError."""
        lines = self._lines
        if not len(states):
            return np.zeros((0, lines), np.uint16), np.zeros((0, lines), np.float32)
        leaves = self.look(states)
        unused = np.arange(lines) >= leaves.rows["count"][:, None]
        policy = np.where(unused, np.float32(0), leaves.priors[:, :lines])
        return np.where(unused, np.uint16(0), leaves.moves[:, :lines]), policy
