"""Processes of our own: they import what their parent imports, whatever the environment says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from az_engine.engine.os.process import module_command, run_module


def test_a_hostile_environment_does_not_reach_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "numpy", "sitecustomize", "az_engine"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hostile')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.chdir(tmp_path)
    done = run_module("az_engine", "version", timeout=60)
    assert done.stdout.startswith(b"az-engine "), done.stderr


def test_a_broken_home_of_python_does_not_reach_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "nowhere"))
    done = subprocess.run(module_command("az_engine", "version"), capture_output=True, timeout=60, check=False)
    assert done.stdout.startswith(b"az-engine "), done.stderr


def test_a_child_gets_its_arguments_and_gives_its_status() -> None:
    done = run_module("az_engine", "no such command", timeout=60)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no such command" in done.stderr
