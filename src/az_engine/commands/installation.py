"""Where the running az-engine is installed, and the commands that start it or add to it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = re.compile(r"[\w.-]+")  # of the package that a requirement begins with


def windows() -> bool:
    """Whether commands are ``.exe`` files in ``Scripts``."""
    return os.name == "nt"


def quote(word: str) -> str:
    """A word as the system's shell takes it."""
    return subprocess.list2cmdline([word]) if windows() else shlex.quote(word)


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
        if not self.checkout or self.prefix != self.checkout / ".venv":
            return None
        return self.checkout / ("az-engine.cmd" if windows() else "az-engine")

    @property
    def folder(self) -> Path:
        """Holds az-engine and the argument-free az-engine-uci, ...; on Windows always the ``.exe`` files."""
        if windows():
            return self.prefix / "Scripts"
        return self.launcher.parent if self.launcher else self.prefix / "bin"

    def executable(self, protocol: str) -> Path | None:
        """The argument-free command for a protocol ("uci"); None when the package runs without being installed."""
        path = self.folder / f"az-engine-{protocol}{'.exe' if windows() else ''}"
        return path if path.is_file() else None

    @property
    def command(self) -> str:
        script = self.launcher or self.folder / ("az-engine.exe" if windows() else "az-engine")
        return quote(str(script)) if script.is_file() else f"{quote(sys.executable)} -m az_engine"

    def add(self, extra: str) -> str:
        """The command that adds an extra (train, ...) or a runtime (cpu, gpu) to this installation."""
        if self.launcher:
            setting = f"set AZ_ENGINE_EXTRA={extra}&&" if windows() else f"AZ_ENGINE_EXTRA={extra}"
            return f"{setting} {self.command} version"
        if extra == "cpu":
            return f"{self.install} onnxruntime"
        if extra == "gpu":
            gpu = quote("onnxruntime-gpu[cuda,cudnn]")
            return f"{self.uninstall} onnxruntime && {self.install} {gpu}"
        if _is_installed("onnxruntime-gpu"):  # the package itself would bring onnxruntime
            return f"{self.install} {' '.join(map(quote, _packages(extra)))}"
        return f"{self.install} {self.requirement(extra)}"

    def has(self, extra: str) -> bool:
        """Whether all packages of an extra are installed."""
        packages = [_NAME.findall(requirement)[0] for requirement in _packages(extra)]
        return bool(packages) and all(map(_is_installed, packages))

    @property
    def install(self) -> str:
        """The command that adds packages to this environment, but for their names."""
        return self._pip("install")

    @property
    def uninstall(self) -> str:
        """The command that removes packages from this environment, but for their names."""
        return self._pip("uninstall")

    def _pip(self, verb: str) -> str:
        if (self.prefix / "pipx_metadata.json").is_file():
            return f"pipx runpip az-engine {verb}{' --yes' if verb == 'uninstall' else ''}"
        if importlib.util.find_spec("pip") is None:  # as uv makes environments
            return f"uv pip {verb} --python {quote(sys.executable)}"
        return f"{quote(sys.executable)} -m pip {verb}{' --yes' if verb == 'uninstall' else ''}"

    def requirement(self, extra: str = "") -> str:
        """What to install to get this package again, from where it came; with an extra, that too."""
        extras = f"[{extra}]" if extra else ""
        if self.checkout:
            return f"-e {quote(f'{self.checkout}{extras}')}"
        origin = _origin()
        if isinstance(origin, Path):
            if origin.exists():
                return quote(f"{origin}{extras}")
            if extra:
                return " ".join(map(quote, _packages(extra)))
        return quote(f"az-engine{extras} @ {origin}" if isinstance(origin, str) else f"az-engine{extras}")


def _origin() -> Path | str | None:
    """The folder or file that the package was installed from, or its address; None: from an index."""
    try:
        text = importlib.metadata.distribution("az-engine").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    if text is None:
        return None
    origin = json.loads(text)
    address = urlsplit(origin["url"])
    if address.scheme == "file":
        return Path(url2pathname(address.path))
    vcs = origin.get("vcs_info")
    return f"{vcs['vcs']}+{origin['url']}" if vcs else str(origin["url"])


def _is_installed(package: str) -> bool:
    return any(importlib.metadata.distributions(name=package))


def _packages(extra: str) -> list[str]:
    """The requirements that an extra adds, as in the package's metadata; none where it is not installed."""
    try:
        lines = importlib.metadata.requires("az-engine") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [line.partition(";")[0].strip() for line in lines if f'extra == "{extra}"' in line]
