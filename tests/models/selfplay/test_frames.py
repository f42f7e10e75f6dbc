"""Framed records: whatever is cut, flipped or full, what was whole is read and nothing else."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from az_engine.engine.errors import DataError
from az_engine.models.selfplay.store import frames
from az_engine.models.selfplay.store.frames import SYNC, FrameReader, FrameWriter, crc32c
from az_engine.models.storage import DiskFull

PAYLOADS = [b"first", b"", bytes(range(256)), SYNC * 3, b"the last one, a little longer than the others"]


def written(path: Path, payloads: list[bytes] = PAYLOADS) -> bytes:
    with FrameWriter(path) as writer:
        for payload in payloads:
            writer.append(payload)
    return path.read_bytes()


def test_the_checksum_is_crc_32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of the catalogue of CRCs
    assert crc32c(b"") == 0
    assert crc32c(b"56789", crc32c(b"1234")) == 0xE3069283


def test_what_was_written_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    reader = None
    with FrameWriter(path) as writer:
        reader = FrameReader(path)
        for payload in PAYLOADS:
            writer.append(payload)
            assert list(reader.read()) == [payload]
    assert list(reader.read()) == []
    assert list(FrameReader(path).read()) == PAYLOADS


def test_cut_at_every_byte_the_whole_records_stay_and_writing_goes_on(tmp_path: Path) -> None:
    data = written(tmp_path / "whole")
    ends = np.cumsum([len(frames.frame(p)) for p in PAYLOADS])
    for length in range(len(data) + 1):
        path = tmp_path / "cut"
        path.write_bytes(data[:length])
        whole = PAYLOADS[: int((ends <= length).sum())]
        reader = FrameReader(path)
        assert list(reader.read()) == whole
        assert reader.damaged == 0
        with FrameWriter(path) as writer:
            assert (writer.records, writer.cut) == (len(whole), length - int(ends[len(whole) - 1] if whole else 0))
            writer.append(b"after the crash")
        assert list(FrameReader(path).read()) == [*whole, b"after the crash"]


def test_a_record_that_is_still_being_written_waits(tmp_path: Path) -> None:
    data = written(tmp_path / "whole")
    path = tmp_path / "growing"
    reader = FrameReader(path)
    read: list[bytes] = []
    for length in range(0, len(data) + 1, 7):
        path.write_bytes(data[:length])
        read += reader.read()
    path.write_bytes(data)
    read += reader.read()
    assert read == PAYLOADS


def test_one_flipped_byte_costs_one_record(tmp_path: Path) -> None:
    data = written(tmp_path / "whole")
    starts = np.cumsum([0, *(len(frames.frame(p)) for p in PAYLOADS)])
    path = tmp_path / "flipped"
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= 0x55
        path.write_bytes(broken)
        hit = int((starts <= place).sum()) - 1
        reader = FrameReader(path)
        assert list(reader.read()) == PAYLOADS[:hit] + PAYLOADS[hit + 1 :]
        assert reader.damaged == (hit < len(PAYLOADS) - 1)  # the last one is a torn tail


def test_two_writers_of_one_file_are_refused(tmp_path: Path) -> None:
    with FrameWriter(tmp_path / "file"), pytest.raises(DataError, match="another process"):
        FrameWriter(tmp_path / "file")


@pytest.mark.parametrize("written_before", [0, 3])
def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written_before: int
) -> None:
    path = tmp_path / "file"
    real = os.write

    def full(file: int, data: Any) -> int:
        if written_before:
            return real(file, bytes(data)[:written_before])
        raise OSError(errno.ENOSPC, "No space left on device")

    with FrameWriter(path) as writer:
        writer.append(b"before")
        size = path.stat().st_size
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(DiskFull, match="make room"):
                writer.append(b"too much")
        assert path.stat().st_size == size
        writer.append(b"after")
    assert list(FrameReader(path).read()) == [b"before", b"after"]
