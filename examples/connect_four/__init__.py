"""Connect four: four in a line on a board of seven columns and six rows."""

from __future__ import annotations

import numpy as np

from az_engine.engine.errors import PositionError
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.capabilities import Symmetries, TrainingDefaults

from . import rules
from .rules import COLUMNS, ROWS, STATE

LETTERS = "abcdefg"
CELLS = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
MIRRORED = np.stack([CELLS, CELLS[:, ::-1]])


class ConnectFour(Game):
    """Connect four; a move is a column, a to g."""

    name = "connect_four"
    protocol = "uci"
    state_dtype = STATE
    play_functions = rules.PLAY
    encoder = rules.ENCODER
    symmetries = Symmetries(MIRRORED.reshape(2, -1), MIRRORED[:, 0])
    branching = 6.0
    typical_moves = 18.0
    training = TrainingDefaults(noise_alpha=0.9, longest_game=ROWS * COLUMNS)

    def initial(self) -> State:
        return np.zeros(1, STATE)

    def parse_position(self, text: str) -> tuple[State, list[str]]:
        """Six rows from the top, each seven cells x, o or '.'; whose move it is follows from their number."""
        rows = text.split("/")
        if len(rows) != ROWS or any(len(row) != COLUMNS or set(row) - set("xo.") for row in rows):
            raise PositionError(f"{text[:60]!r} is not six rows of seven cells x, o and '.', with / between them")
        cells = [(cell, 7 * c + r) for r, row in enumerate(reversed(rows)) for c, cell in enumerate(row)]
        pieces = [sum(1 << bit for cell, bit in cells if cell == piece) for piece in "xo"]
        both, turn = pieces[0] | pieces[1], pieces[0].bit_count() - pieces[1].bit_count()
        if turn not in (0, 1) or any((both >> 7 * c & 63) + 1 & both >> 7 * c & 63 for c in range(COLUMNS)):
            raise PositionError(f"{text[:60]!r} cannot arise: x begins, both move in turn, pieces fall to the bottom")
        line = self.initial()
        line[0]["pieces"], line[0]["ply"], line[0]["turn"] = pieces, both.bit_count(), turn
        return line, []

    def format_position(self, state: State) -> str:
        first, second = (int(pieces) for pieces in state["pieces"])
        cells = ["x" if first >> bit & 1 else "o" if second >> bit & 1 else "." for bit in range(7 * COLUMNS)]
        return "/".join("".join(cells[r::7]) for r in range(ROWS - 1, -1, -1))

    def format_move(self, state: State, move: int) -> str:
        return LETTERS[move]


GAME = ConnectFour()
