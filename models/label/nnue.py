"""Stockfish 15's evaluation net as a teacher: what a position is worth in microseconds, without the program.

Its command ``export_net`` writes the file. The net is HalfKAv2_hm. Each side has 22,528 inputs: its king's place, one
of 32, with the kind, colour and square of a man, mirrored so that the king is on the right half of the board. The
inputs' rows add up to 1,024 sums of 16 bits. Clipped products of the sums' halves, 1,024 for both sides, go through
layers of 16, 32 and 1, of which there are eight, for different numbers of men. A second sum of the inputs is added.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError, OptionError
from ...engine.games.base import Game, State
from ...engine.games.capabilities import Quiescence
from ...engine.kernels.bits import lowest_bit
from ...engine.kernels.jit import assign, borrow, device, kernel
from ...engine.nets.netfile import MAX_BYTES
from ..data.shards import CUT, MATE

VERSION = 0x7AF32F20
SIDE_INPUTS, SUMS, STACKS = 22_528, 1024, 8
_KINDS = 704  # inputs of one place of the king: 5 kinds of men of both colours and the kings, 64 squares each
_LAYER, _LAST = 16, 32  # outputs of the first layer, one of which goes straight to the end, and of the second
_CLIP = 127
_VALUES = np.array([0, 781, 825, 1276, 2538, 0], np.int64)  # Stockfish's, by kind of man, pawns and kings left out
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
    men: NDArray[np.int64]  # [32] 8 * square + kind, and 512 more for black ones
    hidden: NDArray[np.int32]  # [32]


def read_nnue(path: Path) -> Nnue:
    """The net in a file. Errors: DataError."""
    try:
        content = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
    except OSError as error:
        raise DataError(f"--nnue: {path} cannot be read: {error.strerror}") from error
    wanted = "give what the command export_net of Stockfish 15 writes"
    if len(content) < 12 or struct.unpack_from("<I", content)[0] != VERSION:
        raise DataError(f"--nnue: {path} is no net of Stockfish; {wanted}")
    at = 12 + struct.unpack_from("<I", content, 8)[0] + 4  # version, hash, description, hash

    def take(kind: str, *shape: int) -> NDArray[Any]:
        nonlocal at
        count = int(np.prod(shape))
        found: NDArray[Any] = np.frombuffer(content, kind, count, at).reshape(shape)
        at += found.nbytes
        return found

    try:
        sums = take("<i2", SUMS), take("<i2", SIDE_INPUTS, SUMS), take("<i4", SIDE_INPUTS, STACKS)
        shapes = ("<i4", _LAYER), ("i1", _LAYER, SUMS), ("<i4", _LAST), ("i1", _LAST, 32), ("<i4", 1), ("i1", 1, _LAST)
        stacks = []
        for _ in range(STACKS):
            at += 4  # hash
            stacks.append([take(*shape) for shape in shapes])
    except ValueError:
        at = -1
    if at != len(content):
        raise DataError(f"--nnue: {path} is a net of another shape, or cut off; {wanted}")
    return Nnue(*sums, *(np.stack(part) for part in zip(*stacks, strict=True)))


@device
def _add_rows(rows, bias, inputs, count, out):
    """out[j] = bias[j] + the sum over ``count`` inputs of rows[input, j], in 16 bits."""
    for j in range(SUMS):
        out[j] = bias[j]
    for k in range(count):
        row = rows[inputs[k]]
        for j in range(SUMS):
            out[j] += row[j]


@device
def _multiply(rows, bias, o, given, count):
    """Output ``o`` (i4) of a layer."""
    total = bias[o]
    for j in range(count):
        total += np.int32(rows[o, j]) * np.int32(given[j])
    return np.int64(total)


@device
def _towards_zero(a, b):
    """a / b without its fraction, as C divides; b above 0."""
    return a // b if a >= 0 else -(-a // b)


@device
def _clipped(x):
    return min(max(x, np.int64(0)), np.int64(_CLIP))


@device
def _list_men(s, men):
    """List the men of a position; their number."""
    kinds = (s.pawns, s.knights, s.bishops, s.rooks, s.queens, s.kings)
    n = 0
    for kind in range(6):
        left = kinds[kind]
        while left:
            square = np.int64(lowest_bit(left))
            left &= left - np.uint64(1)
            black = (s.black >> np.uint64(square)) & np.uint64(1)
            men[n] = 8 * square + kind + 512 * np.int64(black)
            n += 1
    return n


@device
def _list_inputs(s, men, count, side, inputs):
    """The inputs of ``side`` for all ``count`` men."""
    own = s.black if side else s.white
    king = np.int64(lowest_bit(s.kings & own))
    flip = (56 if side else 0) ^ (7 if king & 7 < 4 else 0)
    seen = king ^ flip
    place = _KINDS * (4 * (7 - (seen >> 3)) + 7 - (seen & 7))
    for k in range(count):
        man = men[k]
        kind, theirs = man & 7, np.int64((man >> 9) != side)
        inputs[k] = place + (640 if kind == 5 else 128 * kind + 64 * theirs) + (((man >> 3) & 63) ^ flip)


@device
def parts_of(net, s, space):
    """(what the second sum says, what the layers say, number of men listed in space).

    The first two in 1/16 of Stockfish's units, for the side to move.
    """
    net, space = borrow(net), borrow(space)
    count = _list_men(s, space.men)
    stack = (count - 1) >> 2
    straight = np.int64(0)
    for half in range(2):
        inputs = space.inputs[half]
        _list_inputs(s, space.men, count, np.int64(s.turn) ^ half, inputs)
        for k in range(count):
            added = np.int64(net.straight[inputs[k], stack])
            straight += -added if half else added
        _add_rows(net.rows, net.bias, inputs, count, space.sums)
        sums, at = space.sums, SUMS // 2 * half
        for j in range(SUMS // 2):
            product = _clipped(np.int64(sums[j])) * _clipped(np.int64(sums[j + SUMS // 2]))
            space.products[at + j] = product >> 7
    hidden = space.hidden
    for o in range(_LAYER - 1):
        x = _multiply(net.rows0[stack], net.bias0[stack], o, space.products, SUMS)
        hidden[o], hidden[_LAYER - 1 + o] = min((x * x) >> 19, np.int64(_CLIP)), _clipped(x >> 6)
    hidden[30] = hidden[31] = 0
    passed = _multiply(net.rows0[stack], net.bias0[stack], _LAYER - 1, space.products, SUMS)
    said = np.int64(net.bias2[stack, 0])
    for o in range(_LAST):
        x = _multiply(net.rows1[stack], net.bias1[stack], o, hidden, 32)
        said += np.int64(net.rows2[stack, 0, o]) * _clipped(x >> 6)
    return _towards_zero(straight, 2), said + _towards_zero(passed * 600 * 16, _CLIP * 64), count


@device
def _evaluate(net, s, space):
    """Stockfish's evaluation of a position by its net, in its units, for the side to move."""
    straight, said, count = parts_of(net, s, space)
    pieces = np.int64(0)
    for k in range(count):
        pieces += _VALUES[space.men[k] & 7]
    delta = 24 - pieces // 9560
    value = _towards_zero((1024 - delta) * straight + (1024 + delta) * said, 1024 * 16)
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


@cache
def _judge_kernel(quiescence: Quiescence) -> Callable[..., None]:
    quiet = quiescence.make(_evaluate)

    @kernel
    def judge(net, states, line, frames, moves, space, out):
        """out i8[N] = the evaluation of State[N] once captures are resolved; the other arrays are working space."""
        net, states, line, frames = borrow(net), borrow(states), borrow(line), borrow(frames)
        moves, space = borrow(moves), borrow(space)
        for i in range(states.shape[0]):
            assign(line[0], states[i])
            out[i] = quiet(net, line, frames, moves, space)

    return judge


class NnueJudge:
    """Says what positions are worth by Stockfish's evaluation net, once captures are resolved."""

    def __init__(self, path: Path, game: Game) -> None:
        """BLOCKS for seconds where kernels must be compiled. Errors: DataError, OptionError."""
        quiescence = game.quiescence
        if game.name != "chess" or quiescence is None:
            raise OptionError(f"--nnue judges chess; leave it out for {game.name}")
        self._mated = quiescence.mated
        self._kernel = _judge_kernel(quiescence)
        self._net, self._space = read_nnue(path), make_space()
        self._line = np.zeros(quiescence.depth + 1, game.state_dtype)
        self._frames = np.zeros(quiescence.depth + 1, quiescence.frame)
        self._moves = np.zeros((1, game.max_moves), np.uint16)

    def judge(self, states: State) -> NDArray[np.int64]:
        """Centipawns i8[N] of State[N] for the side to move; mates as records have them."""
        out = np.zeros(len(states), np.int64)
        self._kernel(self._net, states, self._line, self._frames, self._moves, self._space, out)
        plies = -self._mated - np.abs(out)
        scores = np.clip(np.sign(out) * (np.abs(out) * 100 // PAWN), -CUT, CUT)
        found: NDArray[np.int64] = np.where(plies <= len(self._line), np.sign(out) * (MATE - (plies + 1) // 2), scores)
        return found
