"""Make a checkout ready for building a release.

    python .ci/release.py vX.Y.Z https://HOST/OWNER/NAME

Refuses a tag that is not the package's version or has no section in CHANGELOG.md. Then writes the project's address
into pyproject.toml and the README: PyPI shows pictures and links only with one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def absolute(markdown: str, address: str, tag: str) -> str:
    """Markdown whose links and pictures name files of the repository at ``address``."""

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match[1].startswith("!") else "blob"
        return f"{match[1]}({address}/{kind}/{tag}/{match[2]})"

    return re.sub(r"(!?\[[^\]]*\])\((?!https?:|#)([^)]+)\)", link, markdown)


def problem(tag: str, version: str, changes: str) -> str | None:
    """One sentence: what keeps this tag from being released."""
    if tag != f"v{version}":
        return f"the tag {tag} is not v{version}, the version in src/az_engine/__init__.py; change one of them"
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        return f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'; name the unreleased one so"
    return None


def main() -> int:
    """Check, then write."""
    tag, address = sys.argv[1:]
    version = re.findall(
        r'^__version__ = "(.+)"$', (ROOT / "src/az_engine/__init__.py").read_text("utf-8"), re.MULTILINE
    )[0]
    if fault := problem(tag, version, (ROOT / "CHANGELOG.md").read_text("utf-8")):
        print(fault, file=sys.stderr)
        return 1
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    readme.write_text(absolute(readme.read_text("utf-8"), address, tag), "utf-8")
    urls = f'[project.urls]\nRepository = "{address}"\nChangelog = "{address}/blob/{tag}/CHANGELOG.md"\n\n'
    project.write_text(project.read_text("utf-8").replace("[project.scripts]\n", f"{urls}[project.scripts]\n"), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
