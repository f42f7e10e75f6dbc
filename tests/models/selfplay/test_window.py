"""The window: what it hands out is what was played, however much has fallen out of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.models.selfplay.store.replay import GameRecord
from az_engine.models.selfplay.store.window import Window, WindowConfig, window_games

from .games import random_game

CHESS, GO = get_game("chess"), get_game("go5")


def expected(game: Game, record: GameRecord, ply: int) -> tuple[bytes, dict[int, float], int]:
    """(planes, policy by action, result for the side to move) of one position, made move by move."""
    line = game.initial()
    for move in record.moves[:ply].tolist():
        line = game.play(line, move)
    planes = np.zeros((1, *game.planes), np.uint8)
    index, first = np.array([ply]), np.zeros(1, np.int64)
    game.encode(line, index, first, planes)
    begin = int(record.counts[:ply].sum())
    count = int(record.counts[ply])
    actions = np.zeros((1, count), np.int32)
    game.actions(line, index, record.target_moves[None, begin : begin + count], actions)
    shares = record.target_shares[begin : begin + count]
    policy = dict(zip(actions[0].tolist(), (shares / shares.sum()).tolist(), strict=True))
    return planes.tobytes(), policy, record.result if ply % 2 == 0 else -record.result


@pytest.mark.slow
@pytest.mark.parametrize("game", [CHESS, GO], ids=["chess", "go5"])
def test_every_position_is_what_was_played(game: Game) -> None:
    records = [random_game(game, n, plies=30, every=1 + n % 2) for n in range(12)]
    window = Window(game, 5)
    for record in records:  # one at a time: the arrays grow and move several times
        window.add([record])
    kept = records[-5:]
    assert window.games == 5
    positions = [(r, ply) for r in kept for ply in range(len(r.moves)) if r.counts[ply]]
    assert len(window) == len(positions)
    batch = window.batch(np.arange(len(window)))
    for row, (record, ply) in enumerate(positions):
        planes, policy, z = expected(game, record, ply)
        assert batch.planes[row].tobytes() == planes
        got = {a: p for a, p in zip(batch.actions[row].tolist(), batch.probabilities[row].tolist(), strict=True) if p}
        assert got == pytest.approx(policy, abs=1e-5)
        assert batch.z[row] == z
        assert batch.wdl[row].tolist() == [float(z == 1), float(z == 0), float(z == -1)]


def owners_of(game: Game, record: GameRecord) -> NDArray[np.int64]:
    """Whose each point is at a game's end, 1 black's: stones, and empty regions that touch one colour alone."""
    line = game.initial()
    for move in record.moves.tolist():
        line = game.play(line, move)
    size = game.planes[1]
    planes = np.zeros((1, *game.planes), np.uint8)
    game.encode(line, np.array([len(line) - 1]), np.zeros(1, np.int64), planes)
    black_moves = bool(planes[0, -1, 0, 0])
    mine, theirs = planes[0, 0].astype(np.int64), planes[0, 1].astype(np.int64)
    board: NDArray[np.int64] = mine - theirs if black_moves else theirs - mine
    owner = board.copy()
    for start in np.argwhere(board == 0).tolist():
        region, border, todo = set(), set(), [tuple(start)]
        while todo:
            y, x = todo.pop()
            if not (0 <= y < size and 0 <= x < size) or (y, x) in region:
                continue
            if board[y, x]:
                border.add(int(board[y, x]))
                continue
            region.add((y, x))
            todo += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
        if len(border) == 1:
            owner[tuple(start)] = border.pop()
    return owner


def test_territory_is_that_of_the_end_of_the_game() -> None:
    records = [random_game(GO, n, plies=40) for n in range(6)]
    records[2] = replace(records[2], reason="resigned")
    window = Window(GO, 4, territory=True)
    for record in records:
        window.add([record])
    batch = window.batch(np.arange(len(window)))
    assert batch.ownership is not None
    assert batch.score is not None
    row = 0
    for record in records[-4:]:
        owner = owners_of(GO, record)
        for ply in range(len(record.moves)):
            sign = 1 if ply % 2 == 0 else -1
            if record.reason == "resigned":
                assert np.isnan(batch.ownership[row]).all()
                assert np.isnan(batch.score[row])
            else:
                np.testing.assert_array_equal(batch.ownership[row], sign * owner)
                assert batch.score[row] == sign * owner.sum()
            row += 1
    assert row == len(window)
    assert Window(GO, 4).ownership is None


def test_the_value_is_mixed_with_the_search_s_own() -> None:
    record = random_game(GO, 3, plies=20)
    window = Window(GO, 1, root_value=0.25)
    window.add([record])
    batch = window.batch(np.arange(len(window)))
    outcome = batch.wdl[:, 0] - batch.wdl[:, 2]
    np.testing.assert_allclose(outcome, 0.75 * batch.z + 0.25 * record.values, atol=1e-6)
    draws = np.minimum(record.draws, 1 - abs(record.values))
    np.testing.assert_allclose(batch.wdl[:, 1], 0.25 * draws + 0.75 * (batch.z == 0), atol=1e-6)
    np.testing.assert_allclose(batch.wdl.sum(axis=1), 1, atol=1e-6)
    assert (batch.wdl >= 0).all()


def test_all_at_once_is_one_by_one() -> None:
    records = [random_game(CHESS, n, plies=20) for n in range(9)]
    one, all_ = Window(CHESS, 4), Window(CHESS, 4)
    for record in records:
        one.add([record])
    all_.add(records)
    rows = np.arange(len(one))
    a, b = one.batch(rows), all_.batch(rows)
    for name in ("planes", "actions", "probabilities", "wdl", "z"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_memory_bounds_the_window() -> None:
    record = random_game(CHESS, 1, plies=60)
    row = CHESS.state_dtype.itemsize + 8 + 12 + 4 + 8
    bytes_a_game = len(record.moves) * row + len(record.target_moves) * 6
    window = Window(CHESS, 1_000_000, memory_mib=1)
    window.add([replace(record, id=n) for n in range(2 * (1 << 20) // bytes_a_game)])
    assert window.memory_bound
    assert window.games == (1 << 20) // bytes_a_game
    small = Window(CHESS, 3, memory_mib=1)
    small.add([record] * 9)
    assert (small.games, small.memory_bound) == (3, False)


def test_arrays_do_not_grow_with_the_games_that_passed_through() -> None:
    window = Window(CHESS, 10)
    record = random_game(CHESS, 1, plies=40)
    sizes = set()
    for _ in range(300):
        window.add([record])
        sizes.add(len(window.states))
    assert max(sizes) <= 1024
    assert len(window._entry_moves) <= 8192


def test_window_sizes() -> None:
    plain = WindowConfig(games=500)
    assert [window_games(plain, n) for n in (0, 1, 400, 9000)] == [1, 1, 400, 500]
    growing = WindowConfig(games=50_000, start=1000)
    sizes = [window_games(growing, n) for n in (500, 1000, 2000, 10_000, 100_000, 10**9)]
    assert sizes[:2] == [500, 1000]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 50_000
    assert sizes[3] == int(1000 * (1 + 0.4 * (10**0.75 - 1) / 0.75))


def test_sampling_is_uniform_and_depends_on_seed_and_step_alone() -> None:
    window = Window(CHESS, 1)
    window.add([random_game(CHESS, 1, plies=10)])
    np.testing.assert_array_equal(window.draw(64, 3, 5).planes, window.draw(64, 3, 5).planes)
    assert not np.array_equal(window.draw(64, 3, 5).planes, window.draw(64, 3, 6).planes)
    drawn = np.concatenate([window.draw(200, 0, step).planes[:, 113, 0, 0] for step in range(10)])
    counts = Counter(drawn.tolist())  # by ply
    assert sorted(counts) == list(range(10))
    assert min(counts.values()) > 150


def test_a_row_without_target_is_never_drawn_and_a_broken_one_is_said() -> None:
    record = random_game(CHESS, 2, plies=10, every=3)
    window = Window(CHESS, 2)
    window.add([replace(record, target_shares=np.zeros_like(record.target_shares))])
    assert len(window) == record.targets
    with pytest.raises(DataError, match="without a policy target"):
        window.batch(np.zeros(1, np.int64))
