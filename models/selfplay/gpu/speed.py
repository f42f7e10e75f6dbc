"""How many leaves a second self-play has judged: processes of trees with one evaluator, beside the net alone."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import torch
from rich.console import Console

from ....engine.errors import DataError, NetError, OptionError, counted
from ..config import RunConfig
from ..folder import RunFolder
from .server import EvaluatorServer, batch_of, device_of
from .two_batches import play_along

WARM_UP_SECONDS = 5.0  # of playing before anything is counted


def measure(folder: RunFolder, run: RunConfig, seconds: float) -> int:
    """Print what a run's self-play would reach on this machine. BLOCKS. Errors: OptionError, DataError, NetError."""
    if not seconds > 0:
        raise OptionError("--measure takes seconds, more than 0")
    current = folder.current
    if current is None:
        raise DataError(f"{folder.folder} has no net yet; start az-engine train first")
    torch.set_num_threads(run.machine.threads)
    net, workers = folder.nets / current.net, max(run.machine.workers, 1)
    server = EvaluatorServer(run.get_game(), batch_of(run), precision=run.machine.precision, device=device_of(0))
    played = leaves_per_second(server, run, net, workers, seconds)
    console = Console(highlight=False)
    console.print(
        f"{run.game}, {played.description}; {workers} processes of {counted(run.selfplay.games, 'game')}, "
        f"{counted(run.selfplay.visits, 'visit')}, {counted(run.machine.threads, 'thread')} of torch",
        soft_wrap=True,
    )
    console.print(f"leaves a second: {played.leaves:,.0f}, {played.leaves / played.limit:.3f} of the net alone")
    console.print(f"the net alone, full batches: {played.limit:,.0f} positions a second")
    console.print(f"batches: {played.rows:.0f} positions, {played.fill:.1%} of {server.batch}")
    return 0


class Played:
    """Self-play beside the net alone, in positions a second."""

    def __init__(self, leaves: float, limit: float, rows: float, fill: float, description: str) -> None:
        self.leaves = leaves  # judged for trees, a second
        self.limit = limit  # positions that the net alone judges a second, in full batches
        self.rows, self.fill = rows, fill  # of a batch: positions, and their share of the greatest batch
        self.description = description


def leaves_per_second(server: EvaluatorServer, run: RunConfig, net: Path, workers: int, seconds: float) -> Played:
    """Let processes play for some seconds with a server of this process. BLOCKS. Errors: NetError."""
    context = multiprocessing.get_context("spawn")
    limit, description = server.limit(str(net), seconds)
    arguments = (server.address, run.to_json())
    processes = [
        context.Process(target=play_along, args=(*arguments, number, str(net)), daemon=True)
        for number in range(1, workers + 1)
    ]
    for process in processes:
        process.start()
    counts: list[tuple[float, int, int]] = []

    def stopping() -> bool:
        """Note the counts once all processes have played for a while, and again at the end."""
        now = time.monotonic()
        if not counts:
            if len(server.playing) == workers and now - max(server.playing.values()) > WARM_UP_SECONDS:
                counts.append((now, server.rows, server.batches))
            if any(process.exitcode for process in processes):
                raise NetError("a self-play process failed; its error stands above")
        elif now - counts[0][0] >= seconds:
            counts.append((now, server.rows, server.batches))
        return len(counts) == 2

    server.stopping = stopping
    try:
        server.serve()
    finally:
        server.close()
        for process in processes:
            process.join(10.0)
            if process.is_alive():
                process.kill()
    (begun, rows, batches), (ended, more, later) = counts
    mean = (more - rows) / max(1, later - batches)
    return Played((more - rows) / (ended - begun), limit, mean, mean / server.batch, description)
