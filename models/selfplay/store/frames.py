"""Append-only files of checksummed records that survive crashes of the writer and damage on disk.

A frame is SYNC (4 bytes), the payload's length u4, the CRC-32C of length and payload u4, the payload; little-endian. A
writer cuts off a torn tail when it opens the file; a reader skips and counts a damaged frame, and goes on at the next
SYNC that begins a whole frame.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ....engine.errors import DataError
from ....engine.kernels.jit import kernel
from ....engine.os.system import BINARY, lock, sync_folder
from ...storage import DiskFull

SYNC = b"\xa7AZ\x1e"
_HEAD = struct.Struct("<4sII")
MAX_PAYLOAD = 1 << 24  # bytes; a greater length is damage
SYNC_SECONDS = 1.0  # longest time between a record and the fdatasync that makes it survive a power loss


def _crc_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1).astype(np.uint32)
    return table


_TABLE = _crc_table()


@kernel
def _crc32c(data: NDArray[np.uint8], crc: np.uint32) -> np.uint32:
    """CRC-32C (Castagnoli) of data u1[n], going on from ``crc`` (0 at the start)."""
    crc = ~crc
    for i in range(data.shape[0]):
        crc = _TABLE[(crc ^ np.uint32(data[i])) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return ~crc


def crc32c(data: bytes, crc: int = 0) -> int:
    """CRC-32C of ``data``, going on from ``crc``."""
    return int(_crc32c(np.frombuffer(data, np.uint8), np.uint32(crc))) & 0xFFFFFFFF


def frame(payload: bytes) -> bytes:
    """The bytes of a frame around ``payload``."""
    length = struct.pack("<I", len(payload))
    return SYNC + length + struct.pack("<I", crc32c(payload, crc32c(length))) + payload


def frame_at(data: bytes, at: int) -> bytes | None:
    """The payload of the whole, undamaged frame that begins at ``at``; None when there is none."""
    if len(data) - at < _HEAD.size:
        return None
    sync, length, checksum = _HEAD.unpack_from(data, at)
    end = at + _HEAD.size + length
    if sync != SYNC or length > MAX_PAYLOAD or end > len(data):
        return None
    payload = data[at + _HEAD.size : end]
    return payload if crc32c(payload, crc32c(data[at + 4 : at + 8])) == checksum else None


def next_frame(data: bytes, at: int) -> int:
    """Where the first whole frame at or behind ``at`` begins; -1 when there is none."""
    while (at := data.find(SYNC, at)) >= 0:
        if frame_at(data, at) is not None:
            return at
        at += 1
    return -1


class FrameReader:
    """Reads a file of frames that may still be growing, each record once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0  # behind the last whole frame that was read
        self.damaged = 0  # stretches skipped so far

    def read(self) -> Iterator[bytes]:
        """The payloads since the last call; an incomplete frame at the end waits. Errors: DataError."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except OSError as error:
            raise DataError(f"{self.path} cannot be read ({error.strerror})") from error
        start, at = self.offset, 0
        while at < len(data):
            payload = frame_at(data, at)
            if payload is None:
                following = next_frame(data, at + 1)
                if following < 0:
                    return
                self.damaged += 1
                at = following
                continue
            at += _HEAD.size + len(payload)
            self.offset = start + at
            yield payload


class FrameWriter:
    """Appends frames, each whole or not at all, to a file locked to this process."""

    def __init__(self, path: Path) -> None:
        """Open or create the file and cut off a torn tail. Errors: DataError when another process writes to it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        try:
            lock(self._file)
        except OSError as error:
            os.close(self._file)
            raise DataError(f"{path} is being written by another process") from error
        if new:
            sync_folder(path.parent)
        reader = FrameReader(path)
        self.records = sum(1 for _ in reader.read())
        self.cut = os.fstat(self._file).st_size - reader.offset  # bytes of a torn tail
        if self.cut:
            os.ftruncate(self._file, reader.offset)
        self.size = reader.offset
        self._synced = time.monotonic()

    def append(self, payload: bytes) -> None:
        """Write one record. Errors: DiskFull, and then the file is as it was."""
        data = frame(payload)
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._file, self.size)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"{self.path.parent} is full; make room and the run goes on") from error
            raise DataError(f"{self.path} cannot be written ({error.strerror})") from error
        self.size += len(data)
        self.records += 1
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Flush to disk, so that all records survive a power loss."""
        os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        self.sync()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
