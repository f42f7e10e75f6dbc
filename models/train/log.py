"""A run's metrics (``log.jsonl``) and settings (``config.json``)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...engine.errors import DataError
from ...engine.os.files import write_atomically


class Log:
    """Appends metrics as JSON lines and flushes each; drops lines after the resumed step."""

    def __init__(self, path: Path, step: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [row for row in read_log(path) if row.get("step", 0) <= step] if path.exists() else []
        write_atomically(path, "".join(json.dumps(row) + "\n" for row in kept).encode())
        self._file = path.open("a")

    def write(self, row: dict[str, Any]) -> None:
        """Append one row. Errors: DataError when the disk is full."""
        rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}
        try:
            self._file.write(json.dumps(rounded) + "\n")
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"the log cannot be written ({error.strerror}); make room and give the command again"
            ) from error

    def close(self) -> None:
        self._file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The rows of a log without a torn last line. Errors: DataError when it cannot be read."""

    def rows() -> Iterator[dict[str, Any]]:
        for line in path.read_text(errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                row = json.loads(line)
                if isinstance(row, dict):
                    yield row

    try:
        return list(rows())
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give the folder of a training run") from error


def read_config(path: Path, remedy: str = "give the folder of a training run") -> dict[str, Any]:
    """The JSON object of settings that a folder keeps. Errors: DataError, which ends with the remedy."""
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read ({reason}); {remedy}") from error
    if not isinstance(config, dict):
        raise DataError(f"{path} holds no settings; {remedy}")
    return config
