"""Converts nets of other programs once, in a child process, and keeps them in the user's cache by their content.

The engine only recognises such files; ``az-engine import``, which it calls, reads them. The cache keeps the nets used
last, up to a number of bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ...errors import NetError
from ...os.process import run_module
from ...os.system import lock
from ..netinfo import PREFIX
from .netfile import read_net_file, read_outline_bytes

_VERSION = 4  # of the conversion: a greater one converts again
_SECONDS = 300
_TELL_S = 10  # between two sentences
_BEGINNINGS = (b"\x1f\x8b", b"\x0d\xc0\x01\x00\x00")  # gzip, and Lc0's magic
_KATAGO = re.compile(rb"\s*\S{1,200}\s+[0-9]{1,4}\s+22\s+19\s")  # an unpacked net of KataGo's: name, version, inputs
_ONNX = ({"input1", "input2"}, {"input", "move", "value"})  # inputs and outputs of ONNX nets: dlshogi's, miniosl's
_KEPT_BYTES = 2 << 30  # of converted nets
_FRESH = 3600  # s after its last use before a net may be removed: an engine may be about to read it


def native_net(path: Path, tell: Callable[[str], None] | None = None, *, int8: bool = False) -> Path:
    """``path``, or the converted net when the file is another program's. Blocks while it converts.

    tell: gets a sentence every _TELL_S while it does; None: stderr does. int8: quantise it, where the onnx package is
    there and the int8 net judges nearly as the file does; see ``models.foreign.fast``. Errors: NetError, one sentence.
    """
    from ...kernels.cache import private_directory  # here: a net's trial needs no numba

    if not path.is_file():
        return path  # the reader reports it
    content = read_net_file(path)
    if not is_foreign(content):
        return path
    cache = private_directory()
    if cache is None:
        raise NetError(f"{str(path)!r} is another program's net; convert it with az-engine import: there is no cache")
    digest = hashlib.sha256(content).hexdigest()
    nets = cache / "nets"
    possible = importlib.util.find_spec("onnx") is not None  # only the child imports it
    kind = "-int8" if int8 and possible else ""
    converted = nets / f"{digest[:32]}-{_VERSION}{kind}" / f"{path.stem[:100]}.onnx"
    with _alone(nets):
        known = sorted(converted.parent.glob("*.onnx"))
        if known:
            os.utime(converted.parent)
            return known[0]
    tell = tell or _write_stderr
    description = _quantise(path, converted, tell) if kind else ""
    if not description:
        _convert(path, converted, tell)
        description = "in fp32"
        if int8 and not possible:
            description += "; with the onnx package (pip install onnx) it is int8, two to three times as fast on a CPU"
        elif int8:
            description += ": it could not be quantised"
    tell(f"{path.name} is converted, {description}")
    with _alone(nets):
        _prune(nets)
    return converted


def _convert(path: Path, converted: Path, tell: Callable[[str], None], *more: str) -> str:
    """Have a child write the converted net; the last line that it says. Blocks. Errors: NetError."""
    try:
        with _announced(path.name, tell):
            words = "import", "-o", str(converted), "--quiet", "--bounded", *more, "--", str(path)
            child = run_module("az_engine", *words, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise NetError(f"{str(path)!r} could not be converted within {_SECONDS} s") from None
    if child.returncode != 0:
        raise NetError(_last_line(child.stderr) or "no reason given")
    return _last_line(child.stdout)


def _quantise(path: Path, converted: Path, tell: Callable[[str], None]) -> str:
    """The same in int8, or in fp32 where int8 does not suit; what it is, or "" where this child failed."""
    try:
        return _convert(path, converted, tell, "--fast")
    except NetError:
        return ""  # the plain conversion tells what is wrong with the file


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("az-engine: ")[:400] if lines else ""


@contextlib.contextmanager
def _announced(name: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell that a net is being converted, and how long it has taken, until it is."""
    tell(f"converting {name}, another program's net, once, for {_SECONDS} s at most")
    over = threading.Event()

    def go_on() -> None:
        seconds = 0
        while not over.wait(_TELL_S):
            seconds += _TELL_S
            tell(f"converting {name}: {seconds} s so far")

    thread = threading.Thread(target=go_on, name="conversion", daemon=True)
    with contextlib.suppress(RuntimeError):  # there is no thread left: the first sentence has to do
        thread.start()
    try:
        yield
    finally:
        over.set()


def _write_stderr(text: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads it
            sys.stderr.write(f"az-engine: {text}\n")
            sys.stderr.flush()


@contextlib.contextmanager
def _alone(nets: Path) -> Iterator[None]:
    """Hold the lock of the folder of converted nets. Blocks while another engine holds it.

    Errors: NetError when the folder cannot be used.
    """
    try:
        nets.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (nets / ".lock").open("a") as file:
            lock(file.fileno(), wait=True)
            yield
    except OSError as error:
        raise NetError(
            f"the converted nets' folder {nets} cannot be used ({error.strerror}); convert with az-engine import"
        ) from None


def _prune(nets: Path) -> None:
    """Remove the nets used longest ago beyond the cache's size; never those in use now."""
    used = []
    for folder in nets.iterdir():
        if folder.is_dir():
            size = sum(file.stat().st_size for file in folder.glob("*.onnx"))
            used.append((folder.stat().st_mtime, size, folder))
    kept = 0
    for when, size, folder in sorted(used, reverse=True):
        kept += size
        if kept > _KEPT_BYTES and time.time() - when > _FRESH:
            shutil.rmtree(folder, ignore_errors=True)


def is_foreign(content: bytes) -> bool:
    """Whether the file is another program's, by its first bytes or its ONNX inputs and outputs."""
    if content.startswith(_BEGINNINGS) or _KATAGO.match(content):
        return True
    try:
        outline = read_outline_bytes(content)
    except NetError:
        return False
    names = {each.name for each in (*outline.inputs, *outline.outputs)}
    return PREFIX + "format" not in outline.metadata and any(names >= known for known in _ONNX)
