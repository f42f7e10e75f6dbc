"""Shogi over USI.

Read :mod:`state` first, then :mod:`rules` (with :mod:`attacks`), :mod:`planes` and :mod:`moves` (what a net sees and
says), :mod:`notation` (SFEN and USI moves), and :mod:`leaves`, the kernel the search calls; :mod:`shortmate` (with
:mod:`checks`) looks for short mates at its leaves, :mod:`mate` for forced mates alone; :mod:`dlshogi` and
:mod:`miniosl` (with :mod:`onemove`) are how those families of nets see the game.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..base import Encoder, Game, line_of
from ..capabilities import MateSearch
from ..position_lines import position_lines
from ..record import RecordFormat
from . import dlshogi, miniosl, notation, rules
from .leaves import describe, look
from .mate import ShogiMate
from .moves import NUM_ACTIONS, actions, legal_actions
from .planes import HISTORY, NUM_PLANES, encode, plane_scale
from .shortmate import mates
from .state import NO_RULE, POINTS_24, POINTS_27, STATE, State

DECLARATIONS = {"none": NO_RULE, "24": POINTS_24, "27": POINTS_27}


class Shogi(Game):
    """Shogi, with or without handicap."""

    name = "shogi"
    protocol = "usi"
    own_options = frozenset({"max_plies", "entering_king_rule", "all_moves", "mate_plies"})
    sides = ("Black", "White")
    planes = (NUM_PLANES, 9, 9)
    num_actions = NUM_ACTIONS
    max_moves = rules.MAX_MOVES
    history = HISTORY
    state_dtype = STATE
    planes_version = 1
    moves_version = 1
    noise_alpha = 0.15
    typical_moves = 60.0
    plane_scale = plane_scale()

    describe = staticmethod(describe)
    mates = staticmethod(mates)
    encode_kernel = staticmethod(encode)
    actions_kernel = staticmethod(actions)
    legal_actions_kernel = staticmethod(legal_actions)

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        return {**dlshogi.ENCODERS, **miniosl.ENCODERS}

    def initial(self) -> State:
        return notation.parse_sfen(notation.START)

    def parse_position(self, text: str, *, chess960: bool = False) -> tuple[State, list[str]]:
        return notation.parse_sfen(text), []

    def format_position(self, state: State) -> str:
        return notation.format_sfen(state)

    def parse_move(self, line: State, text: str) -> int:
        return notation.parse_usi(line_of(line)[-1], text)

    def format_move(self, state: State, move: int, *, chess960: bool = False) -> str:
        return notation.format_usi(move)

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
        return int(rules.verdict_kernel(line[-1:], len(look(line[-1])[0])))

    def window(self, line: State) -> State:
        return line

    def perft(self, state: State, depth: int) -> dict[str, int]:
        counts = {}
        for move in look(state)[0].tolist():
            counts[notation.format_usi(move)] = rules.perft(self.play(state.reshape(1), move)[-1], depth - 1)
        return counts

    def normalise(self, states: State) -> None:
        rules.settle_all(states)

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:
        rules.count_repetitions(states, first)

    def set_rules(self, line: State, *, declaration: str = "27", max_plies: int = 0) -> None:
        line["declaration"] = DECLARATIONS[declaration]
        line["limit"] = min(max_plies, 65535)

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        from . import csa, kif  # wanted by few

        return csa.FORMAT, kif.KIF, kif.KI2, position_lines(self, "USI", "sfen", (".usi", ".sfen"))

    def mate_search(self, line: State, memory: int) -> MateSearch:
        return ShogiMate(line, memory)

    def can_declare(self, line: State) -> bool:
        """Whether the side to move may win by declaring its king entered; ``outcome`` leaves that choice to it."""
        return bool(rules.can_declare_kernel(line[-1:]))


GAME = Shogi()
