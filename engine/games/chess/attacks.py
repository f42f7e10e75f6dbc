"""Attacks on bitboards, without large tables.

Files and diagonals by hyperbola quintessence (o - 2r on the board and on its mirror image); ranks by a table of 512
bytes; all sliders of a side at once by Kogge-Stone fills. Squares are i64, bitboards u64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.bits import byte_swap, line_attacks, lowest_bit
from ...kernels.jit import device
from .state import BLACK

_1 = np.uint64(1)
NOT_A_FILE = np.uint64(0xFEFEFEFEFEFEFEFE)
NOT_H_FILE = np.uint64(0x7F7F7F7F7F7F7F7F)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
NONE = np.uint64(0)


def _leaper(steps: list[tuple[int, int]]) -> NDArray[np.uint64]:
    table = np.zeros(64, np.uint64)
    for square in range(64):
        for df, dr in steps:
            f, r = square % 8 + df, square // 8 + dr
            if 0 <= f < 8 and 0 <= r < 8:
                table[square] |= np.uint64(1 << (8 * r + f))
    return table


def _line(df: int, dr: int) -> NDArray[np.uint64]:
    """The whole line through each square in a direction and its opposite, the square itself left out."""
    return _leaper([(df * k, dr * k) for k in range(-7, 8) if k])


KNIGHT_ATTACKS = _leaper([(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)])
KING_ATTACKS = _leaper([(f, r) for f in (-1, 0, 1) for r in (-1, 0, 1) if f or r])
_FILE, _DIAGONAL, _ANTIDIAGONAL = _line(0, 1), _line(1, 1), _line(1, -1)
_RANK = line_attacks(8).astype(np.uint8)  # [file * 64 + occupancy of the six inner squares]


@device
def bit(square):
    return _1 << np.uint64(square)


@device
def _along(line, one, occupied):
    forward = occupied & line
    backward = byte_swap(forward)
    forward -= one
    forward -= one
    backward -= byte_swap(one)
    backward -= byte_swap(one)
    return (forward ^ byte_swap(backward)) & line


@device
def bishop_attacks(square, occupied):
    one = bit(square)
    return _along(_DIAGONAL[square], one, occupied) | _along(_ANTIDIAGONAL[square], one, occupied)


@device
def rook_attacks(square, occupied):
    """Squares that a rook on ``square`` attacks; like all attacks here, they include the blockers."""
    shift = np.uint64(square & 56)
    inner = np.int64((occupied >> (shift + _1)) & np.uint64(63))
    along_rank = np.uint64(_RANK[((square & 7) << 6) + inner]) << shift
    return along_rank | _along(_FILE[square], bit(square), occupied)


@device
def pawn_attacks(pawns, colour):
    if colour == BLACK:
        return ((pawns & NOT_A_FILE) >> np.uint64(9)) | ((pawns & NOT_H_FILE) >> np.uint64(7))
    return ((pawns & NOT_A_FILE) << np.uint64(7)) | ((pawns & NOT_H_FILE) << np.uint64(9))


@device
def _fill_up(sliders, empty, shift, files):
    """Attacks of all sliders towards higher squares; ``files`` keeps them from wrapping around the edge."""
    free = empty & files
    sliders |= free & (sliders << shift)
    free &= free << shift
    sliders |= free & (sliders << (shift + shift))
    free &= free << (shift + shift)
    sliders |= free & (sliders << (shift << np.uint64(2)))
    return (sliders << shift) & files


@device
def _fill_down(sliders, empty, shift, files):
    free = empty & files
    sliders |= free & (sliders >> shift)
    free &= free >> shift
    sliders |= free & (sliders >> (shift + shift))
    free &= free >> (shift + shift)
    sliders |= free & (sliders >> (shift << np.uint64(2)))
    return (sliders >> shift) & files


@device
def slider_attacks(diagonal, straight, occupied):
    """Squares attacked by all diagonal (bishops, queens) and straight (rooks, queens) sliders together."""
    empty = ~occupied
    return (
        _fill_up(straight, empty, np.uint64(8), ALL)
        | _fill_down(straight, empty, np.uint64(8), ALL)
        | _fill_up(straight, empty, np.uint64(1), NOT_A_FILE)
        | _fill_down(straight, empty, np.uint64(1), NOT_H_FILE)
        | _fill_up(diagonal, empty, np.uint64(9), NOT_A_FILE)
        | _fill_down(diagonal, empty, np.uint64(9), NOT_H_FILE)
        | _fill_up(diagonal, empty, np.uint64(7), NOT_H_FILE)
        | _fill_down(diagonal, empty, np.uint64(7), NOT_A_FILE)
    )


@device
def knight_attacks(knights):
    one_left, one_right = (knights >> _1) & NOT_H_FILE, (knights << _1) & NOT_A_FILE
    two_left = (one_left >> _1) & NOT_H_FILE
    two_right = (one_right << _1) & NOT_A_FILE
    one, two = one_left | one_right, two_left | two_right
    return (one << np.uint64(16)) | (one >> np.uint64(16)) | (two << np.uint64(8)) | (two >> np.uint64(8))


@device
def between_straight(a, b):
    """Squares strictly between two squares on one rank or file."""
    return rook_attacks(a, bit(b)) & rook_attacks(b, bit(a))


@device
def between_diagonal(a, b):
    return bishop_attacks(a, bit(b)) & bishop_attacks(b, bit(a))


@device
def first(bits):
    """Index of the lowest bit (i64) and the rest of the set."""
    return lowest_bit(bits), bits & (bits - _1)
