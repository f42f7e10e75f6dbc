"""The search of one tree: workers grow it from its root until they are stopped.

Each worker repeats the step of its :class:`workers.Stepper`. One worker and a fixed number of visits give the same
tree every time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import NetError
from ..games.base import Game, State
from ..games.capabilities import Tablebase
from ..games.outcome import RUNNING, WIN
from ..info import Estimate
from ..nets.evaluator import Evaluator, values_by_rules
from ..params import SearchParams
from .leaves.cache import PositionCache
from .leaves.minibatch import Minibatch
from .leaves.symmetry import salt
from .root_mates import RootMates
from .tree.nodes import MAX_DEPTH, NODES, Ownerships
from .tree.ownership import Averages
from .tree.puct import puct_params
from .tree.recycling import recycle
from .tree.results import best_children
from .tree.tree import Tree
from .workers import BatchStepper, KernelStepper, SearchState, Stepper, abilities

_WAIT_S = 0.002  # for another worker's leaf
_STUCK = 0.99  # of the memory, in use by what cannot be dropped
_PAUSE_S = 1e-7  # of a tree that recycles itself, for each node
_NEARLY = 0.9  # of the memory in use, when room is made ahead


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search finds out of its root, and with how much of the machine."""

    only: NDArray[np.uint16] | None = None  # u2[K], root moves to search; None or empty: all
    lines: int = 1  # to report; with more than one, other moves are searched when the root's outcome is proven
    ownership: bool = False  # keep in the tree what the net knows of the end of the game, if anything
    workers: int = 1  # threads
    batch_size: int = 0  # leaves in a batch; 0: what the evaluator likes best


class Search(SearchState):
    """One search of one root. ``tree.root`` must be the last position of ``window``."""

    def __init__(
        self,
        game: Game,
        tree: Tree,
        evaluator: Evaluator,
        params: SearchParams,
        window: State,
        *,
        visits: int | None = None,
        cache: PositionCache | None = None,
        tables: Tablebase | None = None,
        scope: Scope | None = None,
    ) -> None:
        """``visits``: simulations after which it ends; tables: where to look up positions with few pieces."""
        scope = scope or Scope()
        self._lines = scope.lines
        self.several = scope.lines > 1  # other moves are searched once a win is known
        super().__init__(
            game.using(evaluator.encoder),
            tree,
            evaluator,
            params,
            visits=visits,
            batch_size=scope.batch_size or evaluator.batch_size,
        )
        tree.decided = -1
        self.workers = scope.workers
        self.error: BaseException | None = None
        self.stopping = False
        self.running = False  # run() has not returned
        self.note = ""  # a sentence for the user when fewer workers than requested search
        self._tables, self._cache, self._window = tables, cache, window
        self._only = scope.only if scope.only is not None and len(scope.only) else None
        self._by_rules = values_by_rules(self.game, evaluator, window[-1])
        kept = scope.ownership or self._by_rules or (params.score_utility > 0 and "score" in evaluator.extra)
        able = self.abilities = abilities(self.game, evaluator, params, ownerships=kept)
        self._ownerships: Ownerships | None = None
        if able.ownership:
            points = int(np.prod(self.game.planes[1:])) if "ownership" in evaluator.extra else 0
            self._ownerships = tree.keep_ownerships(points)
            if cache is not None:
                cache.keep_ownerships(points)
        self._salts = np.array([salt(params.seed)]) if able.symmetries else None
        self._mates = RootMates(self.game, window, params.mate_plies) if able.mates else None
        self._net = evaluator.compiled if able.kernel else None
        if able.transpositions:
            self.positions = tree.share_positions()
        self._biases = tree.correct_biases(params.subtree_bias) if able.patterns else None

    @property
    def failed(self) -> bool:
        """Whether an error that is not the net's has ended it."""
        return self.error is not None and not isinstance(self.error, NetError)

    @property
    def table_hits(self) -> int:
        """Positions found in endgame tables since they were last counted from 0."""
        return 0 if self._tables is None else self._tables.hits

    def stepper(self, slot: int = 0) -> Stepper:
        """How worker number ``slot`` makes simulations: by a kernel, where net and settings allow it."""
        params = self.params
        length = len(self._window) + MAX_DEPTH + params.mate_plies + 1
        states = np.zeros((1, length), self.game.state_dtype)
        states[0, : len(self._window)] = self._window
        batch = Minibatch(
            self.game,
            params,
            self.tree.arrays,
            states,
            self.batch_size,
            cache=self._cache,
            salts=self._salts,
            mate_plies=params.mate_plies if params.solver else 0,
            ladders=params.ladders,
            only=self._only,
            ownerships=self._ownerships,
            tables=self._tables,
            biases=self._biases,
            by_rules=self._by_rules,
        )
        batch.leaves.rows["root"] = len(self._window) - 1
        if self._net is not None:
            return KernelStepper(self, batch, self._net, self._tables)
        return BatchStepper(self, batch, slot)

    def _look_for_mates(self, mates: RootMates) -> None:
        proof = None
        with self.lock.shared():
            if self._shortening:
                proof = mates.shorten(self.tree)
            elif not self.proven and self.tree.expanded:
                proof = mates.look(self.tree, self.simulations)
        if proof is not None:
            with self.lock:
                self.tree.settle(proof.moves, proof.outcome)

    def _over(self, known: bool) -> bool:
        """Whether visits are reached or nothing is left to prove (``known``)."""
        if self.visits is not None and self.simulations >= self.visits:
            return True
        return known and not self._shortening

    def _make_room(self) -> bool:
        """Have room in the tree: where it is full, drop what was visited least. False when that would take too long."""
        if not self.tree.full:
            return True
        used = int(self.tree.counters[NODES])

        def late() -> bool:
            return self.simulations > 0 and self.left() < _PAUSE_S * used

        if late():
            return False
        with self.lock:
            if self.tree.full:
                kept = recycle(self.tree, self._lines, late)
                if kept is None:
                    return False
                for batch in self.flying:
                    batch.follow(kept)
                if not self.flying and int(self.tree.counters[NODES]) == used and self.tree.used > _STUCK:
                    raise MemoryError  # the root and its lines take it all
        return True

    def make_room_ahead(self) -> None:
        """Have room for the next search in a tree that is nearly full, while nobody waits. Blocks."""
        with self.lock:
            if self.tree.used > _NEARLY:
                recycle(self.tree, self._lines)

    @property
    def proven(self) -> bool:
        """Whether the root's outcome is known."""
        return self.params.solver and self.tree.bound != RUNNING

    @property
    def _known(self) -> bool:
        """Whether there is nothing left to prove."""
        return self.proven and (not self.several or self._shortening or not self._any_unproven())

    @property
    def _shortening(self) -> bool:
        """Whether a shorter mate than the proven one is looked for."""
        if self._mates is None or self._mates.shortest or not self.params.solver:
            return False
        return self.tree.bound == WIN

    def _any_unproven(self) -> bool:
        """Whether the outcome of a root move is unknown."""
        edges, children = self.tree.children_of(self.tree.root)
        return len(children) < len(edges) or bool((children["bound"] == RUNNING).any())

    def _decide(self) -> None:
        """Keep the move that a search for one line would end with, and search the others."""
        with self.lock:
            if not best_children(self.tree.arrays, self.tree.root, best := np.empty(1, np.int32)):
                return  # the only move so far still waits for its value, with another worker
            self.tree.decided = int(self.tree.edges[best[0]]["move"])
        self.puct = puct_params(self.params, skip_proven=True)

    def run(self, watch: Callable[[], bool]) -> None:
        """Search until ``watch()`` is true or it is over. Blocks.

        ``watch`` is called by the first worker after each of its batches, without the lock. A worker's exception ends
        the search and is kept in ``error``.
        """
        self.running = True
        others = [
            threading.Thread(target=self._work, args=(slot, None), name=f"worker {slot}", daemon=True)
            for slot in range(1, self.workers)
        ]
        started = []
        try:
            for thread in others:
                thread.start()
                started.append(thread)
        except RuntimeError:  # the system gives no more threads
            self.note = f"only {1 + len(started)} of {self.workers} Threads could be started; set fewer"
        self._work(0, watch)
        self.stopping = True
        self.wake_others(all_of_them=True)
        for thread in started:
            thread.join()
        if self.root_due and self.tree.expanded:  # by the only simulation
            self.soften_root()
        self.running = False

    def _work(self, slot: int, watch: Callable[[], bool] | None) -> None:
        try:
            try:
                stepper = self.stepper(slot)
            except MemoryError:
                if slot == 0:
                    raise
                self.note = f"there is not enough memory for {self.workers} Threads; set fewer"
                return
            while not self.stopping:
                with self.lock.shared():
                    known = self._known
                if self._over(known):
                    break
                if slot == 0 and self.several and self.proven and self.tree.decided < 0 and not self._shortening:
                    self._decide()
                done = 0 if known or not self._make_room() else stepper.step()
                if slot == 0 and self._mates is not None and (known or self._mates.due(self.simulations)):
                    self._look_for_mates(self._mates)
                if watch is not None and watch():
                    self.stopping = True
                elif done == 0 and (slot > 0 or not known) and not self.stopping:
                    self.wait_for_progress(_WAIT_S)
        except BaseException as error:  # noqa: BLE001 - handed to the caller of run
            self.error = self.error or error
            self.stopping = True


def expected_end(
    game: Game, evaluator: Evaluator, line: State, visits: int, stopped: Callable[[], bool]
) -> Estimate | None:
    """How a game of territory ends from a line's last position: the average over a search of its own.

    Where the players agree on dead stones, passes do not end the game in this search. None when the net says nothing.
    Blocks for so many visits, or until it is ``stopped``. Errors: NetError.
    """
    if game.territory is None:
        return None
    line = game.territory.unended(line)
    tree = Tree(visits * 4096)
    params = SearchParams(solver=False, mate_plies=0, smart_pruning=False)
    search = Search(game, tree, evaluator, params, game.window(line), visits=visits, scope=Scope(ownership=True))
    search.run(stopped)
    if search.error is not None:
        raise search.error
    return Averages(tree).root()
