"""The shogi position: one record with the board, the hands, and bitboards by way of moving.

A square is 9 * (file - 1) + rank, files 1..9 and ranks a = 0 .. i = 8 as in USI: 1a = 0, 1i = 8, 2a = 9, 9i = 80. Black
(sente) has its camp on ranks g, h, i and moves towards rank a. A bitboard is 81 bits in two u64 words, low word first.

A piece is 1 pawn, 2 lance, 3 knight, 4 silver, 5 bishop, 6 rook, 7 gold, 8 king, 9 .. 14 the promoted pawn, lance,
knight, silver, bishop (horse) and rook (dragon); white's are 16 more; 0 is an empty square.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.splitmix import random_keys

BLACK, WHITE = 0, 1
SQUARES = 81
NOWHERE = SQUARES  # the square of a king that is missing, as the attacker's is in problems of mate
PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, KING = range(1, 9)
PROMOTED = 8  # added to a piece by promotion
KINDS = 14
HELD = 7  # kinds of pieces that can be in hand, piece - 1: pawn, lance, knight, silver, bishop, rook, gold

# State.sets: who moves how, both sides together. GOLDS are all that move like one, STEPPERS kings, horses and dragons.
PAWNS, LANCES, KNIGHTS, SILVERS, BISHOPS, ROOKS, GOLDS, STEPPERS, BLACK_PIECES, WHITE_PIECES = range(10)

NO_RULE, TRY, POINTS_24, POINTS_24_HANDICAP, POINTS_27, POINTS_27_HANDICAP = range(6)  # State.declaration

STATE = np.dtype(
    [
        ("sets", "u8", (10, 2)),  # bitboards
        ("key", "u8"),  # Zobrist key of board, hands and side to move
        ("board", "u1", (SQUARES,)),
        ("hands", "u1", (2, HELD)),  # [side, kind]
        ("kings", "u1", (2,)),  # their squares, or NOWHERE
        ("turn", "u1"),  # BLACK or WHITE to move
        ("checked", "u1"),  # 1: the side to move is in check
        ("repetitions", "u1"),  # earlier occurrences of this position in the game, at most 255
        ("declaration", "u1"),  # the entering-king rule that holds
        ("ply", "u2"),  # plies since the game's start, saturating
        ("limit", "u2"),  # the ply at which the game is drawn, 0 = none
        ("loop", "u2"),  # plies since the first of the earlier occurrences, 0 = none
        ("checks", "u2", (2,)),  # [side] its latest moves that gave check, without one between that did not
    ],
    align=True,
)

State = NDArray[np.void]  # State[N]: structured arrays of STATE

# The set that a piece belongs to, [man]; horses and dragons are STEPPERS too. An empty square has none.
SET_OF = np.array([-1, 0, 1, 2, 3, 4, 5, 6, 7, 6, 6, 6, 6, 4, 5], np.int8)

_KEYS = random_keys(32 * SQUARES + 2 * HELD * 19 + 1)
PIECE_KEYS = _KEYS[: 32 * SQUARES]  # [man * 81 + square]
HAND_KEYS = _KEYS[32 * SQUARES : -1]  # [(side * 7 + kind) * 19 + number]
TURN_KEY = _KEYS[-1]


def square_name(square: int) -> str:
    return "123456789"[square // 9] + "abcdefghi"[square % 9]
