"""The resignation threshold."""

from __future__ import annotations

import numpy as np
import pytest

from az_engine.models.selfplay.config import ResignConfig
from az_engine.models.selfplay.nets.resignation import ResignControl
from az_engine.models.selfplay.store.replay import GameRecord


def game(outlooks: list[float], result: int, *, played_on: bool = True, reason: str = "rules") -> GameRecord:
    n = len(outlooks)
    values = np.array(outlooks, np.float32)
    empty = np.zeros(0, np.uint16)
    return GameRecord(
        0, (0, 0), np.zeros(n, np.uint16), values, values, 0 * values, np.zeros(n, np.uint16), empty,
        empty.astype(np.float32), result, reason, played_on=played_on,
    )  # fmt: skip


def filled(wrong: int, right: int) -> ResignControl:
    """``right`` games that the second player, at -0.8, loses; ``wrong`` that it saves."""
    control = ResignControl(ResignConfig(least=10))
    for i in range(wrong + right):
        control.add(game([0.1, -0.8, 0.8, -0.95], -1 if i < wrong else 1))
    return control


def test_the_threshold_is_the_highest_that_is_seldom_wrong() -> None:
    assert filled(0, 40).threshold() == pytest.approx(-0.5)
    assert filled(2, 38).threshold() == pytest.approx(-0.5)  # exactly 5 %
    assert filled(3, 37).threshold() is None


def test_a_lower_threshold_is_found_where_the_high_one_is_wrong() -> None:
    control = ResignControl(ResignConfig(least=10))
    for i in range(100):
        control.add(game([0.0, -0.7, 0.7, -0.97], 1) if i % 2 else game([0.0, -0.7, 0.2, -0.3], -1))
    threshold = control.threshold()
    assert threshold is not None
    assert -0.97 < threshold <= -0.7
    assert control.counts(threshold) == (50, 0)
    assert control.false_positives(-0.6) == 0.5


def test_a_threshold_needs_games_that_it_would_have_ended() -> None:
    """The first nets find every position even; one game that happens to fit allows nothing."""
    control = ResignControl(ResignConfig(least=10))
    for _ in range(200):
        control.add(game([0.1, -0.1, 0.1, -0.1], 1))
    for given_up in range(1, 21):
        assert control.threshold() is None
        control.add(game([0.1, -0.8, 0.8, -0.95], 1))
        assert control.counts(-0.5) == (given_up, 0)
    assert control.threshold() == pytest.approx(-0.5)


def test_a_new_net_that_gives_up_too_early_ends_it_though_the_old_ones_were_right() -> None:
    control = filled(0, 400)
    for _ in range(5):
        control.add(game([0.1, -0.8, 0.8, -0.95], -1))
    assert control.counts(-0.5) == (405, 5)
    assert control.counts(-0.5, 10) == (10, 5)
    assert control.threshold() is None


def test_too_few_games_or_switched_off_means_nobody_resigns() -> None:
    assert filled(0, 9).threshold() is None
    control = ResignControl(ResignConfig(enabled=False, least=1))
    control.add(game([0.0, -0.9], 1))
    assert control.threshold() is None
    assert control.false_positives(None) is None


def test_only_games_in_which_nobody_could_resign_are_evidence() -> None:
    control = ResignControl(ResignConfig(least=1))
    control.add(game([0.0, -0.9], 1, played_on=False))
    control.add(game([0.0, -0.9], 1, played_on=False, reason="resigned"))
    assert control.counts(-0.5) == (0, 0)
    assert list(control.resigned) == [False, True]
