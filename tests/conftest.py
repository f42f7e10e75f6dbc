"""What holds for all tests: no deadline on a busy machine, and no settings of whoever runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from az_engine.engine import clock as engine_clock

from .fakes.clock import FakeClock
from .rings import Rings

settings.register_profile("az-engine", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("az-engine")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Rings(config))


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty configuration directory for every process that a test starts; the kernel cache stays the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in ("AZ_ENGINE_EXTRA", "AZ_ENGINE_PYTHON", "COLUMNS", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """What every Stopwatch made during the test reads; it stands still until it is told otherwise."""
    fake = FakeClock()
    monkeypatch.setattr(engine_clock, "monotonic", fake)
    return fake
