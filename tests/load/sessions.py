"""A server under many clients, over real connections.

    python -m tests.load.sessions --sessions 200

A soak of mixed UCI, USI, GTP and JSON conversations, each of which knows which answers can only be its own; how long
``isready`` takes while all search; what is left when all connections are reset at once. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import mmap
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from az_engine.bench.speed.measure import Measurement, percentile, show
from az_engine.engine.errors import EngineProcessError, OptionError

from .clients import Fault, Lines, Ports, Talker, new_talker

_SHOWN = 10  # faults of a kind that are told in full
_TICK_S = 0.05
_USER_HZ = 100  # ticks a second in /proc, on every Linux


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--sessions", type=int, default=64, metavar="N", help="clients at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        metavar="M",
        help="length of the mixed conversations (default: %(default)s)",
    )
    parser.add_argument(
        "--searches",
        type=int,
        default=32,
        metavar="N",
        help="clients that search while isready is asked (default: %(default)s)",
    )
    parser.add_argument(
        "--pings", type=int, default=500, metavar="N", help="times that isready is asked (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the conversations (default: %(default)s)")
    parser.add_argument(
        "--flag", action="append", default=[], metavar="WORD", help="pass this word on to az-engine serve"
    )
    args = parser.parse_args(words)
    if not Path("/proc/self/status").is_file():
        raise OptionError("this bench reads /proc and works on Linux only")
    show(_measure(args), as_json=args.json)
    return 0


def _measure(args: argparse.Namespace) -> Iterator[Measurement]:
    with _Server(args.sessions + args.searches, args.flag) as server:
        if args.minutes > 0:
            yield from _soak(args, server)
        yield from _pings(args, server)
        yield from _resets(args, server)


class _Server:
    """The command in a process of its own. Context manager: ends it."""

    def __init__(self, most: int, flags: list[str]) -> None:
        limits = ["--max-sessions", str(most + 8), "--per-client", str(most + 8), "--port", "0", "--http-port", "0"]
        command = [sys.executable, "-m", "az_engine", "serve", *limits, *flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        lines = list[str]()
        for line in self._process.stderr:
            lines.append(line)
            if '"ready"' in line:
                ready = json.loads(line)
                self.ports = Ports(int(ready["port"]), int(ready["http_port"]))
                break
        else:
            raise EngineProcessError(f"az-engine serve did not start: {''.join(lines[-3:]).strip()}")
        self.warnings: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if '"event"' in line and '"open"' not in line and '"close"' not in line:
                self.warnings.append(line.strip())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._listener.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    @property
    def resident(self) -> float:
        """Memory in use, in MiB."""
        pages = int(self._proc("statm").read_text().split()[1])
        return pages * mmap.PAGESIZE / (1 << 20)

    @property
    def descriptors(self) -> int:
        return len(list(self._proc("fd").iterdir()))

    @property
    def cpu_seconds(self) -> float:
        words = self._proc("stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / _USER_HZ

    def _proc(self, name: str) -> Path:
        if self._process.poll() is not None:
            raise EngineProcessError(f"az-engine serve has ended with status {self._process.returncode}")
        return Path("/proc", str(self._process.pid), name)


class _Crowd:
    """Talkers, each with a thread, until they are told to end; counts what goes wrong."""

    def __init__(self, server: _Server, count: int, seed: int) -> None:
        self.ended = threading.Event()
        self.faults: Counter[str] = Counter()
        self.shown: list[str] = []
        self.connections = 0
        self._lock = threading.Lock()
        self.talkers = [new_talker(server.ports, number, seed) for number in range(count)]
        self._threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in self.talkers]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()

    def _run(self, talker: Talker) -> None:
        while not self.ended.is_set():
            with self._lock:
                self.connections += 1
            try:
                talker.converse(self.ended)
            except Fault as fault:
                self._count(fault.kind, str(fault))
            except TimeoutError as error:
                self._count("no answer", repr(error))
            except Exception as error:  # noqa: BLE001  the WebSocket library's own, and what a broken answer raises
                self._count("protocol", repr(error))

    def _count(self, kind: str, text: str) -> None:
        with self._lock:
            self.faults[kind] += 1
            if self.faults[kind] <= _SHOWN:
                self.shown.append(text[:300])


def _soak(args: argparse.Namespace, server: _Server) -> Iterator[Measurement]:
    """Mixed conversations; memory by its median over half a minute, after the first minute and at the end."""
    sizes = []
    with _Crowd(server, args.sessions, args.seed) as crowd:
        end = time.monotonic() + 60 * args.minutes
        while time.monotonic() < end:
            time.sleep(1.0)
            sizes.append(server.resident)
    rounds = sum(talker.rounds for talker in crowd.talkers)
    note = f"{args.sessions} sessions for {args.minutes:g} minutes, {rounds} rounds on {crowd.connections} connections"
    for text in (*crowd.shown, *server.warnings[:_SHOWN]):
        sys.stderr.write(f"{text}\n")
    for kind in ("protocol", "no answer", "wrong session"):
        yield Measurement(f"faults: {kind}", crowd.faults[kind], "answers", note=note)
    idle = sum(talker.rounds == 0 for talker in crowd.talkers)
    yield Measurement("clients without a round", idle, "clients", note=note)
    span = 30 if len(sizes) >= 120 else max(len(sizes) // 4, 1)
    minutes = " ".join(f"{statistics.median(sizes[i : i + 60]):.0f}" for i in range(0, len(sizes), 60))
    first, last = statistics.median(sizes[60 : 60 + span] or sizes[:span]), statistics.median(sizes[-span:])
    yield Measurement(
        "memory at the end", last, "MiB", "after the first minute", first,
        f"from {min(sizes):.0f} to {max(sizes):.0f} MiB, by minutes {minutes}",
    )  # fmt: skip


def _endless(server: _Server, count: int, links: ExitStack) -> list[Lines]:
    """Connections that search without end."""
    results = []
    for _ in range(count):
        link = links.enter_context(Lines(server.ports))
        link.send("uci", "isready", "position startpos", "go infinite")
        link.until("readyok")
        results.append(link)
    return results


def _pings(args: argparse.Namespace, server: _Server) -> Iterator[Measurement]:
    """``isready`` of a session that does nothing else, and of those that search, by turns."""
    with ExitStack() as links:
        searching = _endless(server, args.searches, links)
        idle = links.enter_context(Lines(server.ports))
        idle.send("uci", "isready")
        idle.until("readyok")
        time.sleep(1.0)
        times: dict[str, list[float]] = {"idle": [], "searching": []}
        for turn in range(args.pings):
            kind = ("idle", "searching")[turn % 2]
            link = idle if kind == "idle" else searching[turn // 2 % len(searching)]
            began = time.perf_counter()
            link.send("isready")
            link.until("readyok")
            times[kind].append(1000 * (time.perf_counter() - began))
            time.sleep(0.01)
    load = Path("/proc/loadavg").read_text().split()[0]
    note = f"{args.searches} sessions search, {args.pings} times; the machine's load was {load}"
    for kind, result in times.items():
        for percent in (50, 99):
            yield Measurement(
                f"isready of a session that is {kind}, p{percent}", percentile(result, percent), "ms", note=note
            )


def _resets(args: argparse.Namespace, server: _Server) -> Iterator[Measurement]:
    """Seconds until the server is idle and its descriptors are back, after all connections were reset at once."""
    before = _settled(server)
    with ExitStack() as links:
        searching = _endless(server, args.sessions, links)
        began = time.perf_counter()
        for link in searching:
            link.reset()
        back = quiet = 0.0
        last = server.cpu_seconds
        while (not back or not quiet) and time.perf_counter() - began < 60:
            time.sleep(4 * _TICK_S)
            now, cpu = time.perf_counter() - began, server.cpu_seconds
            if not back and server.descriptors <= before:
                back = now
            if not quiet and cpu - last < _TICK_S:
                quiet = now
            last = cpu
    note = f"{args.sessions} searches reset at once; {before} descriptors before; 60 = not within a minute"
    yield Measurement("descriptors are back after", back or 60.0, "s", note=note)
    yield Measurement("the CPU is idle after", quiet or 60.0, "s", note=note)


def _settled(server: _Server) -> int:
    """Descriptors, once they have stayed the same for a second; waits a minute at most."""
    last, since, began = server.descriptors, time.monotonic(), time.monotonic()
    while time.monotonic() - since < 1.0 and time.monotonic() - began < 60:
        time.sleep(_TICK_S)
        if (now := server.descriptors) != last:
            last, since = now, time.monotonic()
    return last


if __name__ == "__main__":
    main()
