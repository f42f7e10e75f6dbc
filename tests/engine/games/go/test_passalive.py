"""Pass-alive areas beside Benson's definition, written down plainly with sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.games import get_game
from az_engine.engine.games.go.passalive import area_of
from az_engine.engine.games.go.state import BLACK, EMPTY, WHITE, stones_to_array

Point = tuple[int, int]


def near(p: Point, n: int) -> Iterator[Point]:
    r, c = p
    return ((y, x) for y, x in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)) if 0 <= y < n and 0 <= x < n)


def parts(points: set[Point], n: int) -> list[set[Point]]:
    """The connected parts of a set of points."""
    results, left = [], set(points)
    while left:
        part, waiting = set[Point](), [next(iter(left))]
        while waiting:
            p = waiting.pop()
            if p not in part:
                part.add(p)
                waiting += [q for q in near(p, n) if q in points]
        left -= part
        results.append(part)
    return results


def plain_area(board: NDArray[np.uint8], suicide: bool) -> NDArray[np.uint8]:
    """The owners u1[H, W] of a board, as ``area_of`` has them."""
    n = len(board)
    owner = np.full((n, n), EMPTY, np.uint8)
    points = {(r, c) for r in range(n) for c in range(n)}
    for colour in (BLACK, WHITE):
        stones = {p for p in points if board[p] == colour}
        chains = parts(stones, n)
        regions = [r for r in parts(points - stones, n) if any(board[p] == EMPTY for p in r)]
        must = [r if suicide else {p for p in r if board[p] == EMPTY} for r in regions]
        alive, good = list(range(len(chains))), list(range(len(regions)))
        while stones:
            vital = {i: sum(all(set(near(p, n)) & chains[i] for p in must[j]) for j in good) for i in alive}
            kept = [i for i in alive if vital[i] >= 2]
            living = set().union(*(chains[i] for i in kept)) if kept else set()
            good = [j for j in good if all(q not in stones or q in living for p in regions[j] for q in near(p, n))]
            if kept == alive:
                break
            alive = kept
        for i in alive if stones else []:
            for p in chains[i]:
                owner[p] = colour
        for j, region in enumerate(regions) if stones else []:
            clean = all(board[p] == EMPTY for p in region)
            inner = sum(not set(near(p, n)) & stones for p in region)
            for p in region:
                if (j in good and (clean or inner <= 1)) or (clean and owner[p] == EMPTY):
                    owner[p] = colour
    return np.where((owner == EMPTY) & (board != EMPTY), board, owner)


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese"])  # suicide legal and not
def test_areas_are_those_of_the_definition(rules: str) -> None:
    random, alive = np.random.default_rng(3), 0
    for game_number in range(40):
        n = int(random.integers(3, 8))
        game = get_game("go").sized(n)
        line = game.parse_position(f"{'/'.join([str(n)] * n)} b - 7 {rules}")[0]
        for _ in range(2 * n * n):
            moves = game.legal_moves(line)
            safe = [m for m in moves[moves < n * n] if not fills_eye(line[-1], int(m), n)]
            line = game.play(line, int(random.choice(safe)) if safe else n * n)
            board = stones_to_array(line[-1]).reshape(n, n)
            area = area_of(line[-1]).reshape(n, n)
            assert (area == plain_area(board, rules == "tromp-taylor")).all(), (game_number, board)
            alive += int(((area != board) & (board != EMPTY)).any())
            if not safe and line[-1]["passes"] >= 2:
                break
    assert alive > 30  # positions with stones in an opponent's area


def fills_eye(state: np.void, move: int, n: int) -> bool:
    board = stones_to_array(state).reshape(n, n)  # type: ignore[arg-type]
    return all(board[q] == state["turn"] for q in near(divmod(move, n), n))
