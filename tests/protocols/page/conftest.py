"""A server and a browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..serve.lines import RunningServer
from .browser import Browser, Chromium


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("page") / "log", http=True) as running:
        yield running


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as process:
        yield process


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """A page, in which nothing may go wrong."""
    with Browser(chromium) as page:
        yield page
        assert page.faults == []
