"""Chess targets computed a second, slow way, on top of python-chess alone (Tables S1 and S2)."""

from __future__ import annotations

import math
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

DIRECTIONS = [
    (0, 1),
    (1, 1),
    (1, 0),
    (1, -1),
    (0, -1),
    (-1, -1),
    (-1, 0),
    (-1, 1),
]  # N NE E SE S SW W NW as (file, rank)
KNIGHTS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]


def board_of(record: Any) -> chess.Board:
    """The position of a labelled record."""
    board = chess.Board(None)
    bb = [int(x) for x in record["bb"]]
    for kind in range(6):
        for square in chess.SquareSet(bb[kind]):
            board.set_piece_at(square, chess.Piece(kind + 1, bool(bb[6] >> square & 1)))
    board.turn = bool(record["turn"])
    for bit, square in ((1, chess.H1), (2, chess.A1), (4, chess.H8), (8, chess.A8)):
        if record["castle"] & bit:
            board.castling_rights |= chess.BB_SQUARES[square]
    board.ep_square = None if record["ep"] == 255 else int(record["ep"])
    board.halfmove_clock = int(record["half"])
    return board


def move_of(code: int) -> chess.Move:
    """The move of a record's u2."""
    return chess.Move(code & 63, code >> 6 & 63, [None, 2, 3, 4, 5][code >> 12])


def action_of(board: chess.Board, move: chess.Move) -> int:
    """Index into the policy: plane * 64 + from-square, the mover's view."""
    flip = 0 if board.turn else 56
    source, target = move.from_square ^ flip, move.to_square ^ flip
    files = chess.square_file(target) - chess.square_file(source)
    ranks = chess.square_rank(target) - chess.square_rank(source)
    if move.promotion in (chess.KNIGHT, chess.BISHOP, chess.ROOK):
        plane = 64 + 3 * (move.promotion - chess.KNIGHT) + (0, 2, 1)[files]
    elif (files, ranks) in KNIGHTS:
        plane = 56 + KNIGHTS.index((files, ranks))
    else:
        distance = max(abs(files), abs(ranks))
        plane = 7 * DIRECTIONS.index((files // distance, ranks // distance)) + distance - 1
    return plane * 64 + source


def planes_of(boards: list[chess.Board], ply: int, history: int) -> NDArray[np.uint8]:
    """u1[119, 8, 8] of the last of ``boards``, a game from its first known position."""
    planes = np.zeros((119, 8, 8), np.uint8)
    now = boards[-1]

    def square_of(square: int) -> tuple[int, int]:
        rank, file = divmod(square if now.turn else square ^ 56, 8)
        return rank, file

    def same(a: chess.Board, b: chess.Board) -> bool:
        return a._transposition_key() == b._transposition_key()

    for t in range(min(history, len(boards))):
        at = len(boards) - 1 - t
        board = boards[at]
        for square, piece in board.piece_map().items():
            side = 0 if piece.color == now.turn else 6
            planes[14 * t + side + piece.piece_type - 1, *square_of(square)] = 1
        earlier = sum(same(board, other) for other in boards[:at])
        planes[14 * t + 12] = earlier >= 1
        planes[14 * t + 13] = earlier >= 2
    planes[112] = now.turn
    planes[113] = min(ply, 255)
    for index, colour in ((114, now.turn), (116, not now.turn)):
        planes[index] = now.has_kingside_castling_rights(colour)
        planes[index + 1] = now.has_queenside_castling_rights(colour)
    planes[118] = min(now.halfmove_clock, 255)
    return planes


def soft_policy(record: Any, temperature: float = 0.05, scale: float = 180.0) -> list[float]:
    """Probabilities of the record's labelled moves."""
    points = [1 / (1 + math.exp(-float(cp) / scale)) for cp in record["cp"][: record["n"]]]
    weights = [math.exp((w - points[0]) / temperature) for w in points]
    return [w / sum(weights) for w in weights]
