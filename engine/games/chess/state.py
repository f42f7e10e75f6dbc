"""The chess position: one record of bitboards. Bit 0 is a1, bit 7 h1, bit 63 h8."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
        ("key", "u8"),  # Zobrist key of men, side to move, castling rights and en-passant file
        ("castling", "u8"),  # rooks that may still castle
        ("rule50", "u2"),  # plies since the last capture or pawn move
        ("ply", "u2"),  # plies since the game's start, saturating
        ("ep", "u1"),  # square behind a pawn that just made a double step, only if taking it is legal; else NO_SQUARE
        ("turn", "u1"),  # WHITE or BLACK to move
        ("repetitions", "u1"),  # earlier occurrences of this position in the game, at most 255
    ],
    align=True,
)
PIECES = ("pawns", "knights", "bishops", "rooks", "queens", "kings")

State = NDArray[np.void]  # State[N]: structured arrays of STATE


def _random_keys(count: int) -> NDArray[np.uint64]:
    """SplitMix64 from seed 0: the same keys on every machine, u64[count]."""
    index = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = index * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


_KEYS = _random_keys(12 * 64 + 64 + 8 + 1)
PIECE_KEYS = _KEYS[: 12 * 64]  # [(colour * 6 + piece) * 64 + square]
CASTLING_KEYS = _KEYS[12 * 64 : 13 * 64]  # by the rook's square
EP_KEYS = _KEYS[13 * 64 : 13 * 64 + 8]  # by file
TURN_KEY = _KEYS[-1]


def square_name(square: int) -> str:
    """Name of a square, such as e4."""
    return "abcdefgh"[square & 7] + "12345678"[square >> 3]
