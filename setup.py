"""Where the packages are; everything else stands in pyproject.toml.

The links in src/az_engine are for type checkers and editors, which find the package there. A clone without them, as
Windows makes it, is built and installed alike: its packages are mapped to the folders in the root.
"""

from pathlib import Path

from setuptools import find_packages, setup

ROOMS = ("engine", "protocols", "models", "bench")
ROOT = Path(__file__).resolve().parent

packages, folders = find_packages(str(ROOT / "src")), {"": "src"}
if not all((ROOT / "src" / "az_engine" / room).is_dir() for room in ROOMS):
    names = (name for room in ROOMS for name in (room, *(f"{room}.{inner}" for inner in find_packages(room))))
    packages += [f"az_engine.{name}" for name in names]
    folders |= {f"az_engine.{room}": room for room in ROOMS}

setup(packages=packages, package_dir=folders)
