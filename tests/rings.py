"""What a run of the tests reports of its rings: quick tests that are slow, and what ``./test`` leaves out.

``./test`` leaves out tests marked ``slow``. The times here are wall clock, so they are reported and fail nothing.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

QUICK_SECONDS = 5.0  # a quick test that takes longer is named


class Rings:
    """A plugin of the process that reports; pytest-xdist's workers hand their counts over."""

    def __init__(self, config: pytest.Config) -> None:
        self._left_out = 0
        self._seconds: defaultdict[str, float] = defaultdict(float)  # of the quick tests
        self._config = config

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._left_out += sum(item.get_closest_marker("slow") is not None for item in items)

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):  # a worker's
            self._config.workeroutput["left_out"] = self._left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """A worker has ended; each of them has collected all tests."""
        self._left_out = max(self._left_out, getattr(node, "workeroutput", {}).get("left_out", 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "slow" not in report.keywords:
            self._seconds[report.nodeid] += report.duration

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Everything else has been written."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or hasattr(config, "workeroutput"):
            return
        for name, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            if seconds > QUICK_SECONDS:
                reporter.write_line(f"{seconds:.1f} s in the quick ring: mark {name} slow, or make it quick")
        if config.option.markexpr == "not slow":
            reporter.write_line(f"{self._left_out} slow tests not run: ./test all")
