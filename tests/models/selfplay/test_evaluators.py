"""One process runs the net for many: the games are the same, and nothing is left behind however either ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from az_engine.engine.errors import DataError, NetError, OptionError
from az_engine.engine.search.selfplay.games import PlayedGame, SelfPlay, SelfPlayConfig
from az_engine.models.fields import merged
from az_engine.models.net.evaluator import TorchEvaluator
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.folder import RunFolder
from az_engine.models.selfplay.gpu.link import Block, Link, Shape, answers
from az_engine.models.selfplay.gpu.server import EvaluatorServer, batch_of
from az_engine.models.selfplay.gpu.speed import leaves_per_second, measure
from az_engine.models.selfplay.gpu.two_batches import TwoBatches, play_along
from az_engine.models.selfplay.presets import preset

from ..families.test_tower import lively
from ..net.test_evaluator import go5, written

GAME, NET, INFO = go5()
CONFIG = SelfPlayConfig(games=6, visits=8, max_moves=20, resign=-0.9)
MEMORY = Path("/dev/shm")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return written(lively(NET), INFO, tmp_path)


@pytest.fixture
def server() -> Iterator[EvaluatorServer]:
    """A server in a thread, with one size of batches."""
    made = EvaluatorServer(GAME, 8, steps=1)
    over = threading.Event()
    made.stopping = over.is_set
    thread = threading.Thread(target=made.serve)
    thread.start()
    yield made
    over.set()
    thread.join()


def blocks() -> set[str]:
    """Names of shared memory on this machine."""
    return {path.name for path in MEMORY.glob("psm_*")} if MEMORY.is_dir() else set()


def steps(player: TwoBatches, count: int) -> None:
    for _ in range(count):
        player.step()


def fill(block: Block) -> None:
    """Give each array of a block a number of its own."""
    for number, half in enumerate(block.batches):
        arrays: tuple[NDArray[Any], ...] = half.planes, half.actions, half.policies, half.values
        for value, array in enumerate(arrays):
            array[...] = 10 * number + value + 1


def found(block: Block) -> list[int]:
    """The numbers of the arrays of a block; 0 for one that holds several."""
    arrays = [a for half in block.batches for a in (half.planes, half.actions, half.policies, half.values)]
    return [int(array.flat[0]) if (array == array.flat[0]).all() else 0 for array in arrays]


def run_of(**over: Any) -> RunConfig:
    values = {
        "game": "go5",
        "selfplay": {"games": 6, "visits": 8, "max_moves": 20},
        "machine": {"workers": 2, "evaluators": 1, "provider": "torch", "int8": False},
    }
    return RunConfig.from_values(merged(merged(preset("az,small", GAME), values), over))


def same(a: PlayedGame, b: PlayedGame) -> bool:
    arrays = ("moves", "target_moves", "target", "values", "outlooks", "draws")
    return (a.result, a.reason, a.nets) == (b.result, b.reason, b.nets) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays
    )


@pytest.mark.slow
def test_games_are_those_of_one_process(net: Path, server: EvaluatorServer) -> None:
    alone = SelfPlay(GAME, TorchEvaluator(net, GAME, batch_size=8, steps=1), CONFIG, 7, range(20), net=3)
    expected: dict[int, PlayedGame] = {}
    while not alone.finished:
        expected |= {game.id: game for game in alone.step()}
    players = [TwoBatches(GAME, server.address, str(net), CONFIG, 7, ids, 3) for ids in (range(10), range(10, 20))]
    played: dict[int, PlayedGame] = {}
    while not all(player.finished for player in players):
        for player in players:
            played |= {game.id: game for game in player.step()}
    assert sorted(played) == sorted(expected) == list(range(20))
    assert all(same(played[number], expected[number]) for number in expected)
    assert sum(player.evaluations for player in players) == server.rows > 500
    assert sum(player.positions for player in players) == alone.positions
    assert server.batches < server.rows / 3 + 50  # more than one half at a time
    for player in players:
        player.close()


def test_another_net_is_used_from_then_on(net: Path, server: EvaluatorServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    changed = lively(NET)
    changed.policy.out.weight.data *= -1
    player = TwoBatches(GAME, server.address, str(net), replace(CONFIG, max_moves=6), 7, range(8), 1)
    games = []
    for step in range(200):
        if step == 5:
            player.use_net(str(written(changed, INFO, other)), 2)
        games += player.step()
        if player.finished:
            break
    assert {game.nets for game in games} == {(1, 2), (2, 2)}
    player.close()


def test_a_server_that_ends_is_said(net: Path) -> None:
    before, made = blocks(), EvaluatorServer(GAME, 8)
    over = threading.Event()
    made.stopping = over.is_set
    thread = threading.Thread(target=made.serve)
    thread.start()
    player = TwoBatches(GAME, made.address, str(net), CONFIG, 7, range(100), 0)
    assert blocks() <= before  # the memory has lost its name already
    player.step()
    over.set()
    thread.join()
    with pytest.raises(NetError, match="the process that runs the nets has ended") as caught:
        steps(player, 4)
    assert not answers(made.address)
    player.close()  # while the error's traceback holds what its frames held
    assert player._link.block._memory.buf is None
    assert caught.tb is not None
    with pytest.raises(NetError, match="cannot be reached"):
        TwoBatches(GAME, made.address, str(net), CONFIG, 7, range(100), 0)
    assert blocks() <= before


def test_what_does_not_fit_is_refused(net: Path, server: EvaluatorServer) -> None:
    with pytest.raises(NetError, match="this process runs nets for go, not for chess"):
        Link(server.address, Shape(4, 119 * 64, 218), "chess")
    with pytest.raises(NetError, match="a half of 9 games is more than a batch of 8"):
        TwoBatches(GAME, server.address, str(net), replace(CONFIG, games=18), 7, range(9), 0)
    with pytest.raises(NetError, match="there is no such file"):
        TwoBatches(GAME, server.address, str(net.with_name("none.onnx")), CONFIG, 7, range(9), 0)
    link = Link(server.address, Shape(4, int(np.prod(GAME.planes)), GAME.max_moves), "go")
    assert link.use(str(net))["values"] == 3  # the others are served on
    link.close()


def test_arrays_of_a_block_do_not_overlap() -> None:
    block = Block(Shape(3, 50, 7))
    other = Block(block.shape, block.name)
    block.unlink()
    fill(block)
    assert found(other) == [1, 2, 3, 4, 11, 12, 13, 14]
    other.close()
    block.close()


def test_settings_that_do_not_go_together_are_refused() -> None:
    assert batch_of(run_of()) == 6
    assert batch_of(run_of(machine={"workers": 3, "evaluators": 2})) == 6
    assert batch_of(run_of(machine={"batch": 64})) == 64
    assert batch_of(run_of(machine={"batch": 1})) == 3
    for machine, said in (
        ({"provider": "cpu"}, "run the nets by torch"),
        ({"int8": True, "provider": "auto"}, "in fp32 or bf16"),
        ({"workers": 0}, "set machine.workers"),
        ({"ray": "auto"}, "no machine.ray"),
    ):
        with pytest.raises(OptionError, match=said):
            run_of(machine=machine)


@pytest.mark.slow
def test_two_processes_are_measured_and_a_killed_one_is_missed_by_nobody(net: Path, tmp_path: Path) -> None:
    before, run = blocks(), run_of()
    server = EvaluatorServer(GAME, batch_of(run))
    played = leaves_per_second(server, run, net, 2, 2.0)
    assert 0 < played.leaves < 10 * played.limit  # measured one after the other on a machine that may be busy
    assert 0 < played.fill <= 1
    assert not multiprocessing.active_children()

    server = EvaluatorServer(GAME, batch_of(run))
    over = threading.Event()
    server.stopping = over.is_set
    thread = threading.Thread(target=server.serve)
    thread.start()
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=play_along, args=(server.address, run.to_json(), n, str(net)), daemon=True)
        for n in (1, 2)
    ]
    for process in processes:
        process.start()
    while len(server.playing) < 2:
        time.sleep(0.1)
    pid = processes[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    processes[0].join()
    rows = server.rows
    while server.rows < rows + 200:  # the other one plays on
        time.sleep(0.1)
    assert blocks() <= before
    over.set()
    thread.join()
    processes[1].join(120)
    assert processes[1].exitcode == 0

    folder = RunFolder(tmp_path / "run")
    with pytest.raises(DataError, match="has no net yet"):
        measure(folder, run, 1.0)
    with pytest.raises(OptionError, match="--measure takes seconds"):
        measure(folder, run, 0.0)
