"""Forced mates by checks, by trying everything with python-chess: the oracle of short mates."""

from __future__ import annotations

import chess

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State

_CHESS = get_game("chess").variant("chess960")


def mates(line: State, plies: int) -> tuple[int, int] | None:
    """(plies, first move) of the shortest mate at the end of a line, of at most ``plies`` plies; None without one.

    With odd plies the side to move gives check until it mates; with even ones it is in check and is mated, and the move
    means nothing. Where moves mate equally soon the first in the engine's own order counts.
    """
    board = chess.Board(_CHESS.format_position(line[-1]), chess960=True)
    for n in range(1, plies + 1):
        if n % 2 == 0 and board.is_check() and _mated(board, n):
            return n, 0
        if n % 2 and _mating(board, n):
            for move in _CHESS.legal_moves(line).tolist():
                board.push_uci(_CHESS.format_move(line[-1], move))
                found = board.is_check() and _mated(board, n - 1)
                board.pop()
                if found:
                    return n, move
    return None


def _mating(board: chess.Board, plies: int) -> bool:
    for move in list(board.legal_moves):
        if board.gives_check(move):
            board.push(move)
            found = _mated(board, plies - 1)
            board.pop()
            if found:
                return True
    return False


def _mated(board: chess.Board, plies: int) -> bool:
    if plies == 0:
        return board.is_checkmate()
    for move in list(board.legal_moves):
        board.push(move)
        found = _mating(board, plies - 1)
        board.pop()
        if not found:
            return False
    return True
