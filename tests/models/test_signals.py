"""SIGTERM during anything that training does: what was reached is saved, and the rest is broken off."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.games.base import Game
from az_engine.engine.search.selfplay.games import SelfPlay
from az_engine.models.data.dataset import Positions
from az_engine.models.selfplay.nets.promotion import Promotion
from az_engine.models.selfplay.nets.rating import Ladder
from az_engine.models.selfplay.run import SelfPlayRun
from az_engine.models.selfplay.show.status import Observer
from az_engine.models.signals import StopSignals
from az_engine.models.train import checkpoint, loop
from az_engine.models.train.config import Intervals, Length
from az_engine.models.train.learner import Learner
from az_engine.models.train.loop import Callbacks

from .samples import sample_positions
from .selfplay.test_run import begin, config
from .train.test_learner import RARE, learner_of

ENDLESS = 60.0  # s: work that nobody waits for


def endless(*_: Any, **__: Any) -> Any:
    """Work that a signal meets."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    begun = time.monotonic()
    while time.monotonic() - begun < ENDLESS:
        time.sleep(0.05)
    pytest.fail("the signal did not break it off")


@pytest.fixture
def signals() -> Iterator[StopSignals]:
    with StopSignals() as entered:
        yield entered


def test_a_signal_is_noted_and_breaks_off_only_what_may_be(signals: StopSignals) -> None:
    before = signal.getsignal(signal.SIGTERM)
    done: list[str] = []
    assert signals.attempt(lambda: done.append("before"))
    assert not signals()
    assert not signals.attempt(endless)
    assert signals()
    assert not signals.attempt(lambda: done.append("after"))
    signal.raise_signal(signal.SIGINT)  # outside: only noted
    assert done == ["before"]
    with StopSignals() as inner:
        signal.raise_signal(signal.SIGTERM)
        assert inner()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_fault_of_what_is_attempted_is_raised(signals: StopSignals) -> None:
    with pytest.raises(ZeroDivisionError):
        signals.attempt(lambda: 1 // 0)
    signal.raise_signal(signal.SIGTERM)
    assert signals()


@pytest.mark.parametrize("what", ["measure", "export", "draw"])
def test_supervised_training_is_saved(
    what: str, signals: StopSignals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, heldout = sample_positions()
    callbacks = Callbacks(stop=signals, attempt=signals.attempt)
    intervals = RARE
    if what == "measure":
        monkeypatch.setattr(Learner, "measure", endless)
    elif what == "export":
        callbacks.on_export = endless
        intervals = Intervals(export_minutes=1e-9)
    else:  # a batch that does not come: its thread compiles, say
        real = Positions.draw

        def draw(self: Positions, size: int, seed: int, step: int) -> Any:
            if step < 2:
                return real(self, size, seed, step)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
            released.wait(ENDLESS)
            return real(self, size, seed, step)

        released = threading.Event()
        monkeypatch.setattr(Positions, "draw", draw)
        monkeypatch.setattr(loop, "JOIN_SECONDS", 0.1)
    learner = learner_of()
    assert not loop.run(learner, train, heldout, tmp_path, Length(steps=4), intervals, callbacks)
    if what == "draw":
        released.set()
    saved = checkpoint.load_newest(tmp_path / "checkpoints", pytest.fail)
    assert saved is not None
    assert saved.step == learner.step == {"measure": 4, "export": 1, "draw": 2}[what]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["publish", "rate", "measure"])
def test_self_play_is_saved(what: str, signals: StopSignals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = config(ladder={"share": 1.0})
    owner, name = {"publish": (Promotion, "consider"), "rate": (Ladder, "play"), "measure": (Learner, "measure")}[what]
    monkeypatch.setattr(owner, name, endless)
    trained = SelfPlayRun(begin(tmp_path, run), run, Observer(stop=signals, attempt=signals.attempt))
    assert not trained.train()
    saved = checkpoint.load_newest(tmp_path / "checkpoints", pytest.fail)
    assert saved is not None
    assert saved.step == trained.learner.step
    monkeypatch.undo()
    short = config(loop={"steps": max(20, saved.step)})
    again = SelfPlayRun(tmp_path, short, Observer())
    assert again.train()
    assert again.folder.net_steps[-1] == short.loop.steps


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_a_signal_while_kernels_are_compiled_ends_training(
    workers: int, signals: StopSignals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call of a kernel takes long where the kernel cache is empty."""
    run = config(machine={"workers": workers})
    begin(tmp_path, run)
    if workers:
        monkeypatch.setattr(Game, "replay", endless)
    else:
        monkeypatch.setattr(SelfPlay, "step", endless)
    assert not SelfPlayRun(tmp_path, run, Observer(stop=signals, attempt=signals.attempt)).train()
    monkeypatch.undo()
    short = config(loop={"steps": 20})
    assert SelfPlayRun(tmp_path, short, Observer()).train()
