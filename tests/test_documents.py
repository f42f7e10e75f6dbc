"""Documents: every link leads to a file and a heading that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def headings(path: Path) -> set[str]:
    """Anchors of a document's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


def test_readme_and_guides_are_short() -> None:
    """What stands in docs/reference, results and journal is looked up, not read; options.md is generated."""
    guides = [ROOT / "README.md", *(path for path in (ROOT / "docs").glob("*.md") if path.name != "options.md")]
    assert sum(len(path.read_text().split()) for path in guides) <= 12_000


def test_a_command_of_the_tests_says_what_it_needs() -> None:
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for paragraph in path.read_text().split("\n\n"):
            assert "python -m tests." not in paragraph or "the extra `test`" in paragraph, path


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith("http"):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in headings(target), link
