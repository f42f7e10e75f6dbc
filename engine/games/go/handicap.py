"""Where fixed handicap stones are placed, on the star points (GTP 2, section 4.1.1)."""

from __future__ import annotations

_EDGES = ((12, 3), (7, 2), (0, 1))  # from this size on, star points are that far from the edge
# Star points in the order of the stones: (column, row from below), 0 = left or low, 1 = middle, 2 = right or high.
_ORDER = ((0, 0), (2, 2), (0, 2), (2, 0), (0, 1), (2, 1), (1, 0), (1, 2), (1, 1))


def most_handicap(size: int) -> int:
    """The greatest number of fixed handicap stones; 0 on boards that have none."""
    if size < 7:
        return 0
    return 9 if size % 2 and size > 7 else 4


def handicap_points(size: int, stones: int) -> list[int]:
    """The points of that many fixed handicap stones; 0 <= stones <= :func:`most_handicap`."""
    edge = next(lines for least, lines in _EDGES if size >= least)
    lines = (edge, size // 2, size - 1 - edge)
    chosen = [*_ORDER[:stones]]
    if stones in (5, 7):
        chosen[-1] = _ORDER[-1]  # odd numbers take the centre
    return [(size - 1 - lines[row]) * size + lines[column] for column, row in chosen]
