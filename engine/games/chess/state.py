"""The chess position: one record of bitboards. Bit 0 is a1, bit 7 h1, bit 63 h8."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.splitmix import random_keys

WHITE, BLACK = 0, 1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
NO_SQUARE = 64

STATE = np.dtype(
    [
        ("pawns", "u8"),
        ("knights", "u8"),
        ("bishops", "u8"),
        ("rooks", "u8"),
        ("queens", "u8"),
        ("kings", "u8"),
        ("white", "u8"),
        ("black", "u8"),
        ("key", "u8"),  # Zobrist key of pieces, side to move, castling rights and en-passant file
        ("castling", "u8"),  # rooks that may still castle
        ("rule50", "u2"),  # plies since the last capture or pawn move
        ("ply", "u2"),  # plies since the game's start, saturating
        ("ep", "u1"),  # square behind a pawn that just made a double step, only if taking it is legal; else NO_SQUARE
        ("turn", "u1"),  # WHITE or BLACK to move
        ("ep_claim", "u1"),  # 1 + file of a pawn that stepped two squares to beside an enemy pawn, even if taking it is
        # not legal, or that a FEN names as such; 0 = none. Some nets see it.
        ("repetitions", "u1"),  # earlier occurrences of this position in the game, at most 255
    ],
    align=True,
)
PIECES = ("pawns", "knights", "bishops", "rooks", "queens", "kings")

State = NDArray[np.void]  # State[N]: structured arrays of STATE

_KEYS = random_keys(12 * 64 + 64 + 8 + 1)
PIECE_KEYS = _KEYS[: 12 * 64]  # [(colour * 6 + piece) * 64 + square]
CASTLING_KEYS = _KEYS[12 * 64 : 13 * 64]  # by the rook's square
EP_KEYS = _KEYS[13 * 64 : 13 * 64 + 8]  # by file
TURN_KEY = _KEYS[-1]


def square_name(square: int) -> str:
    return "abcdefgh"[square & 7] + "12345678"[square >> 3]
