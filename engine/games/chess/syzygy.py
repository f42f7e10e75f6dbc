"""Syzygy endgame tables, read by python-chess: how positions with few pieces end with best play.

WDL tables tell the outcome right after a capture or a pawn move, with the fifty-move rule; DTZ tables the plies to the
next one, by which won positions are won and not only kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import chess
import chess.syzygy
import numpy as np
from numpy.typing import NDArray

from ..capabilities import Tablebase
from ..outcome import DRAW, LOSS, WIN
from .notation import format_fen, format_uci
from .state import PIECES, WHITE

State = NDArray[np.void]
BUNDLED_TABLES = Path(__file__).parent / "tables"  # three and four pieces


class SyzygyTables(Tablebase):
    """The tables in some folders, and those inside the package. Opened files stay open."""

    def __init__(self, folders: Sequence[str], *, most_pieces: int, rule50: bool) -> None:
        self.problems: list[str] = []
        self._unreadable = set[str]()  # sentences that were shown
        self._rule50 = rule50
        self._tables = chess.syzygy.Tablebase()
        self._tables.add_directory(str(BUNDLED_TABLES))
        for folder in folders:
            try:
                result = self._tables.add_directory(folder)
            except OSError as error:
                self.problems.append(f"SyzygyPath: the folder {folder!r} cannot be read ({error.strerror})")
                continue
            if not result:
                self.problems.append(f"SyzygyPath: the folder {folder!r} holds no Syzygy tables (.rtbw, .rtbz)")
        largest = max((len(name) - 1 for name in self._tables.wdl), default=0)
        self.most_pieces = min(most_pieces, largest)

    def outcome(self, state: State) -> int | None:
        if state["rule50"] or state["castling"] or _count_pieces(state) > self.most_pieces:
            return None
        wdl = self._read(self._tables.get_wdl, _board(state))
        if wdl is None:
            return None
        self.hits += 1
        return self._code(wdl)

    def rank_moves(self, line: State, moves: NDArray[np.uint16]) -> list[tuple[int, int]] | None:
        state = line[-1]
        if state["castling"] or _count_pieces(state) > self.most_pieces:
            return None
        board = chess.Board(format_fen(state))
        ranks = []
        for move in moves.tolist():
            board.push_uci(format_uci(state, move))
            rank = self._rank(board)
            board.pop()
            if rank is None:
                return None
            ranks.append(rank)
        self.hits += len(ranks)
        order = {rank: place for place, rank in enumerate(sorted(set(ranks)))}
        return [(self._code(rank[0]), order[rank]) for rank in ranks]

    def _rank(self, board: chess.Board) -> tuple[int, int] | None:
        """(WDL, preference) of the move that led to a position, the mover's view; None without the table."""
        if board.is_checkmate():
            return 2, 1
        wdl = self._read(self._tables.get_wdl, board)
        if wdl is None:
            return None
        if wdl == 0:
            return 0, 0
        plies = abs(self._read(self._tables.get_dtz, board) or 0)
        if board.halfmove_clock == 0:
            plies = 0  # the move itself is the progress
        elif abs(wdl) == 2 and self._rule50 and board.halfmove_clock + plies > 100:
            wdl //= 2  # too late by the fifty-move rule
        return -wdl, -plies if wdl < 0 else plies

    def _read(self, probe: Callable[[chess.Board], int | None], board: chess.Board) -> int | None:
        """What a table says; None without it, or where its file cannot be read: then ``problems`` tells it, once."""
        try:
            return probe(board)
        except Exception as error:  # noqa: BLE001 - python-chess finds damage by whatever it leads to
            problem = f"SyzygyPath: a table cannot be read and is left out ({str(error) or type(error).__name__})"
        if problem not in self._unreadable:
            self._unreadable.add(problem)
            self.problems.append(problem)
        return None

    def _code(self, wdl: int) -> int:
        if abs(wdl) < 2 and self._rule50:
            return DRAW
        return WIN if wdl > 0 else LOSS if wdl < 0 else DRAW


def _count_pieces(state: State) -> int:
    return int(state["white"] | state["black"]).bit_count()


def _board(state: State) -> chess.Board:
    """A board of python-chess, without the clocks and castling rights."""
    board = chess.Board(None)
    for name in PIECES:
        setattr(board, name, int(state[name]))
    board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK] = int(state["white"]), int(state["black"])
    board.occupied = int(state["white"] | state["black"])
    board.turn = bool(state["turn"] == WHITE)
    board.ep_square = int(state["ep"]) if state["ep"] < 64 else None
    return board
