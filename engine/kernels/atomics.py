"""What threads that run kernels do to shared memory at once: a lock held for less than a microsecond, and sums."""

from __future__ import annotations

import os
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .jit import device

_PATIENCE = 4096  # looks at a taken lock before the processor is offered to another thread
_TAKEN = np.uint32(1)


def make_spinlock() -> NDArray[np.uint32]:
    """A free lock: u4[1] and room behind it, so that nothing else lies in its cache line."""
    return np.zeros(32, np.uint32)


@intrinsic  # type: ignore[untyped-decorator]
def _exchange(typingctx: Any, lock: Any, value: Any) -> Any:
    """Put a value into the lock; returns the one that was there. No access to memory is moved across it."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.atomic_rmw("xchg", _place(context, builder, sig, args), args[1], "acq_rel")

    return numba.uint32(lock, numba.uint32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def peek(typingctx: Any, lock: Any) -> Any:
    """The value in a lock, or in another u4[1...] that some thread writes, read afresh."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load_atomic(_place(context, builder, sig, args), "monotonic", 4)

    return numba.uint32(lock), codegen


def _place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, sig.args[0], array, [ir.Constant(ir.IntType(64), 0)])


@intrinsic  # type: ignore[untyped-decorator]
def fence(typingctx: Any) -> Any:
    """What was written before is seen before what is written afterwards."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.fence("acq_rel")
        return context.get_dummy_value()

    return numba.void(), codegen


def adder(field: str) -> Any:
    """The device function (record, value) -> the field's value before ``value`` is added to it, atomically."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typingctx: Any, record: Any, value: Any) -> Any:
        kind = record.typeof(field)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = cgutils.get_record_member(builder, args[0], record.offset(field), context.get_data_type(kind))
            operation = "fadd" if isinstance(kind, types.Float) else "add"
            return builder.atomic_rmw(operation, place, args[1], "acq_rel")

        return kind(record, kind), codegen

    return add


_yield: Any = types.ExternalFunction("sched_yield", types.int32()) if os.name == "posix" else device(lambda: 0)


@device
def enter(lock):
    """Take the lock, after whoever holds it; None is nothing to take."""
    if lock is not None:
        looks = 0
        while _exchange(lock, _TAKEN) != 0:
            while peek(lock) != 0:
                looks += 1
                if looks % _PATIENCE == 0:
                    _yield()


@device
def leave(lock):
    """Give the lock back."""
    if lock is not None:
        _exchange(lock, np.uint32(0))
