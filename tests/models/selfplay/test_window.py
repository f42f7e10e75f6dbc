"""The window: what it hands out is what was played, however much has fallen out of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.games.base import Game
from az_engine.models.selfplay.replay import GameRecord
from az_engine.models.selfplay.window import Window, WindowConfig, replayed, window_games

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


def test_replayed_positions_are_those_of_the_rules() -> None:
    record = random_game(CHESS, 4, plies=50)
    line = CHESS.initial()
    for move in record.moves[:-1].tolist():
        line = CHESS.play(line, move)
    np.testing.assert_array_equal(replayed(CHESS, record), line)


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
