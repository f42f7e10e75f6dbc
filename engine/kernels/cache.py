"""The on-disk cache of compiled kernels.

numba's own cache lives beside the sources or wherever ``NUMBA_CACHE_DIR`` says, keeps stale callers when a callee in
another file changes, never finds a kernel again that closes over functions, raises on a torn file, and unpickles
whatever it finds. Here the cache is a private directory (0700) named after a hash of the engine's sources, the numba
version and the CPU. Kernels that hold code from elsewhere, such as a game outside the package or the training side, lie
in directories within it, each named after a hash of the sources there: a kernel never outlives its source. A kernel
that a factory makes is known by the names of what it closes over. Every file ends in a SHA-256 that is checked before
it is read; a damaged cache is wiped once, and if that does not help kernels are compiled afresh and
:func:`cache_problem` says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

_DIGEST_BYTES = 32
_ENGINE = Path(__file__).parents[1]
_PACKAGE = _ENGINE.parent
_KEPT_CACHES = 3  # directories of other versions that stay beside ours, ...
_UNUSED_S = 24 * 3600.0  # ... and those that a process has used within this time
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
            os.utime(path)
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
    sources = [source for folder in _ENGINE.iterdir() if folder.is_dir() for source in folder.rglob("*.py")]
    features = llvm.get_host_cpu_features().flatten()
    return _hash_of(sources, numba.__version__, sys.version, llvm.get_host_cpu_name(), features)


def _hash_of(sources: Iterable[Path], *more: str) -> str:
    digest = hashlib.sha256("".join(more).encode())
    for source in sorted(sources):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)} ".encode() + content)
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
        if time.time() - old.stat().st_mtime > _UNUSED_S:
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
    """The directory for a kernel: the cache's own where all that it is made of and closes over is the engine's.

    Else one named after the sources that it may call: when they change it is compiled afresh, and nothing else is.
    """
    outside = [part for part in (function, *_closed_over(function)) if _ENGINE not in _file_of(part).parents]
    if not outside or _state.directory is None:
        return _state.directory
    name, *_ = [_room_of(part)[0] for part in outside]
    return _outside_directory(name, frozenset(source for part in outside for source in _room_of(part)[1]))


def _file_of(function: Callable[..., Any]) -> Path:
    return Path(function.__code__.co_filename)


def _room_of(function: Callable[..., Any]) -> tuple[str, Iterable[Path]]:
    """A name for where a function outside the engine lives, and the sources that it may call there."""
    module, file = function.__module__, _file_of(function)
    if module.startswith(_GAMES):  # the game's own folder, and what lies beside it
        game = module.removeprefix(_GAMES).partition(".")[0]
        folder = Path(str(sys.modules[_GAMES + game].__file__)).parent
        return game, [*folder.rglob("*.py"), *folder.parent.glob("*.py")]
    if _PACKAGE in file.parents:
        return "package", _package_sources()
    return file.parent.name or "scripts", [*file.parent.glob("*.py"), *_package_sources()]


@cache
def _package_sources() -> list[Path]:
    """The sources of the package, but the engine's, in all folders that hold a kernel or device function."""
    rooms = [room for room in _PACKAGE.iterdir() if room.is_dir() and room != _ENGINE]  # may be links to folders
    sources = [source for room in rooms for source in room.rglob("*.py")]
    folders = {source.parent for source in sources if b"kernels.jit" in source.read_bytes()}
    return [source for source in sources if source.parent in folders]


@cache
def _outside_directory(name: str, sources: frozenset[Path]) -> Path:
    assert _state.directory is not None
    ours = _state.directory / f"{name}-{_hash_of(sources)}"
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


class KernelCache(FunctionCache):  # type: ignore[misc]
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
        """The kernel for a signature; None where it has to be compiled."""
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

    def flush(self) -> None:
        """Forget what is kept, also where nothing was kept yet."""
        if _state.directory is None:
            return
        self._impl.locator.ensure_cache_path()
        super().flush()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
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
