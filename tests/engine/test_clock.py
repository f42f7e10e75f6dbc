"""The time manager: never loses on time, and spends well. Simulated games over thousands of clock settings."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from az_engine.engine.clock import Budget, Delays, Stopwatch, budget, moves_to_go
from az_engine.engine.limits import Limits

JITTER_MS = 10.0  # by which a search overruns its budget
MS = st.integers(-(10**6), 10**8)


TYPICAL = 45.0  # moves a side, as in chess


def clock_limits(left: float, increment: int = 0, movestogo: int | None = None, byoyomi: int = 0) -> Limits:
    """A clock of the first player."""
    return Limits(time=(int(left), 1), increment=(increment, 0), movestogo=movestogo, byoyomi=byoyomi)


def spend(found: Budget | None, instability: float = 0.0) -> float:
    """Milliseconds that a search uses of a budget."""
    assert found is not None
    return 1000.0 * found.allowed(instability)


def game(
    left: float,
    increment: int,
    overhead: int,
    moves: int,
    *,
    instability: float = 0.0,
    lag: float = 0.0,
    session: int | None = None,
) -> list[float]:
    """Milliseconds spent in each move of a game; fails when the clock runs out. ``session``: moves per time control."""
    spent, main, delays = list[float](), left, Delays()
    for move in range(moves):
        if session and move and move % session == 0:
            left += main
        limits = clock_limits(left, increment, session and session - move % session)
        delays.begin(limits, 0, 2 * move)
        found = budget(limits, 0, 2 * move, typical_moves=TYPICAL, overhead_ms=overhead, delays=delays)
        spent.append(spend(found, instability))
        delays.end(limits, 0, 2 * move, spent[-1])
        left -= spent[-1] + lag
        assert left > 0, f"flag fell at move {move + 1}: {spent[-5:]}"
        left += increment
    return spent


@pytest.mark.slow
@given(
    left=MS,
    increment=MS,
    movestogo=st.none() | st.integers(-5, 10**9),
    byoyomi=st.integers(-5, 10**6),
    movetime=st.none() | MS,
    overhead=st.integers(0, 10_000),
    last=st.none() | st.integers(0, 10_000),
    minimum=st.integers(0, 10_000),
    ply=st.integers(0, 12_000),
    ponder=st.booleans(),
    instability=st.floats(0, 1),
    typical=st.floats(10, 200),
)
@settings(max_examples=1500, deadline=None)
def test_no_move_ever_exceeds_its_clock(
    left: int,
    increment: int,
    movestogo: int | None,
    byoyomi: int,
    movetime: int | None,
    overhead: int,
    last: int | None,
    minimum: int,
    ply: int,
    ponder: bool,
    instability: float,
    typical: float,
) -> None:
    limits = Limits(
        time=(left, None), increment=(increment, 0), movestogo=movestogo, byoyomi=byoyomi, movetime=movetime
    )
    found = budget(
        limits, 0, ply, overhead_ms=overhead, last_overhead_ms=last, minimum_ms=minimum, ponder=ponder,
        typical_moves=typical,
    )  # fmt: skip
    assert found is not None
    assert 0.0 <= found.minimum <= found.optimum <= found.maximum
    used = spend(found, instability)
    main, byoyomi = max(left, 0), max(byoyomi, 0)
    kept = min(max(overhead, last or 0), main + byoyomi / 2 if byoyomi else max(main / 2, overhead))
    assert used == 0.0 or used + kept + JITTER_MS <= main + byoyomi
    if movetime is not None:
        assert used <= max(movetime, 0) + 1e-6  # ms, rounded to the nearest double of seconds


@pytest.mark.slow
@given(
    left=st.integers(3_000, 6 * 3_600_000),
    increment=st.integers(0, 60_000),
    overhead=st.integers(0, 100),
    session=st.none() | st.integers(1, 60),
    instability=st.floats(0, 1),
    lag=st.floats(0, 1),
)
@settings(max_examples=300, deadline=None)
def test_whole_games_are_never_lost_on_time(
    left: int, increment: int, overhead: int, session: int | None, instability: float, lag: float
) -> None:
    """60 moves, every search 10 ms too long, a lag of up to a fifth of the overhead."""
    left = max(left, 40 * overhead + 4_000)
    game(left, increment, overhead, 60, instability=instability, lag=lag * overhead / 5 + JITTER_MS, session=session)


@pytest.mark.slow
@given(left=st.integers(200, 100_000), increment=st.integers(60, 5_000), instability=st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_increments_that_cover_the_lag_carry_any_game(left: int, increment: int, instability: float) -> None:
    game(left, increment, 30, 600, instability=instability, lag=40.0)


@pytest.mark.parametrize("instability", [0.0, 0.3])
@pytest.mark.parametrize("left", [10_000, 60_000, 600_000, 5_400_000])
def test_a_game_of_sixty_moves_uses_most_of_its_time_and_more_of_it_early(left: int, instability: float) -> None:
    spent = game(left, 0, 30, 60, instability=instability)
    assert 0.80 * left <= sum(spent) <= 0.997 * left
    assert sum(spent[:20]) > 1.1 * sum(spent[20:40]) > 1.1 * 1.3 * sum(spent[40:])
    assert max(spent) < 0.08 * left


def test_an_increment_is_used() -> None:
    spent = game(60_000, 1_000, 30, 80)
    assert sum(spent) > 0.9 * (60_000 + 80 * 1_000)
    assert spent[-1] > 800


def test_time_controls_are_used_up() -> None:
    assert sum(game(60_000, 0, 30, 40, session=40)) > 0.85 * 60_000
    last = spend(budget(clock_limits(10_000, movestogo=1), 0, 78, typical_moves=TYPICAL))
    assert 9_000 < last < 9_800


def test_an_unstable_choice_gets_more_but_never_the_whole_clock() -> None:
    found = budget(clock_limits(60_000), 0, 20, typical_moves=TYPICAL)
    assert found is not None
    assert found.allowed(0.0) == found.optimum
    assert found.allowed(7.0) == found.maximum == 3 * found.optimum
    assert not found.should_stop(found.optimum * 0.99)
    assert found.should_stop(found.optimum)
    assert not found.should_stop(found.optimum, instability=0.5)


def test_pondering_is_bolder() -> None:
    plain, ponder = (budget(clock_limits(60_000), 0, 20, typical_moves=TYPICAL, ponder=p) for p in (False, True))
    assert plain is not None
    assert ponder is not None
    assert ponder.optimum == pytest.approx(1.25 * plain.optimum)


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        (Limits(movetime=1000), 0.970),
        (Limits(movetime=40), 0.020),
        (Limits(movetime=1), 0.0005),
        (Limits(movetime=0), 0.0),
        (Limits(movetime=-7), 0.0),
        (Limits(time=(0, 0)), 0.0),
        (Limits(time=(-500, 1000)), 0.0),
        (Limits(time=(None, 60_000)), 0.0),
        (Limits(time=(40, 40)), 0.0),
        (Limits(byoyomi=1000), 0.955),
        (Limits(time=(0, 0), byoyomi=1000), 0.955),
        (Limits(time=(0, 0), byoyomi=20), 0.0),
    ],
)
def test_plain_cases(limits: Limits, seconds: float) -> None:
    found = budget(limits, 0, 0, typical_moves=TYPICAL)
    assert found is not None
    assert found.maximum == pytest.approx(seconds)
    assert found.optimum == pytest.approx(seconds)


def test_no_time_means_no_budget() -> None:
    for limits in (Limits(), Limits(nodes=5), Limits(infinite=True, movetime=5), Limits(increment=(5, 5))):
        assert budget(limits, 0, 0, typical_moves=TYPICAL) is None


def test_the_tighter_of_two_times_holds() -> None:
    found = budget(Limits(movetime=100, time=(3_600_000, 0)), 0, 0, typical_moves=TYPICAL)
    assert found is not None
    assert found.maximum == pytest.approx(0.07)
    found = budget(Limits(movetime=10_000, time=(1000, 0)), 0, 0, typical_moves=TYPICAL)
    assert found is not None
    assert found.maximum < 0.5
    clock = Limits(time=(60_000, 0), increment=(1000, 0))
    alone, capped = (budget(limits, 0, 0, typical_moves=TYPICAL) for limits in (clock, replace(clock, movetime=5000)))
    assert alone is not None
    assert capped is not None
    assert capped.maximum == pytest.approx(4.97)
    assert capped.optimum == alone.optimum < capped.maximum < alone.maximum
    assert not replace(clock, movetime=5000).fixed, "what is saved is kept on the clock"


@pytest.mark.parametrize("clock", [{"time": (3 * 86_400_000, 0)}, {"byoyomi": 86_400_000}, {"increment": (10**8, 0)}])
def test_a_clock_of_days_is_not_spent_on_one_move(clock: dict[str, Any]) -> None:
    found = budget(Limits(**{"time": (1000, 1000), **clock}), 0, 0, typical_moves=TYPICAL)
    assert found is not None
    assert found.optimum <= 300
    assert found.maximum <= 600


def test_each_side_has_its_own_clock() -> None:
    limits = Limits(time=(600_000, 6_000), increment=(0, 0))
    white, black = budget(limits, 0, 0, typical_moves=TYPICAL), budget(limits, 1, 0, typical_moves=TYPICAL)
    assert white is not None
    assert black is not None
    assert 90 < white.optimum / black.optimum < 150


def test_main_time_and_byoyomi_are_spent_together_until_only_byoyomi_is_left() -> None:
    left, spent = 600_000.0, []
    for move in range(90):
        used = spend(budget(clock_limits(left, byoyomi=10_000), 0, 2 * move, typical_moves=TYPICAL))
        assert used + 30 + JITTER_MS <= left + 10_000
        spent.append(used)
        left = max(left - used, 0.0)
    assert spent[0] > 20_000
    assert spent[-1] == pytest.approx(9_955, abs=60)


@pytest.mark.parametrize(
    ("byoyomi", "last", "expected"),
    [
        (10_000, 1_120, 8_865.0),
        (1_000, 400, 585.0),
        (1_000, 1_120, 485.0),  # half of a byoyomi is used, however large the delays are said to be
        (1_000, 60_000, 485.0),
    ],
)
def test_byoyomi_and_the_worst_delay(byoyomi: int, last: int, expected: float) -> None:
    for left in (0, -300):
        limits = Limits(time=(left, 0), byoyomi=byoyomi)
        found = budget(limits, 0, 100, typical_moves=60.0, overhead_ms=120, last_overhead_ms=last, minimum_ms=2_000)
        assert spend(found, 1.0) == pytest.approx(expected)
        assert spend(found, 0.0) == pytest.approx(expected)


@given(
    left=st.integers(2_000, 600_000),
    increment=st.integers(0, 30_000),
    byoyomi=st.sampled_from([0, 0, 1_000, 3_000, 10_000]),
    seed=st.integers(0, 10**9),
    instability=st.floats(0, 1),
    minimum=st.sampled_from([0, 1_000, 2_000]),
)
@settings(max_examples=80, deadline=None)
def test_no_shogi_game_is_lost_on_time(
    left: int, increment: int, byoyomi: int, seed: int, instability: float, minimum: int
) -> None:
    """Every delay up to the worst announced, learned as the engine does; the increment comes before the move (USI)."""
    announced, worst, stalled, chance, delays = 120, 500, 0, random.Random(seed), Delays()
    paid = byoyomi or increment >= worst  # else a long game's delays alone use up its clock
    left = left if paid else 10 * left
    for move in range(200 if paid else 60):
        delay = chance.randint(0, worst - 20 if paid else announced)
        limits = Limits(time=(left + increment, 0), increment=(increment, 0), byoyomi=byoyomi)
        delays.begin(limits, 0, 2 * move)
        found = budget(limits, 0, 2 * move, typical_moves=60.0, overhead_ms=announced, last_overhead_ms=worst,
                       minimum_ms=minimum, delays=delays)  # fmt: skip
        used = spend(found, instability)
        delays.end(limits, 0, 2 * move, used)
        stalled += used == 0.0
        left += increment - int(used + delay + JITTER_MS)
        assert left + byoyomi >= 0, f"flag fell at move {move + 1}"
        left = max(left, 0)
    assert stalled == 0 or not byoyomi


def test_a_clock_that_affords_it_gives_the_minimum() -> None:
    for left, expected in ((3_600_000, 2_000.0), (60_000, 2_000.0)):
        found = budget(clock_limits(left), 0, 0, typical_moves=60.0, minimum_ms=2_000)
        assert found is not None
        assert 1000 * found.minimum == expected
    found = budget(clock_limits(5_000), 0, 0, typical_moves=60.0, minimum_ms=2_000)
    assert found is not None
    assert found.minimum == found.optimum == found.maximum < 0.3
    found = budget(Limits(movetime=500), 0, 0, typical_moves=60.0, minimum_ms=2_000)
    assert found is not None
    assert found.maximum < 0.5


class FastGame:
    """A game of fast moves: the searches take 3 ms longer than they may, the GUI and the wire some ms more."""

    def __init__(
        self, left: float, increment: int = 0, byoyomi: int = 0, *, delay: float = 0.0, worst: float | None = None
    ) -> None:
        self.left, self._increment, self._byoyomi, self._delay, self._worst = left, increment, byoyomi, delay, worst
        self._delays = Delays()
        self.spent = list[float]()  # ms by move

    def move(self, instability: float = 0.0, overhead: int = 30) -> bool:
        """Whether our next move comes in time."""
        ply = 2 * len(self.spent)
        limits = clock_limits(self.left, self._increment, byoyomi=self._byoyomi)
        self._delays.begin(limits, 0, ply)
        found = budget(
            limits,
            0,
            ply,
            typical_moves=TYPICAL,
            overhead_ms=overhead,
            last_overhead_ms=self._worst,
            delays=self._delays,
        )
        self.spent.append(spend(found, instability))
        self._delays.end(limits, 0, ply, self.spent[-1])
        self.left -= self.spent[-1] + 3.0 + self._delay
        in_time = self.left + self._byoyomi >= 0
        self.left = max(self.left, 0.0) + self._increment
        return in_time


@pytest.mark.parametrize("instability", [0.0, 0.5])
@pytest.mark.parametrize("delay", [1.0, 4.0, 8.0])
@pytest.mark.parametrize(("left", "increment"), [(500, 10), (1_000, 10), (1_000, 0), (2_000, 20)])
def test_fast_clocks_are_used_for_searching(left: int, increment: int, delay: float, instability: float) -> None:
    """They were not: the default overhead, set aside for 39 later moves, left less than a millisecond of 0.5+0.01."""
    game = FastGame(left, increment, delay=delay)
    assert all(game.move(instability) for _ in range(60))
    assert game.left < 0.25 * (left + 60 * increment)
    assert game.spent[0] >= 7.0
    assert sum(game.spent[:30]) > sum(game.spent[30:])


@pytest.mark.parametrize(("left", "increment"), [(500, 10), (1_000, 10), (1_000, 0), (2_000, 20)])
def test_the_worst_delay_of_usi_leaves_a_search_on_a_clock_that_has_less(left: int, increment: int) -> None:
    game = FastGame(left, increment, delay=4.0, worst=1_120.0)
    assert all(game.move(overhead=120) for _ in range(60))
    assert min(game.spent[:20]) >= 2.0


@pytest.mark.parametrize(
    ("left", "increment", "moves"),
    [(500, 10, 19), (1_000, 10, 38), (1_000, 0, 28), (2_000, 20, 85), (2_000, 40, 300)],
)
def test_long_delays_leave_hardly_a_search_but_most_of_the_moves_that_are_possible(
    left: int, increment: int, moves: int
) -> None:
    """30 ms of delay and 3 of search use up 0.5+0.01 within 21 moves, 1+0.01 within 43, 1+0 within 30."""
    game = FastGame(left, increment, delay=30.0)
    assert all(game.move() for _ in range(moves))


@pytest.mark.parametrize("delay", [2.0, 30.0, 110.0])
@pytest.mark.parametrize(("left", "byoyomi"), [(0, 200), (1_000, 200), (1_000, 1_000), (10_000, 500)])
def test_byoyomi_is_used_and_never_exceeded(left: int, byoyomi: int, delay: float) -> None:
    game = FastGame(left, 0, byoyomi, delay=delay)
    assert all(game.move(overhead=120) for _ in range(150))
    assert game.spent[-1] > byoyomi - min(120, byoyomi / 2) - 20


def test_delays_are_learned_from_the_moves_of_one_game() -> None:
    delays = Delays()
    assert delays.expected(30.0) == 30.0
    left = 10_000.0
    for move in range(10):
        limits = clock_limits(left, 100)
        delays.begin(limits, 0, 2 * move)
        delays.end(limits, 0, 2 * move, 200.0)
        left += 100 - 200.0 - (4.0 if move % 2 else 8.0)
    assert len(delays.seen) == 9
    assert delays.expected(30.0) in (4.0, 6.0, 8.0)
    limits = clock_limits(left - 2_000, 100)
    delays.begin(limits, 0, 20)  # held up once
    assert delays.expected(30.0) == 8.0


def test_the_worst_delay_is_kept_on_the_clock_but_not_more_than_half_of_it() -> None:
    delays = Delays()
    delays.seen.extend([2.0, 3.0, 150.0])
    for left in (400, 200, 100):
        found = budget(clock_limits(left), 0, 100, typical_moves=TYPICAL, delays=delays)
        assert spend(found, 1.0) <= left - min(150, left / 2)
    assert spend(budget(clock_limits(400), 0, 100, typical_moves=TYPICAL, delays=delays)) > 0


@pytest.mark.parametrize(
    ("limits", "ply"),
    [
        (clock_limits(9_000, 100), 24),  # moves were taken back, or it is another game
        (clock_limits(9_000, 200), 22),  # another time control
        (clock_limits(60_000, 100), 22),  # time was given
        (clock_limits(9_000, 100, movestogo=40), 22),
        (Limits(time=(None, 9_000), increment=(100, 0)), 22),
        (Limits(time=(9_000, 1), increment=(100, 0), uncertain=True), 22),  # nobody has told the clock
    ],
)
def test_nothing_is_learned_from_another_clock(limits: Limits, ply: int) -> None:
    delays = Delays()
    before = clock_limits(10_000, 100)
    delays.begin(before, 0, 20)
    delays.end(before, 0, 20, 500.0)
    delays.begin(limits, 0, ply)
    assert not delays.seen


def test_a_random_time_is_less_random_later() -> None:
    def seconds(ply: int, chance: float, rtime: int = 100) -> float:
        found = budget(Limits(rtime=rtime), 0, ply, typical_moves=TYPICAL, chance=chance)
        assert found is not None
        assert found.optimum == found.maximum
        return found.maximum

    assert seconds(0, 0.0) == seconds(100, 0.0) == pytest.approx(0.1)
    assert seconds(0, 0.5) == pytest.approx(0.125)
    assert seconds(100, 0.5) == pytest.approx(0.105)
    assert seconds(0, 0.9, -5) == 0.0


def test_moves_to_go_is_the_median_of_what_is_left() -> None:
    assert moves_to_go(0, 45.0) == 45.0
    for ply in (20, 60, 90, 140):
        survival = 1 / (1 + (ply / 2 / 45.0) ** 4)
        later = 1 / (1 + ((ply / 2 + moves_to_go(ply, 45.0)) / 45.0) ** 4)
        assert later == pytest.approx(survival / 2)
    assert min(moves_to_go(ply, 45.0) for ply in range(400)) > 12


def test_stopwatch() -> None:
    now = [100.0]
    watch = Stopwatch(lambda: now[0])
    now[0] += 1.2345
    assert watch.seconds == pytest.approx(1.2345)
    assert watch.milliseconds == 1234
    watch.restart()
    assert watch.seconds == 0.0
