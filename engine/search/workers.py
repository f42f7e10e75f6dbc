"""How the workers of a search make simulations in the tree that they share.

Each repeats the step of a :class:`Stepper`: one minibatch of leaves after another from Python, or hundreds of
simulations at a time by a kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..games.base import Game
from ..games.capabilities import Tablebase
from ..nets.evaluator import CompiledNet, Evaluator, Turn, endless
from ..params import SearchParams
from .leaves.minibatch import Minibatch
from .leaves.simulations import LOOK_UP, NOTHING, ROOT, SimulationLoop, make_place, simulation_entry
from .tree.expansion import offer, soften
from .tree.puct import puct_params
from .tree.transpositions import NONE_SHARED, Positions
from .tree.tree import Tree

_GROWN = 256  # simulations at a time of a kernel
_UNBOUNDED = 1 << 62  # simulations
_FULL = 1024  # simulations until batches are full: before, a batch is smaller, so that its leaves are well chosen
_STEEPEST = 8  # simulations for one more leaf in a batch, at least: those of more than 128 are full later


@dataclass(frozen=True, slots=True)
class Abilities:
    """Of one search; docs/nets.md has the table."""

    kernel: bool  # a kernel makes simulations by itself, one leaf at a time; else Python, batch by batch
    transpositions: bool  # a position is searched once, whatever the order of the moves before it
    cache: bool  # what the net gives for a position is kept; a compiled net evaluates it again, which costs less
    symmetries: bool  # the net sees positions turned and mirrored at random
    mates: bool  # short mates are found at the leaves, longer ones at the root
    patterns: bool  # the net's errors are learned by local pattern
    ownership: bool  # the end of the game is averaged over the tree: who owns each point, and the score


def abilities(game: Game, evaluator: Evaluator, params: SearchParams, *, ownerships: bool = False) -> Abilities:
    """Those of a search of ``game``, as the net sees it; ownerships: whether the tree keeps them."""
    encoder = game.encoder
    symmetries = params.symmetries and game.symmetries is not None
    ownership = ownerships and bool(evaluator.extra)
    kernel = evaluator.compiled is not None and not symmetries and not ownership
    return Abilities(
        kernel,
        transpositions=kernel and params.transpositions and encoder.transpositions,
        cache=not kernel,
        symmetries=symmetries,
        mates=params.solver and params.mate_plies > 0 and encoder.finds_mates,
        patterns=encoder.knows_patterns,
        ownership=ownership,
    )


class SharedLock:
    """A lock: ``with lock:`` holds it alone, ``with lock.shared():`` beside other threads that share it.

    Whoever wants it alone goes before those who come later to share it. It is not reentrant.
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()  # held by whoever is alone, or about to be
        self._left = threading.Condition()
        self._sharing = 0

    def __enter__(self) -> None:
        self._gate.acquire()
        if self._sharing:  # nobody joins them while the gate is held
            with self._left:
                while self._sharing:
                    self._left.wait()

    def __exit__(self, *error: object) -> None:
        self._gate.release()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock beside others."""
        with self._gate, self._left:
            self._sharing += 1
        try:
            yield
        finally:
            with self._left:
                self._sharing -= 1
                self._left.notify_all()


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
    ) -> None:
        """``game``: as the net sees it."""
        self.game, self.tree, self.evaluator, self.params = game, tree, evaluator, params
        self.batch_size = batch_size
        self.ramp = max(_FULL // batch_size, _STEEPEST)  # simulations for one more leaf in a batch
        self.visits = visits
        self.puct = puct_params(params)
        self.left: Callable[[], float] = endless  # seconds until it has to end
        self.lock = SharedLock()  # of the tree
        self.counting = threading.Lock()  # of the counts below, where kernels share the tree; else the tree's lock
        self.simulations = 0  # done in this search ...
        self.in_flight = 0  # ... and begun by its workers
        self.flying: list[Minibatch] = []  # batches whose leaves are being evaluated, outside the tree's lock
        self.positions: Positions = NONE_SHARED  # of the tree's nodes, where kernels share them
        self.root_due = params.solver or params.root_policy_temperature != 1  # see prepare_root
        self._progress = threading.Condition()
        self._waiting = 0  # workers that wait for it

    @property
    def left_to_begin(self) -> int:
        """Simulations that may still be begun."""
        return _UNBOUNDED if self.visits is None else self.visits - self.simulations - self.in_flight

    def prepare_root(self, batch: Minibatch) -> None:
        """Give the expanded root its own policy temperature; under the tree's lock.

        With the solver its moves that end the game are visited first, however small their priors are.
        """
        self.root_due = False
        self.soften_root()
        if not self.params.solver:
            return
        moves = np.ascontiguousarray(self.tree.children_of(self.tree.root)[0]["move"])
        offer(self.tree.arrays, self.tree.root, batch.ending_moves(moves, self.evaluator.history))

    def soften_root(self) -> None:
        """Give the priors of the expanded root its own policy temperature; once, under the tree's lock."""
        soften(self.tree.arrays, self.tree.root, 1 / self.params.root_policy_temperature)

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


class Stepper(Protocol):
    """One worker's way to make simulations in the tree that a search's workers share."""

    def step(self) -> int:
        """Make some simulations; returns their number, 0 when every leaf waits for another worker.

        Blocks for one evaluation, or for one turn of a kernel. Errors: NetError when the net fails or gives NaN; the
        tree stays sound.
        """


class BatchStepper:
    """One minibatch of leaves a step: selected and expanded under the tree's lock, evaluated in between."""

    def __init__(self, search: SearchState, batch: Minibatch, slot: int) -> None:
        """``slot``: the worker's at the evaluator."""
        self._search, self._batch, self._slot = search, batch, slot

    def step(self) -> int:
        """See Stepper."""
        search, batch = self._search, self._batch
        with search.lock:
            if search.root_due and search.tree.expanded:
                search.prepare_root(batch)
            begun = search.simulations + search.in_flight
            budget = min(search.batch_size * 8, search.left_to_begin)
            requested = min(search.batch_size, 1 + begun // search.ramp)
            if search.evaluator.room is not None:
                requested = max(min(requested, search.evaluator.room() - search.in_flight), 1)
            count, finished = batch.select(search.puct, search.tree.root, requested, budget)
            search.simulations += finished
            if count == 0:
                return int(finished)
            search.in_flight += count
            search.flying.append(batch)
        error = batch.evaluate(count, search.evaluator, self._slot)
        with search.lock:
            search.flying.remove(batch)
            search.in_flight -= count
            search.simulations += batch.expand()
        search.wake_others()
        if error is not None:
            raise error
        return int(finished + count)


class KernelStepper:
    """Hundreds of simulations a step, made by one kernel with a compiled net, beside other workers' kernels."""

    def __init__(self, search: SearchState, batch: Minibatch, net: CompiledNet, tables: Tablebase | None) -> None:
        """``batch``: of which leaf 0 is used, with the tables' look-ups."""
        self._search, self._batch, self._net = search, batch, net
        params: SearchParams = search.params
        self._loop = SimulationLoop(
            search.tree.root,
            NOTHING,
            0,
            search.evaluator.history,
            batch.mate_plies,
            0 if tables is None else tables.most_pieces,
            params.solver,
            np.float32(params.policy_temperature),
            np.zeros(1, np.uint8),
            search.positions,
        )
        self._place = make_place(batch.states, batch.leaves)
        self._kernel = simulation_entry(search.game, net)

    def step(self) -> int:
        """See Stepper."""
        search = self._search
        expanded = search.tree.expanded
        if expanded and search.root_due:
            with search.lock:
                if search.root_due:
                    search.prepare_root(self._batch)
        with search.counting:
            requested = min(_GROWN if expanded else 1, search.left_to_begin)
            if requested <= 0:
                return 0
            search.in_flight += requested
        done = 0
        try:
            with self._turn(requested, search.left if expanded else endless) as turn:
                if turn.simulations:
                    with search.lock.shared():
                        self._grow(turn)
                    done = turn.done
        finally:
            with search.counting:
                search.in_flight -= requested
                search.simulations += done
        search.wake_others()
        return done

    def _turn(self, requested: int, left: Callable[[], float]) -> AbstractContextManager[Turn]:
        turn = self._net.turn
        return nullcontext(Turn(requested, self._loop.halt)) if turn is None else turn(requested, left)

    def _grow(self, turn: Turn) -> None:
        """Make the simulations of a turn, one at a time; where the kernel has a question, answer it.

        Fewer are made when the turn was ended, the tree is full, or the only leaf is another worker's.
        """
        search, waiting = self._search, NOTHING
        while True:
            requested = turn.simulations - turn.done
            loop = self._loop._replace(root=search.tree.root, waiting=waiting, requested=requested, halt=turn.halt)
            given = search.tree.arrays, search.puct, self._place, self._net.weights, search.tree.spinlock, loop
            done, waiting = self._kernel(*given)
            turn.done += done
            if waiting == ROOT:
                self._batch.arrange_root()
            elif waiting == LOOK_UP:
                self._batch.look_up()
            else:
                return
