"""Chess and Chess960 over UCI.

Read :mod:`state` first, then :mod:`rules` (with :mod:`attacks`), :mod:`moves` (a net's actions) and :mod:`notation`
(FEN and UCI); :mod:`encoders` has what nets see. The short mates at the leaves of a search need :mod:`checks`;
:mod:`book` reads opening books; :mod:`quiet` resolves captures, with :mod:`exchanges`, for evaluations from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import IllegalMoveError
from ...info import Calibration, Wdl, centipawns
from ...params import EngineOptions
from ...records.formats import RecordFormat
from ...records.record import Record
from ..base import Game
from ..book import BOOK_OPTIONS, Book
from ..capabilities import TABLE_OPTIONS, Tablebase
from ..encoder import Encoder
from ..outcome import DRAW, RUNNING
from ..position_lines import position_lines
from ..rules import line_of
from . import notation, rules
from .checks import ChessMate
from .encoders import lc0, sparse
from .encoders.planes import ENCODER
from .openings import OPENINGS
from .quiet import QUIESCENCE
from .state import STATE, State


class Chess(Game):
    """Standard chess, and Chess960 as its variant: castling rights with any rook, written as king takes rook."""

    name = "chess"
    protocol = "uci"
    special_options = (
        frozenset({"chess960", "limit_strength", "elo", "mate_plies", "transpositions", "score_type"})
        | BOOK_OPTIONS
        | TABLE_OPTIONS
    )
    sides = ("White", "Black")
    pieces = "chessmen"
    openings = OPENINGS
    state_dtype = STATE
    play_functions = rules.PLAY
    encoder = ENCODER
    quiescence = QUIESCENCE
    mate_within = ChessMate
    typical_moves = 45.0
    calibration = Calibration(half=0.547, spread=0.238, pieces=0.413)  # report calibration --fit

    def __init__(self, *, chess960: bool = False) -> None:
        self._chess960 = chess960
        self.form = "chess960" if chess960 else ""

    def variant(self, name: str) -> Game:
        game = CHESS960 if name == "chess960" else GAME if name == self.name else super().variant(name)
        return game.using(self.encoder.name)

    @property
    def encoders(self) -> Mapping[str, Encoder]:
        return lc0.ENCODERS | {sparse.ENCODER.name: sparse.ENCODER}

    def initial(self) -> State:
        return notation.parse_fen(notation.START)[0]

    def centipawns(self, wdl: Wdl, options: EngineOptions) -> int:
        """As Stockfish's: +1.00 is a half chance to win; Lc0's where an outcome has no chance at all.

        In pawns x / h of such chances, see :class:`Calibration`: Lc0's ``WDL_mu``.
        """
        win, draw, loss = wdl.win, wdl.draw, wdl.loss
        if min(win, draw, loss) <= 0.0:
            return centipawns(win - loss)
        return round(100.0 * math.log(win / loss * (draw + win) / (draw + loss)) / math.log1p(draw / win / loss))

    def parse_position(self, text: str) -> tuple[State, list[str]]:
        return notation.parse_fen(text, chess960=self._chess960)

    def format_position(self, state: State) -> str:
        return notation.format_fen(state)

    def parse_move(self, line: State, text: str) -> int:
        line = line_of(line)
        return notation.parse_uci(line[-1], text, self.legal_moves(line).tolist())

    def format_move(self, state: State, move: int) -> str:
        return notation.format_uci(state, move, chess960=self._chess960)

    def format_moves(self, state: State, moves: Sequence[int]) -> tuple[str, ...]:
        rooks = 0 if self._chess960 else int(state["castling"])  # castling is the king taking one of these
        if any(rooks >> (move >> 6 & 63) & 1 for move in moves):
            return super().format_moves(state, moves)
        return tuple(map(notation.format_plain, moves))

    def read_move(self, line: State, text: str) -> int:
        from .records.san import read_san  # imports python-chess, which few callers need

        try:
            return super().read_move(line, text)
        except IllegalMoveError:
            return self.parse_move(line, read_san(self.format_position(line_of(line)[-1]), text, self._chess960))

    def write_move(self, line: State, move: int) -> str:
        from .records.san import write_san

        state = line_of(line)[-1]
        return write_san(self.format_position(state), self.format_move(state, move))

    def in_check(self, state: State) -> bool:
        return bool(rules.settle_all(line_of(state).copy())[0])

    def count_move(self, state: State, ply: int, word: str) -> str:
        return f"{int(state['ply']) // 2 + 1}{'...' if state['turn'] else '. '}{word}"

    def outcome(self, line: State) -> int:
        state, code = line[-1], self.look(line[-1:])[1]
        drawn = state["repetitions"] >= 2 or state["rule50"] >= 100 or rules.settle_all(line[-1:].copy())[2]
        return DRAW if code == RUNNING and drawn else code

    def look(self, line: State) -> tuple[NDArray[np.uint16], int]:
        return sparse.ENCODER.look(line)  # whose kernel the net inside the package needs, too

    def window(self, line: State) -> State:
        return line[-(max(self.encoder.history - 1, int(line[-1]["rule50"])) + 1) :]

    def normalise(self, states: State) -> None:
        rules.settle_all(states)

    def count_repetitions(self, states: State, first: NDArray[np.int64]) -> None:
        rules.count_repetitions(states, first)

    def open_book(self, path: Path) -> Book:
        from .book import PolyglotBook  # imports python-chess, which few callers need

        return PolyglotBook(path, chess960=self._chess960)

    def open_tables(self, folders: Sequence[str], *, most_pieces: int, rule50: bool) -> Tablebase:
        from .syzygy import SyzygyTables  # imports python-chess, which only endings need

        return SyzygyTables(folders, most_pieces=most_pieces, rule50=rule50)

    def count_pieces(self, state: State) -> int:
        return int(state["white"] | state["black"]).bit_count()

    def of_record(self, record: Record) -> Game:
        return self.variant("chess960") if notation.is_chess960(record) else self

    def position_of_line(self, text: str) -> str:
        return notation.fen_of_epd(text)

    @property
    def record_formats(self) -> tuple[RecordFormat, ...]:
        from .records import EPD, PGN  # imports python-chess, which few callers need

        return PGN, position_lines(self, "UCI", "fen", (".uci",)), EPD


GAME, CHESS960 = Chess(), Chess(chess960=True)
