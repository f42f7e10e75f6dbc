"""The search of one tree: workers grow it from its root until they are stopped.

Each worker repeats: lock the tree, select a minibatch of leaves, unlock; describe, look up and evaluate them; lock
again, expand and back up. While one worker waits for the net, the others work on the tree. One worker and a fixed
number of visits give the same tree every time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..games.base import Game, State
from ..games.capabilities import Tablebase
from ..games.outcome import RUNNING, WIN
from ..info import Estimate
from ..kernels.atomics import make_spinlock
from ..nets.evaluator import Evaluator
from ..nets.families.sparse.integers import SparseNet
from ..params import SearchParams
from .cache import PositionCache
from .ends import Averages
from .minibatch import Minibatch
from .puct import puct_params
from .rootmates import RootMates
from .sharing import SharedLock
from .symmetry import salt
from .tree import MAX_DEPTH, Ends, Tree, offer

_GROWN = 256  # simulations at a time of a net that a kernel judges
_FULL = 1024  # simulations until batches are full: before, a batch is smaller, so that its leaves are well chosen
_STEEPEST = 8  # simulations for one more leaf in a batch, at least: those of more than 128 are full later


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
        ends: bool = False,
        room: Callable[[], int] | None = None,
        tables: Tablebase | None = None,
    ) -> None:
        """``visits``: simulations after which it ends; ``only`` u2[K]: root moves to search, None = all.

        lines: with more than one, other moves are searched when the root's outcome is proven. ends: keep in the tree
        what the net says of the end of the game, if it says anything. room: leaves that may be in flight now, at least
        one. tables: where to look up positions with few men.
        """
        self.game = game.using(evaluator.encoder)
        self.tree, self.evaluator, self.params = tree, evaluator, params
        self.workers = workers
        self.batch_size = batch_size or evaluator.batch_size
        self.ramp = max(_FULL // self.batch_size, _STEEPEST)  # simulations for one more leaf in a batch
        self.visits = visits
        self.simulations = 0  # done in this search
        self.error: BaseException | None = None
        self.stopping = False
        self.running = False  # run() has not returned
        self.left: Callable[[], float] = lambda: math.inf  # seconds until it has to end
        self.note = ""  # a sentence for the user when fewer workers than wanted search
        self._in_flight = 0
        self._room, self._tables = room, tables
        self._offered = not params.solver  # the root's moves that end the game have been looked for
        self._cache = cache
        self._only = only if only is not None and len(only) else None
        self._window = window
        self.skip_proven = lines > 1
        self.puct = puct_params(params, skip_proven=self.skip_proven)
        turning = params.symmetries and self.game.symmetries is not None
        told = evaluator.extra
        self._ends: Ends | None = None
        if ends and told:
            points = int(np.prod(self.game.planes[1:])) if "ownership" in told else 0
            self._ends = tree.keep_ends(points)
            if cache is not None:
                cache.keep_ends(points)
        self._salts = np.array([salt(params.seed)]) if turning else None
        looking = params.solver and params.mate_plies > 0 and self.game.encoder.finds_mates
        self._mates = RootMates(self.game, window, params.mate_plies) if looking else None
        sharing = params.transpositions and self.game.encoder.transpositions and evaluator.sparse is not None
        self._positions = tree.share_positions() if sharing else None
        correcting = self.game.encoder.knows_patterns
        self._biases = tree.correct_biases(params.subtree_bias) if correcting else None
        self.lock = SharedLock()  # of the tree
        self._spinlock = make_spinlock()  # of the kernels that share it
        self._counting = threading.Lock()  # of the simulations that these kernels make
        self._grown = threading.Condition()
        self._waiting = 0  # workers that wait for it

    def minibatch(self) -> Minibatch:
        """The leaves of one worker of this search."""
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
            only=self._only,
            ends=self._ends,
            tables=self._tables,
            biases=self._biases,
        )
        batch.leaves.rows["root"] = len(self._window) - 1
        if self._positions is not None:
            batch.positions = self._positions
        return batch

    def step(self, batch: Minibatch, slot: int = 0) -> int:
        """One batch: select, evaluate, expand. Returns the simulations done, 0 when every leaf is in flight elsewhere.

        Blocks for one evaluation. Errors: NetError when the net fails or gives NaN; the tree stays sound.
        """
        if self.evaluator.sparse is not None and batch.grows:
            return self._grow(batch, self.evaluator.sparse)
        with self.lock:
            if not self._offered and self.tree.expanded:
                self._offer_endings(batch)
            budget = self.batch_size * 8
            if self.visits is not None:
                budget = min(budget, self.visits - self.simulations - self._in_flight)
            wanted = min(self.batch_size, 1 + (self.simulations + self._in_flight) // self.ramp)
            if self._room is not None:
                wanted = max(min(wanted, self._room() - self._in_flight), 1)
            count, finished = batch.select(self.puct, self.tree.root, wanted, budget)
            self.simulations += finished
            self._in_flight += count
        if count == 0:
            return int(finished)
        error = batch.evaluate(count, self.evaluator, slot)
        with self.lock:
            batch.expand()
            self._in_flight -= count
            self.simulations += count - batch.failed
        self._tell_others()
        if error is not None:
            raise error
        return int(finished + count)

    def _grow(self, batch: Minibatch, net: SparseNet) -> int:
        """Have a kernel make simulations by itself, beside the other workers'; how many it made."""
        if not self._offered and self.tree.expanded:
            with self.lock:
                if not self._offered:
                    self._offer_endings(batch)
        with self._counting:
            wanted = _GROWN if self.tree.expanded else 1
            if self.visits is not None:
                wanted = min(wanted, self.visits - self.simulations - self._in_flight)
            if wanted <= 0:
                return 0
            self._in_flight += wanted
        done, left = 0, self.left() if self.tree.expanded else math.inf
        try:
            with self.evaluator.turn(wanted, left) as turn:
                if turn.simulations:
                    with self.lock.shared():
                        batch.grow(net, self.puct, self._spinlock, self.tree.root, self.evaluator.history, turn)
                    done = turn.done
        finally:
            with self._counting:
                self._in_flight -= wanted
                self.simulations += done
        self._tell_others()
        return done

    def _tell_others(self) -> None:
        """Wake the workers that found no leaf."""
        if self._waiting:
            with self._grown:
                self._grown.notify_all()

    def _offer_endings(self, batch: Minibatch) -> None:
        """Visit the root's moves that end the game first, however small their priors are."""
        self._offered = True
        moves = np.ascontiguousarray(self.tree.children_of(self.tree.root)[0]["move"])
        offer(self.tree.arrays, self.tree.root, batch.ending_moves(moves, self.evaluator.history))

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
        """Whether visits are reached, memory is full, or nothing is left to prove (``known``)."""
        if self.visits is not None and self.simulations >= self.visits:
            return True
        return self.tree.full or (known and not self._shortening)

    @property
    def proven(self) -> bool:
        """Whether the root's outcome is known."""
        return self.params.solver and self.tree.bound != RUNNING

    @property
    def _known(self) -> bool:
        """Whether there is nothing left to prove."""
        return self.proven and not (self.skip_proven and self._any_unproven())

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
        with self._grown:
            self._grown.notify_all()
        for thread in started:
            thread.join()
        self.running = False

    def _work(self, slot: int, watch: Callable[[], bool] | None) -> None:
        try:
            try:
                batch = self.minibatch()
            except MemoryError:
                if slot == 0:
                    raise
                self.note = f"there is not enough memory for {self.workers} Threads; set fewer"
                return
            while not self.stopping:
                known = self._known
                if self._over(known):
                    break
                done = 0 if known else self.step(batch, slot)
                if slot == 0 and self._mates is not None and (known or self._mates.due(self.simulations)):
                    self._look_for_mates(self._mates)
                if watch is not None and watch():
                    self.stopping = True
                elif done == 0 and (slot > 0 or not known) and not self.stopping:
                    with self._grown:
                        self._waiting += 1
                        self._grown.wait(0.002)
                        self._waiting -= 1
        except BaseException as error:  # noqa: BLE001 - handed to the caller of run
            self.error = self.error or error
            self.stopping = True


def expected_end(game: Game, evaluator: Evaluator, line: State, visits: int) -> Estimate | None:
    """How a game of territory ends from a line's last position: the average over a search of its own.

    Where the players agree on dead stones, passes do not end the game in this search. None when the net says nothing.
    Blocks. Errors: NetError.
    """
    if game.territory is None:
        return None
    line = game.territory.unended(line)
    tree = Tree(visits * 4096, game.branching)
    params = SearchParams(solver=False, mate_plies=0, smart_pruning=False)
    search = Search(game, tree, evaluator, params, game.window(line), visits=visits, ends=True)
    search.run(lambda: False)
    if search.error is not None:
        raise search.error
    return Averages(tree).root()
