"""Values as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from az_engine.engine.games import get_game
from az_engine.engine.info import Calibration, Wdl, centipawns
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions


def test_known_centipawns() -> None:
    assert centipawns(0.0) == 0
    assert centipawns(0.5) == pytest.approx(90, abs=2)
    assert centipawns(1.0) == pytest.approx(12_800, abs=50)


@given(st.floats(-0.99, 0.99), st.floats(0.2, 2), st.floats(0.15, 1), st.floats(0, 1), st.integers(2, 32))
def test_calibrated_chances_and_their_score(mean: float, half: float, spread: float, share: float, men: int) -> None:
    calibration = Calibration(half, spread, share)
    wdl = Wdl(*map(float, calibration.chances(mean, men)))
    assert min(wdl.win, wdl.draw, wdl.loss) >= 0
    assert wdl.win + wdl.draw + wdl.loss == pytest.approx(1)
    assert calibration.chances(-mean, men) == pytest.approx((wdl.loss, wdl.draw, wdl.win))
    if min(wdl.win, wdl.draw, wdl.loss) > 1e-9:
        x, at_half = math.log((1 + mean) / (1 - mean)), half * math.exp(share * (1 - men / 16))
        score = get_game("chess").centipawns(wdl, EngineOptions())
        assert score == pytest.approx(100 * x / at_half, rel=1e-3, abs=1)


def test_plus_one_is_a_half_chance_to_win() -> None:
    chess, options = get_game("chess"), EngineOptions()
    assert chess.calibration is not None
    wdl = Wdl(*map(float, chess.calibration.chances(math.tanh(chess.calibration.half / 2), 16)))
    assert wdl.win == pytest.approx(0.5)
    assert chess.centipawns(wdl, options) == 100
    assert chess.centipawns(Wdl(wdl.loss, wdl.draw, wdl.win), options) == -100
    certain = chess.centipawns(Wdl(1.0, 0.0, 0.0), options)
    assert certain > chess.centipawns(Wdl(*map(float, chess.calibration.chances(1.0, 32))), options) > 1000


@given(st.floats(0, 1), st.floats(0, 1))
def test_permille_add_up(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    wdl = Wdl(low, high - low, 1 - high)
    permille = wdl.permille()
    assert sum(permille) == 1000
    assert min(permille) >= 0
    for chance, shown in zip((wdl.win, wdl.draw, wdl.loss), permille, strict=True):
        assert shown == pytest.approx(1000 * chance, abs=1.01)
    assert wdl.value == pytest.approx(low - (1 - high))


@pytest.mark.parametrize(
    ("limits", "bounded"),
    [
        (Limits(), False),
        (Limits(infinite=True, nodes=5), False),
        (Limits(nodes=0), True),
        (Limits(depth=3), True),
        (Limits(mate=1), True),
        (Limits(movetime=0), True),
        (Limits(time=(None, 5)), True),
        (Limits(byoyomi=1000), True),
        (Limits(increment=(5, 5)), False),
    ],
)
def test_bounded(limits: Limits, bounded: bool) -> None:
    assert limits.bounded == bounded
