"""./az-engine: first use, repair, two at once, kill -9; on a stand-in checkout that needs no network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .fakes.waiting import wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "az-engine"
version = "0"

dependencies = ["onnxruntime>=1.22"]

[dependency-groups]
gpu = ["pip"]

[project.optional-dependencies]
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
    extras = "".join(f"Provides-Extra: {e}\\n" for e in ("train", "serve", "test"))
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
    for name in ("constraints.txt", "requirements.txt"):
        (root / name).write_text("")
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


def test_a_small_stack_is_one_sentence(checkout: Path) -> None:
    command = ["sh", "-c", f'ulimit -s 64; "{checkout}/az-engine" uci']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "az-engine: the stack is limited to 64 KiB, which is too little: ulimit -s 8192, and again\n"


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
    assert "AZ_ENGINE_EXTRA has no 'tpu': choose among cpu, gpu, train, serve, test, dev" in unknown.stderr


def test_an_extra_is_installed_in_the_tried_versions(checkout: Path) -> None:
    constraints = checkout / "constraints.txt"
    constraints.write_text("az-engine==1\n")  # which nothing fulfils
    try:
        refused = start(checkout / "az-engine", env=environment(AZ_ENGINE_EXTRA="train"))
    finally:
        constraints.write_text("")
    assert refused.returncode == 1
    assert "the installation failed, pip says why above" in refused.stderr
    assert start(checkout / "az-engine", env=environment(AZ_ENGINE_EXTRA="train")).returncode == 0


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
    assert said.count("az-engine: installing cpu ") == 1
    assert said.count("waiting for another installation") == 1


@pytest.mark.parametrize("moment", ["pyvenv.cfg", "bin/pip"])
def test_kill_in_the_middle_of_the_first_installation_is_mended(tmp_path: Path, moment: str) -> None:
    root = make_checkout(tmp_path / "az")
    (root / "delay").write_text("30")
    kill_when_there(root, ".venv.new", moment)
    assert not (root / ".venv" / "az-engine.stamp").exists()
    (root / "delay").write_text("0")
    mended = start(root / "az-engine", "uci")
    assert (mended.returncode, mended.stdout[:8]) == (0, "['uci']|"), mended.stderr
    assert not (root / ".venv.new").exists()


def kill_when_there(root: Path, *path: str) -> None:
    """Start the launcher and kill it with what it started when a file appears."""
    command = [root / "az-engine"]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, env=environment())
    wait_for(root.joinpath(*path).exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_scripts_name_the_place_where_they_end_up(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text(PYPROJECT + "# changed for the scripts\n")
    assert start(checkout / "az-engine").returncode == 0
    pip = subprocess.run([checkout / ".venv" / "bin" / "pip", "--version"], capture_output=True, text=True, check=False)
    assert f"{checkout}/.venv/lib" in pip.stdout, pip.stderr
    for path in (checkout / ".venv" / "bin").iterdir():
        assert b".venv.new" not in path.read_bytes()


# Ends an update at its first, second, ... step that the system sees, each time on a new environment; then looks at it.
EVERY_MOMENT = """
import importlib.util, os, shutil, subprocess, sys, time, tomllib, types
from pathlib import Path

root, system = Path(sys.argv[2]), sys.argv[3]
if system == "win32":
    sys.platform, sys.modules["fcntl"] = system, None
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda descriptor, mode, count: None)
spec = importlib.util.spec_from_file_location("venv_of_checkout", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
venv = root / ".venv"
tool = f"{module.BIN}/tool"

def make():
    shutil.rmtree(root, ignore_errors=True)
    for folder in (venv / module.BIN, venv / "lib", root / "src" / "az_engine"):
        folder.mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project.optional-dependencies]\\ndev = []")
    for name in ("constraints.txt", "requirements.txt"):
        (root / name).write_text("")
    (venv / module.BIN / module.PYTHON).symlink_to(sys.executable)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\\n")
    (venv / "lib" / "package").write_text("old")
    (venv / tool).write_text("old")
    stamp = module.Stamp(str(root), module.interpreter(venv), frozenset(["cpu"]))
    (venv / module.STAMP).write_text(stamp.text())

def pip(self, beat, with_lock, had, extras):
    for name, text in (("lib/package", "new"), (tool, f"new {self.new}")):
        (self.new / name).unlink()
        (self.new / name).write_text(text)

def state():
    if not venv.exists():
        assert (root / ".venv.new" / module.STAMP).exists()
        return "between"
    said = (venv / "lib" / "package").read_text(), (venv / tool).read_text()
    assert said in (("old", "old"), ("new", f"new {venv}")), said
    assert module.Stamp.read(venv / module.STAMP), said
    return said[0]

module.Venv._pip = pip
ended, moment = None, 0
while ended != 0:
    moment += 1
    make()
    child = os.fork()
    if child == 0:
        left = moment
        def hook(event, args):
            global left
            if event.startswith(("open", "os.", "shutil.")):
                left -= 1
                if left == 0:
                    os._exit(9)
        sys.addaudithook(hook)
        module.Venv(root).install(frozenset())
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(ended, state())
    module.Venv(root).install(frozenset())
    assert state() == "new"
    assert sorted(path.name for path in root.glob(".venv*") if path.is_dir()) == [".venv"]
"""


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_an_update_that_ends_at_any_moment_leaves_the_old_environment_or_the_new(tmp_path: Path, system: str) -> None:
    command = [sys.executable, "-c", EVERY_MOMENT, str(ROOT / ".ci" / "venv.py"), str(tmp_path / "az"), system]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = done.stdout.splitlines()
    assert seen[-1] == "0 new"
    assert {"9 old", "9 between", "9 new"} <= set(seen)


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
    assert "az-engine needs Python 3.11 to 3.14 and found none" in done.stderr


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    root = make_checkout(tmp_path / "az")
    (root / ".venv").touch()
    done = start(root / "az-engine")
    assert done.returncode == 1
    assert ".venv cannot be written (" in done.stderr
    assert "Traceback" not in done.stderr
