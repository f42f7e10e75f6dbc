"""Waiting for what happens in another thread or process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SECONDS = 200.0  # only a failing test waits as long


def wait_for(ready: Callable[[], Any], what: object = "it did not happen in time") -> Any:
    """Until something holds; what it is then. ``what``: to say if it never does."""
    deadline, pause = time.monotonic() + SECONDS, 0.001
    while not (found := ready()):
        assert time.monotonic() < deadline, what
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
    return found
