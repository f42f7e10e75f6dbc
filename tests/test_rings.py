"""The quick ring counts what it leaves out, and names what does not belong to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import pytest
from tests import rings

def pytest_configure(config):
    config.pluginmanager.register(rings.Rings(config))

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    report.duration = 0.1 if item.name == "test_quick" else 2.0  # whatever the machine is doing
    return report
"""
SUITE = """
import pytest

def test_quick():
    pass

def test_long():
    pass

@pytest.mark.slow
@pytest.mark.parametrize("i", range(7))
def test_marked(i):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_both_rings_say_what_they_did(tmp_path: Path, workers: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: not quick\n")
    (tmp_path / "test_suite.py").write_text(SUITE)

    def output_of(*arguments: str) -> str:
        command = [sys.executable, "-m", "pytest", "-n", workers, "--rootdir", str(tmp_path), *arguments, str(tmp_path)]
        root = Path(__file__).parents[1]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    quick = output_of("-m", "not slow")
    assert quick.endswith("\n7 slow tests not run: ./test all\n")
    assert [line.split()[7] for line in quick.splitlines() if "quick ring" in line] == ["test_suite.py::test_long"]
    every = output_of()
    assert "9 passed" in every
    assert "not run" not in every
    assert every.count("quick ring") == 1
