"""The kernel cache: private, checked, and never the reason why the engine does not start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, sys
if {limit_files}:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import numpy as np
from az_engine.engine.kernels import bits, jit

@jit.kernel
def count(boards):
    boards = jit.borrow(boards)
    total = 0
    for i in range(boards.shape[0]):
        total += bits.popcount(boards[i]) + 100 * bits.lowest_bit(boards[i])
    return total

answer = int(count(np.array([12, 5], np.uint64)))
again = int(count(np.array([12, 5], np.uint64)))
print(json.dumps([answer, again, jit.compiled_kernels(), jit.cache_problem(), str(jit.cache_directory())]))
"""


def run(folder: Path, cache: Path, *, limit_files: bool = False) -> tuple[int, str | None, str]:
    """(kernels compiled, what cache_problem says, the directory) of a fresh process that calls one kernel twice."""
    script = folder / "script.py"
    if not script.exists() or limit_files:
        script.write_text(PROGRAM.format(limit_files=limit_files))
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer, again, compiled, problem, directory = json.loads(done.stdout)
    assert answer == again == 4 + 200
    return compiled, problem, directory


def test_the_second_start_compiles_nothing(tmp_path: Path) -> None:
    compiled, problem, directory = run(tmp_path, tmp_path / "cache")
    assert (compiled, problem) == (1, None)
    assert Path(directory).stat().st_mode & 0o777 == 0o700
    assert run(tmp_path, tmp_path / "cache") == (0, None, directory)


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "garbage"])
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_a_damaged_file_costs_one_compilation(tmp_path: Path, kind: str, harm: str) -> None:
    directory = Path(run(tmp_path, tmp_path / "cache")[2])
    (file,) = directory.glob(kind)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(
        {"flip": bytes(content), "cut": bytes(content[:-40]), "empty": b"", "garbage": b"cos\nsystem\n(S'false'\ntR."}[
            harm
        ]
    )
    assert run(tmp_path, tmp_path / "cache")[:2] == (1, None)
    assert run(tmp_path, tmp_path / "cache")[:2] == (0, None)


def test_a_cache_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    directory = Path(run(tmp_path, tmp_path / "cache")[2])
    directory.chmod(0o777)
    compiled, problem, used = run(tmp_path, tmp_path / "cache")
    assert compiled == 1
    assert problem is not None
    assert "others can write" in problem
    assert used == "None"


@pytest.mark.parametrize("place", ["a file/below", "/proc/nothing"])
def test_without_a_usable_place_kernels_are_compiled_at_every_start(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_text("")
    cache = tmp_path / place
    for _ in range(2):
        compiled, problem, _used = run(tmp_path, cache)
        assert compiled == 1
        assert problem is not None
        assert "AZ_ENGINE_CACHE" in problem


def test_a_full_disk_is_told_and_survived(tmp_path: Path) -> None:
    compiled, problem, _ = run(tmp_path, tmp_path / "cache", limit_files=True)
    assert compiled == 1
    assert problem is not None
    assert "cannot be used" in problem
