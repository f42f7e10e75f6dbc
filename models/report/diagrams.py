"""Boards in figures: a position, as its game's own notation tells it, drawn with matplotlib's shapes and letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LIGHT, _DARK, _WOOD, _LINE, _INK = "#f0e6d2", "#c2a27c", "#edd8ad", "#6b5b45", "#222222"
_POINTS = 62.0  # of a letter as high as a square of one inch
_CHESS = dict(zip("KQRBNPkqrbnp", "♚♛♜♝♞♟♚♛♜♝♞♟", strict=True))  # filled: one shape for both colours


def draw_board(chart: Axes, protocol: str, position: str, left: float, top: float, side: float) -> float:
    """Draw a position as a protocol tells it (FEN, SFEN, Go's), its upper left corner at (left, top), ``side`` wide.

    Returns the bottom, pieces in hand included. One unit of the chart must be an inch.
    """
    fields = position.split()
    rows = [list(_squares(row)) for row in fields[0].split("/")]
    cell = side / len(rows)
    if protocol == "gtp":
        _draw_go(chart, rows, left, top, cell)
        return top - side
    shogi = protocol == "usi"
    for y, row in enumerate(rows):
        for x, square in enumerate(row):
            corner = left + x * cell, top - (y + 1) * cell
            colour = _WOOD if shogi else (_DARK if (x + y) % 2 else _LIGHT)
            _rectangle(chart, corner, cell, colour, line=shogi)
            middle = corner[0] + cell / 2, corner[1] + cell / 2
            if square and shogi:
                _draw_tile(chart, square, middle, cell)
            elif square:
                _draw_piece(chart, square, middle, cell)
    if not shogi or fields[2] == "-":
        return top - side
    for place, mine in enumerate((str.isupper, str.islower)):
        held = " ".join(f"{n}{piece.upper()}" for n, piece in re.findall(r"(\d*)([A-Za-z])", fields[2]) if mine(piece))
        hand = f"{('Black', 'White')[place]} holds {held or 'nothing'}"
        chart.text(left, top - side - cell * (0.6 + 0.55 * place), hand, fontsize=0.4 * _POINTS * cell, va="center")
    return top - side - 1.5 * cell


def _squares(row: str) -> Iterator[str]:
    """The squares of one row, "" for an empty one."""
    for count, piece in re.findall(r"(\d+)|(\+?[A-Za-z])", row):
        yield from [""] * int(count) if count else [piece]


def _rectangle(chart: Axes, corner: tuple[float, float], cell: float, colour: str, *, line: bool) -> None:
    from matplotlib.patches import Rectangle

    edge = _LINE if line else colour
    chart.add_patch(Rectangle(corner, cell, cell, facecolor=colour, edgecolor=edge, linewidth=0.5))


def _draw_piece(chart: Axes, piece: str, middle: tuple[float, float], cell: float) -> None:
    from matplotlib.patheffects import withStroke

    text = chart.text(*middle, _CHESS[piece], fontsize=_POINTS * cell, ha="center", va="center_baseline")
    text.set_color("white" if piece.isupper() else _INK)
    text.set_path_effects([withStroke(linewidth=4 * cell, foreground=_INK)])


def _draw_tile(chart: Axes, piece: str, middle: tuple[float, float], cell: float) -> None:
    """A shogi piece: a pentagon that points at the opponent, with the piece's letter; promoted ones in red."""
    from matplotlib.patches import Polygon

    up = 1 if piece[-1].isupper() else -1
    x, y = middle
    shape = [(-0.36, -0.4), (0.36, -0.4), (0.28, 0.22), (0, 0.42), (-0.28, 0.22)]
    corners = [(x + up * dx * cell, y + up * dy * cell) for dx, dy in shape]
    chart.add_patch(Polygon(corners, facecolor="#fff6df", edgecolor=_LINE, linewidth=0.6))
    colour = "#b02020" if piece.startswith("+") else _INK
    points = 0.6 * _POINTS * cell / len(piece) ** 0.5
    text = chart.text(x, y - up * 0.05 * cell, piece.upper(), fontsize=points, ha="center", va="center", color=colour)
    text.set_rotation(0 if up > 0 else 180)


def _draw_go(chart: Axes, rows: list[list[str]], left: float, top: float, cell: float) -> None:
    """Lines and stones; X is black."""
    from matplotlib.patches import Circle

    size = len(rows)
    _rectangle(chart, (left, top - size * cell), size * cell, _WOOD, line=False)
    near, far = cell / 2, (size - 0.5) * cell
    for i in range(size):
        at = (i + 0.5) * cell
        chart.plot([left + near, left + far], [top - at] * 2, color=_LINE, linewidth=0.6, zorder=1.5)
        chart.plot([left + at] * 2, [top - near, top - far], color=_LINE, linewidth=0.6, zorder=1.5)
    for y, row in enumerate(rows):
        for x, stone in enumerate(row):
            if stone:
                middle = left + (x + 0.5) * cell, top - (y + 0.5) * cell
                colour = _INK if stone == "X" else "white"
                chart.add_patch(Circle(middle, 0.46 * cell, facecolor=colour, edgecolor=_INK, linewidth=0.6, zorder=2))
