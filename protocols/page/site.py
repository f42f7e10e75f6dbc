"""The files that the browser loads, read once, and the headers that guard the page."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..languages import languages, words_of

WEB = Path(__file__).parent / "web"
FRONT = "index.html"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_NEEDLESS = re.compile(rb"^[ \t]*//[^\n]*\n|^[ \t]+|^\n", re.MULTILINE)  # comments and indents, which readers need
# Strings, templates and patterns, whose spaces stay.
_WHOLE = rb'"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|(?:(?<=\()|(?<== ))/(?:[^/\\\n]|\\.)+/|/\*.*?\*/'
_SPACES = {
    ".js": re.compile(_WHOLE + rb"| *([{}()\[\],;:=<>?&|]) *"),
    ".css": re.compile(_WHOLE + rb"| *([{};,]) *|(?<=:) "),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
GUARDS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class SiteFile:
    """One file of the page."""

    body: bytes
    kind: str  # its media type
    tag: str  # changes with the body

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Type": self.kind, "ETag": self.tag, "Cache-Control": "no-cache", **GUARDS}


def read_site(games: Sequence[str] = (), *, run: bool = False) -> dict[str, SiteFile]:
    """Every file of the page by its path, such as board/board.js. No other one is ever looked up on the disk.

    games: their names, among which the page chooses. run: it has a way to a training run's page.
    """
    results = dict[str, SiteFile]()
    for code in languages():
        script = (
            f"export const words={json.dumps(words_of(code, 'page'), ensure_ascii=False, separators=(',', ':'))};\n"
        )
        results[f"words/language-{code}.js"] = _site_file(script.encode(), ".js")
    for path in sorted(WEB.rglob("*.*")):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            if path.suffix in _SPACES:
                body = b"".join(
                    _squeezed(line, path.suffix) for line in _NEEDLESS.sub(b"", body).splitlines(keepends=True)
                )
            name = path.relative_to(WEB).as_posix()
            if name == FRONT:
                words = f'data-languages="{" ".join(languages())}" data-games="{" ".join(games)}"'
                words += " data-run" if run else ""
                body = body.replace(b"<html ", f"<html {words} ".encode(), 1)
            results[name] = _site_file(body, path.suffix)
    return results


def _site_file(body: bytes, suffix: str) -> SiteFile:
    return SiteFile(body, _TYPES[suffix], f'"{hashlib.sha256(body).hexdigest()[:20]}"')


def _squeezed(line: bytes, suffix: str) -> bytes:
    """A line without spaces that only readers need; whole where a template may lie within another."""
    if line.count(b"`") > 2:
        return line
    return _SPACES[suffix].sub(lambda result: result[1] or (result[0] if result[0].strip() else b""), line)
