"""Trace one warm ``go nodes 100``: the functions that it calls, the files that it crosses, how often it changes files.

    python -m tests.trace_go [chess|shogi|go]

CONTRIBUTING's walk from ``go`` to ``bestmove`` is drawn from this.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import az_engine
from az_engine.engine.engine import Engine
from az_engine.protocols.gtp.session import GtpSession
from az_engine.protocols.lines import LineReader, LineWriter
from az_engine.protocols.options import OptionValues
from az_engine.protocols.uci.uci import UciSession
from az_engine.protocols.uci.usi import UsiSession

_PACKAGE = Path(az_engine.__file__).parent
_ROOMS = tuple(f"{entry.resolve()}{os.sep}" for entry in _PACKAGE.iterdir() if entry.is_symlink())
_SESSIONS: dict[str, Any] = {"uci": UciSession, "usi": UsiSession, "gtp": GtpSession}
_NO_HASTE_S = 0.2  # for what threads do after an answer
_DIALOGUES = {  # what is sent before, what starts the search, and how its answer begins
    "chess": ("uci", ("position startpos moves e2e4", "position startpos moves e2e4 e7e5"), "go nodes 100", "bestmove"),
    "shogi": ("usi", ("position startpos moves 7g7f", "position startpos moves 7g7f 3c3d"), "go nodes 100", "bestmove"),
    "go": ("gtp", ("boardsize 9", "play b e5"), "genmove w", "= "),
}


class Visit(NamedTuple):
    """Consecutive calls of one thread in one file."""

    thread: str
    file: str  # below the package
    functions: list[str]


class _Watch:
    """Notes the package's calls of all threads that begin after it, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.calls: list[tuple[str, str, str]] = []

    def __call__(self, frame: Any, event: str, _: object) -> None:
        if self.on and event == "call":
            file = _file_in_package(frame.f_code.co_filename)
            if file is not None:
                self.calls.append((threading.current_thread().name, file, frame.f_code.co_name))


def _file_in_package(path: str) -> str | None:
    if path.startswith(f"{_PACKAGE}{os.sep}"):
        return path[len(str(_PACKAGE)) + 1 :]
    room = next((room for room in _ROOMS if path.startswith(room)), None)
    return None if room is None else f"{Path(room).name}/{path[len(room) :]}"


def visits(calls: list[tuple[str, str, str]]) -> list[Visit]:
    """The walk: a new visit wherever the file or the thread changes."""
    walk: list[Visit] = []
    for thread, file, function in calls:
        if not walk or walk[-1][:2] != (thread, file):
            walk.append(Visit(thread, file, []))
        walk[-1].functions.append(function)
    return walk


def trace(game: str = "chess") -> list[Visit]:
    """The walk of the second search of a conversation. Blocks for seconds."""
    protocol, before, go, answer = _DIALOGUES[game]
    watch = _Watch()
    threading.setprofile(watch)
    try:
        ours, theirs = os.pipe(), os.pipe()
        values = OptionValues(protocol, {"threads": 1, "nodes_limit": 100} if protocol == "gtp" else {"threads": 1})
        session = _SESSIONS[protocol](partial(Engine, game), values, LineWriter(theirs[1]), [])
        threading.Thread(target=session.run, args=(LineReader(ours[0]),), name="session", daemon=True).start()
        with os.fdopen(theirs[0]) as answers, os.fdopen(ours[1], "w", buffering=1) as lines:
            for number, line in enumerate(before):
                lines.write(f"{line}\n")
                time.sleep(_NO_HASTE_S)
                watch.on = number == 1
                lines.write(f"{go}\n")
                while not answers.readline().startswith(answer):
                    pass
                time.sleep(_NO_HASTE_S)
            watch.on = False
            lines.write("quit\n")
    finally:
        threading.setprofile(None)
    return visits(watch.calls)


def main(game: str = "chess") -> None:
    walk = trace(game)
    for visit in walk:
        print(f"{visit.thread:10} {visit.file:32} {' '.join(dict.fromkeys(visit.functions))}")
    files, calls = {visit.file for visit in walk}, sum(len(visit.functions) for visit in walk)
    threads = {visit.thread for visit in walk}
    changes = sum(sum(1 for _ in groupby(v.file for v in walk if v.thread == thread)) for thread in threads)
    print(f"{calls} calls, {len(files)} files, {changes} changes of file, {len(threads)} threads")


if __name__ == "__main__":
    main(*sys.argv[1:])
