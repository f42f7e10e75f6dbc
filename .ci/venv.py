"""Make or mend this checkout's virtual environment ``.venv``: the slow path of ``./az-engine`` and ``./test``.

Runs with a bare Python 3.11 or newer, before anything is installed. Everything it prints goes to stderr. What holds:

- Two starts at once: the second waits for the first (a lock on the checkout's directory, which pip inherits, so that it
  outlives a killed installer as long as pip runs).
- Killed at any point: the stamp is removed first and written last; without it ``.venv`` is made afresh.
- A failed installation (no network, full disk) leaves the old stamp: the next start tries again on what is there.
- cpu and gpu exclude each other: onnxruntime and onnxruntime-gpu overwrite each other's files.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

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
            place, python, extras = path.read_text().splitlines()
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
        self.path = root / ".venv"
        self.python = self.path / "bin" / "python"
        self.stamp_path = self.path / "az-engine.stamp"
        # What the installation depends on, and the copies that say what it was made from.
        self.sources = {
            root / "pyproject.toml": self.path / "az-engine.pyproject.toml",
            root / "constraints.txt": self.path / "az-engine.constraints.txt",
        }

    def install(self, wanted: frozenset[str]) -> None:
        """Bring the environment up to date with ``wanted`` extras besides those that it has.

        Errors: InstallError.
        """
        lock = self._lock()
        stamp = Stamp.read(self.stamp_path)
        if stamp and (stamp.place != str(self.root) or stamp.python != os.path.realpath(self.python)):
            stamp = None
        extras = self._extras(stamp.extras if stamp else frozenset(), wanted)
        if stamp and stamp.extras == extras and self._unchanged():
            return
        say(f"installing {','.join(sorted(extras))} into {self.path} ({'an update' if stamp else 'a minute or more'})")
        try:
            if stamp:
                self.stamp_path.unlink()
            else:
                self._create(lock)
            done = self._pip(lock, stamp.extras if stamp else frozenset(), extras)
            if done:
                stamp = Stamp(str(self.root), os.path.realpath(self.python), extras)
                for source, copy in self.sources.items():
                    write(copy, source.read_text())
            if stamp:
                write(self.stamp_path, stamp.text())
        except OSError as error:
            raise InstallError(
                f"{self.path} cannot be written ({error.strerror}): use a copy of the checkout in a place that you can "
                "write to"
            ) from error
        if not done:
            raise InstallError("the installation failed, pip says why above; when that is mended, start again")
        say("installed")

    def _lock(self) -> int:
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another installation in this checkout")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    def _extras(self, have: frozenset[str], wanted: frozenset[str]) -> frozenset[str]:
        known = tomllib.loads((self.root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        del known["dev"]  # it names a runtime of its own
        if unknown := wanted - set(known):
            raise InstallError(f"AZ_ENGINE_EXTRA has no {min(unknown)!r}: choose among {', '.join(known)}")
        if wanted >= set(RUNTIMES):
            raise InstallError("AZ_ENGINE_EXTRA cannot have both cpu and gpu: they overwrite each other's files")
        runtime = (wanted & set(RUNTIMES)) or (have & set(RUNTIMES)) or {"cpu"}
        return (have | wanted) - set(RUNTIMES) | runtime

    def _unchanged(self) -> bool:
        try:
            return all(source.read_bytes() == copy.read_bytes() for source, copy in self.sources.items())
        except OSError:
            return False

    def _create(self, lock: int) -> None:
        try:
            import ensurepip

            ensurepip.version()
        except (ImportError, AttributeError) as error:
            name = "python3-venv" if sys.executable.endswith("python3") else f"python3.{sys.version_info.minor}-venv"
            raise InstallError(f"this Python cannot make virtual environments yet: sudo apt install {name}") from error
        self.path.mkdir(exist_ok=True)  # the clearest error when the place cannot be written
        command = [sys.executable, "-I", "-m", "venv", "--clear", str(self.path)]
        if subprocess.run(command, stdout=sys.stderr, pass_fds=(lock,), check=False).returncode:
            raise InstallError(f"{sys.executable} could not make {self.path}: its words are above")

    def _pip(self, lock: int, had: frozenset[str], extras: frozenset[str]) -> bool:
        quiet = [] if sys.stderr.isatty() else ["--quiet"]  # a GUI may never read our stderr: do not fill its pipe
        commands = []
        if other := [package for extra, package in RUNTIMES.items() if extra in had - extras]:
            commands.append(["uninstall", "--yes", *quiet, *other])
        constraints = ["--constraint", "constraints.txt"] if "test" in extras else []
        commands.append(["install", *quiet, *constraints, "--editable", f".[{','.join(sorted(extras))}]"])
        return all(
            subprocess.run(
                [str(self.python), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", *command],
                cwd=self.root,
                env={**os.environ, "PIP_USER": "0"},
                stdout=sys.stderr,
                pass_fds=(lock,),
                check=False,
            ).returncode
            == 0
            for command in commands
        )


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    part = path.with_name(path.name + ".part")
    with part.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


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
        say("interrupted; the next start makes .venv afresh")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
