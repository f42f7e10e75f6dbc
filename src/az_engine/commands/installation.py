"""Where the running az-engine is installed, and the commands that start it or add to it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Installation:
    """One of three: a checkout with its own ``.venv`` (the launcher), a checkout in another environment, or a wheel."""

    checkout: Path | None
    prefix: Path  # of the running Python's environment

    @classmethod
    def current(cls) -> Installation:
        """The installation of the running process."""
        root = Path(__file__).resolve().parents[3]
        return cls(root if (root / "pyproject.toml").is_file() else None, Path(sys.prefix))

    @property
    def launcher(self) -> Path | None:
        """``az-engine`` in the checkout, when this process runs in the environment that it made."""
        return self.checkout / "az-engine" if self.checkout and self.prefix == self.checkout / ".venv" else None

    @property
    def folder(self) -> Path:
        """Holds az-engine and the argument-free az-engine-uci, ..."""
        return self.launcher.parent if self.launcher else self.prefix / "bin"

    def executable(self, protocol: str) -> Path | None:
        """The argument-free command for a protocol ("uci"); None when the package runs without being installed."""
        path = self.folder / f"az-engine-{protocol}"
        return path if path.is_file() else None

    @property
    def command(self) -> str:
        script = self.folder / "az-engine"
        return shlex.quote(str(script)) if script.is_file() else f"{shlex.quote(sys.executable)} -m az_engine"

    def add(self, extra: str) -> str:
        """The command that adds an extra (cpu, gpu, train) to this installation."""
        if self.launcher:
            return f"AZ_ENGINE_EXTRA={extra} {self.command} version"
        return f"{self.pip} install {self.requirement(extra)}"

    @property
    def pip(self) -> str:
        return f"{shlex.quote(sys.executable)} -m pip"

    def requirement(self, extra: str) -> str:
        return f"-e {shlex.quote(f'{self.checkout}[{extra}]')}" if self.checkout else f"'az-engine[{extra}]'"
