"""The chess planes and actions once more, slowly, on top of python-chess: the oracle of test_encoding.py.

Written from the papers' tables (AlphaZero 2018, Tables S1 and S2) square by square, sharing no code with the engine.
"""

from __future__ import annotations

import chess
import numpy as np

HISTORY = 8
STEP = 14  # planes a position of the history
PIECES = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING)
COMPASS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))  # (file, rank), N to NW
KNIGHT = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
UNDER = (chess.KNIGHT, chess.BISHOP, chess.ROOK)
STRAIGHT_LEFT_RIGHT = (0, -1, 1)  # change of file


def game_so_far(board: chess.Board) -> list[chess.Board]:
    """Every position of the board's game, the first known one first, the current one last."""
    past = board.copy()
    positions = [past.copy(stack=False)]
    while past.move_stack:
        past.pop()
        positions.append(past.copy(stack=False))
    return positions[::-1]


def earlier_occurrences(positions: list[chess.Board]) -> int:
    """How often the last position occurred before in the list."""
    key = positions[-1]._transposition_key()
    return sum(p._transposition_key() == key for p in positions[:-1])


def planes(board: chess.Board) -> np.ndarray:
    """The network's input u1[119, 8, 8] of the board, its move stack being the game so far."""
    mover = board.turn
    out = np.zeros((HISTORY * STEP + 7, 8, 8), np.uint8)
    positions = game_so_far(board)
    for t in range(min(HISTORY, len(positions))):
        end = len(positions) - t
        position, base = positions[end - 1], t * STEP
        for square in chess.SQUARES:
            piece = position.piece_at(square)
            if piece is not None:
                side = 0 if piece.color == mover else 6
                rank = chess.square_rank(square) if mover else 7 - chess.square_rank(square)
                out[base + side + PIECES.index(piece.piece_type), rank, chess.square_file(square)] = 1
        repeated = earlier_occurrences(positions[:end])
        out[base + 12] = repeated >= 1
        out[base + 13] = repeated >= 2
    out[112] = mover == chess.WHITE
    out[113] = min(board.ply(), 255)
    out[114] = board.has_kingside_castling_rights(mover)
    out[115] = board.has_queenside_castling_rights(mover)
    out[116] = board.has_kingside_castling_rights(not mover)
    out[117] = board.has_queenside_castling_rights(not mover)
    out[118] = min(board.halfmove_clock, 255)
    return out


def _seen(square: int, mover: chess.Color) -> tuple[int, int]:
    """File and rank of a square as the mover sees it: ranks flipped for black, files as they are."""
    rank = chess.square_rank(square)
    return chess.square_file(square), rank if mover else 7 - rank


def _castling_distance(king_file: int, rook_file: int) -> int:
    """Squares that the policy lets the king move: two as in standard chess where it is one, else as far as the rook."""
    return 2 if king_file == 4 and rook_file in (0, 7) else abs(rook_file - king_file)


def action(board: chess.Board, move: chess.Move) -> int:
    """Index into the policy of a legal move; castling may be written either way."""
    mover = board.turn
    (file, rank), (to_file, to_rank) = _seen(move.from_square, mover), _seen(move.to_square, mover)
    df, dr = to_file - file, to_rank - rank
    if board.is_castling(move):
        kingside = board.is_kingside_castling(move)
        rooks = board.clean_castling_rights() & (chess.BB_RANK_1 if mover else chess.BB_RANK_8)
        rook_files = [chess.square_file(s) for s in chess.scan_forward(rooks)]
        rook_file = max(rook_files) if kingside else min(rook_files)
        distance = _castling_distance(file, rook_file)
        df = distance if kingside else -distance
    if move.promotion in UNDER:
        plane = 64 + 3 * UNDER.index(move.promotion) + STRAIGHT_LEFT_RIGHT.index(df)
    elif (df, dr) in KNIGHT:
        plane = 56 + KNIGHT.index((df, dr))
    else:
        distance = max(abs(df), abs(dr))
        plane = COMPASS.index((df // distance, dr // distance)) * 7 + distance - 1
    return plane * 64 + rank * 8 + file


def move_of(board: chess.Board, index: int) -> chess.Move | None:
    """The move that an action means on this board, python-chess's own castling notation; None when it leaves the board.

    It need not be legal. Pawns that reach the last rank by a queen-move plane become queens.
    """
    mover = board.turn
    plane, square = divmod(index, 64)
    rank, file = divmod(square, 8)
    promotion: int | None = None
    if plane < 56:
        direction, steps = divmod(plane, 7)
        df, dr = ((steps + 1) * d for d in COMPASS[direction])
    elif plane < 64:
        df, dr = KNIGHT[plane - 56]
    else:
        piece, side = divmod(plane - 64, 3)
        df, dr, promotion = STRAIGHT_LEFT_RIGHT[side], 1, UNDER[piece]
    to_file, to_rank = file + df, rank + dr
    if not (0 <= to_file < 8 and 0 <= to_rank < 8):
        return None
    flip = 0 if mover else 56
    source, target = (8 * rank + file) ^ flip, (8 * to_rank + to_file) ^ flip
    moved = board.piece_type_at(source)
    if promotion is None and moved == chess.PAWN and to_rank == 7:
        promotion = chess.QUEEN
    if moved == chess.KING and dr == 0:
        for rook in chess.scan_forward(board.clean_castling_rights() & (chess.BB_RANK_1 if mover else chess.BB_RANK_8)):
            towards = chess.square_file(rook) - file
            distance = _castling_distance(file, chess.square_file(rook))
            if df == (distance if towards > 0 else -distance) and (distance > 1 or target == rook):
                return board._from_chess960(board.chess960, source, rook)
    return chess.Move(source, target, promotion)
