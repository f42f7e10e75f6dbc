"""Refuses to build from a clone without symbolic links; everything else stands in pyproject.toml."""

from pathlib import Path

from setuptools import setup

for room in ("engine", "protocols", "models", "bench"):
    path = Path(__file__).resolve().parent / "src" / "az_engine" / room
    if not path.is_dir():
        raise SystemExit(
            f"{path} is a file instead of a symbolic link: clone again with git clone -c core.symlinks=true "
            "(on Windows turn on Developer Mode first)"
        )

setup()
