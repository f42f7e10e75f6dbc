"""TensorBoard event files: scalars only, written without TensorBoard.

A file is TFRecords (length u8, masked CRC-32C of it, data, masked CRC-32C of the data); each record is an ``Event``
protocol buffer: wall_time = 1 (double), step = 2 (varint), file_version = 3 (string), summary = 5 with value = 1 of
tag = 1 (string) and simple_value = 2 (float).
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...engine.nets.file.protobuf import write_field
from .store.frames import crc32c


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def scalars_of(row: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """(tag, value) of every number in a row of the log, nested names joined by "/"."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from scalars_of(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and name != "step":
            yield prefix + name, float(value)


class EventWriter:
    """Appends to an event file of its own in ``folder``."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self._file = self.path.open("ab")
        self._write(struct.pack("<Bd", 1 << 3 | 1, time.time()) + write_field(3, "brain.Event:2"))

    def write_row(self, row: dict[str, Any]) -> None:
        """The numbers of a row of the log, at its ``step``."""
        values = b"".join(write_field(1, write_field(1, tag) + write_field(2, value)) for tag, value in scalars_of(row))
        event = struct.pack("<Bd", 1 << 3 | 1, time.time()) + write_field(2, int(row["step"]))
        self._write(event + write_field(5, values))

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
