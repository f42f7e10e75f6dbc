"""The files of evaluation nets: a version, a description, then whole numbers, layer by layer."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .....engine.errors import DataError
from .....engine.nets.file.netfile import MAX_BYTES


class NumberFile:
    """One file, read from the front."""

    def __init__(self, path: Path, hint: str) -> None:
        """hint: what the user should give instead. Errors: DataError."""
        try:
            content = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
        except OSError as error:
            raise DataError(f"--nnue: {path} cannot be read: {error.strerror}") from error
        self._path, self._hint, self._content = path, hint, content
        self.version, _, size = struct.unpack_from("<III", content) if len(content) >= 12 else (0, 0, 0)
        self.description = content[12 : 12 + size].decode("ascii", "replace")
        self._at = 12 + size

    def skip_hash(self) -> None:
        self._at += 4

    def take(self, kind: str, *shape: int) -> NDArray[Any]:
        """The next numbers. Errors: DataError where the file ends before."""
        count = int(np.prod(shape))
        try:
            result: NDArray[Any] = np.frombuffer(self._content, kind, count, self._at).reshape(shape)
        except ValueError as error:
            raise self._wrong() from error
        self._at += result.nbytes
        return result

    def end(self) -> None:
        """Errors: DataError where numbers are left."""
        if self._at != len(self._content):
            raise self._wrong()

    def _wrong(self) -> DataError:
        return DataError(f"--nnue: {self._path} is a net of another shape, or cut off; {self._hint}")


def no_net(path: Path, program: str, hint: str) -> DataError:
    return DataError(f"--nnue: {path} is no net of {program}; {hint}")
