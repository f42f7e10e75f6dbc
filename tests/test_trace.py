"""How far a warm ``go`` walks: who reads the code from a command to its answer goes the same way."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

FILES, CHANGES = 32, 180  # threads meet a little differently each time


@pytest.mark.slow
def test_a_warm_go_crosses_few_files() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.trace_go", "chess"], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"(\d+) calls, (\d+) files, (\d+) changes of file", done.stdout)
    assert found is not None
    assert int(found[2]) <= FILES, done.stdout
    assert int(found[3]) <= CHANGES, done.stdout
