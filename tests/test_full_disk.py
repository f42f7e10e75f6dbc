"""A full disk during a match and while labelling: one sentence, nothing lost, and it goes on once there is room."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .fakes.program import COMMAND
from .fakes.waiting import wait_for
from .models.selfplay.test_run import environment
from .test_kills import az_engine_command, labelled, played

pytestmark = pytest.mark.slow

FAKE = shlex.join([*COMMAND, "uci"])
GAMES = 24
VARIABLES = {**environment(), "COLUMNS": "500"}  # no sentence is broken into lines
KIB = 40  # of room at first: a few games


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own, which only root can mount."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux" or os.getuid() != 0 or not mounted("size=1m", place):
        pytest.skip("cannot mount a file system")
    mounted(f"remount,size={KIB}k", place)
    yield place
    subprocess.run(["umount", "-l", place], check=False)


def mounted(options: str, place: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def a_match(out: Path) -> list[str]:
    players = ("-A", f"cmd={shlex.quote(FAKE)} nodes=1 name=X", "-B", f"cmd={shlex.quote(FAKE)} nodes=1 name=Y")
    return az_engine_command(
        "match", *players, "--out", out, "--games", GAMES, "--openings", "random:2", "--max-plies", 30
    )


def labels(out: Path) -> list[str]:
    words = ("--games", GAMES, "--max-plies", 24, "--nodes", 77, "--shard-positions", 1)
    return az_engine_command("label", "--engine", FAKE, "--out", out, *words)


def run(command: list[str], limit: int | None = None) -> tuple[int, str]:
    """Exit status and stderr; ``limit``: bytes that a file may have, as a disk that is full for it."""

    def bounded() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        command, env=VARIABLES, capture_output=True, text=True, timeout=300, preexec_fn=bounded, check=False
    )
    return done.returncode, done.stderr


def said_once(told: str) -> str:
    """The sentence that a command ended with."""
    assert "Traceback" not in told, told
    assert "Exception" not in told, told
    return told.strip().splitlines()[-1]


def test_a_match_on_a_full_disk(disk: Path, tmp_path: Path) -> None:
    assert run(a_match(tmp_path / "whole"))[0] == 0
    out = disk / "match"
    status, told = run(a_match(out))
    assert status not in (0, 130)
    assert "No space left on device" in said_once(told)
    assert "make room and give the command again" in said_once(told)
    before = played(out)
    assert 0 < len(before) < GAMES
    status, told = run(a_match(out))  # there still is no room
    assert status != 0
    assert "No space left on device" in said_once(told)
    assert played(out) == before
    assert mounted("remount,size=4m", disk)
    assert run(a_match(out))[0] == 0
    assert played(out) == played(tmp_path / "whole")
    assert (out / "games.pgn").read_text().count("[Event ") == GAMES


@pytest.mark.parametrize("stopped", [False, True])
def test_labelling_on_a_full_disk(stopped: bool, disk: Path, tmp_path: Path) -> None:
    """It waits until there is room; told to end meanwhile, it says what is not stored."""
    assert run(labels(tmp_path / "whole"))[0] == 0
    out = disk / "labels"
    with (tmp_path / "told").open("w+b") as told:
        process = subprocess.Popen(labels(out), env=VARIABLES, stdout=told, stderr=told)
        wait_for(lambda: b"is full; make room" in (tmp_path / "told").read_bytes())
        before = labelled(out)
        assert 0 < len(before) < GAMES
        if stopped:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) not in (0, 130)
            assert "stopped while the disk was full" in said_once((tmp_path / "told").read_text())
            assert labelled(out) == before
            assert mounted("remount,size=4m", disk)
            assert run(labels(out))[0] == 0
        else:
            assert mounted("remount,size=4m", disk)
            assert process.wait(120) == 0
    assert labelled(out) == labelled(tmp_path / "whole")


@pytest.mark.parametrize("make", [a_match, labels])
def test_a_file_that_cannot_grow(make: Callable[[Path], list[str]], tmp_path: Path) -> None:
    """Where no file system can be mounted; the same sentence, and nothing that was there is lost."""
    out, limit = tmp_path / "out", 12_000 if make is a_match else 1_150
    status, told = run(make(out), limit)
    assert status not in (0, 130)
    assert "File too large" in said_once(told)
    read = played if make is a_match else labelled
    before = dict(read(out))
    assert len(before) < GAMES
    assert run(make(out))[0] == 0
    after = dict(read(out))
    assert before.items() <= after.items()
    assert sorted(after) == list(range(GAMES))
