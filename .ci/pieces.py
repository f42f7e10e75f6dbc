"""Make protocols/page/web/pieces.js: the outlines of chessmen and shogi tiles that the page draws.

Run it by hand: ``.venv/bin/python .ci/pieces.py``, with fonttools and Noto Serif CJK (Debian: fonts-noto-cjk).
Chessmen: Colin M.L. Burnett, GPL, from python-chess. Kanji: Noto Serif CJK, SIL Open Font License 1.1.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import chess.svg

FONT = Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-Bold.ttc")
KANJI = dict(zip("KkRBGSNLP", "玉王飛角金銀桂香歩", strict=True)) | {
    "+R": "龍",
    "+B": "馬",
    "+S": "全",
    "+N": "圭",
    "+L": "杏",
    "+P": "と",
}
SCALE = 0.25
KEPT = {"d", "fill", "stroke", "transform", "cx", "cy", "r", "stroke-width", "stroke-linecap", "stroke-linejoin"}
OUT = Path(__file__).resolve().parent.parent / "protocols" / "page" / "web" / "pieces.js"
HEAD = """\
// Outlines of the pieces, made by .ci/pieces.py: [element, attributes, children].
// Chessmen: Colin M.L. Burnett, GPL. Kanji: Noto Serif CJK, SIL Open Font License 1.1.
"""


def shape_of(element: ET.Element) -> list[Any]:
    """An SVG element as [name, attributes, children]; styles become attributes, which a strict CSP allows."""
    given = dict(element.attrib)
    given |= dict(re.findall(r"([a-z-]+):\s*([^;]+)", given.pop("style", "")))
    kept = {key: value for key, value in given.items() if key in KEPT}
    return [element.tag, kept, [shape_of(child) for child in element]]


def relative(path: str) -> str:
    """The same path in relative commands, which are shorter."""
    here, start, parts = (0, 0), (0, 0), list[str]()
    for command, rest in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        numbers = [int(word) for word in re.findall(r"-?[0-9]+", rest)]
        if command == "Z":
            parts.append("z")
            here = start
            continue
        if command in "HV":
            numbers = [numbers[0], here[1]] if command == "H" else [here[0], numbers[0]]
        name, size = ("c", 6) if command == "C" else ("l", 2)
        for at in range(0, len(numbers), size):  # after an M, numbers without a command are lines
            steps = [number - here[i % 2] for i, number in enumerate(numbers[at : at + size])]
            here = numbers[at + size - 2], numbers[at + size - 1]
            moves = command == "M" and at == 0
            start = here if moves else start
            if moves or any(steps):
                words = "".join(f"{step}" if step < 0 else f" {step}" for step in steps).lstrip()
                parts.append(("m" if moves else name) + words)
    return "".join(parts)


def kanji() -> dict[str, str]:
    """The path of each tile's character, 250 units high, y downwards."""
    from fontTools.pens.svgPathPen import SVGPathPen
    from fontTools.pens.transformPen import TransformPen
    from fontTools.ttLib import TTFont

    font = TTFont(FONT, fontNumber=0)
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    paths = {}
    for piece, character in KANJI.items():
        pen = SVGPathPen(glyphs, ntos=lambda number: str(round(number)))
        glyphs[names[ord(character)]].draw(TransformPen(pen, (SCALE, 0, 0, -SCALE, 0, 880 * SCALE)))
        paths[piece] = relative(pen.getCommands())
    return paths


def main() -> None:
    """Write the module."""
    men = {piece: shape_of(ET.fromstring(text)) for piece, text in chess.svg.PIECES.items()}
    lines = [HEAD.rstrip()]
    for name, found in (("CHESSMEN", men), ("KANJI", kanji())):
        lines.append(f"export const {name} = {{")
        lines += [f'  "{piece}": {json.dumps(shape, separators=(",", ":"))},' for piece, shape in found.items()]
        lines.append("};")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
