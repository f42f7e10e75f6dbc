"""Tic-tac-toe: the smallest game that has everything. One folder, and nobody else knows of it.

:mod:`rules` holds the kernels; text and symmetries are here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from az_engine.engine.errors import IllegalMoveError, PositionError
from az_engine.engine.games.base import Game, State, line_of

from . import rules
from .rules import STATE

CELLS = [column + row for row in "321" for column in "abc"]  # cell 0 is a3, the top left
IMAGES = np.empty((8, 9), np.int32)
for k in range(8):
    cells = np.arange(9, dtype=np.int32).reshape(3, 3)
    IMAGES[k, np.rot90(cells[:, ::-1] if k >= 4 else cells, k % 4).ravel()] = cells.ravel()


class TicTacToe(Game):
    """Three in a row on a board of 3x3; crosses begin."""

    name = "tictactoe"
    protocol = "uci"
    planes = (2, 3, 3)  # the mover's men, the opponent's
    num_actions = max_moves = 9
    history = 1
    state_dtype = STATE
    planes_version = 1
    moves_version = 1
    branching = 5.0
    noise_alpha = 0.9
    typical_moves = 4.0
    plane_scale = np.ones(2, np.float32)

    describe = staticmethod(rules.describe)
    encode_kernel = staticmethod(rules.encode)
    actions_kernel = staticmethod(rules.actions)
    legal_actions_kernel = staticmethod(rules.legal_actions)

    def initial(self) -> State:
        return np.zeros(1, STATE)

    def parse_position(self, text: str, *, chess960: bool = False) -> tuple[State, list[str]]:
        """Nine cells x, o or '.', by rows from the top; whose move it is follows from their number."""
        if len(text) != 9 or set(text) - set("xo."):
            raise PositionError(f"{text[:20]!r} is not a board of nine cells x, o and '.'")
        turn = text.count("x") - text.count("o")
        if turn not in (0, 1):
            raise PositionError(f"{text!r} cannot come about: crosses begin, and both move in turn")
        line = self.initial()
        line[0]["men"] = [sum(1 << i for i, cell in enumerate(text) if cell == man) for man in "xo"]
        line[0]["ply"] = 9 - text.count(".")
        line[0]["turn"] = turn
        return line, []

    def format_position(self, state: State) -> str:
        crosses, noughts = (int(men) for men in state["men"])
        return "".join("x" if crosses >> i & 1 else "o" if noughts >> i & 1 else "." for i in range(9))

    def parse_move(self, line: State, text: str) -> int:
        if text not in CELLS or CELLS.index(text) not in self.legal_moves(line):
            raise IllegalMoveError(f"{text[:20]!r} is no move here")
        return CELLS.index(text)

    def format_move(self, state: State, move: int, *, chess960: bool = False) -> str:
        return CELLS[move]

    def play(self, line: State, move: int) -> State:
        longer = np.concatenate([line, line[-1:]])
        self.play_at(longer, len(line) - 1, move)
        return longer

    def play_at(self, line: State, i: int, move: int) -> None:
        rules.play_in_line(line, i, move)

    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        out, counts = np.empty((1, 9), np.int32), np.empty(1, np.int32)
        rules.legal_actions(line_of(line)[-1:], np.zeros(1, np.int64), out, counts)
        return out[0, : counts[0]].astype(np.uint16)

    def outcome(self, line: State) -> int:
        return int(rules.outcome_of(line, len(line) - 1))

    def window(self, line: State) -> State:
        return line[-1:]

    def perft(self, state: State, depth: int) -> dict[str, int]:
        line, counts = line_of(state), {}
        for move in self.legal_moves(line).tolist():
            below = self.play(line, move)[-1]
            counts[CELLS[move]] = 1 if depth == 1 else sum(self.perft(below, depth - 1).values())
        return counts

    def normalise(self, states: State) -> None:
        """Nothing to do: no field depends on another."""

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:
        """Nothing to do: no position comes again."""

    @property
    def action_images(self) -> NDArray[np.int32]:
        return IMAGES

    def transform(self, planes: NDArray[np.uint8], which: NDArray[np.int64]) -> NDArray[np.uint8]:
        flat = planes.reshape(len(planes), 2, 9)
        images = np.empty_like(flat)
        np.put_along_axis(images, IMAGES[which][:, None].repeat(2, axis=1), flat, axis=2)
        return images.reshape(planes.shape)


GAME = TicTacToe()
