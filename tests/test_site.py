"""The documentation as a site: it builds strictly, of all documents, and fetches nothing from other hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "src" / "az_engine" / "models" / "nets"

pytest.importorskip("mkdocs", reason="mkdocs is not installed (pip install 'az-engine[docs]')")


@pytest.mark.slow
def test_the_site_builds_strictly_and_needs_no_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    documents = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    cards = {f"cards/{path.stem}.html" for path in CARDS.glob("*.md")}
    assert {path.as_posix() for path in documents} | cards | {"index.html", "CHANGELOG.html"} <= pages
    for page in pages:
        text = (tmp_path / page).read_text("utf-8")
        assert not re.findall(
            r'<(?:script|img)[^>]* src="https?:|<link[^>]* rel="stylesheet"[^>]* href="https?:', text
        ), page


def test_every_document_is_in_the_navigation() -> None:
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]))
    documents = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    cards = {f"cards/{path.name}" for path in CARDS.glob("*.md")}
    assert named == documents | cards | {"index.md", "CHANGELOG.md", "CONTRIBUTING.md"}
