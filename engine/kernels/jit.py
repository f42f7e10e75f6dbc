"""The only module that imports numba: kernels and device functions. :mod:`cache` keeps them compiled."""

from __future__ import annotations

import contextlib
import gc
import inspect
import itertools
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..errors import OptionError

if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    raise OptionError("NUMBA_DISABLE_JIT is set, and the kernels need numba's compiler: unset it")
try:
    import numba
except ValueError as error:
    raise OptionError(f"numba refuses its environment, NUMBA_...: {error}") from None
from llvmlite import ir
from numba.core import cgutils
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.typed_passes import AnnotateTypes, DumpParforDiagnostics, InlineOverloads, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, MakeFunctionToJitFunction, WithLifting
from numba.extending import intrinsic

from .cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

# numba numbers the functions that it compiles from 1 on, and numbers are all that tells some symbols apart: of kernels
# from several processes' caches, one would call another's functions.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))


class _DeviceCode(JITCodeLibrary):  # type: ignore[misc]
    """A device function for LLVM: optimised and translated within the kernels that call it, never by itself.

    numba does both for every function of a call chain, each with all that it calls: a third of a kernel's compilation.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> _DeviceCode:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: it is set in the kernels that hold this function's code."""


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: a compilation keeps nearly all that it makes, and collections take a tenth."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Flags(Flags):  # type: ignore[misc]
    """numba's flags, compared by those that are set: numba reads all of them each time that it looks up a function."""

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values)))

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, Flags) else NotImplemented


class _LeanCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler without the passes that find nothing to do in a kernel: a twelfth of the time.

    They fuse expressions of whole arrays, lift ``with`` blocks, keep types for people to look at, and inline closures
    and numba's own functions.
    """

    _IDLE = (AnnotateTypes, DumpParforDiagnostics, InlineOverloads, NopythonRewrites, WithLifting)
    _OF_CLOSURES = (InlineClosureLikes, MakeFunctionToJitFunction)

    def __init__(self, *arguments: Any) -> None:
        *others, flags, types = arguments
        super().__init__(*others, _Flags(flags), types)

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        with _uncollected():
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        constants = self.state.func_id.code.co_consts
        idle = self._IDLE if any(map(inspect.iscode, constants)) else self._IDLE + self._OF_CLOSURES
        [pipeline] = super().define_pipelines()
        pipeline.passes = [entry for entry in pipeline.passes if entry[0] not in idle]
        pipeline.finalize()
        return [pipeline]


class _DeviceCompiler(_LeanCompiler):
    def __init__(self, typing: Any, target: Any, library: None, *rest: Any) -> None:
        super().__init__(typing, target, _DeviceCode(target.codegen(), "device function"), *rest)


def kernel(function: F, *, in_any_order: bool = False) -> F:
    """Compile ``function`` for the CPU: no GIL, C-like division, cached on disk. For functions that Python calls.

    in_any_order: float sums may be added in another order, so that they are vectorised; the last bits then differ by
    machine.
    """
    freedom = {"reassoc", "contract", "nsz"} if in_any_order else False
    dispatcher = numba.njit(
        nogil=True, error_model="numpy", no_cfunc_wrapper=True, fastmath=freedom, pipeline_class=_LeanCompiler
    )(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher  # type: ignore[no-any-return]


def summing_kernel(function: F) -> F:
    """A :func:`kernel` whose float sums may be added in any order."""
    return kernel(function, in_any_order=True)


def entry(compiled: F, *arguments: Any) -> F:
    """A kernel's entry point for the types of ``arguments``: every call must give the same types, they are not checked.

    Saves the look-up of the types, which takes numba 1 to 3 us a call for named tuples of arrays. A Python function in
    a kernel's place is returned as it is.
    """
    if not hasattr(compiled, "compile"):
        return compiled
    return compiled.compile(tuple(numba.typeof(argument) for argument in arguments))  # type: ignore[no-any-return]


def device(function: F) -> F:
    """Compile ``function`` to be called by kernels only (it is compiled into them and not cached by itself).

    A literal integer is an int64 to it, like a variable; a literal bool has it compiled for that value alone.
    """
    decorate = numba.njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=_DeviceCompiler
    )
    dispatcher = decorate(function)
    template = dispatcher.get_call_template

    def for_variables(args: Sequence[Any], kws: dict[str, Any]) -> Any:
        return template([_variable(kind) for kind in args], {name: _variable(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = for_variables
    return dispatcher  # type: ignore[no-any-return]


def _variable(kind: Any) -> Any:
    return numba.types.unliteral(kind) if isinstance(kind, numba.types.IntegerLiteral) else kind


@intrinsic  # type: ignore[untyped-decorator]
def assign(typingctx: Any, target: Any, source: Any) -> Any:
    """Copy a whole record onto another of the same type."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = ir.Constant(ir.IntType(64), sig.args[0].size)
        cgutils.raw_memcpy(builder, args[0], args[1], size, ir.Constant(ir.IntType(64), 1))
        return context.get_dummy_value()

    return numba.void(target, target), codegen


@intrinsic  # type: ignore[untyped-decorator]
def borrow(typingctx: Any, arrays: Any) -> Any:
    """The same array, or tuple of arrays, without reference counts; None stays None.

    An array within a record becomes an ordinary one, so that a function is not compiled for both.

    Passing an array to a function that is not inlined costs two atomic counts; a borrowed one costs none. It must not
    outlive the original: kernels borrow their arguments at entry, and :func:`keep` what they allocate themselves.
    """

    def lend(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, numba.types.BaseTuple):
            members = [lend(context, builder, t, builder.extract_value(value, i)) for i, t in enumerate(kind.types)]
            return context.make_tuple(builder, kind, members)
        if not isinstance(kind, numba.types.Array):
            return value
        struct = context.make_array(kind)(context, builder, value)
        struct.meminfo = struct.meminfo.type(None)
        struct.parent = struct.parent.type(None)
        return struct._getvalue()

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return lend(context, builder, signature.args[0], args[0])

    if isinstance(arrays, numba.types.NestedArray):
        return numba.types.Array(arrays.dtype, arrays.ndim, "C")(arrays), codegen
    return arrays(arrays), codegen


@device
def keep(owner: Any) -> None:
    """Keep an array, or tuple of arrays, alive until here: numba frees it after its last use, borrowed or not."""
