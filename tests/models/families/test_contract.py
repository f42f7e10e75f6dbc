"""What holds for every family of networks, also for one that nothing outside its folder knows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from az_engine.engine.engine import Engine
from az_engine.engine.errors import OptionError
from az_engine.engine.games.base import Game
from az_engine.engine.limits import Limits
from az_engine.engine.nets.file.fit import check_net
from az_engine.engine.nets.file.netfile import read_outline
from az_engine.engine.nets.onnx.session import raw_session
from az_engine.engine.params import EngineOptions
from az_engine.models import families
from az_engine.models.data.dataset import Positions, Sampling
from az_engine.models.data.games.chess import read_folder
from az_engine.models.data.shards import TargetOptions
from az_engine.models.families.base import Family, NetFile
from az_engine.models.families.config import NetConfig
from az_engine.models.net import probes
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.train import checkpoint
from az_engine.models.train.config import Intervals, LearnerConfig, Length
from az_engine.models.train.learner import Learner
from az_engine.models.train.loop import Callbacks, run
from az_engine.models.train.origin import network_at, origin

from ..samples import CHESS, SAMPLE, rows

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
SETTINGS: dict[str, dict[str, Any]] = {  # small ones; a family not named here has its defaults
    "dual-res": {"blocks": 1, "filters": 8, "value_hidden": 16, "value_filters": 4},
    "sep-conv": {"blocks": 2, "filters": 8, "value_hidden": 16, "history": 2, "value_head": "value"},
    "sparse": {"filters": 32, "value_filters": 2},
}
KINDS = ("dual-res", "sep-conv", "sparse", "linear_net")
LEARNING = LearnerConfig(batch=16, warmup=2, precision="fp32", rate=0.02, seed=3, ema=0.5)


@dataclass(frozen=True)
class Case:
    """A kind of network, chess as it sees it, and labelled positions."""

    family: Family
    game: Game
    net: NetConfig
    train: Positions
    heldout: Positions

    def learner(self) -> Learner:
        return Learner(self.game, self.net, LEARNING, threads=1)


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """The families of ``examples/`` are known."""
    families.register_path(EXAMPLES)
    yield
    families.__path__.remove(str(EXAMPLES))


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Case:
    family = families.family_of(request.param)
    game = CHESS.using(family.encoder)
    net = family.configured(game, {"kind": request.param, **SETTINGS.get(request.param, {})})
    train, heldout = read_folder(game, [SAMPLE], TargetOptions())
    sampling = Sampling(follow=family.follows, history=net.history)
    return Case(family, game, net, replace(train, sampling=sampling), heldout)


@pytest.fixture(scope="module")
def learner(case: Case) -> Learner:
    """One that has learned from one batch, twenty times."""
    learner = case.learner()
    batch = case.train.batch(rows(16, case.train))
    assert (batch.after is not None) == case.family.follows
    losses = [learner.train_step(batch) for _ in range(20)]
    for name in ("loss", "policy", "value"):
        assert losses[-1][name] < 0.97 * losses[0][name], name
    return learner


@pytest.fixture(scope="module")
def file(case: Case, learner: Learner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported net."""
    path = tmp_path_factory.mktemp("nets") / "net.onnx"
    path.write_bytes(learner.averaged.to_onnx(learner.net_info(case.game)).SerializeToString())
    return path


def test_every_kind_is_tried() -> None:
    assert {families.family_of(kind).config for kind in KINDS} == {family.config for family in families.families()}


def test_its_file_says_what_torch_says(case: Case, learner: Learner, file: Path) -> None:
    planes = case.heldout.batch(rows(70, case.heldout)).planes
    got = probes.run(raw_session(str(file)), planes)
    expected = learner.averaged.arrays(planes)
    assert [y.shape for y in got] == [y.shape for y in expected]
    assert got[0].shape == (70, case.game.num_actions)
    assert all(y.std() > 0 for y in got)
    whole_numbers = learner.averaged.quantisation == "int8"  # these are rounded
    for mine, torchs in zip(got, expected, strict=True):
        assert np.abs(mine - torchs).max() < (0.2 if whole_numbers else 1e-4)


@pytest.mark.slow
def test_a_net_read_back_says_the_same(case: Case, file: Path) -> None:
    outline, content = read_outline(file)
    found = NetFile(file, content, check_net(outline, case.game))
    assert families.family_of_file(found) is case.family
    network = case.family.read(found, case.game)
    assert network.config == network_at(file, case.game) == case.net
    again = network.to_onnx(found.info).SerializeToString()
    planes = case.heldout.batch(rows(20, case.heldout)).planes
    for a, b in zip(*(probes.run(raw_session(model), planes) for model in (content, again)), strict=True):
        assert np.abs(a - b).max() < 1e-4
    learner = case.learner()
    learner.begin_from(origin(file, case.game))
    assert learner.train_step(case.train.batch(rows(16, case.train)))["loss"] > 0


@pytest.mark.slow
def test_a_stopped_run_goes_on_bit_for_bit(case: Case, tmp_path: Path) -> None:
    rare = Intervals(measure_minutes=1e9, checkpoint_minutes=1e9)

    def trained(folder: str, *stops: int) -> dict[str, torch.Tensor]:
        for stop in (*stops, 99):
            learner = case.learner()
            callbacks = Callbacks(stop=lambda at=stop, who=learner: who.step >= at)  # type: ignore[misc]
            finished = run(learner, case.train, case.heldout, tmp_path / folder, Length(steps=8), rare, callbacks)
            assert finished == (stop == 99)
        saved = checkpoint.of_run(tmp_path / folder)
        assert families.config_of(saved.state["net"]) == case.net
        return saved.tensors

    whole, parts = trained("whole"), trained("parts", 2, 5)
    assert whole.keys() == parts.keys()
    assert all(torch.equal(tensor, parts[name]) for name, tensor in whole.items())


def test_it_plays(case: Case, file: Path) -> None:
    engine = Engine("chess", EngineOptions(weights_file=str(file), hash_mb=16, threads=1))
    try:
        engine.set_position(None, [])
        answers: list[Any] = []
        engine.go(Limits(nodes=40), lambda info: None, answers.append)
        assert engine.wait(120.0)
        assert answers[0].error is None
        assert answers[0].move in engine.legal_moves()
        assert case.net.architecture in engine.description
    finally:
        engine.close()


def test_self_play_is_for_those_that_see_the_games_own_planes(case: Case) -> None:
    own = RunConfig.from_values({"game": "chess", "net": {"kind": case.net.kind, **SETTINGS.get(case.net.kind, {})}})
    if case.family.plays_itself:
        assert own.net_config(CHESS).kind == case.net.kind
    else:
        with pytest.raises(OptionError, match="from records alone"):
            own.net_config(CHESS)


def test_the_settings_of_all_families_become_flags_with_a_meaning() -> None:
    [first] = [f for f in families.all_settings().__dataclass_fields__.values() if f.name == "first_weights"]  # type: ignore[attr-defined]
    assert first.metadata["setting"].meaning == "linear_net: standard deviation of the value's first weights"
    kind = families.all_settings().__dataclass_fields__["kind"].metadata["setting"]  # type: ignore[attr-defined]
    assert "; linear_net: a bias for each action" in kind.meaning
    with pytest.raises(OptionError, match=r"no kind of network 'triple'; there are dual-res, .*linear_net"):
        families.family_of("triple")


@pytest.mark.slow  # three commands
def test_a_family_of_ones_own_trains_and_plays(tmp_path: Path) -> None:
    """By commands alone: trained in two starts, its nets play."""

    def az_engine(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "az_engine", *map(str, words)]
        environment = {**os.environ, "AZ_ENGINE_FAMILIES": str(EXAMPLES)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)

    out = tmp_path / "run"
    train = ("train", "--kind", "linear_net", "--supervised", SAMPLE, "--batch", 32, "--out", out)
    for steps in (10, 20):
        done = az_engine(*train, "--steps", steps)
        assert done.returncode == 0, done.stderr
    assert "20 steps of 32" in (out / "card.md").read_text()
    done = az_engine("match", "-A", out, "-B", "uniform", "--games", 2, "--visits", 8, "--max-plies", 30)
    assert done.returncode == 0, done.stderr
    assert "of 2" in done.stdout
    wrong = az_engine(*train, "--steps", 30, "--blocks", 3)
    assert (wrong.returncode, wrong.stderr) == (2, "az-engine: a linear_net network has no --blocks; leave it out\n")


def test_a_family_is_one_short_folder_and_nobody_outside_names_it() -> None:
    files = sorted((EXAMPLES / "linear_net").glob("*.py"))
    assert sum(path.read_text().count("\n") for path in files) <= 150
    sources = [path for room in ("models", "src") for path in (ROOT / room).rglob("*.py")]
    assert len(sources) > 100
    for path in sources:
        text = path.read_text()
        assert "linear_net" not in text, path
        assert "sparse" in path.parts or "sparse" not in text.lower(), path
        if "families" not in path.parts:
            assert not re.search(r"\b(net|args|config)\.kind [!=]= |isinstance\(.*Network\)", text), path
