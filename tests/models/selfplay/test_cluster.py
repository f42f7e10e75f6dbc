"""Self-play on a real Ray cluster: whatever is killed, games go on, and every reported game is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from az_engine.engine.errors import ClusterError
from az_engine.models.selfplay.config import RunConfig
from az_engine.models.selfplay.folder import Heartbeat, RunFolder

from ...fakes.waiting import wait_for
from ...ray_cluster import kill_raylet, three_nodes
from .test_run import begin, command, config, environment, stored, train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with three_nodes() as cluster:
        yield cluster


def on(cluster: Any, **over: Any) -> RunConfig:
    return config(machine={"workers": 0, "ray": cluster.address, **over})


def test_actors_raylets_and_nodes_are_lost_and_join(cluster: Any, tmp_path: Path) -> None:
    from az_engine.models.selfplay.play.ray import ClusterPlayers

    folder = RunFolder(tmp_path / "run")
    before = len(stored(train(folder.folder, config()).folder.folder))
    folder.finished = False
    said: list[str] = []
    players = ClusterPlayers(folder, on(cluster), said.append)
    players.start()

    def playing() -> list[Heartbeat]:
        players.check()
        return [heartbeat for heartbeat in players.heartbeats() if heartbeat.worker and heartbeat.games]

    def more() -> None:
        games = players.games
        wait_for(lambda: playing() and players.games > games + 20)

    try:
        wait_for(lambda: len(playing()) == 2)
        os.kill(playing()[0].pid, signal.SIGKILL)
        wait_for(lambda: "started again" in "".join(said))
        wait_for(lambda: len(playing()) == 2)
        kill_raylet(min(cluster.worker_nodes, key=str))
        wait_for(lambda: len(said) >= 3)
        more()
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
        wait_for(lambda: len(playing()) == 2)
        cluster.remove_node(max(cluster.worker_nodes, key=str), allow_graceful=False)
        cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
        wait_for(lambda: len(playing()) >= 2)
        more()
        folder.paused = True
        wait_for(
            lambda: all(heartbeat.state.startswith("waiting") for heartbeat in players.heartbeats() if heartbeat.worker)
        )
    finally:
        players.stop()
    games = [record.id for record in stored(folder.folder)]
    assert len(games) == len(set(games)) == before + players.games


def test_a_learner_that_is_killed_goes_on_with_every_reported_game(cluster: Any, tmp_path: Path) -> None:
    folder = begin(tmp_path / "run", on(cluster))
    words = [*command(folder), "--set", "loop.steps=100000"]
    learner = subprocess.Popen(words, env=environment(), stdin=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(list((folder / "nets").glob("*.onnx"))) > 2)
    finally:
        learner.send_signal(signal.SIGKILL)
        learner.wait()
    killed = {record.id for record in stored(folder)}
    assert killed
    again = subprocess.run([*command(folder), "--set", "loop.steps=200"], env=environment(), check=False)
    assert again.returncode == 0
    games = [record.id for record in stored(folder)]
    assert len(games) == len(set(games))
    assert killed < set(games)


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    from az_engine.models.selfplay.play.ray import ClusterPlayers

    run = config(machine={"ray": "127.0.0.1:1"})
    with pytest.raises(ClusterError, match=r"there is no Ray cluster at 127\.0\.0\.1:1"):
        ClusterPlayers(RunFolder(tmp_path), run, print).start()


def test_no_import_of_ray_without_the_flag(tmp_path: Path) -> None:
    begin(tmp_path, replace(config()))
    code = "import sys; from az_engine import cli; cli.main(sys.argv[1:]); assert 'ray' not in sys.modules"
    words = command(tmp_path)[3:]
    done = subprocess.run([sys.executable, "-c", code, *words], env=environment(), check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
