"""Stockfish 15's evaluation net as a teacher: what a position is worth in microseconds, without the program.

Its command ``export_net`` writes the file. The net is HalfKAv2_hm. Each side has 22,528 inputs: its king's place, one
of 32, with the kind, colour and square of a piece, mirrored so that the king is on the right half of the board. The
inputs' rows add up to 1,024 sums of 16 bits. Clipped products of the sums' halves, 1,024 for both sides, go through
layers of 16, 32 and 1, of which there are eight, for different numbers of pieces. A second sum of the inputs is added.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....engine.kernels.bits import lowest_bit
from .....engine.kernels.jit import borrow, device
from .layers import CLIP, add_rows, clipped, multiply
from .numbers import NumberFile, no_net

VERSION = 0x7AF32F20
EXPECTED = "give what the command export_net of Stockfish 15 writes"
SIDE_INPUTS, SUMS, STACKS = 22_528, 1024, 8
_KINDS = 704  # inputs of one place of the king: 5 kinds of pieces of both colours and the kings, 64 squares each
_LAYER, _LAST = 16, 32  # outputs of the first layer, one of which goes straight to the end, and of the second
_VALUES = np.array([0, 781, 825, 1276, 2538, 0], np.int64)  # Stockfish's, by kind of piece, pawns and kings left out
PAWN = 361  # its units to a pawn of 100 centipawns


class Nnue(NamedTuple):
    """The numbers of a net's file."""

    bias: NDArray[np.int16]  # [1024]
    rows: NDArray[np.int16]  # [22528, 1024]
    straight: NDArray[np.int32]  # [22528, 8] what is added to the result
    bias0: NDArray[np.int32]  # [8, 16]
    rows0: NDArray[np.int8]  # [8, 16, 1024]
    bias1: NDArray[np.int32]  # [8, 32]
    rows1: NDArray[np.int8]  # [8, 32, 32], the last two columns unused
    bias2: NDArray[np.int32]  # [8, 1]
    rows2: NDArray[np.int8]  # [8, 1, 32]


class Space(NamedTuple):
    """Working space of an evaluation."""

    sums: NDArray[np.int16]  # [1024]
    products: NDArray[np.uint8]  # [1024]
    inputs: NDArray[np.int32]  # [2, 32] of the side to move and of the other
    pieces: NDArray[np.int64]  # [32] 8 * square + kind, and 512 more for black ones
    hidden: NDArray[np.int32]  # [32]


def read_net(path: Path) -> Nnue:
    """The net in a file. Errors: DataError."""
    file = NumberFile(path, EXPECTED)
    if file.version != VERSION:
        raise no_net(path, "Stockfish", EXPECTED)
    file.skip_hash()
    sums = file.take("<i2", SUMS), file.take("<i2", SIDE_INPUTS, SUMS), file.take("<i4", SIDE_INPUTS, STACKS)
    shapes = ("<i4", _LAYER), ("i1", _LAYER, SUMS), ("<i4", _LAST), ("i1", _LAST, 32), ("<i4", 1), ("i1", 1, _LAST)
    stacks = []
    for _ in range(STACKS):
        file.skip_hash()
        stacks.append([file.take(*shape) for shape in shapes])
    file.end()
    return Nnue(*sums, *(np.stack(part) for part in zip(*stacks, strict=True)))


@device
def _towards_zero(a, b):
    """a / b without its fraction, as C divides; b above 0."""
    return a // b if a >= 0 else -(-a // b)


@device
def _list_pieces(s, pieces):
    """List the pieces of a position; their number."""
    kinds = (s.pawns, s.knights, s.bishops, s.rooks, s.queens, s.kings)
    n = 0
    for kind in range(6):
        left = kinds[kind]
        while left:
            square = np.int64(lowest_bit(left))
            left &= left - np.uint64(1)
            black = (s.black >> np.uint64(square)) & np.uint64(1)
            pieces[n] = 8 * square + kind + 512 * np.int64(black)
            n += 1
    return n


@device
def _list_inputs(s, pieces, count, side, inputs):
    """The inputs of ``side`` for all ``count`` pieces."""
    ours = s.black if side else s.white
    king = np.int64(lowest_bit(s.kings & ours))
    flip = (56 if side else 0) ^ (7 if king & 7 < 4 else 0)
    seen = king ^ flip
    place = _KINDS * (4 * (7 - (seen >> 3)) + 7 - (seen & 7))
    for k in range(count):
        piece = pieces[k]
        kind, theirs = piece & 7, np.int64((piece >> 9) != side)
        inputs[k] = place + (640 if kind == 5 else 128 * kind + 64 * theirs) + (((piece >> 3) & 63) ^ flip)


@device
def parts_of(net, s, space):
    """(what the second sum says, what the layers say, number of pieces listed in space).

    The first two in 1/16 of Stockfish's units, for the side to move.
    """
    net, space = borrow(net), borrow(space)
    count = _list_pieces(s, space.pieces)
    stack = (count - 1) >> 2
    straight = np.int64(0)
    for half in range(2):
        inputs = space.inputs[half]
        _list_inputs(s, space.pieces, count, np.int64(s.turn) ^ half, inputs)
        for k in range(count):
            added = np.int64(net.straight[inputs[k], stack])
            straight += -added if half else added
        add_rows(net.rows, net.bias, inputs, count, space.sums)
        sums, at = space.sums, SUMS // 2 * half
        for j in range(SUMS // 2):
            product = clipped(np.int64(sums[j])) * clipped(np.int64(sums[j + SUMS // 2]))
            space.products[at + j] = product >> 7
    hidden = space.hidden
    for o in range(_LAYER - 1):
        x = multiply(net.rows0[stack], net.bias0[stack], o, space.products, SUMS)
        hidden[o], hidden[_LAYER - 1 + o] = min((x * x) >> 19, np.int64(CLIP)), clipped(x >> 6)
    hidden[30] = hidden[31] = 0
    passed = multiply(net.rows0[stack], net.bias0[stack], _LAYER - 1, space.products, SUMS)
    output = np.int64(net.bias2[stack, 0])
    for o in range(_LAST):
        x = multiply(net.rows1[stack], net.bias1[stack], o, hidden, 32)
        output += np.int64(net.rows2[stack, 0, o]) * clipped(x >> 6)
    return _towards_zero(straight, 2), output + _towards_zero(passed * 600 * 16, CLIP * 64), count


@device
def evaluate(net, s, space):
    """Stockfish's evaluation of a position by its net, in its units, for the side to move."""
    straight, output, count = parts_of(net, s, space)
    pieces = np.int64(0)
    for k in range(count):
        pieces += _VALUES[space.pieces[k] & 7]
    delta = 24 - pieces // 9560
    value = _towards_zero((1024 - delta) * straight + (1024 + delta) * output, 1024 * 16)
    value = _towards_zero(value * (1064 + 106 * pieces // 5120), 1024)
    return _towards_zero(value * (195 - min(np.int64(s.rule50), np.int64(100))), 211)


def make_space() -> Space:
    return Space(
        np.zeros(SUMS, np.int16),
        np.zeros(SUMS, np.uint8),
        np.zeros((2, 32), np.int32),
        np.zeros(32, np.int64),
        np.zeros(32, np.int32),
    )
