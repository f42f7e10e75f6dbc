"""Go over GTP, on any board from 2x2 to 25x25, square or not.

Read :mod:`state` and :mod:`board` first, then :mod:`rules` with :mod:`rulesets`, :mod:`notation` and :mod:`score`;
:mod:`encoders` has what nets see: KataGo's with :mod:`ladders` and :mod:`passalive`. The kernels read the board's size
from the states, so that one compilation serves every size; a :class:`Go` has one size because a net's input has. Komi
and rule set are part of each state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ...errors import OptionError
from ...records.formats import RecordFormat
from ...records.record import Record
from ..base import Game
from ..capabilities import Symmetries, TrainingDefaults, board_symmetries
from ..encoder import Encoder
from ..outcome import RUNNING
from ..rules import line_of
from . import notation, rules
from .encoders import katago
from .encoders.planes import encoder
from .rulesets import rule_set
from .score import GoTerritory
from .state import MAX_SIZE, MIN_SIZE, STATE, State

DEFAULT_SIZE, DEFAULT_RULES = 9, "tromp-taylor"


class Go(Game):
    """Go on one size of board: ``columns`` x ``rows`` points."""

    name = "go"
    protocol = "gtp"
    sides = ("Black", "White")
    pieces = "stones"
    state_dtype = STATE
    play_functions = rules.PLAY
    training = TrainingDefaults(noise_alpha=0.03, schedule="az-go")
    territory = GoTerritory()

    def __init__(self, columns: int, rows: int) -> None:
        """Errors: OptionError for a size there is no board of."""
        for lines in (columns, rows):
            if not MIN_SIZE <= lines <= MAX_SIZE:
                raise OptionError(f"Go is played on boards of {MIN_SIZE} to {MAX_SIZE} lines, not {lines}")
        self.columns, self.rows, points = columns, rows, columns * rows
        self.encoder = encoder(columns, rows)
        images = board_symmetries(columns, rows)
        self.symmetries = Symmetries(images, np.insert(images, points, points, axis=1))  # the pass stays
        alpha = round(self.training.noise_alpha * 19**2 / points, 2)  # the paper's is of 19x19
        self.training = replace(self.training, noise_alpha=alpha, longest_game=2 * points)
        self.typical_moves = max(0.3 * points, 1.0)  # 9x9: 24, 19x19: 108
        self.branching = max(4.0, 0.6 * points)

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        return katago.encoders(self.columns, self.rows)

    def sized(self, columns: int, rows: int | None = None) -> Game:
        return _game(columns, columns if rows is None else rows)

    def initial(self, komi: float | None = None, rule_name: str = DEFAULT_RULES) -> State:
        komi = rules.usual_komi(self.columns, self.rows) if komi is None else komi
        return notation.empty_board(self.columns, self.rows, komi, rule_name)

    def parse_position(self, text: str) -> tuple[State, list[str]]:
        line, notes = notation.parse_position(text)
        columns, rows = notation.size_of(line[0])
        if (columns, rows) != (self.columns, self.rows):
            raise OptionError(f"this is a {columns}x{rows} board, not {self.columns}x{self.rows}")
        return line, notes

    def format_position(self, state: State) -> str:
        return notation.format_position(state)

    def parse_move(self, line: State, text: str) -> int:
        line = line_of(line)
        return notation.parse_move(line[-1], text, self.legal_moves(line))

    def format_move(self, state: State, move: int) -> str:
        return notation.format_move(state, move)

    def format_moves(self, state: State, moves: Sequence[int]) -> tuple[str, ...]:
        return tuple(notation.format_move(state, move) for move in moves)

    def outcome(self, line: State) -> int:
        return self.territory.outcome(line[-1]) if line[-1]["passes"] >= 2 else RUNNING

    def alone(self, line: State) -> State:
        if not self.encoder.knows_rules:
            return line
        line = line.copy()
        line[-1]["last"] = 0
        return line

    def of_record(self, record: Record) -> Game:
        if record.root is None:
            return self
        return self.sized(*notation.size_of(notation.parse_position(record.root)[0][0]))

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        from .records import GIB, NGF, SGF, UGF  # wanted by few

        return SGF, GIB, NGF, UGF

    def normalise(self, states: State) -> None:
        rules.settle_all(states)

    def random_games(self, count: int, seed: int) -> int:
        """Play ``count`` games of random legal moves inside one kernel; returns the moves played. For benches."""
        most = 2 * self.columns * self.rows
        return int(rules.random_games(self.initial(), rule_set(DEFAULT_RULES).flags, most, count, seed)[0])


@cache
def _game(columns: int, rows: int) -> Go:
    return Go(columns, rows)


GAME = _game(DEFAULT_SIZE, DEFAULT_SIZE)
