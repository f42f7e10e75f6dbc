"""SGF files without what is no SGF in them, such as the rest of a comment after a bracket that nobody escaped."""

from __future__ import annotations

import re

_PARTS = re.compile(
    rb"(?P<space>\s++)|(?P<mark>[();])"
    rb"|(?P<property>[A-Za-z]++(?:\s*+\[(?:[^\]\\]|\\.)*+\])++)"
    rb"|(?P<cut>[A-Za-z]*+\s*+\[(?:[^\]\\]|\\.)*+\\?\Z)"  # the file ends within it
    rb"|\[(?:[^\]\\]|\\.)*+\]|[A-Za-z]++|[^\s();\[A-Za-z]++",
    re.DOTALL,
)


def mended(content: bytes) -> tuple[bytes, dict[int, str]]:
    """The nodes of a file in UTF-8, and a sentence for each game that had something else, by its number from 1.

    Brackets around nothing go, and a first node gets the semicolon that it lacks: no loss.
    """
    kept: list[bytes] = []
    lost: dict[int, str] = {}
    opened: list[bool] = []  # for each open bracket: whether there is a node behind it
    ended: list[bool] = []  # for those with a node: whether variations have ended their row of nodes
    games, line, counted = 0, 1, 0
    for part in _PARTS.finditer(content):
        kind, text = part.lastgroup, part[0]
        if text == b"(":
            opened.append(False)
        elif text == b")":
            if opened and opened.pop():
                ended.pop()
                kept.append(text)
        elif kind in ("mark", "property", "cut") and opened and not (opened[-1] and ended[-1]):
            if not opened[-1]:
                games += not ended
                ended[-1:] = [True] if ended else []
                ended.append(False)
                opened[-1] = True
                kept.append(b"(" if kind == "mark" else b"(;")
            kept.append(text)
        elif kind != "space" and ended and games not in lost:
            line, counted = line + content.count(b"\n", counted, part.start()), part.start()
            lost[games] = f"line {line} holds what is no SGF, which is left out"
    return b"".join(kept), lost
