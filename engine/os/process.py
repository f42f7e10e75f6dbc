"""Modules of this package as processes of their own, and the start of threads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

from ..errors import ThreadError

_PACKAGE = Path(__file__).parents[3]  # the folder that holds this package
# Run by a child in isolated mode: it imports from where its parent does, whatever PYTHONPATH and PYTHONHOME say.
_START = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def run_module(
    name: str, *arguments: str, timeout: float, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a module of this package in a process of its own. Blocks. Errors: subprocess.TimeoutExpired."""
    return subprocess.run(
        module_command(name, *arguments), input=given, capture_output=True, timeout=timeout, check=False
    )


def module_command(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of this package, "az_engine" itself with ``arguments``, isolated from its caller.

    The child imports from the folders that this process imports from, but for the current one.
    """
    folders = sys.path if sys.flags.safe_path else sys.path[1:]
    return [sys.executable, "-I", "-c", _START, json.dumps([str(_PACKAGE), *folders]), name, *arguments]


def start_thread(thread: threading.Thread) -> None:
    """Start it. Errors: ThreadError."""
    try:
        thread.start()
    except RuntimeError as error:  # started twice is a bug, and says so
        if "new thread" not in str(error):
            raise
        raise ThreadError(
            "no thread can be started: raise the limit of processes (ulimit -u), or end other programs"
        ) from error
