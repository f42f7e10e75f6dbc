"""Lines in and lines out: the only module that reads stdin and writes stdout for a protocol.

:func:`claim_stdout` moves the real standard output to a descriptor of our own and points descriptor 1 at stderr, so
that nothing else in the process, native libraries included, can write into the protocol. :class:`LineWriter` writes
whole replies under one lock, :class:`LineReader` reads on its own thread and never waits for a search.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..engine.errors import OptionError
from ..engine.os.system import wait_for_hang_up

MAX_LINE = 1 << 20  # bytes; longer lines are skipped
_CHUNK = 1 << 16  # bytes read at once
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOGGED = 4096  # characters of a line that the log keeps

# Control characters mean nothing in any of the protocols; a lone carriage return separates words.
_CONTROLS = {c: None for c in (*range(0x20), 0x7F) if c != 0x09} | {0x0D: " ", 0xFEFF: None}


def clean(raw: bytes) -> str:
    """Decode one input line; drop its line end, byte order mark and control characters.

    Bytes that are not UTF-8 become surrogates: as a path, ``os.fsencode`` turns them into the same bytes again.
    """
    return raw.decode("utf-8", "surrogateescape").rstrip("\r\n").translate(_CONTROLS)


def one_line(text: str, limit: int = 400) -> str:
    """Make a text part of one line: join blanks and line ends, escape what is not printable, cut at ``limit``."""
    joined = " ".join(text.split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in joined[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


class TrafficLog:
    """Appends every line in and out, with its time of day, to a file that the user names (option LogFile)."""

    def __init__(self, path: str) -> None:
        """Open or create the file.

        Errors: OptionError when it is not an ordinary file or cannot be written. Earlier content is kept and not read.
        """
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(Path(path).expanduser(), flags, 0o600)
        except (OSError, ValueError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise OptionError(f"the log file {path!r} cannot be written ({reason}); nothing is logged") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OptionError(f"the log file {path!r} is not an ordinary file; nothing is logged")
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")
        self._lock = threading.Lock()
        self.fault: str | None = None  # why logging ended, when it did

    def record(self, mark: str, lines: str) -> None:
        """Append lines, each after the time and a mark: ``<`` for input, ``>`` for output, ``!`` for our own faults."""
        now = time.time()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1000):03}"
        with self._lock:
            if self._file.closed:
                return
            try:
                self._file.writelines(f"{stamp} {mark} {line[:_LOGGED]}\n" for line in lines.split("\n"))
                self._file.flush()
            except OSError as error:
                self.fault = f"the log file is full or gone ({error.strerror}); logging ends here"
                self._close()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        try:
            self._file.close()
        except OSError as error:  # the last buffer did not fit
            self.fault = self.fault or f"the log file is full or gone ({error.strerror}); logging ends here"


class LineWriter:
    """Writes whole replies to one descriptor, from any thread; stops for good when the other side has closed."""

    def __init__(self, descriptor: int | None) -> None:
        """``descriptor`` stays the caller's; ``None`` writes nowhere."""
        self.descriptor = descriptor
        self._lock = threading.Lock()
        self.closed = descriptor is None  # nothing is written any more
        self.fault = ""  # why, where there is no room
        self.log: TrafficLog | None = None

    def close(self) -> None:
        """Write no more, from now on: the descriptor's number may soon be another file's. BLOCKS while a write does."""
        with self._lock:
            self.closed = True

    def probe(self) -> None:
        """Write an empty line, if that is possible at once: a client that is gone refuses it, and its socket tells."""
        if self.descriptor is not None and self._lock.acquire(blocking=False):
            try:
                if not self.closed and select.select([], [self.descriptor], [], 0)[1]:
                    os.write(self.descriptor, b"\n")
            except (OSError, ValueError):  # refused; the next reply finds out, too
                return
            finally:
                self._lock.release()

    def write(self, reply: str) -> bool:
        """Write a reply of one or more lines, not interleaved with other threads'. BLOCKS while the pipe is full.

        Returns False when the other side has closed.
        """
        data = memoryview((reply + "\n").encode("utf-8", "backslashreplace"))
        with self._lock:
            if self.closed or self.descriptor is None:
                return False
            try:
                while data:
                    data = data[os.write(self.descriptor, data) :]
            except OSError as error:  # closed pipe, terminal gone, disk full: the same for us
                self.closed = True
                self.fault = (error.strerror or str(error)) if error.errno in _NO_ROOM else ""
                return False
            if self.log is not None:
                self.log.record(">", reply)
        return True


class LineReader:
    """Reads lines from a descriptor, a pipe's or a socket's, on a thread of its own; memory stays bounded."""

    skips = True  # overlong lines are skipped; False: the first one ends the input

    def __init__(self, descriptor: int) -> None:
        """``descriptor`` stays the caller's."""
        self._descriptor = descriptor

    def start(
        self, on_line: Callable[[str], None], on_overlong: Callable[[], None], on_end: Callable[[], None]
    ) -> threading.Thread:
        """Hand lines over as they come; returns at once. ``on_end`` comes last, exactly once.

        The callbacks run on the thread and must return at once. Call once. Errors: ThreadError.
        """
        from ..engine.os.process import start_thread  # not above: `connect` imports this file and must begin fast

        thread = threading.Thread(target=self._run, args=(on_line, on_overlong, on_end), name="reader", daemon=True)
        start_thread(thread)
        return thread

    def _run(self, on_line: Callable[[str], None], on_overlong: Callable[[], None], on_end: Callable[[], None]) -> None:
        pending = bytearray()
        skipping = False  # inside a line that is too long
        while chunk := self._read():
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                pending += line
                if skipping or len(pending) > MAX_LINE:
                    on_overlong()
                else:
                    on_line(clean(bytes(pending)))
                pending.clear()
                skipping = False
            pending += rest
            if len(pending) > MAX_LINE:
                skipping = True
            if skipping:
                pending.clear()
                if not self.skips:
                    break
        if skipping:
            on_overlong()
        elif pending:
            on_line(clean(bytes(pending)))
        on_end()

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:  # the terminal is gone, or there never was an input
            return b""


def on_abandoned(output: int | None, end: Callable[[], object]) -> None:
    """Call ``end``, from a thread of its own, once nobody can read the output any more or the parent process has ended.

    A process that was started to outlive its parent (``nohup``, ``setsid``) does. ``output`` stays the caller's, and
    open. On Windows nothing tells: the next line that is written does.
    """

    def watch() -> None:
        wait_for_hang_up(output)
        end()

    threading.Thread(target=watch, name="abandoned", daemon=True).start()


def claim_stdout() -> LineWriter:
    """The writer to the process's standard output; from now on nothing else in the process can write there.

    Descriptor 1 is stderr afterwards. Missing standard descriptors (some GUIs close stderr) are opened on the null
    device first, so that no file of ours gets their numbers.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    if sys.stdout is not None:
        sys.stdout.flush()
    descriptor = os.dup(1)
    if sys.platform != "win32":  # where a descriptor always blocks
        os.set_blocking(descriptor, True)
    os.dup2(2, 1)
    return LineWriter(descriptor)
