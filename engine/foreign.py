"""Nets of other programs: converted once, by a process of its own, and kept in the user's cache by their content.

The engine knows only how such files begin; what is in them is the business of ``az-engine import``, which it calls.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

from .errors import NetError
from .netfile import read_net_file, read_outline_bytes
from .netinfo import PREFIX
from .trial import run_module

_VERSION = 1  # of the conversion: a greater one converts again
_SECONDS = 300
_BEGINNINGS = (b"\x1f\x8b", b"\x0d\xc0\x01\x00\x00")  # gzip, and Lc0's magic
_KATAGO = re.compile(rb"\s*\S{1,200}\s+[0-9]{1,4}\s+22\s+19\s")  # an unpacked net of KataGo's: name, version, inputs
_INPUTS = {"input1", "input2"}  # of dlshogi's ONNX nets


def native_net(path: Path) -> Path:
    """``path`` itself, or the converted net when the file is another program's. Blocks while it is converted.

    Errors: NetError, one sentence.
    """
    from .jit import private_directory  # here: a net's trial needs no numba

    if not path.is_file():
        return path  # the reader says what is wrong with it
    content = read_net_file(path)
    if not _is_foreign(content):
        return path
    cache = private_directory()
    if cache is None:
        raise NetError(f"{str(path)!r} is another program's net; convert it with az-engine import: there is no cache")
    digest = hashlib.sha256(content).hexdigest()
    converted = cache / "nets" / f"{digest[:32]}-{_VERSION}" / f"{path.stem[:100]}.onnx"
    known = sorted(converted.parent.glob("*.onnx"))
    if known:
        return known[0]
    try:
        child = run_module(
            "az_engine", "import", "-o", str(converted), "--quiet", "--bounded", "--", str(path), timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NetError(f"{str(path)!r} could not be converted within {_SECONDS} s") from None
    if child.returncode != 0:
        said = child.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise NetError(said[0].removeprefix("az-engine: ")[:400])
    return converted


def _is_foreign(content: bytes) -> bool:
    """Whether the file begins like another program's, or is an ONNX net with another's inputs."""
    if content.startswith(_BEGINNINGS) or _KATAGO.match(content):
        return True
    try:
        outline = read_outline_bytes(content)
    except NetError:
        return False
    inputs = {each.name for each in outline.inputs}
    return PREFIX + "format" not in outline.metadata and inputs >= _INPUTS
