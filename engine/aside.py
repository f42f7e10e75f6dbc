"""Compiling a game in a process of its own, while this one plays another: numba compiles one kernel at a time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .engine import Engine
from .errors import AzError
from .games import get_game, register_path, registered_paths
from .os.process import module_command
from .params import EngineOptions
from .precompile import end_with_the_caller, is_cold


def compile_aside(game: str, weights: str, tell: Callable[[str], None]) -> None:
    """Have a process compile what a game with a net needs, at low priority. Blocks.

    ``tell`` gets what :class:`precompile.Progress` tells. Nothing is done where the cache has the kernels or cannot be
    used. Where the process fails, the caller finds nothing compiled.
    """
    if not is_cold(get_game(game), weights, EngineOptions().provider):
        return
    command = module_command(__name__, game, weights, *registered_paths())
    pipe = subprocess.PIPE
    with (
        contextlib.suppress(OSError),
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            tell(line.rstrip())


def _tell(text: str) -> None:
    os.write(1, f"{text}\n".encode())


if __name__ == "__main__":
    end_with_the_caller()
    if hasattr(os, "nice"):
        os.nice(10)
    for directory in sys.argv[3:]:
        register_path(Path(directory))
    with contextlib.suppress(AzError):  # whoever loads it says it
        Engine(sys.argv[1], EngineOptions(weights_file=sys.argv[2], hash_mb=1)).ready(_tell)
