"""A made-up game on a random tree, so that the search is tested without chess and against the exact solution.

A position is a number; every position has a few moves, each to a position of its own, or the game is over there.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from az_engine.engine.games.base import Game, State
from az_engine.engine.games.encoder import Encoder, LeafFunctions
from az_engine.engine.games.leaves import Leaves
from az_engine.engine.games.outcome import DRAW, LOSS, RUNNING, WIN
from az_engine.engine.games.rules import line_of

STATE = np.dtype([("node", "i4"), ("turn", "u1")])
MAX_MOVES = 8


class TreeGame(Game):
    """``children[i]``: {move: position} of position i; ``outcomes[i]``: how it stands for the side to move."""

    name = "tree"
    protocol = "uci"
    state_dtype = STATE

    def __init__(self, seed: int, depth: int, *, stop: float = 0.15, width: int = MAX_MOVES) -> None:
        """A tree of at most ``depth`` plies; ``stop``: chance that a position is the game's end."""
        self.encoder = Encoder(
            planes=(4, 1, 1),
            num_actions=64,
            max_moves=MAX_MOVES,
            plane_scale=np.ones(4, np.float32),
            leaf=LeafFunctions(*[self._encode] * 7),  # there are no kernels
            describe=self._describe,
            encode=self._encode,
            actions=self._actions,
            legal_actions=self._encode,
        )
        rng = random.Random(seed)
        self.children: list[dict[int, int]] = [{}]
        self.outcomes = [RUNNING]
        frontier = [0]
        for ply in range(1, depth + 1):
            next_frontier = []
            for parent in frontier:
                for move in rng.sample(range(64), rng.randint(1, width)):
                    node = len(self.children)
                    self.children[parent][move] = node
                    self.children.append({})
                    over = ply == depth or rng.random() < stop
                    self.outcomes.append(rng.choice((LOSS, DRAW, WIN)) if over else RUNNING)
                    if not over:
                        next_frontier.append(node)
            frontier = next_frontier

    def solve(self, node: int = 0) -> int:
        """The outcome with best play, for the side to move."""
        if self.outcomes[node] != RUNNING:
            return self.outcomes[node]
        return max(-self.solve(child) for child in self.children[node].values())

    def initial(self) -> State:
        return np.zeros(1, STATE)

    def parse_position(self, text: str) -> tuple[State, list[str]]:
        raise NotImplementedError

    def format_position(self, state: State) -> str:
        return str(state["node"])

    def parse_move(self, state: State, text: str) -> int:
        return int(text)

    def format_move(self, state: State, move: int) -> str:
        return str(move)

    def play(self, line: State, move: int) -> State:
        longer = np.concatenate([line, line[-1:]])
        self.play_at(longer, len(line) - 1, move)
        return longer

    def play_at(self, line: State, i: int, move: int) -> None:
        line[i + 1] = (self.children[int(line[i]["node"])][move], 1 - line[i]["turn"])

    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        return np.array(list(self.children[int(line_of(line)[-1]["node"])]), np.uint16)

    def outcome(self, line: State) -> int:
        return self.outcomes[int(line[-1]["node"])]

    def window(self, line: State) -> State:
        return line[-1:]

    def _encode(self, states: State, index: Any, first: Any, history: int, out: NDArray[np.uint8]) -> None:
        for row, i in enumerate(index):
            out[row] = np.array([states[i]["node"]], np.int32).view(np.uint8)

    def _actions(self, states: State, index: Any, moves: NDArray[np.uint16], out: NDArray[np.int32]) -> None:
        out[:] = moves

    def _describe(self, states: State, leaves: Leaves, count: int, history: int, plies: int) -> None:
        for b, leaf in enumerate(leaves.rows[:count]):
            line = states[leaf["slot"], leaf["root"] : leaf["root"] + 1]
            for move in leaves.paths[b, : leaf["length"]]:
                line = self.play(line, int(move))
            legal = self.legal_moves(line[-1])
            leaf["count"] = len(legal)
            leaves.moves[b, : len(legal)] = leaves.actions[b, : len(legal)] = legal
            leaf["outcome"] = self.outcome(line)
            leaf["key"] = line[-1]["node"]
            self._encode(line, [len(line) - 1], None, 1, leaves.planes[b : b + 1])
