"""Values as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from az_engine.engine.info import Wdl, centipawns
from az_engine.engine.limits import Limits


def test_known_centipawns() -> None:
    assert centipawns(0.0) == 0
    assert centipawns(0.5) == pytest.approx(90, abs=2)
    assert centipawns(1.0) == pytest.approx(12_800, abs=50)


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
