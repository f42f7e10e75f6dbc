"""Files that are whole or not there, and folders that extend the package."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import pkgutil
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from .system import BINARY, lock, replace, sync_folder

_DRAFT = re.compile(r"\..+\.[a-z0-9_]{8}")  # of a file with this name
_ABANDONED_S = 60.0  # s after a draft's last change: it may not be locked yet


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that after a crash or power loss there is either the old or the whole new one.

    Errors: OSError, whose ``filename`` is the path.
    """
    draft: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        name = path.parent / f".{path.name}.{secrets.token_hex(4)}"
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o666)  # less the umask
        draft = name
        with os.fdopen(handle, "wb") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                lock(file.fileno())
            remove_abandoned(path.parent.glob(f".{glob.escape(path.name)}.*"))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace(draft, path)
    except BaseException as error:
        if draft is not None:
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):  # not the draft, and a full disk names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    sync_folder(path.parent)


def drafts_below(folder: Path) -> Iterator[Path]:
    """The drafts of any file in ``folder`` and below it."""
    return (path for path in folder.rglob(".*.????????") if _DRAFT.fullmatch(path.name))


def remove_abandoned(drafts: Iterable[Path]) -> None:
    """Remove the drafts that killed processes have left: old ones that nobody has locked."""
    for draft in drafts:
        with contextlib.suppress(OSError):  # it is in use, or another process has just removed it
            if time.time() - draft.stat().st_mtime > _ABANDONED_S:
                with draft.open("rb+") as file:
                    lock(file.fileno())
                    draft.unlink()


def packages_with(name: str, directories: Iterable[str]) -> tuple[str, ...]:
    """Names, sorted, of the packages in these directories whose ``__init__.py`` names ``name``; none is imported."""
    results = set()
    for directory in directories:
        for module in pkgutil.iter_modules([directory]):
            path = Path(directory, module.name, "__init__.py")
            if module.ispkg and re.search(rf"\b{name}\b", path.read_text(encoding="utf-8", errors="replace")):
                results.add(module.name)
    return tuple(sorted(results))


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
