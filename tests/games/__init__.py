"""Games for tests: each a folder of its own, found when ``DIRECTORY`` is registered, and nobody else knows of them."""

from __future__ import annotations

from pathlib import Path

from az_engine.engine.games import register_path

DIRECTORY = Path(__file__).parent
register_path(DIRECTORY)
