"""Modules of this package as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_module(
    name: str, *arguments: str, timeout: float, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a module of this package in a process of its own. Blocks. Errors: subprocess.TimeoutExpired."""
    command, environment = module_command(name, *arguments)
    return subprocess.run(command, input=given, capture_output=True, timeout=timeout, check=False, env=environment)


def module_command(name: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs a module of this package, and its environment."""
    command = [sys.executable, "-P", "-m", name, *arguments]  # -P: never a module of the current directory
    search_path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]  # the folder of this package
    return command, {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search_path))}
