"""Tic-tac-toe, the smallest complete game. :mod:`rules` holds the kernels; text and symmetries are here."""

from __future__ import annotations

import numpy as np

from az_engine.engine.errors import PositionError
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.capabilities import Symmetries, TrainingDefaults, board_symmetries

from . import rules
from .rules import STATE

CELLS = [column + row for row in "321" for column in "abc"]  # cell 0 is a3, the top left


class TicTacToe(Game):
    """Three in a row on a board of 3x3; crosses begin."""

    name = "tictactoe"
    protocol = "uci"
    state_dtype = STATE
    play_functions = rules.PLAY
    encoder = rules.ENCODER
    symmetries = Symmetries(board_symmetries(3, 3), board_symmetries(3, 3))
    branching = 4.0
    typical_moves = 4.0
    training = TrainingDefaults(noise_alpha=0.9, longest_game=9)

    def initial(self) -> State:
        return np.zeros(1, STATE)

    def parse_position(self, text: str) -> tuple[State, list[str]]:
        """Nine cells x, o or '.', by rows from the top; whose move it is follows from their number."""
        if len(text) != 9 or set(text) - set("xo."):
            raise PositionError(f"{text[:20]!r} is not a board of nine cells x, o and '.'")
        turn = text.count("x") - text.count("o")
        if turn not in (0, 1):
            raise PositionError(f"{text!r} cannot arise: x begins, and both move in turn")
        line = self.initial()
        line[0]["pieces"] = [sum(1 << i for i, cell in enumerate(text) if cell == piece) for piece in "xo"]
        line[0]["ply"] = 9 - text.count(".")
        line[0]["turn"] = turn
        return line, []

    def format_position(self, state: State) -> str:
        crosses, noughts = (int(pieces) for pieces in state["pieces"])
        return "".join("x" if crosses >> i & 1 else "o" if noughts >> i & 1 else "." for i in range(9))

    def format_move(self, state: State, move: int) -> str:
        return CELLS[move]


GAME = TicTacToe()
