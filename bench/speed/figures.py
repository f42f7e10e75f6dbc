"""``az-engine bench figures``: the table of figures in docs/results/figures.md, measured and written by one command."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ... import __version__
from ...engine.errors import AzError, counted
from ...engine.kernels.cache import cores
from ...engine.os.files import check_writable, write_atomically
from ...engine.os.system import cpu_name
from .measure import Measurement, readable

BENCHES = (  # what the table holds, from the rules to the search with a net
    "perft",
    "perft --game shogi",
    "rules --game go --size 9",
    "rules --game go --size 19",
    "tree",
    "tree --game shogi",
    "tree --game go",
    "search",
    "search --net chess-conv",
    "search --game shogi",
    "search --game shogi --net shogi-conv",
    "search --game go",
    "startup",
    "startup --game go",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="FILE", help="Markdown file to write (default: standard output)")


def main(args: argparse.Namespace) -> int:
    if args.out is not None:
        check_writable(args.out)
    text = table(BENCHES)
    if args.out is None:
        print(text, end="")
    else:
        write_atomically(args.out, text.encode())
    return 0


def table(benches: Sequence[str]) -> str:
    """Run the benches one after another; Markdown of their figures. Errors: AzError when one fails."""
    load = _load()
    rows, notes = [], list[str]()
    for bench in benches:
        print(f"az-engine bench {bench}", file=sys.stderr, flush=True)
        for m in _measured(bench):
            if m.note and m.note not in notes:
                notes.append(m.note)
            mark = f" ({notes.index(m.note) + 1})" if m.note else ""
            ratio = f"{m.ratio:.3g} of {readable(m.peer_value)}: {m.peer}" if m.ratio and m.peer_value else ""
            rows.append(f"| `{bench}` | {m.what}{mark} | {readable(m.value)} {m.unit} | {ratio} |")
    today = dt.datetime.now(dt.UTC).date()
    return "\n".join(
        [
            "# Figures",
            "",
            "`az-engine bench figures --out docs/results/figures.md` measured all of these and wrote this file:",
            f"az-engine {__version__}, {today}, Python {platform.python_version()}, {platform.system()}, {cpu_name()},",
            f"{counted(cores(), 'core')}. Load average of the machine over 15 minutes: {load} before, {_load()} after.",
            "On a machine with other work read the ratios: both sides of each ran in turns in the same run.",
            "",
            "| `az-engine bench` | what | value | ratio to a limit or peer |",
            "|---|---|---|---|",
            *rows,
            "",
            *(f"{number}. {note}" for number, note in enumerate(notes, 1)),
            "",
        ]
    )


def _load() -> str:
    return f"{os.getloadavg()[2]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _measured(bench: str) -> Iterator[Measurement]:
    command = [sys.executable, "-m", "az_engine", "bench", *shlex.split(bench), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise AzError(f"az-engine bench {bench} failed (status {done.returncode}); its message is above")
    for line in done.stdout.splitlines():
        fields = json.loads(line)
        yield Measurement(**fields)
