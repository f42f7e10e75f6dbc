"""The learner: it learns, it stops when it diverges, and a killed run goes on bit for bit."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from az_engine.engine.errors import DataError, OptionError
from az_engine.engine.os import files
from az_engine.models.data.dataset import Mixture, batch_indices
from az_engine.models.families.losses import Logits, TorchBatch, ownership_loss, policy_loss, score_loss, value_loss
from az_engine.models.families.tower.config import TowerConfig
from az_engine.models.storage import NewerFormat, RunLock
from az_engine.models.train import checkpoint, loop
from az_engine.models.train.checkpoint import Checkpoint
from az_engine.models.train.config import Intervals, LearnerConfig, Length
from az_engine.models.train.learner import Learner, learning_rate
from az_engine.models.train.log import Log, read_log
from az_engine.models.train.loop import Callbacks, run
from az_engine.models.train.muon import MuonAdamW

from ...fakes.clock import FakeClock
from ..samples import CHESS, GO, go_positions, rows, sample_positions, tiny, tiny_go

CONFIG = LearnerConfig(batch=16, warmup=4, precision="fp32", rate=0.005, seed=3)
RARE = Intervals(measure_minutes=1e9, checkpoint_minutes=1e9)


def learner_of(config: LearnerConfig = CONFIG, net: TowerConfig | None = None) -> Learner:
    return Learner(CHESS, net or tiny(squeeze=4), config)


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, optimiser="sgd", schedule="constant", rate=0.02)], ids=str)
@pytest.mark.parametrize("head", ["wdl", "value"])
def test_steps_on_one_batch_lower_its_loss(config: LearnerConfig, head: str) -> None:
    learner = learner_of(config, tiny(value_head=head, value_filters=4))
    data = sample_positions()[0]
    batch = data.batch(rows(16, data))
    losses = [learner.train_step(batch) for _ in range(30)]
    assert losses[-1]["policy"] < losses[0]["policy"] - 0.3
    assert losses[-1]["value"] < losses[0]["value"]
    assert learner.step == 30


def test_muon_moves_a_convolution_as_much_in_every_direction() -> None:
    """The first step of a random gradient: all singular values about equal, and as long as AdamW's would be."""
    matrix = nn.Parameter(torch.randn(24, 8, 3, 3).to(memory_format=torch.channels_last))
    other = nn.Parameter(torch.zeros(5))
    optimiser = MuonAdamW([matrix], [{"params": [other], "weight_decay": 0.0}], 0.01, 0.0)
    before = matrix.detach().clone()
    matrix.grad, other.grad = torch.randn_like(matrix), torch.ones(5)
    optimiser.step()
    step = (matrix.detach() - before).flatten(1)
    values = torch.linalg.svdvals(step)
    assert values.max() / values.min() < 2
    assert float((matrix.grad.flatten(1) * step).sum()) < 0  # downhill
    assert float(step.square().mean().sqrt()) == pytest.approx(0.2 * 0.01, rel=0.3)  # AdamW's usual step
    assert torch.allclose(other.detach(), torch.full((5,), -0.01), atol=1e-4)


def test_bf16_learns_too() -> None:
    learner = learner_of(replace(CONFIG, precision="bf16"))
    data = sample_positions()[0]
    batch = data.batch(rows(16, data))
    losses = [learner.train_step(batch)["loss"] for _ in range(20)]
    assert losses[-1] < losses[0] - 0.3


def test_the_losses_are_those_of_the_paper() -> None:
    data = sample_positions()[0]
    batch = TorchBatch.of(data.batch(rows(12, data)), torch.device("cpu"))
    logits = torch.randn(12, CHESS.num_actions, generator=torch.Generator().manual_seed(0))
    assert batch.legal is not None
    expected = 0.0
    for row in range(12):
        legal = [a for a in batch.legal[row].tolist() if a >= 0]
        total = math.log(sum(math.exp(float(logits[row, a])) for a in legal))
        pairs = zip(batch.actions[row].tolist(), batch.probabilities[row].tolist(), strict=True)
        expected -= sum(p * (float(logits[row, a]) - total) for a, p in pairs)
    assert float(policy_loss(Logits(logits), batch)) == pytest.approx(expected / 12, rel=1e-5)
    unmasked = policy_loss(Logits(logits), replace(batch, legal=None))
    assert float(unmasked) > float(policy_loss(Logits(logits), batch)) + 1
    values = torch.linspace(-1, 1, 12)[:, None]
    mean = sum((float(v) - float(w[0] - w[2])) ** 2 for v, w in zip(values, batch.wdl, strict=True)) / 12
    assert float(value_loss(values, batch.wdl)) == pytest.approx(mean, rel=1e-5)
    outputs = torch.randn(12, 3)
    chances = outputs.softmax(1)
    assert float(value_loss(outputs, batch.wdl)) == pytest.approx(
        float(-(batch.wdl * chances.log()).sum() / 12), rel=1e-5
    )


def test_measuring_counts_what_it_says() -> None:
    learner = learner_of()
    heldout = sample_positions()[1]
    batch = heldout.batch(np.arange(len(heldout)))
    assert batch.legal is not None
    with torch.no_grad():
        logits, output = (y.numpy() for y in learner.averaged(torch.from_numpy(batch.planes)))
    right = 0
    for row in range(len(batch)):
        legal = [a for a in batch.legal[row].tolist() if a >= 0]
        best = batch.actions[row][batch.probabilities[row].argmax()]
        right += max(legal, key=lambda a: float(logits[row, a])) == best
    chances = np.exp(output) / np.exp(output).sum(1, keepdims=True)
    errors = ((chances[:, 0] - chances[:, 2] - batch.z) ** 2).mean() / 4
    measured = learner.measure(heldout)
    assert measured.positions == len(heldout)
    assert measured.top1 == pytest.approx(right / len(heldout))
    assert measured.result_error == pytest.approx(errors, rel=1e-5)


def go_learner(config: LearnerConfig = CONFIG, **changes: object) -> Learner:
    return Learner(GO, tiny_go(**changes), config)


def test_ownership_and_score_are_learned() -> None:
    data = go_positions(9)[0]
    batch = data.batch(rows(16, data))
    learner = go_learner()
    losses = [learner.train_step(batch) for _ in range(60)]
    for name in ("policy", "value", "ownership", "score"):
        assert losses[-1][name] < 0.9 * losses[0][name], name
    assert losses[0]["loss"] == pytest.approx(
        losses[0]["policy"] + losses[0]["value"] + losses[0]["ownership"] + 0.2 * losses[0]["score"], rel=1e-5
    )
    heldout = go_positions(9)[1]
    whole = heldout.batch(np.arange(len(heldout)))
    assert whole.ownership is not None
    assert whole.score is not None
    with torch.no_grad():
        said = dict(zip(learner.net_config.outputs, learner.averaged(torch.from_numpy(whole.planes)), strict=True))
    measured = learner.measure(heldout)
    assert measured.board == "9x9"
    assert measured.ownership == pytest.approx(
        ((said["ownership"].numpy() - whole.ownership) ** 2).mean() / 4, rel=1e-4
    )
    assert measured.score == pytest.approx(np.abs(said["score"][:, 0].numpy() - whole.score).mean(), rel=1e-4)


def test_what_the_data_do_not_say_cannot_be_learned() -> None:
    data = go_positions(9)[0]
    batch = replace(data.batch(rows(16, data)), ownership=None)
    with pytest.raises(DataError, match="no ownership; train without --ownership"):
        go_learner().train_step(batch)
    plain = go_learner(ownership=False, score=False)
    assert set(plain.train_step(batch)) == {"loss", "policy", "value", "rate", "gradient"}
    assert (plain.measure(go_positions(9)[1]).ownership, plain.measure(go_positions(9)[1]).score) == (None, None)


def test_frozen_normalisation_is_that_of_play(tmp_path: Path) -> None:
    parts = [go_positions(size) for size in (9, 19)]
    train, heldout = (Mixture(pair, (0.5, 0.5)) for pair in zip(*parts, strict=True))
    kept: list[torch.Tensor] = []

    def look(learner: Learner, _: dict[str, float]) -> None:
        networks: list[Any] = [learner.network, learner.averaged]
        mine, averaged = (network.value.block.norm for network in networks)
        assert mine.training == (learner.step <= 4)  # of eight
        assert mine.running_mean is not None
        if not mine.training:
            assert averaged.running_mean is not None
            kept.append(mine.running_mean.clone())
            assert torch.equal(mine.running_mean, averaged.running_mean)

    learner = go_learner(replace(CONFIG, freeze=0.5, ema=0.9))
    run(learner, train, heldout, tmp_path, Length(steps=8), RARE, Callbacks(on_step=look))
    assert len(kept) == 4
    assert all(torch.equal(kept[0], one) for one in kept)
    log = read_log(tmp_path / "log.jsonl")
    assert [row[name]["board"] for row in log for name in ("heldout", "heldout 19x19") if name in row] == [
        "9x9",
        "19x19",
    ]


def test_a_checkpoint_from_before_a_setting_existed_goes_on() -> None:
    learner = learner_of()
    made = learner.to_checkpoint()
    saved = replace(made, state=json.loads(json.dumps(made.state)))
    for name, fields in (("net", ("ownership", "score")), ("learner", ("ownership_weight", "score_weight", "freeze"))):
        for field in fields:
            del saved.state[name][field]
    assert learner_of().restore(saved) == []
    assert learner_of(replace(CONFIG, freeze=0.5)).restore(saved) == ["freeze was 1.0, is now 0.5"]


def test_learning_rates() -> None:
    cosine = replace(CONFIG, rate=1.0, warmup=10)
    assert learning_rate(cosine, 0, 0.0) == pytest.approx(0.1)
    assert learning_rate(cosine, 100, 0.5) == pytest.approx(0.505)
    assert learning_rate(cosine, 100, 1.0) == pytest.approx(0.01)
    paper = replace(CONFIG, schedule="az", warmup=0)
    assert [learning_rate(paper, 5, p) for p in (0, 0.2, 0.5, 0.9)] == [0.2, 0.02, 0.002, 0.0002]


def test_the_rate_falls_to_zero_at_the_end() -> None:
    constant = replace(CONFIG, schedule="constant", rate=1.0, cooldown=0.2)
    rates = [learning_rate(constant, 100, p) for p in (0.5, 0.8, 0.85, 0.9, 1.0)]
    assert rates == pytest.approx([1, 1, (1 + math.cos(math.pi / 4)) / 2, 0.5, 0])
    paper = replace(CONFIG, schedule="az", warmup=0, cooldown=0.5)
    assert learning_rate(paper, 5, 0.75) == pytest.approx(0.5 * 0.0002)


def test_an_end_that_is_not_known_teaches_nothing() -> None:
    for loss, shape, known in ((ownership_loss, (4, 3, 3), 0.5), (score_loss, (4, 1), 7.0)):
        output = torch.full(shape, 0.25, requires_grad=True)
        target = torch.full(shape[:1] if loss is score_loss else shape, known)
        target[2:] = math.nan
        result = loss(output, target)
        result.backward()  # type: ignore[no-untyped-call]
        assert output.grad is not None
        assert math.isfinite(result.item())
        assert (output.grad[:2] < 0).all()
        assert (output.grad[2:] == 0).all()


def test_divergence_stops_the_run_and_keeps_the_good_checkpoint(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    good = learner_of()
    run(good, train, heldout, tmp_path, Length(steps=3), RARE, Callbacks())
    before = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    broken = learner_of(CONFIG)

    def poison(learner: Learner, _: dict[str, float]) -> None:
        if learner.step == 5:
            with torch.no_grad():
                next(learner.network.parameters()).fill_(math.nan)

    with pytest.raises(DataError, match="diverged at step 5"):
        run(broken, train, heldout, tmp_path, Length(steps=9), RARE, Callbacks(on_step=poison))
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == before


def test_broken_weights_are_never_saved(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    run(learner_of(), train, heldout, tmp_path, Length(steps=3), RARE, Callbacks())

    def poison(learner: Learner, _: dict[str, float]) -> None:
        with torch.no_grad():
            next(learner.network.parameters()).fill_(math.inf)

    often = replace(RARE, checkpoint_steps=1)
    with pytest.raises(DataError, match=r"diverged before step 4: network\."):
        run(learner_of(), train, heldout, tmp_path, Length(steps=9), often, Callbacks(on_step=poison))
    saved = checkpoint.load_newest(tmp_path / "checkpoints", pytest.fail)
    assert saved is not None
    assert saved.step == 3


def test_a_full_disk_is_told_and_got_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, heldout = sample_positions()
    write, failures = files.write_atomically, [True, True]

    def full(path: Path, content: bytes) -> None:
        if failures and failures.pop():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, content)

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    problems: list[str] = []
    callbacks = Callbacks(on_problem=problems.append)
    run(learner_of(), train, heldout, tmp_path, Length(steps=4), replace(RARE, checkpoint_steps=1), callbacks)
    assert len(problems) == 2
    assert "No space left on device" in problems[0]
    saved = checkpoint.load_newest(tmp_path / "checkpoints", pytest.fail)
    assert saved is not None
    assert saved.step == 4


def test_an_absurd_rate_diverges_with_a_clear_sentence(tmp_path: Path) -> None:
    wild = learner_of(replace(CONFIG, optimiser="sgd", schedule="constant", rate=1e30, clip=0, warmup=0))
    train, heldout = sample_positions()
    with pytest.raises(DataError, match="lower --rate"):
        run(wild, train, heldout, tmp_path, Length(steps=9), RARE, Callbacks())


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    saved = checkpoint.load_newest(folder / "checkpoints", pytest.fail)
    assert saved is not None
    return saved.tensors


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    assert a.keys() == b.keys()
    for name, tensor in a.items():
        assert torch.equal(tensor, b[name]), name


class Killed(Exception):
    """What stands for a kill in one process; tests/test_kills.py kills processes."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        replace(CONFIG, optimiser="muon"),
        replace(CONFIG, optimiser="sgd", schedule="constant", rate=0.02),
    ],
    ids=("adamw", "muon", "sgd"),
)
def test_a_run_that_is_stopped_or_killed_goes_on_bit_for_bit(tmp_path: Path, config: LearnerConfig) -> None:
    train, heldout = sample_positions()
    often = replace(RARE, checkpoint_steps=2)
    run(learner_of(config), train, heldout, tmp_path / "whole", Length(steps=9), RARE, Callbacks())
    for stop_at in (2, 7):
        stopped = learner_of(config)
        callbacks = Callbacks(stop=lambda at=stop_at, who=stopped: who.step >= at)  # type: ignore[misc]
        assert not run(stopped, train, heldout, tmp_path / "stopped", Length(steps=9), RARE, callbacks)

    def kill(learner: Learner, _: dict[str, float]) -> None:
        if learner.step == 5:
            raise Killed

    with pytest.raises(Killed):
        run(learner_of(config), train, heldout, tmp_path / "killed", Length(steps=9), often, Callbacks(on_step=kill))
    for folder in ("stopped", "killed"):
        again = learner_of(config)
        begun: list[int] = []
        callbacks = Callbacks(on_step=lambda learner, _, steps=begun: steps.append(learner.step))  # type: ignore[misc]
        assert run(again, train, heldout, tmp_path / folder, Length(steps=9), often, callbacks)
        assert begun[0] > 1  # it did not begin again
        assert_same(tensors(tmp_path / "whole"), tensors(tmp_path / folder))


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    run(learner_of(), train, heldout, tmp_path, Length(steps=4), replace(RARE, checkpoint_steps=2), Callbacks())
    folder = tmp_path / "checkpoints"
    newest = folder / "step-00000004.safetensors"
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    problems: list[str] = []
    saved = checkpoint.load_newest(folder, problems.append)
    assert saved is not None
    assert saved.step == 2
    assert "step-00000004.json is damaged" in problems[0]
    note = newest.with_suffix(".json")
    for broken in ("", "{", '{"step": 9}', "[1]", note.read_text().replace('"step": 4', '"step": 5')):
        note.write_text(broken)
        with pytest.raises(DataError, match="damaged"):
            checkpoint.load(note)


def test_a_run_without_a_readable_checkpoint_is_refused(tmp_path: Path) -> None:
    """It would begin again at step 0 and overwrite its nets."""
    train, heldout = sample_positions()

    def go_on() -> None:
        run(learner_of(), train, heldout, tmp_path, Length(steps=4), replace(RARE, checkpoint_steps=2), Callbacks())

    go_on()
    folder = tmp_path / "checkpoints"
    for path in folder.glob("*.json"):
        path.write_text("{")
    with pytest.raises(DataError, match=r"no checkpoint in .*-00000004.json .*-00000002.json .* another folder"):
        go_on()
    with pytest.raises(DataError, match="no checkpoint in"):
        checkpoint.of_run(tmp_path)


def test_a_checkpoint_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    """And none before it is taken in its place: that would undo the newer program's steps."""
    for step in (1, 2):
        checkpoint.save(tmp_path, Checkpoint(step, {"x": torch.zeros(1)}, {}))
    path = tmp_path / "step-00000002.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(NewerFormat, match=r"step-00000002.json has format 2, newer than 1, .* update az-engine"):
        checkpoint.load_newest(tmp_path, pytest.fail)


def test_old_checkpoints_go_and_none_is_none(tmp_path: Path) -> None:
    assert checkpoint.load_newest(tmp_path, pytest.fail) is None
    for step in range(6):
        checkpoint.save(tmp_path, Checkpoint(step, {"x": torch.full((3,), float(step))}, {"a": step}))
    assert len(list(tmp_path.iterdir())) == 2 * checkpoint.KEPT
    saved = checkpoint.load_newest(tmp_path, pytest.fail)
    assert saved is not None
    assert (saved.step, saved.state, saved.tensors["x"].tolist()) == (5, {"a": 5}, [5.0] * 3)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    run(learner_of(), train, heldout, tmp_path, Length(steps=1), RARE, Callbacks())
    for learner, text in (
        (learner_of(replace(CONFIG, optimiser="muon")), r"another optimiser \(adamw, now muon\).*--init OLD --out NEW"),
        (learner_of(net=tiny(squeeze=4, filters=4)), "another filters"),
    ):
        with pytest.raises(DataError, match=text):
            run(learner, train, heldout, tmp_path, Length(steps=2), RARE, Callbacks())


def test_rate_and_batch_may_change_and_the_log_says_so(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    steady = replace(CONFIG, schedule="constant", warmup=0)
    run(learner_of(steady), train, heldout, tmp_path, Length(steps=2), RARE, Callbacks())
    rates: list[float] = []
    callbacks = Callbacks(on_step=lambda learner, losses: rates.append(losses["rate"]))
    other = learner_of(replace(steady, rate=0.001, batch=8))
    run(other, train, heldout, tmp_path, Length(steps=4), RARE, callbacks)
    assert (rates, other.positions) == ([0.001, 0.001], 2 * CONFIG.batch + 2 * 8)
    [changed] = [row["changed"] for row in read_log(tmp_path / "log.jsonl") if "changed" in row]
    assert changed[:2] == ["batch was 16, is now 8", "rate was 0.005, is now 0.001"]


@pytest.mark.slow
@pytest.mark.parametrize("by_minutes", [True, False])
def test_a_finished_run_that_is_given_more_goes_on_as_if_it_had_had_it_from_the_start(
    by_minutes: bool, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.tick = 0.01
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=clock))
    train, heldout = sample_positions()
    config = replace(CONFIG, warmup=0, cooldown=0.2)
    short, long = (Length(minutes=0.01), Length(minutes=0.03)) if by_minutes else (Length(steps=6), Length(steps=18))
    assert run(learner_of(config), train, heldout, tmp_path, short, RARE, Callbacks())
    rates: list[tuple[float, float]] = []
    said: list[str] = []
    callbacks = Callbacks(
        lambda learner, losses: rates.append((losses["rate"], learner.progress)), on_problem=said.append
    )
    longer = learner_of(config)
    assert run(longer, train, heldout, tmp_path, long, RARE, callbacks)
    whole = "0.03 minutes" if by_minutes else "18 steps"
    assert re.search(rf"the schedule now spans {whole}, 3\d% of it is over: the rate goes on at 0.00", said[0])
    assert rates[0][0] == pytest.approx(learning_rate(config, 6, 1 / 3), rel=0.2)
    assert [rate for rate, _ in rates] == sorted((rate for rate, _ in rates), reverse=True)
    assert rates[-1][1] == pytest.approx(1, abs=0.1)


def test_a_run_belongs_to_one_process(tmp_path: Path) -> None:
    with RunLock(tmp_path), pytest.raises(DataError, match=f"pid {os.getpid()}"):
        RunLock(tmp_path)
    old = tmp_path / "checkpoints" / ".step-00000320.json.abcdefgh"
    old.parent.mkdir()
    new, other = old.with_suffix(".new_one8"), old.with_name(".keep")
    for path in (old, new, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (0, 0))
    with RunLock(tmp_path):
        assert sorted(old.parent.iterdir()) == [other, new]  # a process may just be writing the new one


def test_a_run_that_wrote_nothing_leaves_nothing(tmp_path: Path) -> None:
    with RunLock(tmp_path / "runs" / "first"):
        assert (tmp_path / "runs" / "first" / "lock").exists()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").touch()
    with RunLock(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"]
    for _ in range(2):
        with RunLock(tmp_path / "run"):
            (tmp_path / "run" / "config.json").touch()
        assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.json", "lock"]
    (tmp_path / "run" / "config.json").unlink()
    with RunLock(tmp_path / "run"):  # the lock is of an earlier start
        pass
    assert (tmp_path / "run" / "lock").exists()


@pytest.mark.slow
def test_minutes_end_a_run_with_its_schedule(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock.tick = 0.01
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=clock))
    train, heldout = sample_positions()
    progress: list[float] = []
    rates: list[float] = []

    def watch(learner: Learner, losses: dict[str, float]) -> None:
        progress.append(learner.progress)
        rates.append(losses["rate"])

    half = learner_of(replace(CONFIG, warmup=0))
    assert not run(
        half,
        train,
        heldout,
        tmp_path,
        Length(minutes=0.03),
        RARE,
        Callbacks(on_step=watch, stop=lambda: half.progress > 0.4),
    )
    rest = learner_of(replace(CONFIG, warmup=0))
    begun = clock.now
    assert run(rest, train, heldout, tmp_path, Length(minutes=0.03), RARE, Callbacks(on_step=watch))
    assert clock.now - begun < 0.6 * 1.8 + 0.1
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.1 * CONFIG.rate


def test_the_log_holds_what_the_run_did(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    intervals = replace(RARE, log_steps=2)
    run(learner_of(), train, heldout, tmp_path, Length(steps=6), intervals, Callbacks())
    log = read_log(tmp_path / "log.jsonl")
    assert [row["step"] for row in log] == [2, 4, 6, 6]
    assert log[-1]["heldout"]["positions"] == len(heldout)
    assert {"loss", "policy", "value", "rate", "positions_per_s", "minutes"} <= log[0].keys()
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"step": 7, "torn')
    Log(tmp_path / "log.jsonl", 4).close()
    assert [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [2, 4]
    with pytest.raises(DataError, match="cannot be read"):
        read_log(tmp_path / "none.jsonl")


def test_a_fault_of_the_data_ends_the_run_with_its_sentence(tmp_path: Path) -> None:
    class Broken:
        description = "broken"
        parts = (range(100),)

        def __len__(self) -> int:
            return 100

        def draw(self, size: int, seed: int, step: int) -> object:
            raise DataError("record 7 is broken")

    with pytest.raises(DataError, match="record 7"):
        run(learner_of(), Broken(), Broken(), tmp_path, Length(steps=2), RARE, Callbacks())  # type: ignore[arg-type]


def test_impossible_settings_are_refused(tmp_path: Path) -> None:
    train, heldout = sample_positions()
    with pytest.raises(OptionError, match="needs an end"):
        run(learner_of(), train, heldout, tmp_path, Length(), RARE, Callbacks())
    with pytest.raises(DataError, match="fewer than one batch"):
        run(learner_of(replace(CONFIG, batch=4096)), train, heldout, tmp_path, Length(steps=1), RARE, Callbacks())
    with pytest.raises(OptionError, match="at least 2"):
        LearnerConfig(batch=1)
    with pytest.raises(OptionError, match="neither policy nor value"):
        LearnerConfig(policy_weight=0, value_weight=0)


def test_the_order_of_positions_depends_on_the_seed_alone() -> None:
    assert np.array_equal(batch_indices(100, 8, 1, 20), batch_indices(100, 8, 1, 20))
    assert not np.array_equal(batch_indices(100, 8, 1, 20), batch_indices(100, 8, 2, 20))


def test_checkpoints_of_later_steps_that_are_damaged_do_not_displace_new_ones(tmp_path: Path) -> None:
    """A copy of an older one was put back, as the sentence about damaged ones advises."""
    for step in (700, 800, 900):
        checkpoint.save(tmp_path, checkpoint.Checkpoint(step, {}, {}))
    for path in tmp_path.glob("*.json"):
        path.write_text("damaged")
    for step in (500, 600, 601, 602):
        checkpoint.save(tmp_path, checkpoint.Checkpoint(step, {}, {}))
    newest = checkpoint.load_newest(tmp_path, lambda problem: None)
    assert newest is not None
    assert newest.step == 602
    assert len([*tmp_path.glob("step-000006*.json")]) == 3
    assert not (tmp_path / "step-00000500.json").exists()
