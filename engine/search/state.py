"""What the workers of one search share: the tree and its locks, the settings, and how far they are."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from ..games.base import Game
from ..kernels.atomics import make_spinlock
from ..nets.evaluator import Evaluator
from ..params import SearchParams
from .minibatch import Minibatch
from .puct import puct_params
from .sharing import SharedLock
from .transpositions import NONE_SHARED, Positions
from .tree import Tree, offer

_UNBOUNDED = 1 << 62  # simulations
_FULL = 1024  # simulations until batches are full: before, a batch is smaller, so that its leaves are well chosen
_STEEPEST = 8  # simulations for one more leaf in a batch, at least: those of more than 128 are full later


class SearchState:
    """The state of one search. Steppers change it; see each attribute for the lock that this needs."""

    def __init__(
        self,
        game: Game,
        tree: Tree,
        evaluator: Evaluator,
        params: SearchParams,
        *,
        visits: int | None,
        batch_size: int,
        skip_proven: bool,
    ) -> None:
        """``game``: as the net sees it. skip_proven: see puct.PARAMS."""
        self.game, self.tree, self.evaluator, self.params = game, tree, evaluator, params
        self.batch_size = batch_size
        self.ramp = max(_FULL // batch_size, _STEEPEST)  # simulations for one more leaf in a batch
        self.visits = visits
        self.puct = puct_params(params, skip_proven=skip_proven)
        self.left: Callable[[], float] = lambda: math.inf  # seconds until it has to end
        self.lock = SharedLock()  # of the tree
        self.spinlock = make_spinlock()  # of the kernels that share it
        self.counting = threading.Lock()  # of the counts below, where kernels share the tree; else the tree's lock
        self.simulations = 0  # done in this search ...
        self.in_flight = 0  # ... and begun by its workers
        self.positions: Positions = NONE_SHARED  # of the tree's nodes, where kernels share them
        self._offered = not params.solver  # the root's moves that end the game have been looked for
        self._progress = threading.Condition()
        self._waiting = 0  # workers that wait for it

    @property
    def left_to_begin(self) -> int:
        """Simulations that may still be begun."""
        return _UNBOUNDED if self.visits is None else self.visits - self.simulations - self.in_flight

    @property
    def endings_due(self) -> bool:
        """Whether :meth:`offer_endings` has something to do."""
        return not self._offered and self.tree.expanded

    def offer_endings(self, batch: Minibatch) -> None:
        """Visit the root's moves that end the game first, however small their priors are; under the tree's lock."""
        self._offered = True
        moves = np.ascontiguousarray(self.tree.children_of(self.tree.root)[0]["move"])
        offer(self.tree.arrays, self.tree.root, batch.ending_moves(moves, self.evaluator.history))

    def wake_others(self, *, all_of_them: bool = False) -> None:
        """Wake the workers that found no leaf."""
        if self._waiting or all_of_them:
            with self._progress:
                self._progress.notify_all()

    def wait_for_progress(self, seconds: float) -> None:
        """Block until another worker has made simulations, or for so many seconds."""
        with self._progress:
            self._waiting += 1
            self._progress.wait(seconds)
            self._waiting -= 1
