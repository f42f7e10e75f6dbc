"""The games of ``examples/``, found from here on: tests of the house know them by their names alone."""

from __future__ import annotations

from pathlib import Path

from az_engine.engine.games import register_path

DIRECTORY = Path(__file__).resolve().parents[2] / "examples"
register_path(DIRECTORY)
