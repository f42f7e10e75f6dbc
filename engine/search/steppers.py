"""How one worker of a search has simulations made: batch by batch from Python, or hundreds at a time by a kernel."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ..games.capabilities import Tablebase
from ..nets.evaluator import CompiledNet, Turn
from ..params import SearchParams
from .growth import LOOK_UP, NOTHING, ROOT, Growth, Place, growth_entry
from .minibatch import Minibatch
from .state import SearchState
from .transpositions import make_way
from .tree import MAX_DEPTH

_GROWN = 256  # simulations at a time of a kernel


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
            if search.endings_due:
                search.offer_endings(batch)
            begun = search.simulations + search.in_flight
            budget = min(search.batch_size * 8, search.left_to_begin)
            wanted = min(search.batch_size, 1 + begun // search.ramp)
            room = search.evaluator.room() - search.in_flight
            count, finished = batch.select(search.puct, search.tree.root, int(max(min(wanted, room), 1)), budget)
            search.simulations += finished
            search.in_flight += count
        if count == 0:
            return int(finished)
        error = batch.evaluate(count, search.evaluator, self._slot)
        with search.lock:
            batch.expand()
            search.in_flight -= count
            search.simulations += count - batch.failed
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
        self._growth = Growth(
            search.tree.root,
            NOTHING,
            0,
            search.evaluator.history,
            batch.mate_plies,
            0 if tables is None else tables.most_men,
            params.solver,
            np.float32(params.policy_temperature),
            np.zeros(1, np.uint8),
            search.positions,
        )
        self._place = Place(batch.states, batch.leaves, make_way(MAX_DEPTH + 2))
        self._kernel = growth_entry(search.game, net)

    def step(self) -> int:
        """See Stepper."""
        search = self._search
        expanded = search.tree.expanded
        if search.endings_due:
            with search.lock:
                if search.endings_due:
                    search.offer_endings(self._batch)
        with search.counting:
            wanted = min(_GROWN if expanded else 1, search.left_to_begin)
            if wanted <= 0:
                return 0
            search.in_flight += wanted
        done = 0
        try:
            with self._net.turn(wanted, search.left() if expanded else math.inf) as turn:
                if turn.simulations:
                    with search.lock.shared():
                        self._grow(turn)
                    done = turn.done
        finally:
            with search.counting:
                search.in_flight -= wanted
                search.simulations += done
        search.wake_others()
        return done

    def _grow(self, turn: Turn) -> None:
        """Make the simulations of a turn, one at a time; where the kernel has a question, answer it.

        Fewer are made when the turn was ended, the tree is full, or the only leaf is another worker's.
        """
        search, waiting = self._search, NOTHING
        while True:
            growth = self._growth._replace(waiting=waiting, wanted=turn.simulations - turn.done, halt=turn.halt)
            given = search.tree.arrays, search.puct, self._place, self._net.weights, search.spinlock, growth
            done, waiting = self._kernel(*given)
            turn.done += done
            if waiting == ROOT:
                self._batch.arrange_root()
            elif waiting == LOOK_UP:
                self._batch.look_up()
            else:
                return
