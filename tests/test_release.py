"""What .ci/release.py refuses and writes before a release is built."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_of_checkout", ROOT / ".ci" / "release.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_tag_is_the_version_and_has_its_changes(release: ModuleType) -> None:
    assert release.problem("v1.2.0", "1.2.0", "## [1.2.0] - 2030-01-31\n") is None
    assert "is not v1.2.0" in release.problem("v1.3.0", "1.2.0", "")
    assert "no section" in release.problem("v1.2.0", "1.2.0", "## [Unreleased]\n## [1.2.01] - 2030-01-31\n")


def test_the_readme_of_a_release_has_no_relative_link(release: ModuleType) -> None:
    text = release.absolute((ROOT / "README.md").read_text(), "https://example.org/a/b", "v1")
    assert "![" in text
    assert "](https://example.org/a/b/raw/v1/docs/figures/search.png)" in text
    assert "](https://example.org/a/b/blob/v1/docs/programs.md)" in text
    assert not [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("https://")]


def test_the_project_has_one_place_for_the_address() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert text.count("[project.scripts]\n") == 1
    assert "[project.urls]" not in text


def test_the_workflows_run_what_is_there() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        for script in re.findall(r"\.ci/[\w.]+", path.read_text()):
            assert (ROOT / script).is_file(), f"{path.name}: {script}"
