"""A net that makes a source's moves: many positions at once, as a search looks at its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.games.base import Game, State
from ...engine.games.leaves import Leaves
from ...engine.params import SearchParams
from ...engine.search.leaves.minibatch import Minibatch
from ...engine.search.tree.tree import Tree
from ..net.providers import load_evaluator
from .job import Job

_MEMORY = 32 << 20  # bytes of the tree


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

    def look(self, states: State) -> Leaves:
        """State[N] as leaves of a search that the net has judged: moves best first, policy, value, outcome.

        Errors: NetError.
        """
        batch = Minibatch(self.game, self.params, self.tree.arrays, states.reshape(-1, 1), len(states))
        batch.leaves.rows["slot"] = np.arange(len(states))
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
