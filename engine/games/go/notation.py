"""Positions as one line of text, and moves as GTP writes them.

A position is ``BOARD SIDE KO KOMI RULES HANDICAP PASSES PLY PRISONERS``, of which the first two are needed: the rows
from the top, separated by "/", with X (black), O (white) and numbers of empty points; b or w; the point that may not be
retaken or -; komi; the rule set; black's handicap stones; passes just made; moves so far; by rules that count
territory, black's prisoners less white's. The 3x3 board with a black stone in its middle is
``3/1X1/3 w - 7.5 tromp-taylor 0 0 1``. A board may have more rows than columns, or fewer.
Without komi it is 7 on 9x9, 7.5 on others.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ...errors import IllegalMoveError, PositionError, quoted
from .rules import settle_all, usual_komi
from .rulesets import TERRITORY, rule_set, rules_of
from .state import BLACK, EMPTY, MAX_SIZE, MIN_SIZE, STATE, WHITE, State, points_of, stones_from_array, stones_to_array

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
SKIP = "skip"  # the side to move changes without a pass
_LONGEST = 1200
_MOST_KOMI = 16000  # half points


def vertex(point: int, columns: int, rows: int) -> str:
    """GTP's name of a point, such as C3, or pass."""
    if point == columns * rows:
        return "pass"
    return f"{COLUMNS[point % columns]}{rows - point // columns}"


def point_of(text: str, columns: int, rows: int) -> int:
    """The point of a GTP vertex, H * W for pass, in any case. Errors: ValueError."""
    if text.lower() == "pass":
        return columns * rows
    match = re.fullmatch(r"([A-HJ-Za-hj-z])([1-9][0-9]?)", text, re.ASCII)
    if match is None:
        raise ValueError(text)
    column, row = COLUMNS.index(match[1].upper()), int(match[2])
    if column >= columns or row > rows:
        raise ValueError(text)
    return (rows - row) * columns + column


def half_points(komi: float) -> int:
    """Komi in half points. Errors: PositionError when it is none."""
    doubled = 2 * komi
    if not (abs(doubled) <= _MOST_KOMI and doubled == int(doubled)):
        raise PositionError(f"komi must be a number of half points from -8000 to 8000, not {komi}")
    return int(doubled)


def empty_board(columns: int, rows: int, komi: float, rules: str) -> State:
    """State[1], an empty board with black to move. Errors: PositionError."""
    for lines in (columns, rows):
        if not MIN_SIZE <= lines <= MAX_SIZE:
            raise PositionError(f"a board has {MIN_SIZE} to {MAX_SIZE} lines, not {lines}")
    line = np.zeros(1, STATE)
    line["columns"], line["rows"] = columns, rows
    line["komi"], line["ko"], line["rules"] = half_points(komi), -1, rule_set(rules).flags
    return line


def size_of(state: State) -> tuple[int, int]:
    """Columns and rows of one State[]."""
    return int(state["columns"]), int(state["rows"])


def format_position(state: State) -> str:
    columns, height = size_of(state)
    rows = []
    for row in stones_to_array(state).reshape(height, columns):
        text = "".join("XO."[stone] for stone in row)
        rows.append(re.sub(r"\.+", lambda empty: str(len(empty[0])), text))
    ko = "-" if state["ko"] < 0 else vertex(int(state["ko"]), columns, height)
    komi = f"{int(state['komi']) / 2:g}"
    rest = f"{rules_of(int(state['rules'])).name} {state['handicap']} {state['passes']} {state['ply']}"
    if state["rules"] & TERRITORY:
        rest += f" {stones_ahead(state) - int(state['played'])}"
    return f"{'/'.join(rows)} {'bw'[int(state['turn'])]} {ko} {komi} {rest}"


def stones_ahead(state: State) -> int:
    """Black's stones on the board of one State[] less white's."""
    board = stones_to_array(state)
    return int((board == BLACK).sum()) - int((board == WHITE).sum())


def parse_position(text: str) -> tuple[State, list[str]]:
    """State[1] of a position, and no notes. Errors: PositionError, one sentence."""
    fields = text.split()
    if not 2 <= len(fields) <= 9 or len(text) > _LONGEST:
        raise PositionError(f"a Go position has two to nine fields, such as '9/9/9/9/9/9/9/9/9 b', not {quoted(text)}")
    board = _parse_board(fields[0])
    rows, columns = board.shape
    board = board.ravel()
    fields += ["-", f"{usual_komi(columns, rows):g}", "tromp-taylor", "0", "0", "0", "0"][len(fields) - 2 :]
    try:
        komi = float(fields[3])
    except ValueError:
        raise PositionError(f"komi must be a number, not {quoted(fields[3])}") from None
    line = empty_board(columns, rows, komi, fields[4])
    if fields[1] not in ("b", "w"):
        raise PositionError(f"the side to move must be b or w, not {quoted(fields[1])}")
    line["stones"] = stones_from_array(board[None])
    line["turn"] = BLACK if fields[1] == "b" else WHITE
    for name, word, most in zip(("handicap", "passes", "ply"), fields[5:8], (len(board), 255, 65535), strict=True):
        if not re.fullmatch(r"[0-9]{1,5}", word, re.ASCII) or int(word) > most:
            raise PositionError(f"{name} must be a number up to {most}, not {quoted(word)}")
        line[name] = int(word)
    if not re.fullmatch(r"-?[0-9]{1,4}", fields[8], re.ASCII):
        raise PositionError(f"prisoners must be a number up to 9999, not {quoted(fields[8])}")
    if line[0]["rules"] & TERRITORY:
        line["played"] = stones_ahead(line[0]) - int(fields[8])
    if fields[2] != "-":
        try:
            ko = point_of(fields[2], columns, rows)
        except ValueError:
            raise PositionError(f"the ko point must be a point of the board or -, not {quoted(fields[2])}") from None
        if ko == len(board) or board[ko] != EMPTY:
            raise PositionError(f"the ko point {quoted(fields[2])} must be an empty point")
        line["ko"] = ko
    point = settle_all(line)[1]
    if point >= 0:
        place = vertex(point, columns, rows)
        raise PositionError(f"the stone on {place} has no liberty; take captured stones off the board")
    return line, []


def _parse_board(text: str) -> NDArray[np.uint8]:
    """u1[H, W]. Errors: PositionError."""
    rows = text.split("/")
    if not MIN_SIZE <= len(rows) <= MAX_SIZE:
        raise PositionError(f"a board has {MIN_SIZE} to {MAX_SIZE} rows, not {len(rows)}")
    columns = len(_cells(rows[0]))
    if not MIN_SIZE <= columns <= MAX_SIZE:
        raise PositionError(f"a row has {MIN_SIZE} to {MAX_SIZE} points of X, O and numbers, not {quoted(rows[0])}")
    board = np.full((len(rows), columns), EMPTY, np.uint8)
    for number, row in enumerate(rows):
        cells = _cells(row)
        if len(cells) != columns or set(row) - set("XO0123456789") or "0" in cells:
            raise PositionError(
                f"row {number + 1} from the top, {quoted(row)}, is not {columns} points of X, O and numbers"
            )
        board[number] = ["XO.".index(cell) for cell in cells]  # the numbers of BLACK, WHITE and EMPTY
    return board


def _cells(row: str) -> str:
    """A row with a dot for each empty point."""
    return re.sub("[1-9][0-9]?", lambda empty: "." * int(empty[0]), row)


def parse_move(state: State, text: str, legal: NDArray[np.uint16]) -> int:
    """The one of the legal moves of one State[] that a vertex names. Errors: IllegalMoveError, one sentence."""
    columns, rows = size_of(state)
    if text == SKIP:
        return columns * rows + 1
    try:
        move = point_of(text, columns, rows)
    except ValueError:
        raise IllegalMoveError(f"{quoted(text)} is neither a point of the {columns}x{rows} board nor pass") from None
    if move not in legal:
        occupied = move < points_of(state) and stones_to_array(state)[move] != EMPTY
        reason = "there is a stone" if occupied else "ko, superko or suicide"
        raise IllegalMoveError(f"{vertex(move, columns, rows)} is not legal: {reason}")
    return move


def format_move(state: State, move: int) -> str:
    columns, rows = size_of(state)
    return SKIP if move == columns * rows + 1 else vertex(move, columns, rows)


# Fixed handicap stones lie on the star points (GTP 2, section 4.1.1).
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
