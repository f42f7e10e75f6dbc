"""From the learner's weights to the net that plays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from az_engine.engine.errors import DataError
from az_engine.engine.games import get_game
from az_engine.engine.nets.netinfo import PREFIX
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.engine.nets.opinions import expected_points
from az_engine.engine.nets.positions import random_planes
from az_engine.models.net import probes
from az_engine.models.selfplay.nets.publish import publish
from az_engine.models.train.config import LearnerConfig
from az_engine.models.train.learner import Learner
from az_engine.models.train.origin import network_at, origin

GO = get_game("go")
DEFAULT = Path("default")


@pytest.fixture(scope="module")
def learner() -> Learner:
    """A learner that begins with the Go net inside the package."""
    made = Learner(GO, network_at(DEFAULT, GO), LearnerConfig(precision="fp32"))
    made.begin_from(origin(DEFAULT, GO))
    return made


@pytest.mark.slow
def test_a_run_that_begins_with_a_net_plays_with_int8_at_once(learner: Learner, tmp_path: Path) -> None:
    """No position of the run is there to calibrate on yet."""
    said: list[str] = []
    path = publish(learner, GO, None, tmp_path / "net.onnx", boards=(9,), trained_on="", int8=True, say=said.append)
    assert said == []
    model = onnx.load(path)
    assert {p.key: p.value for p in model.metadata_props}[PREFIX + "quantisation"] == "int8"
    planes = random_planes(GO, 64, 1)
    with torch.no_grad():
        policy, value = (y.numpy() for y in learner.averaged(torch.from_numpy(planes))[:2])
    got = probes.run(raw_session(model.SerializeToString()), planes)
    assert (got[0].argmax(axis=1) == policy.argmax(axis=1)).mean() > 0.75
    difference = expected_points(got[1]) - expected_points(value)
    assert float(np.abs(difference).mean()) < 0.05
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


@pytest.mark.slow
def test_weights_that_are_not_finite_are_not_published(tmp_path: Path) -> None:
    broken = Learner(GO, network_at(DEFAULT, GO), LearnerConfig(precision="fp32"))
    with torch.no_grad():
        next(broken.averaged.parameters())[0] = torch.nan
    with pytest.raises(DataError, match=r"not finite \(tower\.0\.conv\.weight\); lower learner\.rate"):
        publish(broken, GO, None, tmp_path / "net.onnx", boards=(9,), trained_on="", int8=False, say=print)
    assert not list(tmp_path.iterdir())
