"""Pages that need no server: one HTML file with its scripts, styles and data inside, which opens from the disk."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from html import escape
from typing import Any

from ...engine.errors import OptionError
from ..languages import ENGLISH, languages
from .site import read_site

_IMPORT = re.compile(r'^import ?\{([^}]*)\} ?from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (const|function|class) (\w+)", re.MULTILINE)
_SPOKEN = "words/language.js"


def bundle(entry: str, language: str = ENGLISH) -> str:
    """A module and all that it imports as one script: each module a function that returns what it exports.

    Errors: OptionError for a language that the page does not have.
    """
    site, order = read_site(), list[str]()

    def visit(name: str) -> None:
        if name in order:
            return
        for _, source in _IMPORT.findall(site[name].body.decode()):
            visit(resolve(name, source))
        order.append(name)

    spoken = f"words/language-{language}.js"
    if language != ENGLISH:
        if language not in languages():
            raise OptionError(f"the page has no language {language!r}, only {', '.join([ENGLISH, *languages()])}")
        visit(_SPOKEN)
        visit(spoken)
    visit(entry)
    names = {name: "in_" + re.sub(r"\W", "_", name.removesuffix(".js")) for name in order}
    parts = ['"use strict";']
    for name in order:
        text = site[name].body.decode()
        exported = ", ".join(result for _, result in _EXPORT.findall(text))
        for imported, source in _IMPORT.findall(text):
            text = _IMPORT.sub(f"const {{{imported}}} = {names[resolve(name, source)]};\n", text, count=1)
        text = _EXPORT.sub(r"\1 \2", text)
        parts.append(f"const {names[name]} = (() => {{\n{text}\nreturn {{ {exported} }};\n}})();")
        if name == spoken:
            parts.append(f"{names[_SPOKEN]}.spoken.words = {names[name]}.words;")
    return "\n".join(parts)


def resolve(name: str, source: str) -> str:
    """The path of the module that another one imports as ``source``."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), source))


def write_paper(title: str, entry: str, data: Any, language: str = ENGLISH) -> str:
    """The whole page: ``entry`` draws ``data``, which it finds as JSON in the element "data".

    Errors: OptionError for numbers that JSON does not have, and for a language that the page does not have.
    """
    site = read_site()
    script = bundle(entry, language)
    style = "\n".join(site[name].body.decode() for name in ("style.css", "board/board.css"))
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise OptionError(f"the page cannot be written: {error}") from None
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<main id="main"></main>
<footer><p>Made by az-engine.</p></footer>
<script type="application/json" id="data">{safe}</script>
<script>{script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
