"""Features, rows and exchanges of sparse nets against slow ones in python-shogi."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import shogi
from numpy.typing import NDArray

from az_engine.engine.games import get_game
from az_engine.engine.games.base import State
from az_engine.engine.games.shogi.encoders.sparse import FEATURES, ROWS
from az_engine.engine.games.shogi.exchanges import EVEN, LOSES, WINS

GAME = get_game("shogi")
SPARSE = GAME.using("sparse")
KINDS = (
    shogi.PAWN,
    shogi.LANCE,
    shogi.KNIGHT,
    shogi.SILVER,
    shogi.BISHOP,
    shogi.ROOK,
    shogi.GOLD,
    shogi.KING,
    shogi.PROM_PAWN,
    shogi.PROM_LANCE,
    shogi.PROM_KNIGHT,
    shogi.PROM_SILVER,
    shogi.PROM_BISHOP,
    shogi.PROM_ROOK,
)
VALUES = dict(zip(KINDS, (1, 3, 4, 5, 8, 10, 6, 100, 5, 5, 5, 6, 11, 13), strict=True))
HELD = dict(zip(KINDS[:7], (18, 4, 4, 4, 2, 2, 4), strict=True))
EMPTY_HANDED = "4k4/9/9/9/9/9/9/9/4K4 b G2r2b3g4s4n4l18p 1"  # everything but a gold is White's


def positions(seed: int, games: int, plies: int) -> Iterator[tuple[State, shogi.Board]]:
    rng = random.Random(seed)
    for number in range(games):
        line = GAME.initial() if number % 4 else GAME.parse_position(EMPTY_HANDED)[0].reshape(1)
        for _ in range(plies):
            yield line, shogi.Board(GAME.format_position(line[-1]))
            legal = GAME.legal_moves(line)
            if not len(legal):
                break
            line = GAME.play(line, rng.choice(legal.tolist()))


def turn_over(board: shogi.Board, square: int) -> tuple[int, int]:
    """(file, rank), from 0, of a square of python-shogi as the mover sees it, its king on the files 1 to 5."""

    def seen(at: int) -> tuple[int, int]:
        file, rank = 8 - at % 9, at // 9
        return (8 - file, 8 - rank) if board.turn == shogi.WHITE else (file, rank)

    king = board.king_squares[board.turn]
    file, rank = seen(square)
    return (8 - file, rank) if king is not None and seen(king)[0] > 4 else (file, rank)


def slow_features(board: shogi.Board) -> set[int]:
    found, near = set(), set()
    for square in shogi.SQUARES:
        piece = board.piece_at(square)
        if piece is None:
            continue
        defended, attacked = (board.is_attacked_by(side, square) for side in (piece.color, piece.color ^ 1))
        file, rank = turn_over(board, square)
        place = (14 * (piece.color != board.turn) + KINDS.index(piece.piece_type)) * 81 + 9 * file + rank
        safety = 2 * defended + attacked
        found.add(safety * 2344 + place)
        for number, king in enumerate((board.king_squares[board.turn], board.king_squares[board.turn ^ 1])):
            if king is None or king == square:
                continue
            files, ranks = (mine - its + 3 for mine, its in zip((file, rank), turn_over(board, king), strict=True))
            if files in range(7) and ranks in range(7):
                kind = 14 * (piece.color != board.turn) + KINDS.index(piece.piece_type)
                near.add(9376 + safety * 2744 + (28 * number + kind) * 49 + 7 * files + ranks)
    for side in (0, 1):
        for kind, count in board.pieces_in_hand[side].items():
            before = sum(HELD[other] for other in KINDS[: KINDS.index(kind)])
            found |= {2268 + 38 * (side != board.turn) + before + n for n in range(count)}
    assert len(found) + len(near) <= 81
    return found | near


def gain_of_taking(board: shogi.Board, side: int, target: int) -> int:
    """What a side gains that may take on a square, or not, always with its least valuable piece."""
    men = [(VALUES[board.piece_at(square).piece_type], square) for square in board.attackers(side, target)]
    if not men:
        return 0
    value, source = min(men)
    taken: int = VALUES[board.piece_at(target).piece_type]
    after = copy_of(board)
    man = after.piece_at(source)
    after.remove_piece_at(source)
    if value == 100 and list(after.attackers(side ^ 1, target)):
        return 0
    after.set_piece_at(target, man)
    return max(0, taken - gain_of_taking(after, side ^ 1, target))


def copy_of(board: shogi.Board) -> shogi.Board:
    return shogi.Board(board.sfen())


def slow_exchange(board: shogi.Board, move: shogi.Move) -> int:
    after, taken = copy_of(board), board.piece_at(move.to_square)
    gain = 0 if taken is None else VALUES[taken.piece_type]
    if move.drop_piece_type:
        man = shogi.Piece(move.drop_piece_type, board.turn)
    else:
        man = board.piece_at(move.from_square)
        after.remove_piece_at(move.from_square)
        if move.promotion:
            promoted = KINDS[KINDS.index(man.piece_type) + 8]
            gain += VALUES[promoted] - VALUES[man.piece_type]
            man = shogi.Piece(promoted, board.turn)
    after.set_piece_at(move.to_square, man)
    total = gain - gain_of_taking(after, board.turn ^ 1, move.to_square)
    return LOSES if total < 0 else WINS if total > 0 else EVEN


def numbers_of(planes: NDArray[np.uint8]) -> set[int]:
    wide = planes.reshape(2, 81).astype(int)
    return {int(number) - 1 for number in wide[0] + 256 * wide[1] if number}


def encoded(line: State) -> set[int]:
    planes = np.full((1, 2, 9, 9), 9, np.uint8)
    SPARSE.encode(line, np.array([len(line) - 1]), np.array([0]), planes, 1)
    return numbers_of(planes)


def rows_of(line: State, moves: NDArray[np.uint16]) -> list[int]:
    rows = np.full((1, len(moves)), -1, np.int32)
    SPARSE.actions(line, np.array([len(line) - 1]), moves[None], rows)
    found: list[int] = rows[0].tolist()
    return found


def test_features_and_rows() -> None:
    seen: dict[int, object] = {}
    kinds: set[object] = set()
    for number, (line, board) in enumerate(positions(5, 5, 200)):
        found = encoded(line)
        assert found == slow_features(board), board.sfen()
        assert max(found) < FEATURES
        assert sum(n < 9376 for n in found) <= 40
        if number % 8:
            continue
        moves = GAME.legal_moves(line)
        rows = rows_of(line, moves)
        assert len({*rows}) == len(moves)
        assert 0 <= min(rows) <= max(rows) < ROWS
        for move, row in zip(moves.tolist(), rows, strict=True):
            said = shogi.Move.from_usi(GAME.format_move(line[-1], move))
            assert row % 3 == slow_exchange(board, said), (board.sfen(), said)
            source = said.drop_piece_type or turn_over(board, said.from_square)
            shape = source, turn_over(board, said.to_square), bool(said.promotion), bool(said.drop_piece_type)
            assert seen.setdefault(row // 3, shape) == shape, "one row, one move from the mover's side of the board"
            kinds |= {("exchange", row % 3), ("promotes", said.promotion), ("drop", said.drop_piece_type)}
    assert kinds >= {("exchange", LOSES), ("exchange", EVEN), ("exchange", WINS), ("promotes", True)}
    assert kinds >= {("drop", kind) for kind in KINDS[:7]}


def test_positions_turned_round_or_mirrored_are_the_same() -> None:
    for number, (line, board) in enumerate(positions(6, 3, 120)):
        king = board.king_squares[board.turn]
        if number % 9 or king is None or king % 9 == 4:
            continue
        mirrored, turned = shogi.Board(), shogi.Board()
        for other, place, change in (
            (mirrored, lambda at: 9 * (at // 9) + 8 - at % 9, 0),
            (turned, lambda at: 80 - at, 1),
        ):
            other.clear()
            for square in shogi.SQUARES:
                man = board.piece_at(square)
                if man is not None:
                    other.set_piece_at(place(square), shogi.Piece(man.piece_type, man.color ^ change))
            for side in (0, 1):
                for kind, count in board.pieces_in_hand[side].items():
                    other.add_piece_into_hand(kind, side ^ change, count)
            other.turn = board.turn ^ change
            same = GAME.parse_position(other.sfen())[0].reshape(1)
            assert encoded(same) == encoded(line)
            assert sorted(rows_of(same, GAME.legal_moves(same))) == sorted(rows_of(line, GAME.legal_moves(line)))
