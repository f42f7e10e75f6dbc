"""Counting a position by area: with every stone alive, as Tromp-Taylor counts, or without dead stones.

Which stones are dead is for the players to agree on, or for a net to say: a chain is dead where the net expects its
points to become the opponent's. Without such an output every stone on the board counts as alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .rules import count_score
from .state import EMPTY, State, stones_from_array, stones_to_array

_DEAD = -0.3  # mean ownership of a chain, its owner's view, below which it counts as dead: when in doubt it lives


def area_score(state: State, dead: Iterable[Collection[int]] = ()) -> tuple[float, NDArray[np.uint8]]:
    """(black's score minus white's, komi included; owner u1[N * N]: BLACK, WHITE or EMPTY) of one State[].

    ``dead``: chains of points that are taken off first.
    """
    board = stones_to_array(state)
    for chain in dead:
        board[list(chain)] = EMPTY
    counted = state.reshape(1).copy()
    counted["stones"] = stones_from_array(board[None])
    owner = np.empty(len(board), np.uint8)
    return count_score(counted, 0, owner) / 2, owner


def chains(state: State) -> list[frozenset[int]]:
    """The chains of stones, each as its points."""
    board, size = stones_to_array(state), int(state["size"])
    found: list[frozenset[int]] = []
    seen = set[int]()
    for start in np.flatnonzero(board != EMPTY).tolist():
        if start in seen:
            continue
        chain, waiting = {start}, [start]
        while waiting:
            p = waiting.pop()
            sides = (p - 1,) * (p % size > 0) + (p + 1,) * (p % size < size - 1)
            for q in (p - size, p + size, *sides):
                if 0 <= q < len(board) and board[q] == board[start] and q not in chain:
                    chain.add(q)
                    waiting.append(q)
        seen |= chain
        found.append(frozenset(chain))
    return found


def dead_chains(state: State, ownership: Sequence[float]) -> list[frozenset[int]]:
    """Chains that a net thinks dead; ``ownership`` in [-1, 1] of each point, from the view of the side to move."""
    board, expected = stones_to_array(state), np.asarray(ownership)
    found = []
    for chain in chains(state):
        mean = expected[list(chain)].mean()
        if (mean if board[min(chain)] == state["turn"] else -mean) < _DEAD:
            found.append(chain)
    return found
