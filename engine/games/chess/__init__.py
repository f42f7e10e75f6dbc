"""Chess and Chess960 over UCI.

Read :mod:`state` first, then :mod:`rules` (with :mod:`attacks`), :mod:`planes` and :mod:`moves` (what a net sees and
says), :mod:`notation` (FEN and UCI), and :mod:`leaves`, the kernel the search calls; :mod:`shortmate` looks for short
mates at its leaves; :mod:`lc0` is how Lc0's nets see the game.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..base import Encoder, Game, line_of
from ..outcome import DRAW, RUNNING
from ..position_lines import position_lines
from ..record import RecordFormat
from . import lc0, notation, rules
from .leaves import describe, look
from .moves import NUM_ACTIONS, actions, legal_actions
from .planes import HISTORY, NUM_PLANES, encode, plane_scale
from .shortmate import mates
from .state import STATE, State


class Chess(Game):
    """Standard chess and Chess960."""

    name = "chess"
    protocol = "uci"
    own_options = frozenset({"chess960", "limit_strength", "elo", "mate_plies"})
    sides = ("White", "Black")
    planes = (NUM_PLANES, 8, 8)
    num_actions = NUM_ACTIONS
    max_moves = rules.MAX_MOVES
    history = HISTORY
    state_dtype = STATE
    planes_version = 1
    moves_version = 1
    noise_alpha = 0.3
    typical_moves = 45.0
    plane_scale = plane_scale()

    describe = staticmethod(describe)
    mates = staticmethod(mates)
    encode_kernel = staticmethod(encode)
    actions_kernel = staticmethod(actions)
    legal_actions_kernel = staticmethod(legal_actions)

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        return lc0.ENCODERS

    def initial(self) -> State:
        return notation.parse_fen(notation.START)[0]

    def parse_position(self, text: str, *, chess960: bool = False) -> tuple[State, list[str]]:
        return notation.parse_fen(text, chess960=chess960)

    def format_position(self, state: State) -> str:
        return notation.format_fen(state)

    def parse_move(self, line: State, text: str) -> int:
        return notation.parse_uci(line_of(line)[-1], text)

    def format_move(self, state: State, move: int, *, chess960: bool = False) -> str:
        return notation.format_uci(state, move, chess960=chess960)

    def play(self, line: State, move: int) -> State:
        longer = np.empty(len(line) + 1, STATE)
        longer[:-1] = line
        self.play_at(longer, len(line) - 1, move)
        return longer

    def play_at(self, line: State, i: int, move: int) -> None:
        rules.play_in_line(line, i, move)

    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        return look(line_of(line)[-1])[0]

    def outcome(self, line: State) -> int:
        state = line[-1]
        code = look(state)[1]
        drawn = state["repetitions"] >= 2 or state["rule50"] >= 100 or notation.list_moves(state)[3]
        return DRAW if code == RUNNING and drawn else code

    def window(self, line: State) -> State:
        return line[-(max(self.history - 1, int(line[-1]["rule50"])) + 1) :]

    def perft(self, state: State, depth: int) -> dict[str, int]:
        counts = {}
        for move in notation.list_moves(state)[0]:
            below = rules.perft(self.play(state.reshape(1), move)[-1], depth - 1)
            counts[notation.format_uci(state, move)] = below
        return counts

    def normalise(self, states: State) -> None:
        rules.settle_all(states)

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:
        rules.count_repetitions(states, first)

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        from . import pgn  # brings python-chess, wanted by few

        return pgn.FORMAT, position_lines(self, "UCI", "fen", (".uci",))


GAME = Chess()
