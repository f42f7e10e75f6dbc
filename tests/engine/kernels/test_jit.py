"""The kernel cache: private, checked, and never the reason why the engine does not start."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import az_engine
from az_engine.engine.kernels import jit

pytestmark = pytest.mark.slow

PROGRAM = """
import json, sys
if {limit_files}:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import numpy as np
from az_engine.engine.kernels import bits, cache, jit

@jit.kernel
def count(boards):
    boards = jit.borrow(boards)
    total = 0
    for i in range(boards.shape[0]):
        total += bits.popcount(boards[i]) + 100 * bits.lowest_bit(boards[i])
    return total

answer = int(count(np.array([12, 5], np.uint64)))
again = int(count(np.array([12, 5], np.uint64)))
print(json.dumps([answer, again, cache.compiled_kernels(), cache.cache_problem(), str(cache.cache_directory())]))
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
    (file,) = directory.rglob(kind)
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


GAME = {
    "__init__.py": "GAME = None",
    "moves.py": "from az_engine.engine.kernels.jit import device\n\n@device\ndef step(x):\n    return x + 1\n",
    "rules.py": """
import numpy as np
from az_engine.engine.kernels.jit import kernel
from .moves import step

@kernel
def plain(numbers):
    return step(numbers[0])

def factory(device_function, offset):
    @kernel
    def made(numbers):
        return device_function(numbers[0]) + offset
    return made

makes = factory(step, 0), factory(step, 50)

def answers():
    return [int(call(np.zeros(1, np.int64))) for call in (plain, *makes)]
""",
}
PLAY = """
import json
import numpy as np
from az_engine.engine.games.other import rules
from az_engine.engine.kernels import bits, cache, jit

@jit.kernel
def elsewhere(boards):
    return bits.popcount(boards[0])

before = int(elsewhere(np.ones(1, np.uint64))), cache.compiled_kernels()
print(json.dumps([rules.answers(), before[1], cache.compiled_kernels() - before[1]]))
"""


def test_a_game_outside_the_package_is_compiled_afresh_when_its_sources_change(tmp_path: Path) -> None:
    """A device function in another file than its kernels, called by them directly and through a factory."""
    folder = tmp_path / "games" / "other"
    folder.mkdir(parents=True)
    for name, text in GAME.items():
        (folder / name).write_text(text)
    script = tmp_path / "script.py"
    script.write_text(PLAY)
    environment = {**os.environ, "AZ_ENGINE_CACHE": str(tmp_path / "cache"), "AZ_ENGINE_GAMES": str(folder.parent)}

    def play() -> list[object]:
        """[results, kernels compiled elsewhere, kernels compiled of the game]."""
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    assert play() == [[1, 1, 51], 1, 3]
    assert play() == [[1, 1, 51], 0, 0]
    (folder / "moves.py").write_text(GAME["moves.py"].replace("x + 1", "x + 100"))
    assert play() == [[100, 100, 150], 0, 3]
    (folder / "moves.py").write_text(GAME["moves.py"])
    assert play() == [[1, 1, 51], 0, 0]


PROBE = """
import json
import numpy as np
from az_engine.engine.kernels import cache
from az_engine.engine.kernels.jit import kernel
from az_engine.models.label.teachers.nnue.probe import sums

print(json.dumps([sums(np.arange(4, dtype=np.int16)).tolist(), cache.compiled_kernels()]))
"""
PROBED = """
import numpy as np
from .....engine.kernels.jit import kernel
from .layers import add_rows

@kernel
def sums(row):
    out = np.zeros(row.shape[0], np.int16)
    add_rows(row.reshape(1, -1), out.copy(), np.zeros(1, np.int64), 1, out)
    return out
"""


def test_a_device_function_of_the_training_side_is_compiled_afresh_when_it_changes(tmp_path: Path) -> None:
    package, source = tmp_path / "src" / "az_engine", Path(az_engine.__file__).parent
    package.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name != "models":
            (package / entry.name).symlink_to(entry.resolve(), target_is_directory=entry.is_dir())
    shutil.copytree(source / "models", package / "models", ignore=shutil.ignore_patterns("*.onnx", "__pycache__"))
    folder = package / "models" / "label" / "teachers" / "nnue"
    (folder / "probe.py").write_text(PROBED)
    layers = (folder / "layers.py").read_text()
    assert "out[j] += row[j]" in layers
    environment = {
        **os.environ,
        "AZ_ENGINE_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run_probe() -> list[object]:
        """[the row added to zeros, kernels compiled]."""
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    assert run_probe() == [[0, 1, 2, 3], 1]
    assert run_probe() == [[0, 1, 2, 3], 0]
    (folder / "layers.py").write_text(layers.replace("out[j] += row[j]", "out[j] -= row[j]"))
    assert run_probe() == [[0, -1, -2, -3], 1]
    (folder / "layers.py").write_text(layers)
    assert run_probe() == [[0, 1, 2, 3], 0]


def test_a_kernel_closes_over_what_has_a_name() -> None:
    numbers = np.zeros(3)

    def count() -> int:
        return len(numbers)

    with pytest.raises(TypeError, match="closes over"):
        jit.kernel(count)


@jit.device
def _set_last(numbers: Any, value: Any) -> Any:
    if value < 0:
        raise ValueError("negative", value)
    numbers[-1] = value
    return value


@jit.kernel
def _set_both(record: Any, numbers: Any, value: Any) -> Any:
    return _set_last(jit.borrow(record[0].numbers), value) + _set_last(jit.borrow(numbers), value)


@jit.device
def _doubled(number: Any) -> Any:
    return 2 * number


@jit.kernel
def _doubled_twice(number: Any) -> Any:
    return _doubled(number) + _doubled(3)


def test_a_literal_is_a_variable_to_a_device_function() -> None:
    anew: Any = _doubled_twice
    anew.recompile()
    assert _doubled_twice(4) == 14
    dispatcher: Any = _doubled
    assert len(dispatcher.overloads) == 1


def test_garbage_is_collected_again_after_a_compilation() -> None:
    anew: Any = _doubled_twice
    assert gc.isenabled()
    anew.recompile()
    assert gc.isenabled()
    gc.disable()
    try:
        anew.recompile()
        assert not gc.isenabled()  # as the caller wants it
    finally:
        gc.enable()


def test_device_functions_are_compiled_once_and_as_part_of_their_kernels() -> None:
    record, numbers = np.zeros(1, np.dtype([("numbers", "u2", 3)], align=True)), np.zeros(2, np.uint16)
    assert _set_both(record, numbers, 5) == 10
    kernel: Any = _set_both
    kernel.recompile()  # an earlier run's machine code may have come from the cache
    assert _set_both(record, numbers, 5) == 10
    assert record["numbers"].tolist() == [[0, 0, 5]]
    assert numbers.tolist() == [0, 5]
    dispatcher: Any = _set_last
    [code] = dispatcher.overloads.values()  # an array of a record is like any other
    assert code.library.get_pointer_to_function(code.fndesc.llvm_func_name) == 0
    with pytest.raises(ValueError, match="negative") as raised:
        _set_both(record, numbers, -1)
    assert raised.value.args == ("negative", -1)
