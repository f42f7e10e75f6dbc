"""Make or mend this checkout's virtual environment ``.venv``: the slow path of ``./az-engine`` and ``./test``.

Runs with a bare Python 3.11 to 3.14, before anything is installed. Everything it prints goes to stderr. What holds:

- Two starts at once: the second waits for the first (a lock, which pip inherits, so that it outlives a killed installer
  as long as pip runs; not on Windows).
- Killed at any point: pip works on ``.venv.new``, a copy of ``.venv`` whose files are hard links, and two renames swap
  it in. Its stamp is written last. The next installation swaps in a copy that has its stamp, and deletes any other.
- A failed installation (no network, full disk) leaves ``.venv`` as it was.
- cpu and gpu exclude each other: onnxruntime and onnxruntime-gpu overwrite each other's files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

if sys.platform == "win32":
    import msvcrt

    BIN, PYTHON = "Scripts", "python.exe"

    def open_lock(root: Path) -> int:
        """Descriptor of what stands for the checkout: Windows opens no folders."""
        return os.open(root / ".venv.lock", os.O_RDWR | os.O_CREAT)

    def lock(descriptor: int) -> None:
        """Lock it until this process ends. Errors: OSError when taken."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def inherited(descriptor: int) -> dict[str, Any]:
        """Arguments of subprocess.run. Locks of Windows belong to one process."""
        return {}

    def interpreter(venv: Path) -> str:
        """The folder of the Python behind an environment, whose own python.exe is a starter; empty when it is gone."""
        lines = (venv / "pyvenv.cfg").read_text("utf-8").splitlines()
        home = dict(line.split(" = ", 1) for line in lines if " = " in line)["home"]
        return home if Path(home).exists() else ""

else:
    import fcntl

    BIN, PYTHON = "bin", "python"

    def open_lock(root: Path) -> int:
        """Descriptor of the checkout."""
        return os.open(root, os.O_RDONLY)

    def lock(descriptor: int) -> None:
        """Lock it until this process, and those that inherit it, end. Errors: OSError when taken."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def inherited(descriptor: int) -> dict[str, Any]:
        """Arguments of subprocess.run."""
        return {"pass_fds": (descriptor,)}

    def interpreter(venv: Path) -> str:
        """The Python behind an environment, links followed."""
        return os.path.realpath(venv / BIN / PYTHON)


STAMP = "az-engine.stamp"
HEARTBEAT_S = 5.0
SOURCES = ("pyproject.toml", "constraints.txt", "requirements.txt")  # copies in .venv tell what it was made from
RUNTIMES = {"cpu": "onnxruntime", "gpu": "onnxruntime-gpu"}


class InstallError(Exception):
    """One sentence: what is wrong and what to do."""


@dataclass(frozen=True)
class Stamp:
    """What ``.venv`` was made for."""

    place: str  # the checkout; a virtual environment cannot be moved
    python: str  # the interpreter behind .venv/bin/python, links followed
    extras: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> Stamp | None:
        """The finished environment's stamp; ``None`` when there is none or it is not whole."""
        try:
            place, python, extras = path.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            return None
        return cls(place, python, frozenset(extras.split(",")))

    def text(self) -> str:
        """One field a line, for the shell."""
        return f"{self.place}\n{self.python}\n{','.join(sorted(self.extras))}\n"


class Venv:
    """The virtual environment of the checkout at ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = Path(os.path.realpath(root / ".venv"))  # which may be a link to a larger disk
        self.new = self.path.with_name(self.path.name + ".new")
        self.old = self.path.with_name(self.path.name + ".old")

    def install(self, wanted: frozenset[str]) -> None:
        """Bring the environment up to date with ``wanted`` extras besides those that it has.

        Errors: InstallError.
        """
        try:
            with_lock = inherited(self._lock())
            self._finish()
            self._update(wanted, with_lock)
        except OSError as error:
            raise InstallError(
                f"{self.path} cannot be written ({error.strerror}): close the programs that use it, or use a copy "
                "of the checkout in a place that you can write to"
            ) from error

    def _update(self, wanted: frozenset[str], with_lock: dict[str, Any]) -> None:
        stamp = Stamp.read(self.path / STAMP)
        if stamp and (stamp.place != str(self.root) or stamp.python != interpreter(self.path)):
            stamp = None
        extras = self._extras(stamp.extras if stamp else frozenset(), wanted)
        if stamp and stamp.extras == extras and self._unchanged():
            return
        say(f"installing {','.join(sorted(extras))} into {self.path} ({'an update' if stamp else 'a minute or more'})")
        try:
            with Heartbeat("making the environment") as beat:
                if stamp:
                    ignored = shutil.ignore_patterns(STAMP)
                    shutil.copytree(self.path, self.new, symlinks=True, ignore=ignored, copy_function=link_or_copy)
                else:
                    self._create(with_lock)
                self._pip(beat, with_lock, stamp.extras if stamp else frozenset(), extras)
            self._relocate()
            for name in SOURCES:
                write(self.new / f"az-engine.{name}", (self.root / name).read_bytes())
            write(self.new / STAMP, Stamp(str(self.root), interpreter(self.new), extras).text().encode())
        except BaseException:
            (self.new / STAMP).unlink(missing_ok=True)
            shutil.rmtree(self.new, ignore_errors=True)  # a full disk needs the space; else the next start deletes it
            raise
        self._finish()
        say("installed")

    def _finish(self) -> None:
        """Swap in a new environment that is whole; delete what else was left behind."""
        if (self.new / STAMP).exists():
            if self.path.exists():
                self.path.rename(self.old)
            self.new.rename(self.path)
        for left in (self.new, self.old):
            if left.exists():
                shutil.rmtree(left)

    def _relocate(self) -> None:
        """Say the final place in the scripts and settings that hold the place where they were made.

        Their files may be shared with the old environment: they are replaced, not changed.
        """
        here, there = os.fsencode(self.new), os.fsencode(self.path)
        for file in [self.new / "pyvenv.cfg", *(self.new / BIN).iterdir()]:
            if file.is_file() and not file.is_symlink() and here in (content := file.read_bytes()):
                mode = file.stat().st_mode
                write(file, content.replace(here, there))
                file.chmod(mode)

    def _lock(self) -> int:
        descriptor = open_lock(self.root)
        waiting = False
        while True:
            try:
                lock(descriptor)
                return descriptor
            except (BlockingIOError, PermissionError):  # the latter on Windows
                if not waiting:
                    say("waiting for another installation in this checkout")
                waiting = True
                time.sleep(0.1)

    def _extras(self, have: frozenset[str], wanted: frozenset[str]) -> frozenset[str]:
        known = [*RUNTIMES, *self._project()["project"]["optional-dependencies"]]
        if unknown := wanted - set(known):
            raise InstallError(f"AZ_ENGINE_EXTRA has no {min(unknown)!r}: choose among {', '.join(known)}")
        if wanted >= set(RUNTIMES):
            raise InstallError("AZ_ENGINE_EXTRA cannot have both cpu and gpu: they overwrite each other's files")
        runtime = (wanted & set(RUNTIMES)) or (have & set(RUNTIMES)) or {"cpu"}
        return (have | wanted) - set(RUNTIMES) | runtime

    def _without_runtime(self, extras: list[str]) -> list[str]:
        """The requirements of the package with these extras, without onnxruntime."""
        project = self._project()["project"]
        lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
        return [line for lines in lists for line in lines if not line.startswith(RUNTIMES["cpu"])]

    def _project(self) -> dict[str, Any]:
        return tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))

    def _unchanged(self) -> bool:
        try:
            return all(
                (self.root / name).read_bytes() == (self.path / f"az-engine.{name}").read_bytes() for name in SOURCES
            )
        except OSError:
            return False

    def _create(self, with_lock: dict[str, Any]) -> None:
        try:
            import ensurepip

            ensurepip.version()
        except (ImportError, AttributeError) as error:
            name = "python3-venv" if sys.executable.endswith("python3") else f"python3.{sys.version_info.minor}-venv"
            raise InstallError(f"this Python cannot make virtual environments yet: sudo apt install {name}") from error
        self.path.mkdir(exist_ok=True)  # the clearest error when the place cannot be written
        command = [sys.executable, "-I", "-m", "venv", "--prompt", self.path.name, str(self.new)]
        if subprocess.run(command, stdout=sys.stderr, check=False, **with_lock).returncode:
            raise InstallError(f"{sys.executable} could not make {self.path}; see its output above")

    def _pip(self, beat: Heartbeat, with_lock: dict[str, Any], had: frozenset[str], extras: frozenset[str]) -> None:
        commands = []
        if other := [package for extra, package in RUNTIMES.items() if extra in had - extras]:
            commands.append(["uninstall", "--yes", *other])
        # Tried versions, torch's among them, whose CPU-only wheel pip prefers where it finds one. Those of the package
        # alone have hashes, too, which pip takes for all of an installation or none.
        # Of thousands of modules few are ever imported: those are compiled when they are.
        fetch = ["install", "--progress-bar", "off", "--no-compile"]
        install = [*fetch, "--constraint", "constraints.txt"]
        chosen = sorted(extras - set(RUNTIMES))
        if "gpu" in extras:  # pip would add the default runtime
            commands.append([*install, "--no-deps", "--editable", "."])
            commands.append([*install, *self._without_runtime(chosen), *self._project()["dependency-groups"]["gpu"]])
        elif chosen:
            commands.append([*install, "--editable", f".[{','.join(chosen)}]"])
        else:
            commands.append([*fetch, "--require-hashes", "--requirement", "requirements.txt"])
            commands.append([*install, "--no-deps", "--editable", "."])
        pip = [str(self.new / BIN / PYTHON), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
        for command in commands:
            if beat.follow([*pip, *command], cwd=self.root, env={**os.environ, "PIP_USER": "0"}, **with_lock):
                raise InstallError("the installation failed, pip says why above; when that is mended, start again")


def link_or_copy(source: str, target: str) -> None:
    """Copy a file as a hard link where the file system has those; pip replaces files and changes none in place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class Heartbeat:
    """Says every few seconds what an installation does, with and without a terminal. Context manager.

    The lines are few: a GUI may never read our stderr, and must not find its pipe full.
    """

    def __init__(self, step: str) -> None:
        self.step = step  # what is done now
        self._began, self._ended = time.monotonic(), threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_S):
            say(f"installing for {time.monotonic() - self._began:.0f} s: {self.step}")

    def follow(self, command: list[str], **more: Any) -> int:
        """Run pip, whose output tells the step; its exit status. What it writes to stderr is shown."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, **more) as pip:
            assert pip.stdout
            for line in pip.stdout:
                words = line.decode("utf-8", "replace").split()
                self.step = " ".join(words[:2]).partition("-cp")[0][:60] or self.step  # Downloading numba-0.68.1
        return pip.returncode


def say(text: str) -> None:
    """A line for the person at the terminal or the GUI's log."""
    print(f"az-engine: {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Install what AZ_ENGINE_EXTRA asks for; 0 when ``.venv`` is ready."""
    wanted = frozenset(os.environ.get("AZ_ENGINE_EXTRA", "").replace(",", " ").split())
    try:
        Venv(Path(__file__).resolve().parent.parent).install(wanted)
    except InstallError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; .venv is as it was")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
