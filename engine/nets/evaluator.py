"""The seam between search and net: planes in, policy logits and values out, for a batch of positions.

An evaluator answers from the view of the side to move. Calls block and release the GIL; each search worker uses its own
``slot``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import NetError
from ..games.base import Game, State
from .netinfo import NetInfo

Planes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Output = tuple[Floats, Floats]
Extra = tuple[Floats | None, Floats | None]  # ownership f4[B, H, W], score f4[B]


class Interrupted(NetError):
    """An evaluation was ended by :meth:`Evaluator.interrupt`; nothing is wrong with the net."""


@dataclass(slots=True)
class Turn:
    """What a search's kernel may do now."""

    simulations: int  # at most; 0 = none, the time is over
    halt: NDArray[np.uint8]  # u1[1]; 1 = end now
    done: int = 0  # by the kernel, set by the search


def endless() -> float:
    """Seconds until a search has to end that goes on until it is stopped."""
    return math.inf


class NetFunctions(NamedTuple):
    """Device functions that evaluate a position whose planes lie in planes[row], u1[B, C * H * W]."""

    make_space: Callable[..., Any]  # (weights) -> working space, once in each call of a kernel
    value: Callable[..., None]  # (weights, planes, row, space, wdl): WDL logits to wdl f4[3]
    policy: Callable[..., None]  # (weights, planes, row, space, actions, b, n, logits): of actions[b, :n] to logits[b]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledNet:
    """A net that the search's kernels evaluate by themselves, without a call of Python."""

    functions: NetFunctions
    weights: Any  # a NamedTuple of arrays, whose types are those of all nets with these functions
    # (simulations, seconds until the search has to end, where the turn may allow 0) -> the turn to run a kernel, after
    # a wait where searches share the processors; None: whoever asks has its turn
    turn: Callable[[int, Callable[[], float]], AbstractContextManager[Turn]] | None = None


class Evaluator(Protocol):
    """What the search needs of a net."""

    info: NetInfo | None  # None for an evaluator without a net
    batch_size: int  # best number of leaves in one call
    history: int  # positions shown in its planes
    encoder: str  # name of the encoder of its planes and actions, see Game.using
    description: str  # one line: the net and what runs it
    extra: tuple[str, ...] = ()  # outputs beside policy and value: "ownership", "score"
    room: Callable[[], int] | None = None  # leaves that one search may have in flight now, at least one; None: any
    fault: NetError | None = None  # why the net is given up: it has missed a deadline
    compiled: CompiledNet | None = None  # None: it is called from Python, batch by batch

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        """planes u1[B, C * H * W] -> (logits f4[B, A], values f4[B, 3] WDL logits or f4[B, 1] in [-1, 1]).

        Errors: NetError when the net cannot be run or misses its deadline; Interrupted.
        """

    def bind(self, planes: Planes, slot: int = 0) -> Callable[[int], Output]:
        """What evaluates the first K rows of ``planes`` u1[B, C * H * W], an array that stays where it is, for each K.

        As ``evaluate``, but its next call may overwrite the answers, whose rows lie one after another in memory. Not
        safe to call from two threads at once.
        """

        def ask(count: int) -> Output:
            logits, values = self.evaluate(planes[:count], slot)
            return np.ascontiguousarray(logits, np.float32), np.ascontiguousarray(values, np.float32)

        return ask

    def evaluate_all(self, planes: Planes, slot: int = 0) -> tuple[*Output, *Extra]:
        """``evaluate``, and ownership and score where the net has them, for the time of one evaluation.

        Ownership f4[B, H, W], from +1, surely the mover's, to -1; score f4[B], the mover's lead on the board in points,
        komi left out; None where it has none. Errors: as ``evaluate``.
        """
        return *self.evaluate(planes, slot), None, None

    def doubts(self, planes: Planes, slot: int = 0) -> tuple[Floats | None]:
        """What KataGo's nets say of the score, (f4[B, 2 or 5],), as :class:`opinions.Doubts`; (None,) of other nets.

        Errors: as ``evaluate``.
        """
        return (None,)

    def interrupt(self) -> None:
        """End the evaluations that are under way, from any thread. Returns at once."""
        return


def values_by_rules(game: Game, evaluator: Evaluator, state: State) -> bool:
    """Whether a net's values do not hold in one State[], since it does not see komi and rules that it has not learned.

    game: as the net sees it.
    """
    territory = game.territory
    return not (territory is None or evaluator.info is None or game.encoder.knows_rules or territory.is_usual(state))


class UniformEvaluator(Evaluator):
    """No net: equal priors and even values. For tests, benches and plain MCTS."""

    def __init__(self, game: Game, batch_size: int = 64) -> None:
        self.info: NetInfo | None = None
        self.batch_size = batch_size
        self.history = 1
        self.encoder = game.encoder.name
        self.description = "no net: every move is as likely"
        self._logits = np.zeros((1024, game.num_actions), np.float32)
        self._values = np.zeros((1024, 1), np.float32)

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        return self._logits[: len(planes)], self._values[: len(planes)]
