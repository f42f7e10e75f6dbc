"""``az-engine bench gpu``: all that this engine does on a GPU, beside what the GPU can do.

Each section runs in a process of its own with a limit of time, so that one that fails, crashes or hangs stops no other.
What it has measured until then is kept, with the end of what it wrote. The sections are in ``models``, as they need
torch.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ... import __version__
from ...engine.errors import OptionError
from ...engine.os.files import write_atomically
from ...engine.os.process import module_command
from ...engine.os.system import NEW_GROUP, kill_group
from .measure import readable

SECTIONS = {
    "environment": "GPU, driver, libraries, cores",
    "parity": "torch on the GPU against onnxruntime on the CPU, every net of the package that torch runs",
    "leaves": "positions a second by batch and precision, beside the network alone",
    "learner": "samples a second of the learner, beside a plain loop of torch",
    "search": "simulations a second of a search in three games",
    "selfplay": "positions a second of one evaluator and several processes that play",
    "train": "a short run of az-engine train",
}
# sections in which kernels are compiled, beside the first ones, for those that need them
_NEEDED = {
    "search": ("kernels-chess", "kernels-shogi", "kernels-go9"),
    "selfplay": ("kernels-go9",),
    "train": ("kernels-go9",),
}
_HOME = "az_engine.models.selfplay.gpu.sections"  # imported by its name: bench stands below models
_WIDTH = 150  # columns of a table that no terminal shows
_LAST = 40  # lines of a section that failed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "sections:\n" + "\n".join(f"  {name:12}{what}" for name, what in SECTIONS.items())
    add = parser.add_argument
    add("--device", default="auto", choices=("auto", "cuda", "cpu"), help="auto = a GPU if torch has one")
    add("--sections", type=_names, default=tuple(SECTIONS), metavar="NAME,NAME", help="default: all of them")
    add("--seconds", type=float, default=30.0, help="time that a section measures for (default: %(default)s)")
    add("--limit", type=float, metavar="S", help="after which a section is ended (default: 180 + 4 * --seconds)")
    add("--total", type=float, metavar="S", help="begin no section after so many seconds, and end what runs then")
    add("--quick", action="store_true", help="small nets, small batches, few positions: to see that all of it runs")
    add("--out", type=Path, metavar="FILE", help="write all figures there as JSON, after each section")
    add("--one", default="", help=argparse.SUPPRESS)  # a section in this process


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in SECTIONS]:
        raise argparse.ArgumentTypeError(f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    return names


def main(args: argparse.Namespace) -> int:
    if not args.seconds > 0:
        raise OptionError("--seconds must be above 0")
    limit = args.limit or 180 + 4 * args.seconds
    if args.one:
        faulthandler.enable()
        faulthandler.dump_traceback_later(max(1.0, limit - 5))  # where it hangs
        import_module(_HOME).run(args.one, args.device, args.seconds, quick=args.quick)
        return 0
    words = sys.argv[1:]
    report: dict[str, Any] = {"version": __version__, "command": words, "started": time.strftime("%Y-%m-%d %H:%M:%S")}
    begun = time.monotonic()
    done: dict[str, Any] = report.setdefault("sections", {})
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        started = {}

        def start(name: str) -> None:
            given = ("--device", args.device, "--seconds", str(args.seconds), "--limit", str(limit))
            started[name] = running.enter_context(
                _Section(name, Path(folder), (*given, *(["--quick"] if args.quick else [])))
            )

        def finish(name: str) -> None:
            if name not in started:
                start(name)
            left = min(limit, args.total - (time.monotonic() - begun)) if args.total else limit
            done[name] = started[name].result(max(left, 0.1))
            if args.out is not None:
                write_atomically(args.out, json.dumps(report, indent=1).encode())
            status, figures = done[name]["status"], len(done[name]["figures"])
            print(f"{name}: {status}, {figures} figures, {done[name]['seconds']:.0f} s", file=sys.stderr, flush=True)

        needed = {name: () if args.quick else _NEEDED.get(name, ()) for name in args.sections}
        for kernels in dict.fromkeys(kernels for names in needed.values() for kernels in names):
            start(kernels)
        for name, names in needed.items():
            for each in (*names, name):
                if each not in done:
                    finish(each)
    show(done)
    return int(any(section["status"] != "ok" for section in done.values()))


@dataclass
class _Section:
    """A section in its process, as a context that ends it."""

    name: str
    folder: Path
    arguments: Sequence[str]
    begun: float = field(default_factory=time.monotonic)

    def __enter__(self) -> Self:
        self.out, self.err = (self.folder / f"{self.name}.{kind}" for kind in ("out", "err"))
        command = module_command("az_engine", "bench", "gpu", "--one", self.name, *self.arguments)
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, "TMPDIR": str(self.folder)},
                **NEW_GROUP,
            )
        return self

    def __exit__(self, *_: object) -> None:
        kill_group(self.process)
        self.process.wait()

    def result(self, limit: float) -> dict[str, Any]:
        """What it has measured. BLOCKS until it ends, at most ``limit`` seconds."""
        try:
            code = self.process.wait(limit)
            status = "ok" if code == 0 else f"ended with status {code}" if code > 0 else f"crashed (signal {-code})"
        except subprocess.TimeoutExpired:
            status = "out of time"
        seconds = time.monotonic() - self.begun
        self.__exit__()  # whatever it started, too
        figures = list(_read(self.out))
        if status == "ok" and any("error" in figure for figure in figures):
            status = "parts failed"
        results = {"status": status, "seconds": round(seconds, 1), "figures": figures}
        if status not in ("ok", "parts failed"):
            results["error"] = self.err.read_text(errors="replace").splitlines()[-_LAST:]
        return results


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """The figures of a section: lines of JSON, the last one maybe torn."""
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):  # a library's own words
            figure = json.loads(line)
            if isinstance(figure, dict) and "what" in figure:
                yield figure


def show(sections: dict[str, Any]) -> None:
    """Print a table of all figures, then what failed."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    table = Table("what", "value", "unit", "ratio", "how")
    for column in (1, 3):
        table.columns[column].justify = "right"
    for name, section in sections.items():
        table.add_section()
        table.add_row(f"[bold]{name}[/bold]", "", "", "", f"{section['status']}, {section['seconds']:.0f} s")
        for figure in section["figures"]:
            table.add_row(*map(escape, _row(figure)))
    console.print(table)
    for name, section in sections.items():
        for title, lines in [
            *((figure["what"], figure["error"]) for figure in section["figures"] if "error" in figure),
            *([(section["status"], section["error"])] if "error" in section else []),
        ]:
            console.print(f"\n{name}, {title}:", markup=False)
            console.print("\n".join(lines), markup=False, soft_wrap=True)


def _row(figure: dict[str, Any]) -> tuple[str, str, str, str, str]:
    what, note = str(figure["what"]), str(figure.get("note", ""))
    if "error" in figure:
        return what, "failed", "", "", str(figure["error"][-1])[:100]
    if "value" not in figure:
        return what, "", "", "", note
    value, ratio = figure["value"], ""
    if "ratio" in figure:
        ratio = f"{figure['ratio']:.3f} of {readable(figure['peer_value'])}"
        note = f"{figure['peer']}; {note}" if note else figure["peer"]
    return what, readable(value) if value >= 0.01 or not value else f"{value:.2g}", figure["unit"], ratio, note
