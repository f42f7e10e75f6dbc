"""kill -9 at random instants of everything that writes files, which is then started again.

AZ_ENGINE_KILLS is the number of kills of each, AZ_ENGINE_KILLS_SEED their seed; ``-rP`` shows the reports.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import az_engine
from az_engine.models.data.games.chess import read_shard

from .fakes.program import COMMAND
from .models.foreign.lc0_files import net_file
from .models.foreign.test_lc0 import convolution_net
from .models.selfplay.test_run import begin, config, environment, games_of, stored, tensors
from .models.selfplay.test_run import command as train_command

KILLS = int(os.environ.get("AZ_ENGINE_KILLS", "2"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 60 * KILLS)]
SEED = os.environ.get("AZ_ENGINE_KILLS_SEED", "0")
STEPS = 60
FAKE = shlex.join([*COMMAND, "uci"])
SEARCH = """
import sys
from az_engine.engine.engine import Engine
from az_engine.engine.kernels import cache
from az_engine.engine.limits import Limits
from az_engine.engine.params import EngineOptions
engine, answers = Engine("tictactoe", EngineOptions(weights_file="uniform", threads=1)), []
engine.set_position(None, [])
engine.go(Limits(nodes=60), lambda info: None, answers.append)
engine.wait()
assert cache.cache_problem() is None, cache.cache_problem()
print(answers[0].move, answers[0].nodes)
print(cache.compiled_kernels(), file=sys.stderr)
"""
CONVERT = """
import sys
from pathlib import Path
from az_engine.engine.nets.file.conversion import native_net
print(native_net(Path(sys.argv[1])))
"""


class Trial:
    """A command that is killed again and again until it comes to its end."""

    def __init__(
        self, name: str, folder: Path, command: Callable[[Path], list[str]], variables: Mapping[str, str] | None = None
    ) -> None:
        """``command`` writes into the folder that it is given; ``variables``: of its environment."""
        self.name, self.folder, self.command = name, folder, command
        self.variables = {**environment(), **(variables or {})}
        self.random = random.Random(f"{name} {SEED}")
        self.kills = self.ends = 0
        self.drafts = 0  # most unfinished files seen at a time

    def run(
        self,
        begin: Callable[[Path], object],
        result: Callable[[Path], object],
        look: Callable[[Path], None] = lambda folder: None,
        again: Callable[[Path], None] = lambda folder: None,
    ) -> None:
        """Come to the ``result`` of a run that nobody killed as often as it takes KILLS kills.

        begin: makes a folder to start in; look: called after every kill; again: after every end.
        """
        whole = self.folder / "whole"
        begin(whole)
        at_first = time.monotonic()
        self.finish(whole)
        longest = 1.1 * (time.monotonic() - at_first)
        expected = result(whole)
        while self.kills < KILLS:
            folder = self.folder / f"killed-{self.ends}"
            begin(folder)
            while self.kills < KILLS:
                if self.killed(folder, longest):
                    look(folder)
                    longest *= 1.02
                else:
                    longest *= 0.7  # the first run also compiled
                    break
            else:
                self.finish(folder)
            look(folder)
            assert result(folder) == expected, f"{self.name}, after {self.kills} kills"
            assert not drafts(folder), f"{self.name}: {drafts(folder)}"
            again(folder)
            shutil.rmtree(folder)
            self.ends += 1
        print(f"{self.name}: {self.kills} kills, {self.ends} ends; at most {self.drafts} unfinished files at a time")

    def start(self, folder: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(folder),
            env=self.variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def killed(self, folder: Path, longest: float) -> bool:
        """Kill it at a random instant, with all its processes; False when it had come to its end."""
        process = self.start(folder)
        try:
            process.communicate(timeout=self.random.uniform(0.0, longest))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.kills += 1
            self.drafts = max(self.drafts, len(drafts(folder)))
            for path in drafts(folder):
                os.utime(path, (0.0, 0.0))  # as if the kill had been long ago
            return True
        assert process.returncode == 0, self.name
        return False

    def finish(self, folder: Path) -> None:
        process = self.start(folder)
        _, told = process.communicate(timeout=600)
        assert process.returncode == 0, f"{self.name}: {told.decode(errors='replace')}"


def drafts(folder: Path) -> list[Path]:
    """Files that were not finished: of write_atomically and of numba's cache."""
    found = []
    for path in folder.rglob("*"):
        hidden = path.name.startswith(".") and path.name != ".lock"
        if path.is_file() and (hidden or ".tmp." in path.name):
            found.append(path)
    return found


def az_engine_command(*words: object) -> list[str]:
    return [sys.executable, "-m", "az_engine", *map(str, words)]


class Kept:
    """What was seen of a folder must be there for good, and the same."""

    def __init__(self, read: Callable[[Path], Mapping[Any, Any]]) -> None:
        self.read = read
        self.folder: Path | None = None
        self.seen: dict[Any, Any] = {}

    def __call__(self, folder: Path) -> None:
        if folder != self.folder:
            self.folder, self.seen = folder, {}
        now = dict(self.read(folder))
        assert self.seen.items() <= now.items()
        self.seen = now


def test_training(tmp_path: Path) -> None:
    """To the very bytes of the run that nobody killed; a checkpoint that was there stays until newer ones are."""

    def look(folder: Path) -> None:
        numbers = [record.id for record in stored(folder)]
        assert len(set(numbers)) == len(numbers)
        steps = [int(path.stem[5:]) for path in (folder / "checkpoints").glob("step-*.json")]
        assert max(steps, default=0) >= newest.get(folder, 0)
        newest[folder] = max(steps, default=0)

    newest: dict[Path, int] = {}
    run = config(loop={"steps": STEPS})
    Trial("training", tmp_path, train_command).run(
        lambda folder: begin(folder, run), lambda folder: (tensors(folder, STEPS), games_of(folder)), look
    )


def labelled(folder: Path) -> dict[int, bytes]:
    parts = [read_shard(path) for path in sorted(folder.glob("*.npz"))]
    if not parts:
        return {}
    records = np.concatenate(parts)
    return {int(game): records[records["game"] == game].tobytes() for game in np.unique(records["game"])}


def test_label(tmp_path: Path) -> None:
    words = ("--games", 12, "--max-plies", 24, "--nodes", 77, "--processes", 2, "--shard-positions", 1)
    Trial("label", tmp_path, lambda out: az_engine_command("label", "--engine", FAKE, "--out", out, *words)).run(
        lambda folder: folder.mkdir(), labelled, Kept(labelled)
    )


def played(folder: Path) -> dict[int, str]:
    journal = folder / "games.jsonl"
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    games = {game["number"]: game["moves"] for game in map(json.loads, lines)}
    assert len(games) == len(lines)
    return games


def test_match(tmp_path: Path) -> None:
    def result(folder: Path) -> tuple[dict[int, str], int]:
        return played(folder), (folder / "games.pgn").read_text().count("[Event ")

    words = ("--games", 12, "--openings", "random:2", "--max-plies", 30, "--concurrency", 2)
    players = ("-A", f"cmd={shlex.quote(FAKE)} nodes=1 name=X", "-B", f"cmd={shlex.quote(FAKE)} nodes=1 name=Y")
    Trial("match", tmp_path, lambda out: az_engine_command("match", *players, "--out", out, *words)).run(
        lambda folder: folder.mkdir(), result, Kept(played)
    )


def nets(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*.onnx") if not path.name.startswith(".")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.mark.parametrize("by", ["import", "engine"])
def test_import(by: str, tmp_path: Path) -> None:
    """A net is whole or not there, whether a user converts it or an engine that was given the foreign file."""
    foreign = tmp_path / "foreign.pb"
    foreign.write_bytes(net_file(convolution_net(squeeze=True), network=4, policy=2, value=2))

    def command(folder: Path) -> list[str]:
        if by == "import":
            return az_engine_command("import", foreign, "-o", folder / "net.onnx")
        variables = [f"AZ_ENGINE_CACHE={folder}", f"PYTHONPATH={Path(az_engine.__file__).parents[1]}"]
        return ["env", *variables, sys.executable, "-c", CONVERT, str(foreign)]

    Trial(f"import, {by}", tmp_path, command).run(lambda folder: folder.mkdir(mode=0o700), nets, Kept(nets))


def test_first_compile(tmp_path: Path) -> None:
    """The cache is whole after every kill: the next engine finds what was compiled, and the last one finds all."""

    def command(folder: Path) -> list[str]:
        return ["env", f"AZ_ENGINE_CACHE={folder}", sys.executable, "-c", SEARCH]

    def look(folder: Path) -> None:
        for path in (*folder.rglob("*.nbi"), *folder.rglob("*.nbc")):
            content = path.read_bytes()
            assert hashlib.sha256(content[:-32]).digest() == content[-32:], path

    def result(folder: Path) -> tuple[str, str]:
        done = subprocess.run(command(folder), env=environment(), capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    Trial("first compile", tmp_path, command).run(lambda folder: folder.mkdir(mode=0o700), result, look)
