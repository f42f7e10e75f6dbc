"""The one door to numba: kernels, their on-disk cache, and the few machine instructions numba does not offer.

Why a door: numba's own cache lives beside the sources or wherever ``NUMBA_CACHE_DIR`` says, keeps stale callers when a
callee in another file changes, raises on a torn file, and unpickles whatever it finds. Here the cache is a private
directory (0700) named after a hash of our sources, the numba version and the CPU; every file ends in a SHA-256 that is
checked before it is read; a damaged cache is wiped once, and if that does not help kernels are compiled afresh and
:func:`cache_problem` says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import operator
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

F = TypeVar("F", bound=Callable[..., Any])

_DIGEST_BYTES = 32
_KEPT_CACHES = 3  # directories of other versions that stay beside ours


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
            _prune(base, path)
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
    home = os.environ.get("XDG_CACHE_HOME")
    if home:
        return Path(home)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # no home directory is known
        return Path("/nonexistent")


def _cache_key() -> str:
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for source in sorted([*here.glob("*.py"), *here.glob("games/**/*.py")]):
        content = source.read_bytes()
        if source.parent != here or source == Path(__file__) or b"from .jit import" in content:
            digest.update(source.name.encode() + content)
    features = llvm.get_host_cpu_features().flatten()
    for part in (numba.__version__, sys.version, llvm.get_host_cpu_name(), features):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _refuse_foreign(path: Path) -> None:
    """A directory that another user can write would let that user run code here: the cache holds machine code."""
    info = path.stat()
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise PermissionError("it belongs to another user")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("others can write to it")


def _prune(base: Path, ours: Path) -> None:
    others = [p for p in base.glob("kernels-*") if p != ours]
    for old in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[_KEPT_CACHES:]:
        shutil.rmtree(old, ignore_errors=True)


_state = _CacheState()


def cache_problem() -> str | None:
    """One sentence when the kernel cache cannot be used, else None."""
    return _state.problem


def cache_directory() -> Path | None:
    """The directory of compiled kernels; None when it cannot be used."""
    return _state.directory


def compiled_kernels() -> int:
    """How many kernels this process had to compile because the cache had none."""
    return _state.compiled


def on_compile(callback: Callable[[str], None] | None) -> None:
    """Have ``callback(kernel name)`` called before a kernel is compiled; it comes from the compiling thread."""
    _state.on_compile = callback


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = str(_state.directory)

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
        plain: Any = self._cache_file  # made by numba's constructor
        self._cache_file: Any = _CheckedFile(plain._cache_path, "", plain._source_stamp)
        self._cache_file.__dict__.update(plain.__dict__)

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
        if _state.directory is None:
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _state.give_up(error)
        except Exception as error:  # a damaged index that is read before it is written
            _state.damaged(error)


def kernel(function: F) -> F:
    """Compile ``function`` for the CPU: no GIL, C-like division, cached on disk. For functions that Python calls."""
    dispatcher = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    dispatcher._cache = _KernelCache(function)
    return dispatcher  # type: ignore[no-any-return]


def device(function: F) -> F:
    """Compile ``function`` to be called by kernels only (it is compiled into them and not cached by itself)."""
    decorate = numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return decorate(function)  # type: ignore[no-any-return]


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


@intrinsic  # type: ignore[untyped-decorator]
def assign(typingctx: Any, target: Any, source: Any) -> Any:
    """Copy a whole record onto another of the same type."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = ir.Constant(ir.IntType(64), sig.args[0].size)
        cgutils.raw_memcpy(builder, args[0], args[1], size, ir.Constant(ir.IntType(64), 1))
        return context.get_dummy_value()

    return numba.void(target, target), codegen


@intrinsic  # type: ignore[untyped-decorator]
def borrow(typingctx: Any, array: Any) -> Any:
    """The same array without its reference count.

    Passing an array to a function that is not inlined costs two atomic counts; a borrowed one costs none. It must not
    outlive the original, so kernels borrow their arguments at entry.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        struct.meminfo = struct.meminfo.type(None)
        struct.parent = struct.parent.type(None)
        return struct._getvalue()

    return array(array), codegen
