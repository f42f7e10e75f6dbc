"""The search for a forced mate by checks alone: see :mod:`proofs`."""

from __future__ import annotations

from ...kernels.jit import device
from ..outcome import RUNNING
from ..tactics.proofs import MAX_PLIES, Hunt, ProofSearch
from .checks import checks
from .endings import verdict_kernel
from .rules import DROPS, MAX_MOVES, PLAY, generate, make
from .state import KING, State


@device
def _checks(s, moves, row, room):
    return checks(s, moves, row)


@device
def _always(s):
    return True


@device
def _never(s):
    return False


@device
def _dropped(move):
    return ((move >> 7) & 127) >= DROPS


@device
def _key(s, room):
    return s.key


class ShogiMate(ProofSearch):
    """A search for a forced mate by the side to move at the end of a line."""

    hunt = Hunt(MAX_MOVES, _checks, generate, make, _always, _never, _dropped, _key, False)
    play = PLAY
    seen = 2

    def __init__(self, line: State, memory: int, longest: int = MAX_PLIES) -> None:
        """See :class:`ProofSearch`; the greatest length of a game is left out of account."""
        line = line.copy()
        line["limit"] = 0
        super().__init__(line, memory, longest)

    @staticmethod
    def king(state: State, side: int) -> bool:
        return bool((state["board"] == KING + 16 * side).any())

    @staticmethod
    def over(line: State) -> bool:
        return bool(verdict_kernel(line[-1:], 1) != RUNNING)
