"""What operating systems do differently: locks, limits, process groups, folders. POSIX here, Windows beside it.

On Windows psutil stands in for what POSIX has as system calls.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import platform
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of mallopt
_LARGE = 256 << 10  # bytes

if sys.platform == "win32":
    import msvcrt

    import psutil

    BINARY = os.O_BINARY
    _LOCKED_BYTE = 1 << 40  # far behind any file's end: Windows keeps others from reading a locked byte

    def lock(descriptor: int, *, wait: bool = False) -> None:
        """Lock an open file for this process until it is closed. Blocks with ``wait``. Errors: OSError when taken."""
        while True:
            at = os.lseek(descriptor, 0, os.SEEK_CUR)
            try:
                os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return
            except OSError:
                if not wait:
                    raise
            finally:
                os.lseek(descriptor, at, os.SEEK_SET)
            time.sleep(0.05)

    def sync_folder(folder: Path) -> None:
        """Do nothing: NTFS keeps its folders in a journal."""

    def replace(draft: Path, path: Path) -> None:
        """Give a file its name; waits up to a second while another process has the old one open. Errors: OSError."""
        for _ in range(20):
            try:
                draft.replace(path)
                return
            except PermissionError:
                time.sleep(0.05)
        draft.replace(path)

    def memory_bytes() -> int:
        """Size of the machine's memory."""
        return int(psutil.virtual_memory().total)

    def limit_process(memory: int, seconds: int | None = None) -> None:
        """End this process when it takes more than ``memory`` bytes, or computes for more than ``seconds``."""
        ours = psutil.Process()

        def watch() -> None:
            while ours.memory_info().vms <= memory:
                if seconds is not None and sum(ours.cpu_times()[:2]) > seconds:
                    os._exit(_OUT_OF_TIME)
                time.sleep(0.05)
            os._exit(_OUT_OF_MEMORY)

        threading.Thread(target=watch, name="limits", daemon=True).start()

    def kill_group(process: subprocess.Popen[bytes]) -> None:
        """Kill a process started with :data:`NEW_GROUP` and those that it started."""
        try:
            children = psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return
        for each in [*children, process]:
            try:
                each.kill()
            except (psutil.NoSuchProcess, OSError):  # it has just ended
                continue

    def wait_for_hang_up(output: int | None) -> None:
        """Block for ever: nothing tells that a pipe's reader or the parent is gone."""
        threading.Event().wait()

    def split_command(text: str) -> list[str]:
        """The words of a command line; backslashes belong to paths. Errors: ValueError for an open quote."""
        words = shlex.shlex(text, posix=True)
        words.whitespace_split, words.escape, words.quotes, words.commenters = True, "", '"', ""
        return list(words)

    def _discard_pages(start: int, size: int) -> None:
        """Do nothing: the system takes back what it needs."""

    NEW_GROUP: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    _OUT_OF_TIME, _OUT_OF_MEMORY = 124, 125

    def ran_out_of_time(status: int) -> bool:
        """Whether a child ended because of the seconds of :func:`limit_process`."""
        return status == _OUT_OF_TIME

else:
    import fcntl
    import resource
    import select

    BINARY = 0
    NEW_GROUP: dict[str, Any] = {"start_new_session": True}
    _LOOK_MS = 1000  # between looks for the parent process ...
    _PARENT = os.getppid()  # ... which this one had when it began

    def lock(descriptor: int, *, wait: bool = False) -> None:
        """Lock an open file for this process until it is closed. Blocks with ``wait``. Errors: OSError when taken."""
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def sync_folder(folder: Path) -> None:
        """Force a folder's entries to the disk. Errors: OSError."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(draft: Path, path: Path) -> None:
        """Give a file its name. Errors: OSError."""
        draft.replace(path)

    def memory_bytes() -> int:
        """Size of the machine's memory, or of the part that a container may take."""
        sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
        for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of cgroups, version 2 and 1
            with contextlib.suppress(OSError, ValueError):  # there is none
                sizes.append(int(Path("/sys/fs/cgroup", limit).read_text()))
        return min(size for size in sizes if size > 0)

    def limit_process(memory: int, seconds: int | None = None) -> None:
        """End this process when it takes more than ``memory`` bytes, or computes for more than ``seconds``."""
        if sys.platform != "darwin":  # macOS refuses a limit of the address space
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))  # SIGXCPU, then SIGKILL

    def kill_group(process: subprocess.Popen[bytes]) -> None:
        """Kill a process started with :data:`NEW_GROUP` and those that it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:  # it has just ended, or changed its group
            process.kill()

    def wait_for_hang_up(output: int | None) -> None:
        """Block until nobody can read ``output`` any more, or the parent is gone that the process need not outlive."""
        outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or os.getsid(0) == os.getpid()
        poll = select.poll()
        if output is not None and not os.isatty(output):  # when a terminal is gone, SIGHUP comes
            poll.register(output, 0)  # faults alone
        while not poll.poll(_LOOK_MS) and (outlives or os.getppid() == _PARENT):
            continue

    def split_command(text: str) -> list[str]:
        """The words of a command line, as a shell splits it. Errors: ValueError for an open quote."""
        return shlex.split(text)

    def ran_out_of_time(status: int) -> bool:
        """Whether a child ended because of the seconds of :func:`limit_process`."""
        return status == -signal.SIGXCPU

    def _discard_pages(start: int, size: int) -> None:
        import ctypes

        advice = mmap.MADV_DONTNEED if sys.platform == "linux" else mmap.MADV_FREE
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), advice)


def cpu_name() -> str:
    """What the processor calls itself."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def fast_bf16() -> bool:
    """Whether the processor has instructions for bf16; without, libraries emulate it at a tenth of fp32's speed."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return bool({"avx512_bf16", "amx_bf16", "bf16"} & set(line.split()))
    return False


def _c_library() -> Any:
    """glibc, whose allocator has settings; None elsewhere."""
    import ctypes

    library = None if os.name == "nt" else ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def discard(array: NDArray[Any], first: int) -> None:
    """Give the memory of array[first:] back to a system that takes it; 0 stays 0 there, the rest is undefined."""
    start, end = (array.ctypes.data + array.strides[0] * i for i in (first, len(array)))
    start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    size = end // mmap.PAGESIZE * mmap.PAGESIZE - start
    if size > 0:
        _discard_pages(start, size)


def few_arenas() -> None:
    """Let all threads allocate from the same two arenas: one for each keeps much that others could use.

    What is large is given back to the system at once, whatever was freed before. Call it before threads are started.
    """
    library = _c_library()
    if library is not None:
        library.mallopt(_M_ARENA_MAX, 2)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE)


def give_back_memory() -> None:
    """Give what is free back to the system. Blocks for some milliseconds."""
    library = _c_library()
    if library is not None:
        library.malloc_trim(0)
