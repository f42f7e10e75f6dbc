"""The one door to numba: kernels and their on-disk cache. Sets of bits are next door, in :mod:`bits`.

Why a door: numba's own cache lives beside the sources or wherever ``NUMBA_CACHE_DIR`` says, keeps stale callers when a
callee in another file changes, never finds a kernel again that closes over functions, raises on a torn file, and
unpickles whatever it finds. Here the cache is a private directory (0700) named after a hash of the engine's sources,
the numba version and the CPU; a game outside the package has a directory within it, named after a hash of its own
sources. A kernel that a factory makes is known by the names of what it closes over. Every file ends in a SHA-256 that
is checked before it is read; a damaged cache is wiped once, and if that does not help kernels are compiled afresh and
:func:`cache_problem` says so.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import inspect
import os
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.typed_passes import AnnotateTypes, DumpParforDiagnostics, InlineOverloads, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, MakeFunctionToJitFunction, WithLifting
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

_DIGEST_BYTES = 32
_ENGINE = Path(__file__).parents[1]
_KEPT_CACHES = 3  # directories of other versions that stay beside ours
_UNFINISHED_S = 60.0  # s after its last change before a file that is being written counts as left behind


class _Damaged(Exception):
    """A cache file whose checksum does not match."""


class _CacheState:
    """Where the cache is and what has gone wrong with it, for the whole process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.problem: str | None = None
        self.wiped = False
        self.compiled = 0  # kernels compiled because the cache had none
        self.on_compile: Callable[[str], None] | None = None
        self.directory: Path | None = self._prepare()

    def _prepare(self) -> Path | None:
        base = Path(os.environ.get("AZ_ENGINE_CACHE") or _user_cache_home() / "az-engine")
        path = base / f"kernels-{_cache_key()}"
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            for place in (base, path):
                _refuse_foreign(place)
            if not os.access(path, os.W_OK | os.X_OK):
                raise PermissionError("it is not writable")
            _prune(path)
            _remove_unfinished(path)
        except OSError as error:
            self.problem = (
                f"kernels are compiled at every start because the cache directory {base} cannot be used "
                f"({error.strerror or error}); make it writable for you alone or set AZ_ENGINE_CACHE"
            )
            return None
        return path

    def damaged(self, error: BaseException) -> None:
        """Wipe the cache the first time, give it up the second."""
        with self.lock:
            if self.directory is None:
                return
            if not self.wiped:
                self.wiped = True
                shutil.rmtree(self.directory, ignore_errors=True)
                with contextlib.suppress(OSError):
                    self.directory.mkdir(mode=0o700, exist_ok=True)
                return
            self.give_up(error)

    def give_up(self, error: BaseException) -> None:
        with self.lock:
            if self.directory is None:
                return
            reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            self.problem = f"kernels are compiled at every start because {self.directory} cannot be used ({reason})"
            self.directory = None


def _user_cache_home() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    if home:
        return Path(home)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # no home directory is known
        return Path("/nonexistent")


def _cache_key() -> str:
    folders = (_ENGINE / name for name in ("kernels", "search", "games", "nets"))
    sources = [source for folder in folders for source in folder.rglob("*.py")]
    features = llvm.get_host_cpu_features().flatten()
    return _hash_of(sources, numba.__version__, sys.version, llvm.get_host_cpu_name(), features)


def _hash_of(sources: list[Path], *more: str) -> str:
    digest = hashlib.sha256("".join(more).encode())
    for source in sorted(sources):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _refuse_foreign(path: Path) -> None:
    """A directory that another user can write would let that user run code here: the cache holds machine code."""
    if not hasattr(os, "getuid"):  # Windows: the user's own folders are the user's, and their modes say nothing
        return
    info = path.stat()
    if info.st_uid != os.getuid():
        raise PermissionError("it belongs to another user")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("others can write to it")


def _prune(ours: Path) -> None:
    """Remove the oldest directories of other versions, which are named like ours but for the hash."""
    others = [p for p in ours.parent.glob(ours.name.rpartition("-")[0] + "-*") if p != ours]
    for old in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[_KEPT_CACHES:]:
        shutil.rmtree(old, ignore_errors=True)


def _remove_unfinished(ours: Path) -> None:
    """Remove what processes that were killed have left half written; a file takes milliseconds to write."""
    for path in ours.rglob("*.tmp.*"):  # as numba names them
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNFINISHED_S:
                path.unlink()


_state = _CacheState()


def cache_problem() -> str | None:
    """One sentence when the kernel cache cannot be used, else None."""
    return _state.problem


def cache_directory() -> Path | None:
    """The directory of compiled kernels; None when it cannot be used."""
    return _state.directory


def private_directory() -> Path | None:
    """The user's cache, which nobody else can write to, kernels apart; None when it cannot be used."""
    return None if _state.directory is None else _state.directory.parent


def is_missing(compiled: Any) -> bool:
    """Whether the cache can be used and does not hold a kernel yet."""
    if _state.directory is None:
        return False
    try:
        return not Path(compiled._cache._cache_file._index_path).exists()
    except OSError:  # no descriptor is left, say
        return False


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compiled_kernels() -> int:
    """How many kernels this process had to compile because the cache had none."""
    return _state.compiled


def on_compile(callback: Callable[[str], None] | None) -> None:
    """Have ``callback(kernel name)`` called before a kernel is compiled; it comes from the compiling thread."""
    _state.on_compile = callback


_GAMES = __name__.rpartition(".kernels.")[0] + ".games."  # how the modules of games are named, wherever they are


def _directory_of(function: Callable[..., Any]) -> Path | None:
    """The cache directory for a kernel: that of a game outside the package if it or what it closes over is from there.

    Such a game's directory is named after its sources, so that it is compiled afresh, and nothing else, when they
    change: the game's own folder, and what lies beside it.
    """
    for part in (function, *_closed_over(function)):
        if part.__module__.startswith(_GAMES) and _ENGINE not in Path(part.__code__.co_filename).parents:
            return _outside_directory(part.__module__.removeprefix(_GAMES).partition(".")[0])
    return _state.directory


@cache
def _outside_directory(game: str) -> Path | None:
    if _state.directory is None:
        return None
    folder = Path(str(sys.modules[_GAMES + game].__file__)).parent
    ours = _state.directory / f"{game}-{_hash_of([*folder.rglob('*.py'), *folder.parent.glob('*.py')])}"
    _prune(ours)
    return ours


def _closed_over(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    for cell in function.__closure__ or ():
        part = getattr(cell.cell_contents, "py_func", None)
        if part is not None:
            yield part
            yield from _closed_over(part)


def _name_of(value: Any) -> str:
    """A name that tells functions made by one factory apart: it contains the names of what they close over."""
    function = getattr(value, "py_func", value)
    if hasattr(function, "__code__"):
        cells = ", ".join(_name_of(cell.cell_contents) for cell in function.__closure__ or ())
        return f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}({cells})"
    if value is None or isinstance(value, (bool, int, float, str, np.dtype, np.generic)):
        return repr(value)
    raise TypeError(f"a kernel closes over functions, numbers and dtypes only, not over {value!r}")


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = str(_directory_of(py_func))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _HashedWriter:
    """Passes bytes on and keeps their SHA-256."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return int(self._file.write(data))

    def digest(self) -> bytes:
        return self._hash.digest()


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's cache file with a SHA-256 at the end, where numba's reader does not look."""

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[_HashedWriter]:
        with super()._open_for_write(filepath) as file:
            writer = _HashedWriter(file)
            yield writer
            file.write(writer.digest())

    def _load_index(self) -> Any:
        self._verify(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        self._verify(self._data_path(name))
        return super()._load_data(name)

    @staticmethod
    def _verify(path: str) -> None:
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return
        body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            raise _Damaged(f"{path} is damaged")


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's function cache that never raises: a fault costs a compilation, not the game."""

    _impl_class = _Impl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._name = _name_of(py_func)
        base = self._impl.filename_base
        if py_func.__closure__:
            base += "-" + hashlib.sha256(self._name.encode()).hexdigest()[:16]
        self._cache_file: Any = _CheckedFile(self._cache_path, base, self._impl.locator.get_source_stamp())

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), self._name

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        data = None
        if _state.directory is not None:
            try:
                data = super().load_overload(sig, target_context)
            except Exception as error:  # whatever a damaged cache makes numba raise: recompile
                _state.damaged(error)
        if data is None:
            _state.compiled += 1
            if _state.on_compile is not None:
                _state.on_compile(self._py_func.__name__)
        return data

    def save_overload(self, sig: Any, data: Any) -> None:
        for environment in data._find_referenced_environments():  # also of its device functions, see set_env
            data.library.codegen.set_env(environment.env_name, environment)
        if _state.directory is None:
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _state.give_up(error)
        except Exception as error:  # a damaged index that is read before it is written
            _state.damaged(error)


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
    dispatcher._cache = _KernelCache(function)
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
