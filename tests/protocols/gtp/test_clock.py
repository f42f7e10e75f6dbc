"""Clocks over GTP: what each system makes of a move's limits, with and without time_left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from az_engine.engine.limits import Limits
from az_engine.protocols.gtp.board import GtpError
from az_engine.protocols.gtp.clock import PlayerClock, TimeSystem, read_kind, read_time_settings


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("0 0 0", TimeSystem(0.0)),
        ("600 0 0", TimeSystem(600.0)),
        ("600 0 25", TimeSystem(600.0)),
        ("600 300 25", TimeSystem(600.0, 300.0, 25)),
        ("0 1 1", TimeSystem(0.0, 1.0, 1)),
        ("0 1 0", TimeSystem()),
        ("1 1 0", TimeSystem()),  # what q5Go sends for: no limit
        ("1e400 0 0", TimeSystem(1e8)),
    ],
)
def test_time_settings(words: str, expected: TimeSystem) -> None:
    assert read_time_settings(words.split()) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("none", TimeSystem()),
        ("absolute 60", TimeSystem(60.0)),
        ("byoyomi 60 30 5", TimeSystem(60.0, 30.0, 1, 5)),
        ("canadian 60 300.5 25", TimeSystem(60.0, 300.5, 25)),
        ("fischer 60 2", TimeSystem(60.0, increment=2.0)),
    ],
)
def test_kinds(words: str, expected: TimeSystem) -> None:
    assert read_kind(words.split()) == expected


@pytest.mark.parametrize("words", ["", "none 1", "absolute", "byoyomi 1 2", "canadian 1 2 x", "sundial 1"])
def test_bad_kinds(words: str) -> None:
    with pytest.raises(GtpError, match="syntax error"):
        read_kind(words.split())


def test_untimed_games_have_no_limits_until_a_controller_gives_a_time() -> None:
    clock = PlayerClock(TimeSystem())
    clock.spend(5.0)
    assert clock.limits(0) is None
    clock.correct(12.5, 0)
    assert clock.limits(1) == Limits(time=(None, 12500))


def test_absolute_time_runs_down_by_itself_and_may_go_below_zero() -> None:
    clock = PlayerClock(TimeSystem(10.0))
    assert clock.limits(0) == Limits(time=(10000, None))
    clock.spend(4.0)
    assert clock.limits(0) == Limits(time=(6000, None))
    clock.spend(7.0)
    assert clock.limits(0) == Limits(time=(0, None))
    clock.correct(-3, 0)
    assert clock.limits(0) == Limits(time=(0, None))


def test_what_a_move_has_taken_already_is_no_longer_there() -> None:
    assert PlayerClock(TimeSystem(10.0)).limits(0, 4.0) == Limits(time=(6000, None))
    assert PlayerClock(TimeSystem(0.0, 5.0, 1)).limits(1, 2.0) == Limits(time=(None, -2000), byoyomi=3000)
    assert PlayerClock(TimeSystem(0.0, 5.0, 1)).limits(1, 9.0) == Limits(time=(None, -9000), byoyomi=0)


def test_canadian_overtime() -> None:
    clock = PlayerClock(TimeSystem(10.0, 50.0, 5))
    assert clock.limits(0) == Limits(time=(10000, None), byoyomi=10000)
    clock.spend(12.0)
    assert clock.limits(0) == Limits(time=(48000, None), movestogo=4)
    for _ in range(3):
        clock.spend(10.0)
    assert clock.limits(0) == Limits(time=(0, None), byoyomi=18000), "what is left of it is lost"
    clock.spend(10.0)
    assert clock.limits(0) == Limits(time=(50000, None), movestogo=5)
    clock.correct(7, 2)
    assert clock.limits(0) == Limits(time=(7000, None), movestogo=2)
    clock.correct(3, 0)
    assert clock.limits(0) == Limits(time=(3000, None), byoyomi=10000)


def test_japanese_byo_yomi() -> None:
    clock = PlayerClock(TimeSystem(10.0, 30.0, 1, 3))
    assert clock.limits(1) == Limits(time=(None, 10000), byoyomi=30000)
    clock.spend(20.0)
    assert clock.limits(1) == Limits(time=(None, 0), byoyomi=30000)
    clock.spend(29.0)
    assert clock.limits(1) == Limits(time=(None, 0), byoyomi=30000), "each move has a whole period"
    clock.correct(25, 3)  # KGS: three periods left, 25 s of this one
    assert clock.limits(1) == Limits(time=(None, 0), byoyomi=25000)


def test_fischer_time() -> None:
    clock = PlayerClock(TimeSystem(10.0, increment=2.0))
    clock.spend(5.0)
    assert clock.limits(0) == Limits(time=(7000, None), increment=(2000, 2000))


@given(
    st.lists(st.floats(0, 1e9), min_size=2, max_size=2),
    st.integers(0, 10**9),
    st.lists(st.tuples(st.floats(0, 1e4), st.none() | st.tuples(st.floats(-1e6, 1e6), st.integers(0, 9))), max_size=9),
)
def test_every_clock_gives_limits_that_end_the_search(
    times: list[float], stones: int, moves: list[tuple[float, tuple[float, int] | None]]
) -> None:
    clock = PlayerClock(read_time_settings([*map(str, times), str(stones)]))
    for spent, left in moves:
        if left is not None:
            clock.correct(*left)
        limits = clock.limits(0)
        assert limits is None or limits.bounded
        clock.spend(spent)


def test_capped_fischer_of_katago() -> None:
    system = read_kind("fischer-capped 60 10 65 20".split())
    clock = PlayerClock(system)
    limits = clock.limits(0, 0.5)
    assert limits is not None
    assert (limits.time[0], limits.increment, limits.movetime) == (59_500, (10_000, 10_000), 19_500)
    clock.spend(2.0)
    limits = clock.limits(0)
    assert limits is not None
    assert limits.time[0] == 65_000, "and no more"
    free = read_kind("fischer-capped 60 10 -1 -1".split())
    assert free == read_kind("fischer 60 10".split())
    for bad in ("fischer-capped 60 10 50 5", "fischer-capped 60 10 65", "fischer-capped 60 -1 65 5"):
        with pytest.raises(GtpError):
            read_kind(bad.split())
