"""Sets of squares as integers of 64 and 128 bits: the type and the machine instructions that numba does not offer.

For kernels only. A u64 is a chess board, a :data:`U128` any board of up to 128 squares.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model
from numpy.typing import NDArray


class _U128(numba.types.Type):  # type: ignore[misc]
    """An unsigned integer of 128 bits: a set of up to 128 squares. It lives inside kernels only."""

    def __init__(self) -> None:
        super().__init__("u128")


U128 = _U128()


@register_model(_U128)
class _U128Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(128))


def _define(function: Any, result: Any, second: Any, build: Callable[[Any, list[Any]], Any]) -> None:
    """Give an operator a meaning for U128 (and a ``second`` argument, unless it has one alone)."""
    arguments = (U128,) if second is None else (U128, second)

    class Cases(ConcreteTemplate):  # type: ignore[misc]
        cases = [signature(result, *arguments)]  # noqa: RUF012 - the name and form that numba asks for

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return build(builder, list(args))

    infer_global(function)(Cases)
    lower_builtin(function, *arguments)(lower)


def _instruction(name: str) -> Callable[[Any, list[Any]], Any]:
    """An LLVM instruction of two operands; the second is widened where it is an i64."""
    return lambda builder, args: getattr(builder, name)(args[0], builder.zext(args[1], ir.IntType(128)))


def _comparison(sign: str) -> Callable[[Any, list[Any]], Any]:
    return lambda builder, args: builder.icmp_unsigned(sign, args[0], args[1])


for _name, _functions in {
    "and_": (operator.and_, operator.iand),
    "or_": (operator.or_, operator.ior),
    "xor": (operator.xor, operator.ixor),
    "sub": (operator.sub, operator.isub),
}.items():
    for _function in _functions:
        _define(_function, U128, U128, _instruction(_name))
_define(operator.lshift, U128, numba.int64, _instruction("shl"))
_define(operator.rshift, U128, numba.int64, _instruction("lshr"))
_define(operator.eq, numba.boolean, U128, _comparison("=="))
_define(operator.ne, numba.boolean, U128, _comparison("!="))
_define(operator.invert, U128, None, lambda builder, args: builder.not_(args[0]))
_define(bool, numba.boolean, None, lambda builder, args: builder.icmp_unsigned("!=", args[0], args[0].type(0)))


@intrinsic  # type: ignore[untyped-decorator]
def u128(typingctx: Any, low: Any, high: Any) -> Any:
    """The 128-bit integer of two u64 words. It knows & | ^ - ~ << >> == != and truth, all with its own kind."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        words = [builder.zext(word, ir.IntType(128)) for word in args]
        return builder.or_(words[0], builder.shl(words[1], ir.Constant(ir.IntType(128), 64)))

    return U128(numba.uint64, numba.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def low_word(typingctx: Any, bits: Any) -> Any:
    """The low 64 bits of a u128, as u64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.trunc(args[0], ir.IntType(64))

    return numba.uint64(U128), codegen


def _bits(kind: Any) -> Any:
    """The type that a function of bits takes: u128, or u64 for any other integer."""
    return U128 if kind == U128 else numba.uint64


def _to_i64(builder: Any, value: Any) -> Any:
    return value if value.type.width == 64 else builder.trunc(value, ir.IntType(64))


@intrinsic  # type: ignore[untyped-decorator]
def popcount(typingctx: Any, bits: Any) -> Any:
    """Number of set bits of a u64 or u128, as i64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _to_i64(builder, builder.ctpop(args[0]))

    return numba.int64(_bits(bits)), codegen


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typingctx: Any, bits: Any) -> Any:
    """Index of the lowest set bit of a u64 or u128, as i64; 64 or 128 for zero."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _to_i64(builder, builder.cttz(args[0], ir.Constant(ir.IntType(1), 0)))

    return numba.int64(_bits(bits)), codegen


@intrinsic  # type: ignore[untyped-decorator]
def byte_swap(typingctx: Any, bits: Any) -> Any:
    """The bytes of a u64 or u128 in reverse order (a chess bitboard turned upside down)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bswap(args[0])

    return _bits(bits)(_bits(bits)), codegen


def line_attacks(length: int) -> NDArray[np.uint16]:
    """Attacks of a slider along a line of squares, [square << (length - 2) | occupancy of the inner squares]."""
    table = []
    for square in range(length):
        for occupied in range(0, 1 << (length - 1), 2):
            attacks = 0
            for ray in (range(square - 1, -1, -1), range(square + 1, length)):
                for other in ray:
                    attacks |= 1 << other
                    if occupied >> other & 1:
                        break
            table.append(attacks)
    return np.array(table, np.uint16)
