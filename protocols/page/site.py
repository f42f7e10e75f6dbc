"""The files that the browser loads, read once, and the headers that guard the page."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

WEB = Path(__file__).parent / "web"
FRONT = "index.html"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
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


def read_site(*, run: bool = False) -> dict[str, SiteFile]:
    """Every file of the page by its name. No other name is ever looked up on the disk.

    run: the page has a way to a training run's page.
    """
    found = {}
    for path in sorted(WEB.iterdir()):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            if run and path.name == FRONT:
                body = body.replace(b"<html ", b"<html data-run ", 1)
            found[path.name] = SiteFile(body, _TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:20]}"')
    return found
