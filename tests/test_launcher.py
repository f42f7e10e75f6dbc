"""./az-engine: first use, repair, two at once, kill -9; on a stand-in checkout that needs no network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "az-engine"
version = "0"

[project.optional-dependencies]
cpu = []
gpu = []
train = []
serve = []
test = []
dev = []
"""

# The least build back end that pip can install in place: a wheel with a .pth file.
BACKEND = """\
import pathlib, time, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    time.sleep(float(pathlib.Path("delay").read_text()))
    name = "az_engine-0-py3-none-any.whl"
    extras = "".join(f"Provides-Extra: {e}\\n" for e in ("cpu", "gpu", "train", "serve", "test"))
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.writestr("az_engine.pth", str(pathlib.Path("src").resolve()) + "\\n")
        for file, text in (
            ("METADATA", "Metadata-Version: 2.1\\nName: az-engine\\nVersion: 0\\n" + extras),
            ("WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"),
            ("RECORD", ""),
        ):
            wheel.writestr("az_engine-0.dist-info/" + file, text)
    return name
"""

ECHO = """\
import os, sys
print(sys.argv[1:], os.getcwd(), sys.stdin.read(), sep="|")
"""


def make_checkout(root: Path) -> Path:
    """A checkout with the real launcher around a package that echoes its arguments, directory and input."""
    (root / ".ci").mkdir(parents=True)
    package = root / "src" / "az_engine"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "az-engine", root)
    shutil.copy(ROOT / ".ci" / "venv.py", root / ".ci")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "constraints.txt").write_text("")
    (root / "backend.py").write_text(BACKEND)
    (root / "delay").write_text("0")
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(ECHO)
    return root


def environment(**changes: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AZ_ENGINE_", "PYTHON"))}
    return {**kept, "AZ_ENGINE_PYTHON": sys.executable, "PIP_NO_INDEX": "1", **changes}


def start(
    launcher: Path, *arguments: str, cwd: Path | None = None, text: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(launcher), *arguments],
        input=text,
        cwd=cwd,
        env=env or environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed stand-in; its path has a blank."""
    root = make_checkout(tmp_path_factory.mktemp("launcher") / "a checkout")
    first = start(root / "az-engine", "uci", text="quit\n")
    assert (first.returncode, first.stdout) == (0, f"['uci']|{Path.cwd()}|quit\n\n"), first.stderr
    assert "installed" in first.stderr
    return root


def test_a_directory_as_input_is_said(checkout: Path) -> None:
    folder = os.open(checkout, os.O_RDONLY)
    done = subprocess.run([checkout / "az-engine", "uci"], stdin=folder, capture_output=True, text=True, check=False)
    os.close(folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "az-engine: standard input is a directory; give a file, a pipe or a terminal\n"


def test_a_second_start_installs_nothing(checkout: Path) -> None:
    again = start(checkout / "az-engine", "x y", "z")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("['x y', 'z']|")


def test_it_works_through_a_link_from_another_directory(checkout: Path, tmp_path: Path) -> None:
    link = tmp_path / "engine"
    link.symlink_to(checkout / "az-engine")
    (tmp_path / "az_engine.py").write_text("raise SystemExit('the wrong module')")
    done = start(link, "uci", cwd=tmp_path, env=environment(PYTHONPATH=str(tmp_path)))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"['uci']|{tmp_path}|\n", "")


def test_the_exit_status_and_stdin_are_the_commands_own(checkout: Path) -> None:
    main = checkout / "src" / "az_engine" / "__main__.py"
    main.write_text("raise SystemExit(7)")
    try:
        assert start(checkout / "az-engine").returncode == 7
    finally:
        main.write_text(ECHO)


def test_a_changed_pyproject_mends_and_keeps_the_environment(checkout: Path) -> None:
    marker = checkout / ".venv" / "kept"
    marker.touch()
    (checkout / "pyproject.toml").write_text(PYPROJECT + "# changed\n")
    mended = start(checkout / "az-engine")
    assert mended.returncode == 0
    assert mended.stdout.startswith("[]|")
    assert "an update" in mended.stderr
    assert marker.exists()
    assert start(checkout / "az-engine").stderr == ""


def test_a_failed_update_is_said_and_tried_again(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text(PYPROJECT + "# changed again\n")
    (checkout / "delay").write_text("no number")
    failed = start(checkout / "az-engine")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "the installation failed, pip says why above" in failed.stderr
    (checkout / "delay").write_text("0")
    assert "an update" in start(checkout / "az-engine").stderr


def test_extras_are_remembered_and_runtimes_exclude_each_other(checkout: Path) -> None:
    stamp = checkout / ".venv" / "az-engine.stamp"
    assert start(checkout / "az-engine", env=environment(AZ_ENGINE_EXTRA="train,gpu")).returncode == 0
    assert stamp.read_text().splitlines()[2] == "gpu,train"
    assert start(checkout / "az-engine").stderr == ""
    assert start(checkout / "az-engine", env=environment(AZ_ENGINE_EXTRA="cpu")).returncode == 0
    assert stamp.read_text().splitlines()[2] == "cpu,train"
    both = start(checkout / "az-engine", env=environment(AZ_ENGINE_EXTRA="cpu gpu"))
    assert both.returncode == 1
    assert "cannot have both cpu and gpu" in both.stderr
    unknown = start(checkout / "az-engine", env=environment(AZ_ENGINE_EXTRA="tpu"))
    assert "AZ_ENGINE_EXTRA has no 'tpu': choose among cpu, gpu, train, serve, test" in unknown.stderr


def test_the_command_serve_adds_its_extra(checkout: Path) -> None:
    stamp = checkout / ".venv" / "az-engine.stamp"
    assert "serve" not in stamp.read_text().splitlines()[2]
    first = start(checkout / "az-engine", "serve", "--port", "0")
    assert (first.returncode, first.stdout.partition("|")[0]) == (0, "['serve', '--port', '0']")
    assert "serve" in stamp.read_text().splitlines()[2].split(",")
    assert start(checkout / "az-engine", "serve").stderr == ""


def test_two_at_once_install_once(tmp_path: Path) -> None:
    root = make_checkout(tmp_path / "az")
    (root / "delay").write_text("1")
    processes = [
        subprocess.Popen(
            [root / "az-engine", "uci"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for _ in range(2)
    ]
    spoken = [p.communicate(timeout=240) for p in processes]
    assert [p.returncode for p in processes] == [0, 0]
    assert all(out.startswith("['uci']|") for out, _ in spoken)
    said = "".join(err for _, err in spoken)
    assert said.count("az-engine: installing") == 1
    assert said.count("waiting for another installation") == 1


@pytest.mark.parametrize("moment", ["pyvenv.cfg", "bin/pip"])
def test_kill_in_the_middle_is_mended(tmp_path: Path, moment: str) -> None:
    root = make_checkout(tmp_path / "az")
    (root / "delay").write_text("30")
    process = subprocess.Popen(
        [root / "az-engine"], start_new_session=True, stderr=subprocess.DEVNULL, env=environment()
    )
    deadline = time.monotonic() + 60
    while not (root / ".venv" / moment).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (root / ".venv" / "az-engine.stamp").exists()
    (root / "delay").write_text("0")
    mended = start(root / "az-engine", "uci")
    assert (mended.returncode, mended.stdout[:8]) == (0, "['uci']|"), mended.stderr


def test_a_moved_checkout_is_made_anew(checkout: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(checkout, moved, symlinks=True)
    (moved / "src" / "az_engine" / "__main__.py").write_text("print('moved')")
    done = start(moved / "az-engine")
    assert (done.returncode, done.stdout) == (0, "moved\n"), done.stderr


def test_a_missing_venv_module_is_named(tmp_path: Path) -> None:
    root = make_checkout(tmp_path / "az")
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    (stubs / "ensurepip.py").write_text("raise ModuleNotFoundError('ensurepip')")  # as on Debian without python3-venv
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\n[ "$1" = -I ] && shift\nPYTHONPATH={stubs} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = start(root / "az-engine", env=environment(AZ_ENGINE_PYTHON=str(python)))
    assert (done.returncode, done.stdout) == (1, "")
    assert "sudo apt install python3" in done.stderr
    assert "-venv" in done.stderr


def test_no_python_is_said(tmp_path: Path) -> None:
    root = make_checkout(tmp_path / "az")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "readlink", "cmp"):
        (tools / name).symlink_to(shutil.which(name) or "")
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")  # too old
    (tools / "python3").chmod(0o755)
    env = environment(PATH=str(tools))
    del env["AZ_ENGINE_PYTHON"]
    done = start(root / "az-engine", env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "az-engine needs Python 3.11 or newer" in done.stderr


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    root = make_checkout(tmp_path / "az")
    (root / ".venv").touch()
    done = start(root / "az-engine")
    assert done.returncode == 1
    assert ".venv cannot be written (" in done.stderr
    assert "Traceback" not in done.stderr
