"""Hook of mkdocs: pages of the site that do not lie in docs/, and their links."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
CARDS = sorted((ROOT / "src" / "az_engine" / "models" / "nets").glob("*.md"))
PAGES = {
    "index.md": ROOT / "README.md",
    "CHANGELOG.md": ROOT / "CHANGELOG.md",
    "CONTRIBUTING.md": ROOT / "CONTRIBUTING.md",
    "LICENSE": ROOT / "LICENSE",
} | {f"cards/{card.name}": card for card in CARDS}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies outside docs/; its links to docs/ become links beside it."""
    for name, path in PAGES.items():
        text = re.sub(r"\]\(docs/", "](", path.read_text("utf-8"))
        files.append(File.generated(config, name, content=text))
    return files
