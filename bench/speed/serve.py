"""``az-engine bench serve``: how searches share one net: throughput, fairness, latency of a short query.

Each search is an Engine of its own, as a session of ``az-engine serve`` has it; names distinguish clients.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Self

from ...engine.engine import Engine
from ...engine.games import get_game
from ...engine.info import BestMove, ThinkingInfo
from ...engine.limits import Limits
from ...engine.nets.shared import SharedNets
from ...engine.params import EngineOptions, SearchParams
from .measure import Measurement, percentile, show

_WARM_S = 1.0  # before counting begins
_GREEDY = 320  # leaves in flight
_VISITS = 20_000  # of a search, which then begins anew: a compiled net fills any tree in seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--net", default="", metavar="FILE", help="an ONNX net (default: the net inside the package)")
    parser.add_argument("--provider", default="cpu", help="what runs it (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=2, metavar="N", help="batches at a time (default: %(default)s)")
    parser.add_argument(
        "--clients", type=int, default=12, metavar="N", help="clients, all alike (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="time for each measurement (default: %(default)s)")
    parser.add_argument(
        "--queries", type=int, default=200, metavar="N", help="queries of 100 visits (default: %(default)s)"
    )


def jain(shares: list[float]) -> float:
    """Jain's index of fairness: 1 when all are equal, 1 / n when one has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


class _Searches:
    """Engines that search the first position again and again. Context manager: stops them."""

    def __init__(
        self, nets: SharedNets, args: argparse.Namespace, clients: list[tuple[str, int]], workers: int
    ) -> None:
        """``clients``: name, and leaves in flight of one worker (0 = as measured), of each search."""
        self._batcher = nets.batcher
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self.engines = []
        for name, leaves in clients:
            options = _options(args, leaves, workers)
            engine = Engine(args.game, options, partial(nets.load, name))
            engine.ready()
            self.engines.append(engine)

    def __enter__(self) -> Self:
        for engine in self.engines:
            self._threads.append(threading.Thread(target=self._search, args=(engine,), daemon=True))
            self._threads[-1].start()
        time.sleep(_WARM_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for engine, thread in zip(self.engines, self._threads, strict=True):
            engine.stop()
            thread.join()
            engine.close()

    def _search(self, engine: Engine) -> None:
        while not self._ended.is_set():
            engine.new_game()
            engine.set_position(None, [])
            engine.go(Limits(nodes=_VISITS), _ignore, _ignore)
            engine.wait()

    def rows(self, seconds: float) -> dict[str, float]:
        """Positions a second that each client's searches got evaluated."""
        before, began = {client.name: client.rows for client in self._batcher.clients()}, time.perf_counter()
        time.sleep(seconds)
        elapsed = time.perf_counter() - began
        after = self._batcher.clients()
        return {each.name: (each.rows - before[each.name]) / elapsed for each in after if each.name in before}


def _options(args: argparse.Namespace, leaves: int, workers: int) -> EngineOptions:
    # without the solver and its mates no root is ever proven: nobody stops before the end
    search = SearchParams(solver=False, mate_plies=0)
    return EngineOptions(
        weights_file=args.net, provider=args.provider, hash_mb=32, threads=workers, batch_size=leaves, search=search
    )


def _ignore(_: ThinkingInfo | BestMove) -> None:
    """Nobody reads it."""


def main(args: argparse.Namespace) -> int:
    show(_measure(args), as_json=args.json)
    return 0


def _measure(args: argparse.Namespace) -> Iterator[Measurement]:
    nets, count = SharedNets(args.lanes), args.clients
    int8 = _options(args, 0, 1).int8  # as the engines load it: this is their net, and its batches are theirs
    first = nets.load("", args.net, get_game(args.game), provider=args.provider, int8=int8)
    batch = first.batch_size
    first.close()

    fills = list[str]()

    def shares(clients: list[tuple[str, int]], workers: int = 1) -> dict[str, float]:
        with _Searches(nets, args, clients, workers) as searches:
            rows, batches = nets.batcher.rows, nets.batcher.batches
            result = searches.rows(args.seconds)
            batches = nets.batcher.batches - batches
            full = (nets.batcher.rows - rows) / max(batches, 1) / batch
            fills.append(f"batches {full:.0%} full" if batches else "in turns")  # a compiled net has no batches
            return result

    alone, many, ratios = [], [], []
    for _ in range(3):
        alone.append(sum(shares([("alone", 4 * batch)], args.lanes + 1).values()))
        many.append(sum(shares([(f"{i}", 0) for i in range(8)]).values()))
        ratios.append(many[-1] / alone[-1])
    note = f"batch {batch}, {args.lanes} lanes, {fills[-1]}"
    yield Measurement(
        "8 searches together", statistics.median(many), "positions/s", "one search alone, large batches",
        statistics.median(alone), note, statistics.median(ratios),
    )  # fmt: skip
    equal = shares([(f"{i}", 0) for i in range(count)])
    yield Measurement(f"fairness of {count} equal clients", jain([*equal.values()]), "Jain's index", note=fills[-1])
    greedy = shares([("greedy", _GREEDY), *((f"{i}", 0) for i in range(count - 1))])
    ratio = greedy.pop("greedy") / statistics.median(greedy.values())
    yield Measurement(f"a client with {_GREEDY} leaves in flight", ratio, "of the median client", note=fills[-1])
    crowd = shares([*(("crowd", 0) for _ in range(20)), *((f"{i}", 0) for i in range(count - 1))])
    ratio = crowd.pop("crowd") / statistics.median(crowd.values())
    yield Measurement("a client with 20 searches", ratio, "of the median client", note=fills[-1])
    yield from _queries(nets, args, many[-1])


def _queries(nets: SharedNets, args: argparse.Namespace, throughput: float) -> Iterator[Measurement]:
    """Latency of 100 visits beside 8 analyses, and what it would be if the net were a fluid, shared by weight."""
    query = Engine(args.game, _options(args, 0, 1), partial(nets.load, "query"))
    query.ready()

    processor = list[tuple[float, float]]()  # of each query's thread: seconds on one, and of waiting for one

    def latency() -> float:
        query.new_game()
        query.set_position(None, [])
        began = time.perf_counter()
        query.go(Limits(nodes=100), _ignore, lambda _: processor.append(_processor_seconds()))
        query.wait()
        return time.perf_counter() - began

    alone = statistics.median(latency() for _ in range(args.queries))
    rows = query_rows = 0
    before = dict(nets.batcher.waited)
    processor.clear()
    with _Searches(nets, args, [(f"{i}", 0) for i in range(8)], 1):
        me = next(each for each in nets.batcher.clients() if each.name == "query")
        rows = me.rows
        times = sorted(latency() for _ in range(args.queries))
        query_rows = (me.rows - rows) // args.queries
    query.close()
    turns, waited = _waits(nets.batcher.waited, before)
    busy, runnable = (1000 * statistics.mean(each) for each in zip(*processor, strict=True))
    note = f"alone {1000 * alone:.1f} ms; means: on a processor {busy:.1f}, waiting for one {runnable:.1f}"
    note += (
        f", waiting for the net {1000 * waited / args.queries:.1f} ms in {turns / args.queries:.0f} turns or batches"
    )
    fluid = max(alone, query_rows / (throughput * 4 / (4 + 8 * 2)))
    for name, value in (("median", statistics.median(times)), ("p99", percentile(times, 99))):
        yield Measurement(
            f"100 visits beside 8 analyses, {name}", 1000 * value, "ms", "fluid share", 1000 * fluid,
            note,
        )  # fmt: skip


def _processor_seconds() -> tuple[float, float]:
    """Of this thread so far: on a processor, and waiting for one; zeros where the system does not tell."""
    result = Path("/proc/thread-self/schedstat")
    busy, waiting = result.read_text().split()[:2] if result.exists() else (0, 0)
    return int(busy) / 1e9, int(waiting) / 1e9


def _waits(after: dict[float, tuple[int, float]], before: dict[float, tuple[int, float]]) -> tuple[int, float]:
    """How often the heaviest searches have waited for the net between two counts, and how many seconds."""
    count, seconds = after[max(after)]
    had, was = before.get(max(after), (0, 0.0))
    return count - had, seconds - was
