"""The search: workers that grow one tree from one root until they are told to stop.

Each worker repeats: lock the tree and select a small batch of leaves; unlock; replay them, look them up, evaluate and
digest the rest; lock again, expand and back up. The network's time hides the other workers' tree work. One worker and
a fixed number of visits give the same tree every time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import NetError
from ..games.base import Game, State
from ..games.outcome import RUNNING
from ..nets.evaluator import Evaluator
from ..params import SearchParams
from .cache import PositionCache
from .policy import digest, keep_only, put_first
from .puct import puct_params, select
from .symmetry import has_symmetries, salt, turn
from .tree import MAX_DEPTH, Tree, expand

_RAMP = 8  # a batch is at most 1 + visits / _RAMP: the first simulations should not be guesses


class Batch:
    """The working arrays of one worker, B rows."""

    def __init__(self, game: Game, size: int, window: State) -> None:
        """``window``: the game up to the root, as Game.window gives it."""
        self.states = np.zeros((1, len(window) + MAX_DEPTH + 1), game.state_dtype)
        self.states[0, : len(window)] = window
        self.leaves = game.make_leaves(size, MAX_DEPTH)
        rows = self.leaves.rows
        rows["root"] = len(window) - 1
        self.paths, self.moves, self.actions = self.leaves.paths, self.leaves.moves, self.leaves.actions
        self.planes, self.priors = self.leaves.planes, self.leaves.priors
        self.lengths, self.leaf, self.row, self.counts = rows["length"], rows["node"], rows["row"], rows["count"]
        self.outcomes, self.ends, self.begins, self.keys = rows["outcome"], rows["end"], rows["begin"], rows["key"]
        self.values = np.zeros((size, 2), np.float32)


class Search:
    """One search of one root. ``tree.root`` must be the last position of ``window``."""

    def __init__(
        self,
        game: Game,
        tree: Tree,
        evaluator: Evaluator,
        params: SearchParams,
        window: State,
        *,
        cache: PositionCache | None = None,
        batch_size: int = 0,
        workers: int = 1,
        visits: int | None = None,
        only: NDArray[np.uint16] | None = None,
        lines: int = 1,
    ) -> None:
        """``visits``: simulations after which it ends; ``only`` u2[K]: root moves to search, None = all.

        lines: with more than one, the other moves are searched on when the root's outcome is proven.
        """
        self.game = game.using(evaluator.encoder)
        self.tree, self.evaluator, self.params = tree, evaluator, params
        self.workers = workers
        self.batch_size = batch_size or evaluator.batch_size
        self.visits = visits
        self.simulations = 0  # done in this search
        self.error: BaseException | None = None
        self.stopping = False
        self._in_flight = 0
        self._cache = cache
        self._only = np.zeros(0, np.uint16) if only is None else only
        self._window = window
        self.several = lines > 1
        self.puct = puct_params(params, several=self.several)
        self._salt = salt(params.seed) if params.symmetries and has_symmetries(self.game) else None
        self._mates = self.game.mates if params.solver and params.mate_plies else None
        self._temperature = np.float32(params.policy_temperature)
        self.lock = threading.Lock()  # of the tree
        self._grown = threading.Condition(self.lock)

    def batch(self) -> Batch:
        """Working arrays for one worker of this search."""
        return Batch(self.game, self.batch_size, self._window)

    def step(self, batch: Batch, slot: int = 0) -> int:
        """One batch: select, evaluate, expand. Returns the simulations done, 0 when every leaf is in flight elsewhere.

        Blocks for one evaluation. Errors: NetError when the net fails or gives NaN; the tree stays sound.
        """
        tree = self.tree
        with self.lock:
            budget = self.batch_size * 8
            if self.visits is not None:
                budget = min(budget, self.visits - self.simulations - self._in_flight)
            wanted = min(self.batch_size, 1 + (self.simulations + self._in_flight) // _RAMP)
            count, finished = select(
                tree.nodes, tree.edges, tree.counters, self.puct, tree.root, wanted, budget,
                batch.paths, batch.lengths, batch.leaf,
            )  # fmt: skip
            self.simulations += finished
            self._in_flight += count
        if count == 0:
            return int(finished)
        bad, error = 0, None
        try:
            bad = self._evaluate(batch, count, slot)
        except NetError as failure:
            error = failure
            batch.counts[:count] = -1
            batch.outcomes[:count] = RUNNING
        with self.lock:
            expand(
                tree.nodes, tree.edges, tree.counters, self.params.solver, tree.root, count,
                batch.leaf, batch.moves, batch.priors, batch.counts, batch.outcomes, batch.ends, batch.values,
            )  # fmt: skip
            self._in_flight -= count
            self.simulations += count - bad
            if self.workers > 1:
                self._grown.notify_all()
        if error is not None:
            raise error
        if bad:
            raise NetError(f"the net gives NaN or infinity in {bad} of {count} positions; its weights are damaged")
        return int(finished + count)

    def _evaluate(self, batch: Batch, count: int, slot: int) -> int:
        """Fill in moves, priors, values and outcomes of a batch's leaves; returns the rows that were not finite."""
        self.game.describe(batch.states, batch.leaves, count, self.evaluator.history)
        if self._mates is not None:
            self._mates(batch.states, batch.leaves, count, self.params.mate_plies)
        if self._salt is not None:
            batch.keys[:count] ^= self._salt
        if self._cache is not None:
            missing = self._cache.probe(
                count, batch.keys, batch.outcomes, batch.counts, batch.moves, batch.priors, batch.values, batch.row,
                batch.planes,
            )  # fmt: skip
        else:
            batch.row[:count] = np.arange(count)
            missing = count
        bad = 0
        if missing:
            planes = batch.planes[:missing]
            if self._salt is not None:
                planes = turn(self.game, batch.keys[:count], batch.row[:count], planes, batch.actions[:count])
            logits, values = self.evaluator.evaluate(planes, slot)
            bad = digest(
                count, batch.row, logits, values, self._temperature,
                batch.moves, batch.actions, batch.counts, batch.outcomes, batch.priors, batch.values,
            )  # fmt: skip
            if self._cache is not None:
                self._cache.store(count, batch.keys, batch.counts, batch.moves, batch.priors, batch.values, batch.row)
        if self._mates is not None:
            for b in np.flatnonzero(batch.leaf[:count] == self.tree.root):
                moves = max(int(batch.counts[b]), 0)
                put_first(int(batch.begins[b]), batch.moves[b, :moves], batch.priors[b, :moves])
        if len(self._only):
            for b in np.flatnonzero(batch.leaf[:count] == self.tree.root):
                keep_only(self._only, batch.moves, batch.priors, batch.counts, b)
        return int(bad)

    @property
    def finished(self) -> bool:
        """Whether more simulations are impossible or pointless: visits reached, memory full, or all proven."""
        if self.visits is not None and self.simulations >= self.visits:
            return True
        return self.tree.full or (self.proven and not (self.several and self._any_unproven()))

    @property
    def proven(self) -> bool:
        """Whether the root's outcome is known."""
        return bool(self.params.solver and self.tree.nodes[self.tree.root]["bound"] != RUNNING)

    def _any_unproven(self) -> bool:
        """Whether a root move's outcome is open."""
        edges, children = self.tree.children_of(self.tree.root)
        return len(children) < len(edges) or bool((children["bound"] == RUNNING).any())

    def run(self, watch: Callable[[], bool]) -> None:
        """Search until ``watch()`` is true or :attr:`finished`. Blocks.

        ``watch`` is called by the first worker after each of its batches, without the lock. A worker's exception ends
        the search and is kept in ``error``.
        """
        others = [
            threading.Thread(target=self._work, args=(slot, None), name=f"worker {slot}", daemon=True)
            for slot in range(1, self.workers)
        ]
        for thread in others:
            thread.start()
        self._work(0, watch)
        self.stopping = True
        with self._grown:
            self._grown.notify_all()
        for thread in others:
            thread.join()

    def _work(self, slot: int, watch: Callable[[], bool] | None) -> None:
        try:
            batch = self.batch()
            while not (self.stopping or self.finished):
                done = self.step(batch, slot)
                if watch is not None and watch():
                    self.stopping = True
                elif done == 0 and not self.stopping:
                    with self._grown:
                        self._grown.wait(0.002)
        except BaseException as error:  # noqa: BLE001 - handed to the caller of run
            self.error = self.error or error
            self.stopping = True
