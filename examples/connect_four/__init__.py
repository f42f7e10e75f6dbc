"""Connect four: four in a line on a board of seven columns and six rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from az_engine.engine.errors import PositionError
from az_engine.engine.games.base import Game, State
from az_engine.engine.games.capabilities import TrainingDefaults

from . import rules
from .rules import COLUMNS, ROWS, STATE

LETTERS = "abcdefg"
MIRROR = np.array([range(COLUMNS), range(COLUMNS - 1, -1, -1)], np.int32)


class ConnectFour(Game):
    """Connect four; a position is six rows from the top, such as 7/7/7/7/3o3/3x3 x."""

    name = "connect_four"
    protocol = "uci"
    state_dtype = STATE
    play_functions = rules.PLAY
    encoder = rules.ENCODER
    branching = 6.0
    typical_moves = 18.0
    training = TrainingDefaults(noise_alpha=0.9, longest_game=ROWS * COLUMNS)

    def initial(self) -> State:
        return np.zeros(1, STATE)

    def parse_position(self, text: str, *, chess960: bool = False) -> tuple[State, list[str]]:
        fields = text.split()
        rows = fields[0].split("/") if fields else []
        if len(fields) != 2 or fields[1] not in ("x", "o") or len(rows) != ROWS:
            raise PositionError(f"{text[:40]!r} is not six rows, then x or o to move")
        line = self.initial()
        men = [0, 0]
        for r, row in enumerate(rows):
            column = 0
            for letter in row:
                if letter in "1234567":
                    column += int(letter)
                elif letter in "xo" and column < COLUMNS:
                    men["xo".index(letter)] |= 1 << (7 * column + ROWS - 1 - r)
                    column += 1
                else:
                    column = COLUMNS + 1
            if column != COLUMNS:
                raise PositionError(f"row {row[:20]!r} does not have seven cells")
        both = men[0] | men[1]
        if any(((both >> 7 * c & 63) + 1) & (both >> 7 * c & 63) for c in range(COLUMNS)):
            raise PositionError(f"{text[:40]!r} has a man that floats")
        ply, turn = both.bit_count(), men[0].bit_count() - men[1].bit_count()
        if turn not in (0, 1) or "xo"[turn] != fields[1]:
            raise PositionError(f"{text[:40]!r} cannot come about: x begins, and both move in turn")
        line[0]["men"], line[0]["ply"], line[0]["turn"] = men, ply, turn
        return line, []

    def format_position(self, state: State) -> str:
        first, second = (int(men) for men in state["men"])
        rows = []
        for r in range(ROWS - 1, -1, -1):
            cells = ["x" if first >> 7 * c + r & 1 else "o" if second >> 7 * c + r & 1 else "." for c in range(COLUMNS)]
            text = "".join(cells)
            for n in range(COLUMNS, 0, -1):
                text = text.replace("." * n, str(n))
            rows.append(text)
        return f"{'/'.join(rows)} {'xo'[int(state['turn'])]}"

    def format_move(self, state: State, move: int, *, chess960: bool = False) -> str:
        return LETTERS[move]

    @property
    def action_images(self) -> NDArray[np.int32]:
        return MIRROR

    def transform(self, planes: NDArray[np.uint8], which: NDArray[np.int64]) -> NDArray[np.uint8]:
        return np.where((which == 1)[:, None, None, None], planes[..., ::-1], planes)


GAME = ConnectFour()
