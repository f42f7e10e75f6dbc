"""Go the slow and obvious way, the tests' oracle: boards as tuples, flood fill, every earlier board remembered."""

from __future__ import annotations

BLACK, WHITE, EMPTY = 0, 1, 2
Board = tuple[int, ...]


def neighbours(columns: int, rows: int, point: int) -> list[int]:
    row, column = divmod(point, columns)
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [r * columns + c for r, c in near if 0 <= r < rows and 0 <= c < columns]


def region(columns: int, board: Board, start: int) -> tuple[set[int], set[int]]:
    """(points of one colour connected with ``start``, the points beside them)."""
    inside, border, waiting = {start}, set(), [start]
    while waiting:
        for near in neighbours(columns, len(board) // columns, waiting.pop()):
            if board[near] != board[start]:
                border.add(near)
            elif near not in inside:
                inside.add(near)
                waiting.append(near)
    return inside, border


def put(columns: int, board: Board, point: int, colour: int) -> Board:
    """The board after a stone: enemy chains without liberty go, then one's own."""
    after = list(board)
    after[point] = colour
    for side in (1 - colour, colour):
        dead: set[int] = set()
        for p in range(len(board)):
            if after[p] == side:
                chain, border = region(columns, tuple(after), p)
                if not any(after[q] == EMPTY for q in border):
                    dead |= chain
        for p in dead:
            after[p] = EMPTY
    return tuple(after)


def area(columns: int, board: Board) -> int:
    """Black's points minus white's by Tromp-Taylor."""
    total = 0
    for point in range(len(board)):
        colours = {board[point]}
        if board[point] == EMPTY:
            colours = {board[q] for q in region(columns, board, point)[1]}
        total += (colours == {BLACK}) - (colours == {WHITE})
    return total


class NaiveGame:
    """A game with its whole past."""

    def __init__(self, columns: int, ko: str, suicide: bool, rows: int = 0) -> None:
        """rows: 0 for a square board."""
        self.points = columns * (rows or columns)
        self.columns, self.ko, self.suicide = columns, ko, suicide
        self.turn = BLACK
        self.passes = 0
        self.past: list[tuple[Board, int]] = [((EMPTY,) * self.points, BLACK)]

    @property
    def board(self) -> Board:
        return self.past[-1][0]

    def legal(self, point: int) -> bool:
        if self.board[point] != EMPTY:
            return False
        after = put(self.columns, self.board, point, self.turn)
        if after[point] == EMPTY and (not self.suicide or after == self.board):
            return False
        if self.ko == "positional":
            return all(board != after for board, _ in self.past)
        if self.ko == "situational":
            return (after, 1 - self.turn) not in self.past
        if len(self.past) < 2 or after != self.past[-2][0]:
            return True
        before, now = (
            self.past[-2][0],
            self.board,
        )  # simple ko: one stone was taken by a stone that stands alone in atari
        taken = [p for p in range(self.points) if before[p] == self.turn and now[p] == EMPTY]
        lost = [p for p in range(self.points) if now[p] == 1 - self.turn and after[p] == EMPTY]
        return not (len(taken) == 1 and taken[0] == point and len(lost) == 1)

    def legal_moves(self) -> list[int]:
        return [p for p in range(self.points) if self.legal(p)] + [self.points]

    def play(self, move: int) -> None:
        board = self.board
        if move < self.points:
            board = put(self.columns, board, move, self.turn)
            self.passes = 0
        else:
            self.passes += 1
        self.turn = 1 - self.turn
        self.past.append((board, self.turn))
