"""Boards in figures: a position in its game's notation, drawn with matplotlib's shapes and letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...engine.games.diagram import board_rows, hands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...engine.games.base import Game

_LIGHT, _DARK, _WOOD, _LINE, _INK = "#f0e6d2", "#c2a27c", "#edd8ad", "#6b5b45", "#222222"
_RED, _YELLOW = "#b02020", "#e8c547"
_POINTS = 62.0  # of a letter as high as a square of one inch
_CHESS = dict(zip("KQRBNPkqrbnp", "♚♛♜♝♞♟♚♛♜♝♞♟", strict=True))  # filled: one shape for both colours


def draw_board(chart: Axes, game: Game, position: str, left: float, top: float, side: float) -> float:
    """Draw a position in its game's notation, its upper left corner at (left, top), ``side`` wide.

    Returns the bottom, pieces in hand included. One unit of the chart must be an inch.
    """
    rows, tiles = board_rows(game, position), game.pieces == "tiles"
    cell = side / len(rows[0])
    if game.pieces == "stones":
        _draw_go(chart, rows, left, top, cell)
        return top - side
    for y, row in enumerate(rows):
        for x, square in enumerate(row):
            corner = left + x * cell, top - (y + 1) * cell
            colour = _WOOD if tiles else (_DARK if (x + y) % 2 else _LIGHT)
            _rectangle(chart, corner, cell, colour, line=tiles)
            if square:
                _DRAWERS[game.pieces](chart, square, (corner[0] + cell / 2, corner[1] + cell / 2), cell)
    held, bottom = hands(game, position), top - cell * len(rows)
    for place, hand in enumerate(held):
        height = bottom - cell * (0.6 + 0.55 * place)
        chart.text(left, height, hand, fontsize=0.4 * _POINTS * cell, va="center")
    return bottom - 1.5 * cell * bool(held)


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
    colour = _RED if piece.startswith("+") else _INK
    points = 0.6 * _POINTS * cell / len(piece) ** 0.5
    text = chart.text(x, y - up * 0.05 * cell, piece.upper(), fontsize=points, ha="center", va="center", color=colour)
    text.set_rotation(0 if up > 0 else 180)


def _draw_disc(chart: Axes, piece: str, middle: tuple[float, float], cell: float) -> None:
    from matplotlib.patches import Circle

    chart.add_patch(Circle(middle, 0.42 * cell, facecolor=_RED if piece in "xX" else _YELLOW, edgecolor=_INK))


_DRAWERS = {"chessmen": _draw_piece, "tiles": _draw_tile, "discs": _draw_disc}


def _draw_go(chart: Axes, rows: list[list[str]], left: float, top: float, cell: float) -> None:
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
