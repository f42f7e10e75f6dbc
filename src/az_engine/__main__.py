"""``python -m az_engine``."""

from .cli import run

run()
