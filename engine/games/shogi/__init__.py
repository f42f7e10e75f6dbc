"""Shogi over USI.

Read :mod:`state` first, then :mod:`rules` (with :mod:`attacks` and :mod:`endings`), :mod:`moves` (a net's actions)
and :mod:`notation` (SFEN and USI moves); :mod:`encoders` has what nets see. The short mates at the leaves of a search
need :mod:`checks`; :mod:`mate` looks for forced mates alone; :mod:`book` reads opening books; :mod:`quiet` resolves
captures, with :mod:`exchanges`, for evaluations from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...errors import IllegalMoveError
from ...info import Calibration, Wdl
from ...params import EngineOptions
from ...records.formats import RecordFormat
from ...records.record import Record
from ..base import Game
from ..book import BOOK_OPTIONS
from ..capabilities import Declaration, TrainingDefaults
from ..encoder import Encoder
from ..position_lines import position_lines
from ..rules import line_of
from . import book, endings, notation, rules
from .encoders import dlshogi, miniosl, sparse
from .encoders.planes import ENCODER
from .mate import ShogiMate
from .quiet import QUIESCENCE
from .state import NO_RULE, POINTS_24, POINTS_24_HANDICAP, POINTS_27, POINTS_27_HANDICAP, STATE, TRY, State

DECLARATIONS = {
    "none": NO_RULE,
    "24": POINTS_24,
    "24 handicap": POINTS_24_HANDICAP,
    "27": POINTS_27,
    "27 handicap": POINTS_27_HANDICAP,
    "try": TRY,
}


class EnteringKing(Declaration):
    """The declaration that one's king has entered the enemy's camp."""

    def possible(self, line: State) -> bool:
        return bool(endings.can_declare_kernel(line[-1:]))

    def set_rules(self, line: State, *, rule: str = "27", max_plies: int = 0) -> None:
        line["declaration"] = DECLARATIONS[rule]
        line["limit"] = min(max_plies, 65535)


_MOST = 30_000.0  # centipawns of a game that is won

OPENINGS = {"Rook pawns (2g2f 8c8d)": "2g2f 8c8d", "Bishops' diagonals (7g7f 3c3d)": "7g7f 3c3d"}


class Shogi(Game):
    """Shogi, with or without handicap."""

    name = "shogi"
    protocol = "usi"
    special_options = frozenset(
        {"max_plies", "entering_king_rule", "all_moves", "mate_plies", "eval_coef", *BOOK_OPTIONS}
    )
    sides = ("Black", "White")
    pieces = "tiles"
    openings = OPENINGS
    state_dtype = STATE
    play_functions = rules.PLAY
    encoder = ENCODER
    typical_moves = 60.0
    calibration = Calibration(half=0.0, spread=0.638)  # report calibration --fit
    score_scale = 600.0
    training = TrainingDefaults(noise_alpha=0.15)
    mate_search = ShogiMate
    declaration = EnteringKing()
    quiescence = QUIESCENCE
    open_book = staticmethod(book.open_book)

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        return {**dlshogi.ENCODERS, **miniosl.ENCODERS, sparse.ENCODER.name: sparse.ENCODER}

    @property
    def handicaps(self) -> tuple[str, ...]:
        from .records.words import HANDICAPS  # which few callers need

        return tuple(sfen for sfen in HANDICAPS.values() if sfen != notation.START)

    def initial(self) -> State:
        return notation.parse_sfen(notation.START)[0]

    def parse_position(self, text: str) -> tuple[State, list[str]]:
        return notation.parse_sfen(text)

    def format_position(self, state: State) -> str:
        return notation.format_sfen(state)

    def parse_move(self, line: State, text: str) -> int:
        line = line_of(line)
        return notation.parse_usi(line[-1], text, self.legal_moves(line).tolist())

    def format_move(self, state: State, move: int) -> str:
        return notation.format_usi(move)

    def read_move(self, line: State, text: str) -> int:
        from .records import moves

        try:
            return super().read_move(line, text)
        except IllegalMoveError:
            return self.parse_move(line, moves.read_move(line_of(line), text))

    def write_native(self, line: State, move: int) -> str:
        from .records import moves

        return moves.japanese(line_of(line), move)

    def in_check(self, state: State) -> bool:
        return bool(state["checked"])

    def legal_moves(self, line: State) -> NDArray[np.uint16]:
        return self.encoder.look(line_of(line)[-1:])[0]

    def outcome(self, line: State) -> int:
        return int(endings.verdict_kernel(line[-1:], len(self.legal_moves(line))))

    def normalise(self, states: State) -> None:
        rules.settle_all(states)

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:
        endings.count_repetitions(states, first)

    def centipawns(self, wdl: Wdl, options: EngineOptions) -> int:
        """Eval_Coef * ln(p / (1 - p)) for expected points p, as programs with a net show it; 30,000 at most."""
        points = (1.0 + wdl.value) / 2.0
        if not 0.0 < points < 1.0:
            return round(math.copysign(_MOST, wdl.value))
        score = options.eval_coef * math.log(points / (1.0 - points))
        return round(min(max(score, -_MOST), _MOST))

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        from .records import CSA, JKF, KI2, KIF  # needed by few callers

        return CSA, KIF, KI2, JKF, position_lines(self, "USI", "sfen", (".usi", ".sfen"))

    def start_of(self, record: Record) -> State:
        return notation.parse_sfen(record.root or notation.START, problem=True)[0]


GAME = Shogi()
