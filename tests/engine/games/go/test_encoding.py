"""Planes and symmetries of Go, against slow ones written from the paper."""

from __future__ import annotations

import random

import numpy as np
import pytest

from az_engine.engine.games import get_game
from az_engine.engine.games.go.state import State, stones_from_array, stones_to_array


def random_line(size: int, seed: int, plies: int) -> State:
    game, rng = get_game(f"go{size}"), random.Random(seed)
    line = game.initial()
    for _ in range(plies):
        line = game.play(line, int(rng.choice(game.legal_moves(line).tolist())))
    return line


def slow_planes(line: State, history: int) -> np.ndarray:
    """Table S1: X_t, Y_t, ..., X_t-7, Y_t-7, C."""
    size, turn = int(line[-1]["columns"]), int(line[-1]["turn"])
    planes = np.zeros((17, size, size), np.uint8)
    for t in range(min(history, len(line))):
        board = stones_to_array(line[-1 - t]).reshape(size, size)
        for row in range(size):
            for column in range(size):
                if board[row, column] == turn:
                    planes[2 * t, row, column] = 1
                elif board[row, column] == 1 - turn:
                    planes[2 * t + 1, row, column] = 1
    planes[16] = 1 if turn == 0 else 0
    return planes


@pytest.mark.parametrize("size", [2, 5, 9, 19, 25])
@pytest.mark.parametrize("history", [1, 3, 8])
def test_planes(size: int, history: int) -> None:
    game = get_game(f"go{size}")
    for plies in (0, 1, 5, 40, 41):
        line = random_line(size, plies, plies)
        out = np.full((1, *game.planes), 7, np.uint8)
        game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), out, history)
        assert (out[0] == slow_planes(line, history)).all()


def test_history_stops_at_the_games_start() -> None:
    game, line = get_game("go5"), random_line(5, 3, 12)
    out = np.empty((1, *game.planes), np.uint8)
    game.encode(line, np.array([10]), np.array([8]), out)
    assert (out[0] == slow_planes(line[8:11], 8)).all()


def test_boards_as_arrays() -> None:
    states = random_line(9, 1, 50)
    boards = np.stack([stones_to_array(state) for state in states])
    assert (stones_from_array(boards) == states["stones"]).all()


def test_a_board_that_is_not_square_has_four_symmetries() -> None:
    game = get_game("go3x2")
    assert game.symmetries is not None
    assert game.symmetries.actions.tolist() == [
        [0, 1, 2, 3, 4, 5, 6],
        [5, 4, 3, 2, 1, 0, 6],
        [2, 1, 0, 5, 4, 3, 6],
        [3, 4, 5, 0, 1, 2, 6],
    ]
    planes = np.arange(6, dtype=np.uint8).reshape(1, 1, 2, 3)
    assert game.symmetries.turn(planes, np.array([1])).ravel().tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("size", [2, 3, 9])
def test_symmetries(size: int) -> None:
    game = get_game(f"go{size}")
    assert game.symmetries is not None
    images = game.symmetries.actions
    assert images.shape == (8, size * size + 1)
    assert len({tuple(row) for row in images}) == 8
    assert (images[0] == np.arange(size * size + 1)).all()
    assert (images[:, -1] == size * size).all()
    for row in images:  # neighbours stay neighbours: such a map of the board is one of its eight symmetries
        for p in range(size * size):
            q = np.abs(np.array(divmod(int(row[p]), size))[:, None] - np.array(np.divmod(row[:-1], size))).sum(axis=0)
            before = np.abs(np.array(divmod(p, size))[:, None] - np.array(np.divmod(np.arange(size**2), size))).sum(
                axis=0
            )
            assert (q == before).all()
    planes = np.zeros((8 * size**2, 1, size, size), np.uint8)
    which, points = np.repeat(np.arange(8), size**2), np.tile(np.arange(size**2), 8)
    planes.reshape(len(planes), -1)[np.arange(len(planes)), points] = 1
    turned = game.symmetries.turn(planes, which)
    assert (turned.reshape(len(planes), -1).argmax(axis=1) == images[which, points]).all()


def test_a_turned_game_has_turned_legal_moves_and_planes() -> None:
    game, rng = get_game("go5"), random.Random(9)
    assert game.symmetries is not None
    for k in range(8):
        image = game.symmetries.actions[k]
        line, turned = game.initial(), game.initial()
        for _ in range(60):
            moves = game.legal_moves(line)
            assert sorted(image[moves]) == sorted(game.legal_moves(turned))
            move = int(rng.choice(moves.tolist()))
            line, turned = game.play(line, move), game.play(turned, int(image[move]))
        out = np.empty((2, *game.planes), np.uint8)
        for planes, played in zip(out, (line, turned), strict=True):
            game.encode(played, np.array([len(played) - 1]), np.zeros(1, np.int64), planes[None])
        assert (game.symmetries.turn(out[:1], np.array([k]))[0] == out[1]).all()
