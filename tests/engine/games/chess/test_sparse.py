"""Features, rows and exchanges of sparse nets against slow ones in python-chess."""

from __future__ import annotations

import itertools
import random

import chess
import numpy as np
from numpy.typing import NDArray

from az_engine.engine.games.chess.encoders.sparse import FEATURES, ROWS
from az_engine.engine.games.chess.exchanges import EVEN, LOSES, WINS

from .agreement import GAME, internal, random_positions

SPARSE = GAME.using("sparse")
VALUES = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 100}


def slow_features(board: chess.Board) -> set[int]:
    found = set()
    king = board.king(board.turn)
    assert king is not None
    turning = (0 if board.turn else 56) ^ (7 if king & 4 else 0)
    for square, man in board.piece_map().items():
        attacked, defended = board.is_attacked_by(not man.color, square), board.is_attacked_by(man.color, square)
        safety = 4 * defended + 2 * attacked + (man.color != board.turn)
        found.add(safety * 384 + (man.piece_type - 1) * 64 + (square ^ turning))
    return found


def gain_of_taking(board: chess.Board, side: chess.Color, target: int) -> int:
    """What a side gains that may take on a square, or not, always with its least valuable piece."""
    men = [(VALUES[kind], square) for square in board.attackers(side, target) if (kind := board.piece_type_at(square))]
    taken = board.piece_type_at(target)
    assert taken is not None
    if not men:
        return 0
    value, source = min(men)
    after = board.copy(stack=False)
    man = after.remove_piece_at(source)
    assert man is not None
    if value == 100 and after.attackers(not side, target):
        return 0
    after.set_piece_at(target, man)
    return max(0, VALUES[taken] - gain_of_taking(after, not side, target))


def slow_exchange(board: chess.Board, move: chess.Move) -> int:
    if board.is_castling(move):
        return EVEN
    taken = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square)
    gain = VALUES[taken] if taken else 0
    after = board.copy(stack=False)
    man = after.remove_piece_at(move.from_square)
    assert man is not None
    if board.is_en_passant(move):
        after.remove_piece_at(move.to_square + (-8 if board.turn else 8))
    if move.promotion:
        gain += VALUES[move.promotion] - 1
        man.piece_type = move.promotion
    after.set_piece_at(move.to_square, man)
    total = gain - gain_of_taking(after, not board.turn, move.to_square)
    return LOSES if total < 0 else WINS if total > 0 else EVEN


def numbers_of(planes: NDArray[np.uint8]) -> set[int]:
    wide = planes.reshape(2, 64).astype(int)
    return {int(number) - 1 for number in wide[0] + 256 * wide[1] if number}


def test_features_and_rows() -> None:
    seen: dict[int, tuple[int, int, object]] = {}
    kinds: set[object] = set()
    for match in itertools.islice(random_positions(random.Random(5)), 0, 2500, 2):
        board, last = match.board, np.array([len(match.line) - 1])
        planes = np.full((1, 2, 8, 8), 9, np.uint8)
        SPARSE.encode(match.line, last, np.array([0]), planes, 1)
        assert numbers_of(planes) == slow_features(board), board.fen()
        assert max(numbers_of(planes)) < FEATURES
        moves = GAME.legal_moves(match.line)
        rows = np.full((1, len(moves)), -1, np.int32)
        SPARSE.actions(match.line, last, moves[None], rows)
        assert len({*rows[0].tolist()}) == len(moves)
        assert ((rows >= 0) & (rows < ROWS)).all()
        row_of = dict(zip(moves.tolist(), rows[0].tolist(), strict=True))
        king = board.king(board.turn)
        assert king is not None
        turning = (0 if board.turn else 56) ^ (7 if king & 4 else 0)
        for move in board.legal_moves:
            row = row_of[internal(board, move)]
            assert row % 3 == slow_exchange(board, move), (board.fen(), move)
            number = internal(board, move)
            promotion = None if move.promotion in (None, chess.QUEEN) else move.promotion
            shape = ((number & 63) ^ turning, (number >> 6 & 63) ^ turning, promotion)
            assert seen.setdefault(row // 3, shape) == shape  # one row, one move from the mover's side of the board
            kinds |= {
                ("exchange", row % 3),
                board.is_en_passant(move) and "e.p.",
                board.is_castling(move) and "castling",
            }
            kinds.add(move.promotion)
    assert kinds >= {("exchange", LOSES), ("exchange", EVEN), ("exchange", WINS), "e.p.", "castling"}
    assert kinds >= {chess.QUEEN, chess.KNIGHT}


def test_both_sides_see_the_same() -> None:
    for match in itertools.islice(random_positions(random.Random(6)), 0, 400, 7):
        board = match.board
        line = GAME.parse_position(board.fen())[0].reshape(1)
        other = GAME.parse_position(board.mirror().fen())[0].reshape(1)
        first, turned = (np.zeros((1, 2, 8, 8), np.uint8) for _ in range(2))
        for one, planes in ((line, first), (other, turned)):
            SPARSE.encode(one, np.array([0]), np.array([0]), planes, 1)
        assert numbers_of(first) == numbers_of(turned), board.fen()
