"""``az-engine bench endless``: an analysis that nobody stops, in bounded memory."""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...engine.errors import EngineProcessError, OptionError
from ...engine.games import get_game
from ...engine.nets.weights import load_evaluator
from ...engine.params import EngineOptions, SearchParams
from ...engine.search.recycling import recycle
from ...engine.search.search import Search
from ...engine.search.tree import NODES, Tree
from .measure import Measurement, show
from .startup import add_net_argument, ask, check_net, dialogue, engine_of

_PART = 0.1  # of the search, at its beginning and its end, whose speeds are compared
_PAUSES = 7  # recyclings of each tree that are timed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_net_argument(parser)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="M", help="of the search (default: %(default)s)")
    usual = EngineOptions().hash_mb
    parser.add_argument("--hash", type=int, default=usual, metavar="MIB", help="memory allowed (default: %(default)s)")
    help_text = "of the engine, such as --flag=--threads=1"
    parser.add_argument("--flag", action="append", default=[], metavar="FLAG", help=help_text)
    parser.add_argument(
        "--pauses", metavar="MIB,MIB", default="", help="time recyclings of trees of these sizes, and nothing else"
    )


def main(args: argparse.Namespace) -> int:
    check_net(args)
    if args.pauses:
        if not re.fullmatch("[0-9]+(,[0-9]+)*", args.pauses):
            raise OptionError("--pauses takes sizes in MiB, such as 16,64,256")
        measurements: Iterable[Measurement] = (_pause(args, int(size)) for size in args.pauses.split(","))
    elif Path("/proc/self/status").is_file():
        measurements = _endless(args)
    else:
        raise OptionError("this bench reads /proc and works on Linux only")
    show(measurements, as_json=args.json)
    return 0


class _Reports:
    """What an engine reports of an analysis."""

    def __init__(self) -> None:
        self.start = self.last = time.perf_counter()
        self.silence = 0.0  # s, the longest between two reports
        self.nodes: list[tuple[float, int]] = [(0.0, 0)]  # (s, simulations) of each report
        self.hashfull: list[int] = [0]
        self.messages: list[str] = []

    def read(self, line: str) -> None:
        """Read a line of UCI, USI or GTP; simulations are the visits of all moves where nothing else tells them."""
        if line.startswith("info string"):
            self.messages.append(line.strip())
        counts = re.findall(r"\bnodes (\d+)", line) or re.findall(r"\bvisits (\d+)", line)
        if not line.startswith("info") or not counts:
            return
        now = time.perf_counter()
        self.silence, self.last = max(self.silence, now - self.last), now
        self.nodes.append((now - self.start, sum(map(int, counts))))
        self.hashfull += [int(full) for full in re.findall(r"\bhashfull (\d+)", line)]

    def speed(self, begin: float, end: float) -> float:
        """Simulations a second between two times, as far as reports tell."""
        until, after = [report for report in self.nodes if report[0] <= end][-1]
        since, before = [(0.0, 0), *(report for report in self.nodes if report[0] <= begin and report[0] < until)][-1]
        return (after - before) / max(until - since, 1e-3)


def _endless(args: argparse.Namespace) -> Iterator[Measurement]:
    game = get_game(args.game)
    talk = dialogue(game)
    flags = [flag for flag in talk.flags if flag not in ("--nodes-limit", "1")]
    with engine_of(args, "--hash", str(args.hash), *flags, *args.flag) as process:
        ask(process, talk.hello)
        ask(process, talk.ready)
        for text in talk.position(game, ()):
            process.send(text)
        process.send(talk.think)
        process.until("info", 120.0)  # GTP loads the net no sooner
        idle = most = _resident(process.pid)
        reports = _Reports()
        while (seconds := time.perf_counter() - reports.start) < 60 * args.minutes:
            process.drain(1.0, reports.read)
            most = max(most, _resident(process.pid))
        reports.silence = max(reports.silence, time.perf_counter() - reports.last)
        ask(process, talk.stop)
    simulations = reports.nodes[-1][1]
    note = f"in {seconds / 60:.1f} minutes of {talk.think}; the engine said: {'; '.join(reports.messages) or 'nothing'}"
    yield Measurement("simulations", simulations, "", note=note)
    first, last = reports.speed(0.0, _PART * seconds), reports.speed((1 - _PART) * seconds, seconds)
    yield Measurement("speed at the end", last, "1/s", "speed at the beginning", first, note=f"{_PART:.0%} of the time")
    yield Measurement("longest silence", reports.silence, "s")
    full = f"hashfull at the end {reports.hashfull[-1]}, most {max(reports.hashfull)}"
    yield Measurement("most resident", most, "MiB", "Hash and its first report", args.hash + idle, note=full)


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise EngineProcessError(f"process {pid} has ended")


def _pause(args: argparse.Namespace, megabytes: int) -> Measurement:
    """How long one recycling takes, in the start position."""
    game = get_game(args.game)
    evaluator = load_evaluator(args.net or "", game)
    line, tree = game.initial(), Tree(megabytes << 20, game.branching)
    times = list[float]()
    nodes = 0
    while len(times) < _PAUSES:
        search = Search(game, tree, evaluator, SearchParams(), game.window(line))
        search.run(lambda: tree.full)
        if search.error is not None:
            raise search.error
        nodes = int(tree.counters[NODES])
        start = time.perf_counter()
        recycle(tree, 1)
        times.append(1000 * (time.perf_counter() - start))
    note = f"worst {max(times):.1f} ms of {_PAUSES}; {nodes:,} nodes"
    return Measurement(f"pause, {megabytes} MiB", statistics.median(times), "ms", note=note)
