"""Counting a position by area: with every stone alive, as Tromp-Taylor counts, or without dead stones.

Which stones are dead is for the players to agree on, or for a net to say: a chain is dead where the net expects its
points to become the opponent's. Without such an output every stone on the board counts as alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..capabilities import Territory
from . import handicap, notation, passalive
from .rules import compensation, count_score
from .rulesets import FRIENDLY, TERRITORY, UNENDED
from .state import BLACK, EMPTY, WHITE, State, stones_from_array, stones_to_array

_DEAD = -0.5  # mean ownership of a chain, its owner's view, below which it counts as dead: when in doubt it lives


class GoTerritory(Territory):
    """The count of a Go board of any size."""

    def score(self, state: State, dead: Iterable[Collection[int]] = ()) -> tuple[float, NDArray[np.uint8]]:
        board = stones_to_array(state)
        for chain in dead:
            board[list(chain)] = EMPTY
        counted = state.reshape(1).copy()
        counted["stones"] = stones_from_array(board[None])
        owner = np.empty(len(board), np.uint8)
        return count_score(counted, 0, owner) / 2, owner

    def chains(self, state: State) -> list[frozenset[int]]:
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

    def dead_chains(self, state: State, ownership: Sequence[float]) -> list[frozenset[int]]:
        board, expected = stones_to_array(state), np.asarray(ownership)
        found = []
        for chain in self.chains(state):
            mean = expected[list(chain)].mean()
            if (mean if board[min(chain)] == state["turn"] else -mean) < _DEAD:
                found.append(chain)
        return found

    def unended(self, line: State) -> State:
        if not line[-1]["rules"] & FRIENDLY:  # territory is agreed on in any case
            return line
        line = line.copy()
        line["rules"] |= UNENDED
        return line

    def counts_dead_stones(self, state: State) -> bool:
        owners = [self.score(state)[1], passalive.area_of(state)]
        as_it_stands, without = (int((who == BLACK).sum()) - int((who == WHITE).sum()) for who in owners)
        return as_it_stands != without

    def lead(self, state: State, points: float) -> float:
        white = int(compensation(*(state[name] for name in ("komi", "handicap", "rules", "played")))) / 2
        return points - white if state["turn"] == BLACK else points + white

    def leads(
        self, root: State, paths: NDArray[np.uint16], lengths: NDArray[np.integer], points: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        depth = np.arange(paths.shape[1])
        sign = 1.0 if root["turn"] == BLACK else -1.0
        white = np.full(len(paths), self.lead(root, 0.0) * -sign)
        if root["rules"] & TERRITORY:
            stones = (depth < lengths[:, None]) & (paths < int(root["size"]) ** 2)
            white += sign * np.where(stones, 1 - 2 * (depth % 2), 0).sum(axis=1)
        black_to_move = (lengths % 2 == 0) == (root["turn"] == BLACK)
        return np.asarray(points + np.where(black_to_move, -white, white))

    def stones(self, state: State) -> NDArray[np.uint8]:
        return stones_to_array(state)

    def most_handicap(self, size: int) -> int:
        return handicap.most_handicap(size)

    def handicap(self, size: int, stones: int) -> list[int]:
        return handicap.handicap_points(size, stones)

    def start(self, size: int, komi: float | None, rules: str) -> str:
        fair = 7.0 if size == 9 else 7.5
        return notation.format_position(notation.empty_board(size, fair if komi is None else komi, rules)[0])
