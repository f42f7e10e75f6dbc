"""Boards for people: a position as text, and as an SVG picture for notebooks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape

from .base import Game

Rows = list[list[str]]  # of pieces from the top left, "" for an empty square

_CELL = 40  # pixels
_LIGHT, _DARK, _WOOD, _LINE, _INK, _RED = "#f0e6d2", "#c2a27c", "#edd8ad", "#6b5b45", "#222222", "#b02020"
_GLYPHS = dict(zip("KQRBNP", "♚♛♜♝♞♟", strict=True))
_TILES = "K R B G S N L P +R +B +S +N +L +P".split()
_TILE_NAMES = (
    "king|rook|bishop|gold|silver|knight|lance|pawn|dragon|horse|promoted silver|promoted knight|promoted lance|tokin"
)
_NAMES: dict[str, dict[str, str]] = {
    "chessmen": dict(zip("KQRBNP", "king queen rook bishop knight pawn".split(), strict=True)),
    "tiles": dict(zip(_TILES, _TILE_NAMES.split("|"), strict=True)),
    "stones": {},
    "discs": {},
}
_PICTURES = {
    "chessmen": dict(zip("KQRBNPkqrbnp", "♔♕♖♗♘♙♚♛♜♝♞♟", strict=True)),
    "tiles": dict(zip(_TILES, "玉飛角金銀桂香歩竜馬全圭杏と", strict=True)),
}
_SQUARES = r"[a-z]\d+|\d[a-z]|[A-Z]\d+"
_GTP_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def board_rows(game: Game, position: str) -> Rows:
    """The squares of a position as its game writes it: FEN, SFEN, or the like."""
    rows = [list(_squares(row)) for row in position.split(maxsplit=1)[0].split("/")]
    width = game.planes[-1]
    if len(rows) == 1 and len(rows[0]) > width:  # squares in one row without slashes
        return [rows[0][i : i + width] for i in range(0, len(rows[0]), width)]
    return rows


def _squares(row: str) -> Iterator[str]:
    for count, piece in re.findall(r"(\d+)|(\+?[A-Za-z.])", row):
        yield from [""] * int(count) if count else [piece.strip(".")]


def _labels(game: Game, rows: Rows) -> tuple[list[str], list[str]]:
    """The names of the columns from the left and of the rows from the top, as moves use them."""
    height, width = len(rows), len(rows[0])
    if game.pieces == "tiles":
        return [str(width - x) for x in range(width)], [chr(ord("a") + y) for y in range(height)]
    letters = _GTP_LETTERS if game.pieces == "stones" else "abcdefghijklmnopqrstuvwxyz"
    return list(letters[:width]), [str(height - y) for y in range(height)]


def hands(game: Game, position: str) -> list[str]:
    """A sentence for each side of what it holds in hand; none in games without pieces in hand."""
    fields = position.split()
    if game.pieces != "tiles" or fields[2] == "-":
        return []
    result = re.findall(r"(\d*)([A-Za-z])", fields[2])
    held = [" ".join(f"{n}{p.upper()}" for n, p in result if p.isupper() == first) for first in (True, False)]
    return [f"{side} holds {text or 'nothing'}" for side, text in zip(game.sides, held, strict=True)]


def board_text(game: Game, position: str, last: str | None = None, *, pictures: bool = False) -> str:
    """The board with its coordinates as lines of text, hands below it.

    last: the move that led here, "" for none: where it went stands in brackets, and star points are drawn.
    pictures: pieces as a terminal's Unicode has them, in shogi the second player's with a v before them.
    """
    rows = board_rows(game, position)
    columns, ranks = _labels(game, rows)
    drawn = [[_drawn(game, piece, pictures=pictures) for piece in row] for row in rows]
    for y, x in _stars(game, len(rows), len(rows[0])) if last is not None else ():
        drawn[y][x] = drawn[y][x] if rows[y][x] else "+"
    wide = max(_columns(square) for row in drawn for square in row)
    margin = max(map(len, ranks))
    marked = (re.findall(_SQUARES, last or "") or [""])[-1]
    body = []
    for rank, row in zip(ranks, drawn, strict=True):
        gaps = [" "] * (len(row) + 1)
        for x, column in enumerate(columns):
            if column + rank == marked:
                gaps[x : x + 2] = "()"
        cells = (" " * (wide - _columns(square)) + square for square in row)
        line = "".join(gap + cell for gap, cell in zip(gaps, cells, strict=False)) + gaps[-1]
        body.append(f"{rank:>{margin}}{line.rstrip()}")
    header = " " * margin + " " + " ".join(f"{name:>{wide}}" for name in columns)
    return "\n".join([*body, header, *hands(game, position)])


def _drawn(game: Game, piece: str, *, pictures: bool) -> str:
    if not pictures or game.pieces not in _PICTURES:
        return piece or "."
    if game.pieces == "chessmen":
        return _PICTURES["chessmen"].get(piece, ".")
    kanji = _PICTURES["tiles"].get(piece.upper(), "・")
    return f"v{kanji}" if piece and piece[-1].islower() else kanji


def _columns(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _stars(game: Game, height: int, width: int) -> list[tuple[int, int]]:
    """(row, column) of the points that a board of Go marks."""
    if game.territory is None or height != width or not (most := game.territory.most_handicap(width)):
        return []
    return [divmod(point, width) for point in game.territory.handicap(width, most if width > 13 else min(most, 5))]


def board_words(game: Game, position: str) -> str:
    """The board in words, a line for each side and its hand: what stands where."""
    rows = board_rows(game, position)
    columns, ranks = _labels(game, rows)
    pieces: tuple[dict[str, list[str]], ...] = ({}, {})
    for row, rank in zip(rows, ranks, strict=True):
        for piece, column in zip(row, columns, strict=True):
            if piece:
                second = piece.upper() != "X" if game.pieces in ("stones", "discs") else piece.islower()
                pieces[second].setdefault(piece.upper(), []).append(column + rank)
    sentences = []
    for side, held in zip(game.sides, pieces, strict=True):
        order = sorted(held, key=lambda piece: ("KQRBGSNLP".find(piece.lstrip("+")), piece))
        words = [f"{_NAMES[game.pieces].get(piece, '')} {' '.join(held[piece])}".strip() for piece in order]
        sentences.append(f"{side}: {', '.join(words) or 'nothing on the board'}.")
    return "\n".join([*sentences, *hands(game, position)])


def board_svg(game: Game, position: str, last: str = "") -> str:
    """The board as one SVG element; ``last`` is the move to mark, as the game writes it."""
    rows = board_rows(game, position)
    columns, ranks = _labels(game, rows)
    marked = set(re.findall(_SQUARES, last))
    width, height = len(columns) * _CELL, len(ranks) * _CELL
    shapes = [_grid(len(columns), len(ranks))] if game.pieces == "stones" else []
    for y, row in enumerate(rows):
        for x, piece in enumerate(row):
            shapes.append(_square(game, piece, x, y, marked=columns[x] + ranks[y] in marked))
    shapes += [_label(name, _CELL * (i + 0.5), height + 14) for i, name in enumerate(columns)]
    shapes += [_label(name, -12, _CELL * (i + 0.5) + 4) for i, name in enumerate(ranks)]
    held = hands(game, position)
    shapes += [_label(text, width / 2, height + 32 + 16 * i) for i, text in enumerate(held)]
    box = f"-24 -4 {width + 30} {height + 26 + 18 * len(held)}"
    title = escape(f"{game.name}: {position}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width + 30}" role="img" '
        f'font-family="sans-serif"><title>{title}</title>{"".join(shapes)}</svg>'
    )


def _label(text: str, x: float, y: float) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="12" fill="{_LINE}" text-anchor="middle">{escape(text)}</text>'


def _grid(columns: int, rows: int) -> str:
    """The wood and lines of a board whose pieces stand on points."""
    half = _CELL / 2
    right, bottom = columns * _CELL - half, rows * _CELL - half
    lines = [f"M{half + i * _CELL} {half}V{bottom}" for i in range(columns)]
    lines += [f"M{half} {half + i * _CELL}H{right}" for i in range(rows)]
    wood = f'<rect width="{columns * _CELL}" height="{rows * _CELL}" fill="{_WOOD}"/>'
    return f'{wood}<path d="{"".join(lines)}" stroke="{_LINE}" fill="none"/>'


def _square(game: Game, piece: str, x: int, y: int, *, marked: bool) -> str:
    left, top = x * _CELL, y * _CELL
    middle = f"{left + _CELL / 2:g}", f"{top + _CELL / 2:g}"
    if game.pieces == "stones":
        stone = _disc(middle, _INK if piece in "Xx" else "white", _INK) if piece else ""
        dot = f'<circle cx="{middle[0]}" cy="{middle[1]}" r="5" fill="{_RED}"/>' if marked else ""
        return stone + dot
    shogi = game.pieces == "tiles"
    colour = "#e0b84c" if marked else _WOOD if shogi else (_DARK if (x + y) % 2 else _LIGHT)
    edge = f' stroke="{_LINE}"' if shogi else ""
    back = f'<rect x="{left}" y="{top}" width="{_CELL}" height="{_CELL}" fill="{colour}"{edge}/>'
    if not piece:
        return back
    if shogi:
        return back + _tile(piece, middle)
    if game.pieces == "chessmen":
        fill = "white" if piece.isupper() else _INK
        return back + (
            f'<text x="{middle[0]}" y="{top + 33}" font-size="34" text-anchor="middle" fill="{fill}" '
            f'stroke="{_INK}" stroke-width="0.8">{_GLYPHS[piece.upper()]}</text>'
        )
    return back + _disc(middle, _RED if piece in "Xx" else "#e8c547", _INK)


def _disc(middle: tuple[str, str], fill: str, edge: str) -> str:
    return f'<circle cx="{middle[0]}" cy="{middle[1]}" r="{0.45 * _CELL:g}" fill="{fill}" stroke="{edge}"/>'


def _tile(piece: str, middle: tuple[str, str]) -> str:
    """A shogi piece: a pentagon that points at the opponent, with the piece's letter; promoted ones in red."""
    turned = "" if piece[-1].isupper() else f' transform="rotate(180 {middle[0]} {middle[1]})"'
    x, y = map(float, middle)
    corners = [(-14, 16), (14, 16), (11, -9), (0, -17), (-11, -9)]
    shape = " ".join(f"{x + dx:g},{y + dy:g}" for dx, dy in corners)
    ink = _RED if piece.startswith("+") else _INK
    return (
        f'<g{turned}><polygon points="{shape}" fill="#fff6df" stroke="{_LINE}"/><text x="{x:g}" y="{y + 8:g}" '
        f'font-size="{18 if len(piece) == 1 else 15}" text-anchor="middle" fill="{ink}">{piece.upper()}</text></g>'
    )
