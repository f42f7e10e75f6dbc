"""Nets of shogi engines as YaneuraOu reads them (nn.bin): K+P or HalfKP, 256x2-32-32.

Each side lists the pieces, kings left out, as it sees them: squares turned round for white, then own and the enemy's of
a kind, all that move like a gold as golds; and each piece in a hand. K+P adds both kings, HalfKP counts 1,548 numbers
for each square of its own king. The inputs' rows add up to 256 sums of 16 bits a side. These go, clipped, through
layers of 32 and 32 to one value.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....engine.kernels.jit import borrow, device
from .layers import add_rows, clipped, multiply
from .numbers import NumberFile, no_net

VERSION = 0x7AF32F16
EXPECTED = "give the nn.bin of an engine of the type K+P or HalfKP with 256x2-32-32"
SUMS, LAYER = 256, 32
SQUARES, HELD, KING = 81, 7, 8  # of a position: squares, kinds in a hand, the king among the pieces
PIECES = 1548  # inputs of pieces and hands
_INPUTS = {"K+P": PIECES + 2 * SQUARES, "HalfKP": PIECES * SQUARES}
_MOST = 40  # inputs of a side
_UNIT = 16  # of the last layer to one of the engine's units
PAWN = 90  # its units to a pawn of 100 centipawns

# Where the numbers of a kind begin: of pieces on the board by kind, own and enemy's, 0 for the king, of those in hands.
_BOARD = np.zeros((15, 2), np.int64)
for _order, _pieces in enumerate([(1,), (2,), (3,), (4,), (7, 9, 10, 11, 12), (5,), (13,), (6,), (14,)]):
    for _piece in _pieces:
        _BOARD[_piece] = [90 + 2 * SQUARES * _order, 90 + 2 * SQUARES * _order + SQUARES]
_HANDS = np.array([[1, 20], [39, 44], [49, 54], [59, 64], [79, 82], [85, 88], [69, 74]], np.int64)


class Nnue(NamedTuple):
    """The numbers of a net's file; I inputs a side."""

    bias: NDArray[np.int16]  # [256]
    rows: NDArray[np.int16]  # [I, 256]
    bias0: NDArray[np.int32]  # [32]
    rows0: NDArray[np.int8]  # [32, 512]
    bias1: NDArray[np.int32]  # [32]
    rows1: NDArray[np.int8]  # [32, 32]
    bias2: NDArray[np.int32]  # [1]
    rows2: NDArray[np.int8]  # [1, 32]


class Space(NamedTuple):
    """Working space of an evaluation."""

    sums: NDArray[np.int16]  # [256]
    given: NDArray[np.uint8]  # [512] both sides' sums, clipped
    inputs: NDArray[np.int32]  # [40]
    hidden: NDArray[np.uint8]  # [32]


def read_net(path: Path) -> Nnue:
    """The net in a file. Errors: DataError."""
    file = NumberFile(path, EXPECTED)
    if file.version != VERSION:
        raise no_net(path, "a shogi engine", EXPECTED)
    kinds = {name: f"Features={name}" for name in _INPUTS}
    kind = next((name for name, text in kinds.items() if file.description.startswith((text + "(", text + "["))), "")
    if not kind:
        raise no_net(path, "this type", EXPECTED)
    file.skip_hash()
    sums = file.take("<i2", SUMS), file.take("<i2", _INPUTS[kind], SUMS)
    file.skip_hash()
    first = file.take("<i4", LAYER), file.take("i1", LAYER, 2 * SUMS)
    second = file.take("<i4", LAYER), file.take("i1", LAYER, LAYER)
    third = file.take("<i4", 1), file.take("i1", 1, LAYER)
    file.end()
    return Nnue(*sums, *first, *second, *third)


@device
def list_inputs(s, side, by_king, inputs):
    """The inputs of ``side``, by its king's square or without; their number."""
    n, first = np.int64(0), np.int64(0)
    if by_king:
        king = np.int64(s.kings[side])
        first = PIECES * (SQUARES - 1 - king if side else king)
    for square in range(SQUARES):
        piece = np.int64(s.board[square])
        if piece == 0:
            continue
        theirs = np.int64(piece >> 4 != side)
        seen = SQUARES - 1 - square if side else square
        if piece & 15 != KING:
            inputs[n] = first + _BOARD[piece & 15, theirs] + seen
            n += 1
        elif not by_king:
            inputs[n] = PIECES + SQUARES * theirs + seen
            n += 1
    for owner in range(2):
        for kind in range(HELD):
            for number in range(s.hands[owner, kind]):
                inputs[n] = first + _HANDS[kind, np.int64(owner != side)] + number
                n += 1
    return n


@device
def evaluate(net, s, space):
    """The engine's evaluation of a position by its net, in its units, for the side to move."""
    net, space = borrow(net), borrow(space)
    by_king = net.rows.shape[0] > PIECES + 2 * SQUARES
    for half in range(2):
        count = list_inputs(s, np.int64(s.turn) ^ half, by_king, space.inputs)
        add_rows(net.rows, net.bias, space.inputs, count, space.sums)
        for j in range(SUMS):
            space.given[SUMS * half + j] = clipped(np.int64(space.sums[j]))
    for o in range(LAYER):
        space.hidden[o] = clipped(multiply(net.rows0, net.bias0, o, space.given, 2 * SUMS) >> 6)
    total = np.int64(net.bias2[0])
    for o in range(LAYER):
        x = clipped(multiply(net.rows1, net.bias1, o, space.hidden, LAYER) >> 6)
        total += np.int64(net.rows2[0, o]) * x
    return total // _UNIT if total >= 0 else -(-total // _UNIT)


def make_space() -> Space:
    return Space(
        np.zeros(SUMS, np.int16), np.zeros(2 * SUMS, np.uint8), np.zeros(_MOST, np.int32), np.zeros(LAYER, np.uint8)
    )
