"""Runs of ``az-engine label`` in this process, and what they leave."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import numpy as np

from az_engine.models.data.formats import shards_of
from az_engine.models.data.shards import Records
from az_engine.models.label import command
from az_engine.models.label.job import Job
from az_engine.models.label.pool import Worker

from ...fakes.arguments import parsed
from ...fakes.program import COMMAND

UCI, USI = shlex.join([*COMMAND, "uci"]), shlex.join([*COMMAND, "usi"])
GTP = shlex.join([*COMMAND, "gtp", "--offers=kata-analyze", "--offers=kata-set-rules"])
SHORT = ("--games", "3", "--max-plies", "24", "--nodes", "77")


def arguments(*words: object) -> argparse.Namespace:
    return parsed(command, *words)


def label(out: Path, *words: object) -> Path:
    """Run the command to its end; its folder."""
    assert command.main(arguments("--out", out, *words)) == 0
    return out


def read(folder: Path, game: str = "chess") -> Records:
    return np.concatenate([shards_of(game).read(path) for path in sorted(folder.glob("*.npz"))])


def labelled(out: Path, *words: object, game: str = "chess") -> Records:
    """The records that the command leaves."""
    return read(label(out, "--game", game, *words), game)


def by_game(records: Records) -> dict[int, bytes]:
    return {int(g): records[records["game"] == g].tobytes() for g in np.unique(records["game"])}


def job(*words: object) -> Job:
    """What the command would do."""
    return command.job_of(arguments("--out", "unused", *words), lambda text: None)


def task(job: Job, number: int) -> Records:
    """The records of one of its tasks."""
    worker = Worker(job)
    try:
        return worker.records(number)
    finally:
        worker.close()
