"""The shards of a run: a full disk, kills, and records of several layouts."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.models import storage
from az_engine.models.data.games.chess import FORMAT, read_shard
from az_engine.models.data.shards import Records, ShardStore
from az_engine.models.label import writer
from az_engine.models.label.writer import Writer

from ..samples import SAMPLE
from .labelling import read

SOME = read_shard(SAMPLE)
GAMES = [SOME[SOME["game"] == game] for game in np.unique(SOME["game"])]
RECORDS = np.concatenate(GAMES)


def writer_of(folder: Path, size: int = 10_000, form: ShardStore = FORMAT) -> Writer:
    said: list[str] = []
    return Writer(folder, size, form, storage.Patience(folder, said.append, stopping=lambda: False), 1)


def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no game is lost; told to stop meanwhile, it reports what is not stored."""
    failures, said, stopping = [2], list[str](), [False]

    class Full:
        def write(self, path: Path, given: Records) -> None:
            if failures[0]:
                failures[0] -= 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            FORMAT.write(path, given)

    monkeypatch.setattr(storage, "RETRY_SECONDS", 0.0)
    patiently = storage.Patience(tmp_path, said.append, stopping=lambda: stopping[0])
    store = Writer(tmp_path, 10_000, Full(), patiently, 1)  # type: ignore[arg-type]
    store.add(GAMES[0])
    store.flush()
    assert len(read(tmp_path)) == store.positions > 0
    assert said == [f"{tmp_path} is full; make room and the run goes on"]
    stopping[0], failures[0] = True, 1
    store.add(GAMES[-1])
    with pytest.raises(DataError, match="stopped while the disk was full: a shard of 2 labelled games was not"):
        store.flush()


def test_a_task_without_records_leaves_nothing(tmp_path: Path) -> None:
    store = writer_of(tmp_path)
    store.add(RECORDS[:0])
    store.flush()
    assert not [*tmp_path.glob("*.npz")]


def test_a_kill_loses_a_minute_at_most_and_shards_are_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that is not full is stored again and again under its name, until it is."""
    monkeypatch.setattr(writer, "FLUSH_SECONDS", 0.0)
    store = writer_of(tmp_path, len(RECORDS) - len(GAMES[-1]))
    for game in GAMES[:-1]:
        store.add(game)
        assert read(tmp_path).tobytes() == RECORDS[: len(read(tmp_path))].tobytes()
        assert len(read(tmp_path)) == store.positions  # though nothing was flushed
    assert len(list(tmp_path.iterdir())) == 1
    store.add(GAMES[-1])
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["labelled_00000.npz", "labelled_00001.npz"]
    again = writer_of(tmp_path)
    assert (again.tasks, again.positions) == (set(RECORDS["game"].tolist()), len(RECORDS))


def test_records_of_another_layout_begin_a_shard(tmp_path: Path) -> None:
    """Such as those of a teacher that gives owners of points, beside one that gives none."""

    class Any:
        def write(self, path: Path, given: Records) -> None:
            np.save(path.with_suffix(".npy"), given)

    def with_owners(game: Records) -> Records:
        wider = np.zeros(len(game), [*FORMAT.dtype.descr, ("own", "i1", (64,))])
        wider["game"] = game["game"]
        return wider

    store = writer_of(tmp_path, form=Any())  # type: ignore[arg-type]
    for game in (GAMES[0], with_owners(GAMES[1]), with_owners(GAMES[2]), GAMES[3]):
        store.add(game)
    store.flush()
    kept = [np.load(path) for path in sorted(tmp_path.glob("*.npy"))]
    assert ["own" in one.dtype.names for one in kept] == [False, True, False]
    assert len(kept[1]) == len(GAMES[1]) + len(GAMES[2])
