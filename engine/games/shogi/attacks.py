"""Attacks on bitboards of 81 squares (u128 in kernels), with tables of a few KB.

A file is nine neighbouring bits, so a table of its inner squares serves lances and rooks along it. Ranks and diagonals
go by hyperbola quintessence (o - 2r on the board and on its mirror image): their squares lie 8, 9 or 10 bits apart, so
that no two share a byte and swapping bytes turns the line round. Squares and sides are i64. Nothing attacks a king that
is NOWHERE, nor does it attack anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.bits import byte_swap, line_attacks, low_word, lowest_bit, u128
from ...kernels.jit import device
from .state import BISHOP, KING, KNIGHT, LANCE, PAWN, PROMOTED, ROOK, SILVER, SQUARES

Table = NDArray[np.uint64]

# Compass as black sees it: north is forward (rank - 1), east the right hand (file - 1). Opposites are 4 apart.
COMPASS = ((0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1))  # (file, rank), N NE E SE S SW W NW


def _words(squares: set[int]) -> tuple[int, int]:
    bits = sum(1 << square for square in squares)
    return bits & (2**64 - 1), bits >> 64


def _reach(square: int, steps: list[tuple[int, int]]) -> set[int]:
    results = set()
    for df, dr in steps:
        f, r = square // 9 + df, square % 9 + dr
        if 0 <= f < 9 and 0 <= r < 9:
            results.add(9 * f + r)
    return results


def _leaper(steps: list[tuple[int, int]]) -> Table:
    """u64[82, 2], the steps as black takes them; none from NOWHERE."""
    return np.array([*(_words(_reach(square, steps)) for square in range(SQUARES)), (0, 0)], np.uint64)


def _by_side(steps: list[tuple[int, int]]) -> Table:
    """u64[2, 82, 2] by side."""
    return np.stack([_leaper(steps), _leaper([(-df, -dr) for df, dr in steps])])


def _line(df: int, dr: int) -> list[tuple[int, int]]:
    """A direction and its opposite, as far as they go, the square itself left out."""
    return [(df * k, dr * k) for k in range(-8, 9) if k]


def _ray(df: int, dr: int) -> list[tuple[int, int]]:
    return [(df * k, dr * k) for k in range(1, 9)]


def _directions() -> NDArray[np.int8]:
    """i1[81 * 81]: the compass direction from one square to another; -1 when they share no line."""
    table = np.full((SQUARES, SQUARES), -1, np.int8)
    for square in range(SQUARES):
        for direction, step in enumerate(COMPASS):
            for other in _reach(square, _ray(*step)):
                table[square, other] = direction
    return table.ravel()


def _ranks(*ranks: int) -> tuple[int, int]:
    return _words({square for square in range(SQUARES) if square % 9 in ranks})


_N, _NE, _E, _SE, _S, _SW, _W, _NW = COMPASS
KING_STEPS = _leaper(list(COMPASS))
SILVER_STEPS = _by_side([_N, _NE, _NW, _SE, _SW])
GOLD_STEPS = _by_side([_N, _NE, _NW, _E, _W, _S])
KNIGHT_STEPS = _by_side([(-1, -2), (1, -2)])
PAWN_STEPS = _by_side([_N])
LANCE_RAYS = _by_side(_ray(*_N))
ROOK_LINES = _leaper(_line(*_N) + _line(*_E))
BISHOP_LINES = _leaper(_line(*_NE) + _line(*_NW))
FILES = _leaper([*_line(*_N), (0, 0)])
NEAR_FILES = _leaper([(df, dr) for df in (-1, 0, 1) for dr in range(-8, 9)])  # where a lance may touch a king's steps
RAYS = np.concatenate([_leaper(_ray(*step))[:SQUARES] for step in COMPASS])  # [direction * 81 + square]
DIRECTIONS = _directions()
_RANK_LINE, _DIAGONAL, _ANTIDIAGONAL = _leaper(_line(*_E)), _leaper(_line(*_NE)), _leaper(_line(*_NW))
_FILE = line_attacks(9)  # [rank * 128 + occupancy of the seven inner squares]
_FILE_OF = np.arange(SQUARES + 1, dtype=np.int64) // 9
_RANK_OF = np.arange(SQUARES + 1, dtype=np.int64) % 9

_0, _1 = np.uint64(0), np.uint64(1)
_BOARD = _words(set(range(SQUARES)))
ZONES = np.array([_ranks(0, 1, 2), _ranks(6, 7, 8)], np.uint64)  # [side] where it promotes, the enemy's camp
LAST = np.array([_ranks(0), _ranks(8)], np.uint64)  # [side] the rank where its pawns and lances cannot stay
LAST_TWO = np.array([_ranks(0, 1), _ranks(7, 8)], np.uint64)  # [side] the same for knights
_BOARD_LOW, _BOARD_HIGH = (np.uint64(word) for word in _BOARD)
_TOP_LOW, _TOP_HIGH = (np.uint64(word) for word in _ranks(0))
_BOTTOM_LOW, _BOTTOM_HIGH = (np.uint64(word) for word in _ranks(8))


@device
def lookup(table, index):
    """A bitboard out of a table u64[., 2]."""
    return u128(table[index, 0], table[index, 1])


@device
def side_lookup(table, side, square):
    """A bitboard out of a table u64[2, 82, 2]."""
    return u128(table[side, square, 0], table[side, square, 1])


@device
def set_of(s, index):
    return u128(s.sets[index, 0], s.sets[index, 1])


@device
def nothing():
    return u128(_0, _0)


@device
def everything():
    return u128(_BOARD_LOW, _BOARD_HIGH)


@device
def bit(square):
    return u128(_1, _0) << np.int64(square)


@device
def first(bits):
    """Index of the lowest bit (i64) and the rest of the set."""
    return lowest_bit(bits), bits & (bits - u128(_1, _0))


@device
def _along(line, one, occupied):
    forward = occupied & line
    backward = byte_swap(forward)
    other = byte_swap(one)
    forward = forward - one - one
    backward = backward - other - other
    return (forward ^ byte_swap(backward)) & line


@device
def file_attacks(square, occupied):
    """Squares a rook attacks along its file, blockers included."""
    shift = 9 * _FILE_OF[square]
    inner = np.int64(low_word(occupied >> (shift + 1)) & np.uint64(127))
    return u128(np.uint64(_FILE[128 * _RANK_OF[square] + inner]), _0) << shift


@device
def rook_attacks(square, occupied):
    return file_attacks(square, occupied) | _along(lookup(_RANK_LINE, square), bit(square), occupied)


@device
def bishop_attacks(square, occupied):
    one = bit(square)
    return _along(lookup(_DIAGONAL, square), one, occupied) | _along(lookup(_ANTIDIAGONAL, square), one, occupied)


@device
def lance_attacks(square, side, occupied):
    """Squares a lance of a side attacks, blockers included."""
    return file_attacks(square, occupied) & side_lookup(LANCE_RAYS, side, square)


@device
def reach(piece, side, square, occupied):
    """Squares that a piece (1 .. 14) of a side attacks, blockers of either side included."""
    if piece == PAWN:
        return side_lookup(PAWN_STEPS, side, square)
    if piece == LANCE:
        return lance_attacks(square, side, occupied)
    if piece == KNIGHT:
        return side_lookup(KNIGHT_STEPS, side, square)
    if piece == SILVER:
        return side_lookup(SILVER_STEPS, side, square)
    if piece == KING:
        return lookup(KING_STEPS, square)
    if piece == BISHOP:
        return bishop_attacks(square, occupied)
    if piece == ROOK:
        return rook_attacks(square, occupied)
    if piece == PROMOTED + BISHOP:
        return bishop_attacks(square, occupied) | lookup(KING_STEPS, square)
    if piece == PROMOTED + ROOK:
        return rook_attacks(square, occupied) | lookup(KING_STEPS, square)
    return side_lookup(GOLD_STEPS, side, square)


@device
def between(a, b):
    direction = np.int64(DIRECTIONS[81 * a + b])
    return lookup(RAYS, 81 * direction + a) & lookup(RAYS, 81 * (direction ^ 4) + b)


@device
def line_from(a, b):
    """The ray from a through b to the edge; the two must share a line."""
    return lookup(RAYS, 81 * np.int64(DIRECTIONS[81 * a + b]) + a)


@device
def north(bits):
    """All squares moved one rank towards a; those on rank a vanish."""
    return (bits & ~u128(_TOP_LOW, _TOP_HIGH)) >> 1


@device
def south(bits):
    """All squares moved one rank towards i; those on rank i vanish."""
    return (bits & ~u128(_BOTTOM_LOW, _BOTTOM_HIGH)) << 1


@device
def ahead(bits, side):
    """All squares moved one rank forward as the side sees it."""
    return north(bits) if side == 0 else south(bits)


@device
def behind(bits, side):
    """All squares moved one rank backward as the side sees it."""
    return south(bits) if side == 0 else north(bits)


@device
def sideways(bits):
    """All squares moved one file to either side; may leave bits behind the 81st."""
    return (bits << 9) | (bits >> 9)


@device
def files_without(pawns):
    """All squares of the files on which none of ``pawns`` stands.

    Rank i's square minus the pawns above it keeps rank i's bit only on files without one; doubling it and taking away
    rank a's bit fills the file.
    """
    bottom = u128(_BOTTOM_LOW, _BOTTOM_HIGH)
    free = (bottom - (pawns & ~bottom)) & bottom & ~pawns
    return (free << 1) - (free >> 8)
