"""Make protocols/page/web/board/pieces.js: the outlines of chessmen and shogi tiles that the page draws.

Run it by hand: ``.venv/bin/python .ci/pieces.py``, with fonttools and Noto Serif CJK (Debian: fonts-noto-cjk).
Chessmen: Colin M.L. Burnett, GPL, from python-chess. Kanji: Noto Serif CJK, SIL Open Font License 1.1.
"""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path

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
SCALE = 0.08  # of 1,000 units: about a pixel of a tile
FLAT = 1.0  # units by which a curve may leave the line that replaces it
INITIAL = {"fill": "#000", "stroke": "none", "stroke-width": "1", "stroke-linecap": "butt", "stroke-linejoin": "miter"}
LOOKS = {
    "fill": {"none": "", "#000": "body", "#fff": "body", "#ececec": "pale"},
    "stroke": {"#000": "", "#fff": "light", "#ececec": "", "none": "bare"},
    "stroke-width": {"1.5": "", "1": "thin"},
    "stroke-linecap": {"round": "", "butt": "butt"},
    "stroke-linejoin": {"round": "", "miter": "miter"},
}  # classes of board.css, which gives both colours theirs
SAME = "BNP"  # white pieces with the outlines of the black ones
OUT = Path(__file__).resolve().parent.parent / "protocols" / "page" / "web" / "board" / "pieces.js"
HEAD = """\
// Outlines of the pieces, made by .ci/pieces.py: of chessmen [classes, path, transform].
// Chessmen: Colin M.L. Burnett, GPL. Kanji: Noto Serif CJK, SIL Open Font License 1.1.
"""


def parts_of(element: ET.Element, outer: dict[str, str]) -> Iterator[list[str]]:
    """The paths of an SVG element: [classes, d] or [classes, d, transform]; ``outer``: what they inherit."""
    given = dict(element.attrib)
    given |= dict(re.findall(r"([a-z-]+):\s*([^;]+)", given.pop("style", "")))
    given = {key: re.sub("^#(.)\\1(.)\\2(.)\\3$", r"#\1\2\3", value) for key, value in given.items()}
    look = outer | {key: value for key, value in given.items() if key in outer}
    for child in element:
        yield from parts_of(child, look)
    if element.tag == "g":
        return
    if element.tag == "circle":
        x, y, r = (float(given[key]) for key in ("cx", "cy", "r"))
        path = f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
    else:
        path = given["d"]
    if path.strip()[-1] in "zZ":
        look["stroke-linecap"] = "round"  # a closed path has no ends
    classes = " ".join(filter(None, (LOOKS[key][value] for key, value in look.items())))
    yield [classes, tight(path), *([given["transform"]] if "transform" in given else [])]


def joined(parts: Iterable[list[str]]) -> list[list[str]]:
    """Neighbours of the same look as one path."""
    found: list[list[str]] = []
    for part in parts:
        if found and len(part) == 2 and len(found[-1]) == 2 and found[-1][0] == part[0] and "a2.75" in part[1]:
            found[-1][1] += part[1]
        else:
            found.append(part)
    return found


def tight(path: str) -> str:
    """Numbers without needless signs: spaces beside commands, noughts in front of a point."""
    path = re.sub(r"\s*,\s*|\s+", " ", path.strip())
    path = re.sub(r" ?([A-Za-z]) ?", r"\1", path)
    return re.sub(r"\b0\.", ".", path).replace(" -", "-")


def relative(path: str) -> str:
    """The same path in relative commands, which are shorter; curves that are nearly straight become lines."""
    here, start, parts = (0, 0), (0, 0), list[str]()
    for command, rest in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        numbers = [int(word) for word in re.findall(r"-?[0-9]+", rest)]
        if command == "Z":
            parts.append("z")
            here = start
            continue
        if command in "HV":
            numbers = [numbers[0], here[1]] if command == "H" else [here[0], numbers[0]]
        size = 6 if command == "C" else 2
        for at in range(0, len(numbers), size):  # after an M, numbers without a command are lines
            steps = [number - here[i % 2] for i, number in enumerate(numbers[at : at + size])]
            here = numbers[at + size - 2], numbers[at + size - 1]
            moves = command == "M" and at == 0
            start = here if moves else start
            if moves or any(steps):
                parts.append(_step("m" if moves else "", steps))
    return "".join(parts)


def _step(name: str, steps: list[int]) -> str:
    if len(steps) == 6 and max(_distance(steps[i : i + 2], steps[4:]) for i in (0, 2)) <= FLAT:
        steps = steps[4:]
    if not name:
        dx, dy = steps[-2:]
        name = "c" if len(steps) == 6 else "h" if dy == 0 else "v" if dx == 0 else "l"
        steps = [dx] if name == "h" else [dy] if name == "v" else steps
    return name + "".join(f"{step}" if step < 0 else f" {step}" for step in steps).lstrip()


def _distance(point: list[int], end: list[int]) -> float:
    """From a point to the line from the origin to ``end``."""
    length = math.hypot(*end)
    return abs(point[0] * end[1] - point[1] * end[0]) / length if length else math.hypot(*point)


def kanji() -> dict[str, str]:
    """The path of each tile's character, 80 units high, y downwards."""
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
    men = {
        piece: joined(parts_of(ET.fromstring(text), INITIAL))
        for piece, text in chess.svg.PIECES.items()
        if piece not in SAME
    }
    lines = [HEAD.rstrip()]
    for name, found in (("CHESSMEN", men), ("KANJI", kanji())):
        lines.append(f"export const {name} = {{")
        lines += [f'  "{piece}": {json.dumps(outline, separators=(",", ":"))},' for piece, outline in found.items()]
        lines.append("};")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
