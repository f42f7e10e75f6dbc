"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from .system import replace, sync_folder


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that after a crash or power loss there is either the old or the whole new one.

    Errors: OSError, whose ``filename`` is the path.
    """
    draft: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        draft = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(0o644)
        replace(draft, path)
    except BaseException as error:
        if draft is not None:
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):  # not the draft, and a full disk names no file
            error.filename, error.filename2 = str(path), None
        raise
    sync_folder(path.parent)


def check_writable(path: Path) -> None:
    """Errors: OSError, whose ``filename`` is the path, when no file can be written there: known before long work."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        error.filename = str(path)
        raise
