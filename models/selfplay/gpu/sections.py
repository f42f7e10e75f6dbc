"""What ``az-engine bench gpu`` measures; it runs each section in a process of its own.

A section is a list of parts. A part that fails is reported with the end of its traceback, and the next one goes on.
"""

from __future__ import annotations

import json
import platform
import random
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ....bench.speed.measure import Measurement
from ....bench.speed.search import random_line, simulations
from ....engine.errors import OptionError, counted
from ....engine.games import get_game
from ....engine.games.base import Game
from ....engine.kernels.cache import cores
from ....engine.nets.evaluator import Evaluator, UniformEvaluator
from ....engine.nets.file.netfile import EMBEDDED
from ....engine.nets.onnx.evaluator import OnnxEvaluator
from ....engine.nets.onnx.session import PROVIDERS, load_onnxruntime
from ....engine.nets.opinions import expected_points, legal_actions, softmax
from ....engine.nets.positions import encode, random_lines
from ....engine.nets.weights import dense_net
from ....engine.search.selfplay.games import SelfPlay, SelfPlayConfig
from ...fields import Values
from ...net.evaluator import Precision, TorchEvaluator, read_network, torch_device
from .learning import learner_parts, run_parts
from .server import EvaluatorServer, batch_of
from .setup import LAST, PRECISIONS, Figure, Part, Setup, rate
from .speed import leaves_per_second

NETS = {  # the package's towers, and the games that they are compared in
    "chess-conv": ("chess",),
    "shogi-conv": ("shogi",),
    "go": ("go9", "go13", "go19"),
}
BATCHES = (64, 256, 512, 1024, 2048, 4096)
SEARCHES = ((64, 1), (256, 1), (256, 4), (512, 4))  # leaves in a batch, threads
PROCESSES = (4, 8, 14)  # that play


def run(section: str, device: str, seconds: float, *, quick: bool) -> None:
    """Print the figures of a section, one line of JSON each. BLOCKS. Errors: OptionError without the requested GPU."""
    chosen = torch_device() if device == "auto" else torch.device(device)
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise OptionError("there is no GPU here that torch can use; give --device cpu")
    if chosen.type == "cpu":
        torch.set_num_threads(1)
    setup = Setup(chosen, seconds, quick, Path(tempfile.mkdtemp()))
    name, _, game = section.partition("-")
    for title, part in _SECTIONS[name](setup, game) if game else _SECTIONS[name](setup):
        try:
            for figure in part():
                if isinstance(figure, Measurement):
                    print(figure.to_json(), flush=True)
                else:
                    print(json.dumps({"what": figure[0], "note": figure[1]}), flush=True)
        except Exception:  # noqa: BLE001  (the report has it)
            lines = traceback.format_exc().strip().splitlines()[-LAST:]
            print(json.dumps({"what": title, "error": lines}), flush=True)


# ---- environment


def _environment(setup: Setup) -> Iterator[tuple[str, Part]]:
    def facts() -> Iterator[Figure]:
        yield "Python, cores", f"{platform.python_version()} on {platform.platform()}, {counted(cores(), 'core')}"
        for name in ("numpy", "numba", "onnx"):
            yield name, str(__import__(name).__version__)
        cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        yield "torch, CUDA, cuDNN", f"{torch.__version__}, {torch.version.cuda}, {cudnn}"
        ort = load_onnxruntime()
        yield "onnxruntime", f"{ort.__version__}: {', '.join(ort.get_available_providers())}"

    def gpu() -> Iterator[Figure]:
        if not setup.on_gpu:
            yield "GPU", "none is used"
            return
        properties = torch.cuda.get_device_properties(0)
        what = f"capability {properties.major}.{properties.minor}, {properties.multi_processor_count} multiprocessors"
        yield "GPU", f"{properties.name}, {properties.total_memory / 2**30:.1f} GiB, {what}"
        query = "driver_version,clocks.max.sm,power.limit,compute_mode"
        command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
        yield f"nvidia-smi: {query}", subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def bandwidth() -> Iterator[Figure]:
        if setup.on_gpu:
            for kind in (False, True):
                host = torch.empty(64 << 20, dtype=torch.uint8, pin_memory=kind)
                on_device = host.to(setup.device)
                speed = rate(lambda h=host, t=on_device: t.copy_(h, non_blocking=True), 0.5, setup)  # type: ignore[misc]
                yield Measurement(f"copy to the GPU, {'' if kind else 'not '}pinned", speed * 64 / 1024, "GiB/s")

    yield from (("versions", facts), ("GPU", gpu), ("copies", bandwidth))


# ---- parity


def _parity(setup: Setup) -> Iterator[tuple[str, Part]]:
    for net, games in NETS.items():
        for name in games:
            yield f"{net} on {name}", lambda n=net, g=name: _compared(setup, n, get_game(g))  # type: ignore[misc]


def _compared(setup: Setup, net: str, game: Game) -> Iterator[Figure]:
    path, count = setup.in_fp32(net, game), 8 if setup.quick else 512
    reference = OnnxEvaluator(path, game, provider="cpu", batch_size=64)
    lines = random_lines(game, count, 0)
    planes = encode(game.using(reference.encoder), lines, reference.history).reshape(count, -1)
    legal = [legal_actions(game, line)[1] for line in lines]
    expected = _opinions(reference, planes, legal)
    others: dict[str, Callable[[], Evaluator]] = {
        f"torch {precision}": lambda p=precision: TorchEvaluator(  # type: ignore[misc]
            path, game, batch_size=64 if setup.quick else 512, precision=p, device=setup.device
        )
        for precision in PRECISIONS
    }
    if setup.on_gpu and PROVIDERS["cuda"][0] in load_onnxruntime().get_available_providers():
        others["onnxruntime CUDA"] = lambda: OnnxEvaluator(path, game, provider="cuda", batch_size=64)
    for name, made in others.items():
        for what, mine, theirs in zip(
            ("probability", "value", "score"), _opinions(made(), planes, legal), expected, strict=True
        ):
            if theirs is not None and mine is not None:
                difference = np.abs(mine - theirs)
                size = (
                    f"mean {difference.mean():.2g}; {len(theirs):,} numbers, {float(np.abs(theirs).mean()):.3g} large"
                )
                yield Measurement(
                    f"{net} on {game.name} {game.planes[1]}, {name}, {what}",
                    difference.max(),
                    "greatest difference",
                    note=size,
                )


def _opinions(evaluator: Evaluator, planes: NDArray[np.uint8], legal: list[NDArray[Any]]) -> tuple[Any, Any, Any]:
    """The probabilities of all legal moves, the expected points, and the score if the net has one."""
    parts = [evaluator.evaluate_all(planes[i : i + 64]) for i in range(0, len(planes), 64)]
    logits, values, _, scores = zip(*parts, strict=True)
    policy = np.concatenate(logits)
    probabilities = np.concatenate([softmax(policy[row, actions]) for row, actions in enumerate(legal)])
    score = None if scores[0] is None else np.concatenate(scores)
    return probabilities, expected_points(np.concatenate(values)), score


# ---- leaves


def _leaves(setup: Setup) -> Iterator[tuple[str, Part]]:
    batches = (8, 16) if setup.quick else BATCHES
    made = [
        ("chess-conv", EMBEDDED / "chess-conv.onnx", "chess"),
        ("preset gpu", setup.net(), "go9"),
    ]
    share = setup.seconds / (2 * len(made) * len(PRECISIONS) * len(batches))
    for net, path, name in made:
        game = get_game(name)
        yield f"{net}, loading", lambda p=path, g=game, n=net: _loading(setup, p, g, n)  # type: ignore[misc]
        for precision in PRECISIONS:
            for size in batches:
                title = f"{net} on {game.name} {game.planes[1]}, {precision}, batch {size}"
                yield title, lambda t=title, p=path, g=game, k=precision, b=size: _judged(setup, t, p, g, k, b, share)  # type: ignore[misc]


def _loading(setup: Setup, path: Path, game: Game, net: str) -> Iterator[Figure]:
    for which in ("first", "second"):
        begun = time.perf_counter()
        size = 16 if setup.quick else 2048
        TorchEvaluator(path, game, batch_size=size, device=setup.device, width=game.max_moves)
        how = f"batches up to {size} in 8 sizes, each recorded as a graph on a GPU"
        yield Measurement(f"{net}, loading it, {which} time", time.perf_counter() - begun, "s", note=how)


def _judged(
    setup: Setup, title: str, path: Path, game: Game, precision: Precision, size: int, seconds: float
) -> Iterator[Figure]:
    net = TorchEvaluator(
        path, game, batch_size=size, precision=precision, device=setup.device, width=game.max_moves, steps=1
    )
    few = encode(net.game, random_lines(game, min(size, 256), 1), net.history)
    planes = np.concatenate([few] * -(-size // len(few)))[:size]
    piped = _piped(net, planes, seconds)
    alone = _alone(setup, path, game, precision, planes, seconds)
    yield Measurement(title, piped, "positions/s", "the network alone, planes on the device", alone)


def _piped(net: TorchEvaluator, planes: NDArray[np.uint8], seconds: float) -> float:
    """Positions a second as an evaluator's process judges them: one batch is filled in while another is computed."""
    rows, slots, done, slot = len(planes), net.batches.slots, 0, 0
    under_way: Callable[[], Any] | None = None
    for each in (0, 1):
        net.launch(rows, each)()
    begun = time.perf_counter()
    while True:
        over = done > 0 and time.perf_counter() - begun >= seconds
        if not over:
            slots[slot].planes[:rows] = planes
            following = net.launch(rows, slot)
        if under_way is not None:
            under_way()
            done += rows
        if over:
            return done / (time.perf_counter() - begun)
        under_way, slot = following, 1 - slot


def _alone(
    setup: Setup, path: Path, game: Game, precision: Precision, planes: NDArray[np.uint8], seconds: float
) -> float:
    _, network = read_network(path, game)
    network = network.to_play(torch.bfloat16 if precision == "bf16" else torch.float32, setup.device)
    on_device = torch.from_numpy(planes).to(setup.device)
    flags = torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=precision == "bf16")
    with torch.inference_mode(), flags:
        return rate(lambda: network(on_device), seconds, setup) * len(planes)


# ---- kernels and search


def _kernels(setup: Setup, name: str) -> Iterator[tuple[str, Part]]:
    def compiled() -> Iterator[Figure]:
        game, begun = get_game(name), time.perf_counter()
        simulations(game, game.initial(), UniformEvaluator(game, 8), 1, 0.1)
        for gumbel in (0, 8):
            config = SelfPlayConfig(games=2, visits=8, gumbel=gumbel, max_moves=4, cache_mb=1)
            player = SelfPlay(game, UniformEvaluator(game), config, 0, range(2))
            while not player.finished:
                player.step()
        yield Measurement(
            f"compiling for {name}", time.perf_counter() - begun, "s", note="nothing, where they are kept"
        )

    yield name, compiled


def _search(setup: Setup) -> Iterator[tuple[str, Part]]:
    searches = ((8, 1), (8, 2)) if setup.quick else SEARCHES
    share = setup.seconds / 3 / len(searches)
    for name in ("chess", "shogi", "go19"):
        game = get_game(name)
        for batch, threads in searches:
            title = f"{name}, batch {batch}, threads {threads}"
            yield title, lambda t=title, g=game, b=batch, n=threads: _searched(setup, t, g, b, n, share)  # type: ignore[misc]


def _searched(setup: Setup, title: str, game: Game, batch: int, threads: int, seconds: float) -> Iterator[Figure]:
    dense = dense_net(game.name)
    assert dense is not None
    net = TorchEvaluator(dense, game, batch_size=batch, device=setup.device)
    line = random_line(game, random.Random(0), 12)
    simulations(game, line, net, threads, min(seconds, 0.2))
    yield Measurement(title, simulations(game, line, net, threads, seconds), "simulations/s", note=net.description)


# ---- self-play


def _selfplay(setup: Setup) -> Iterator[tuple[str, Part]]:
    counts = (2,) if setup.quick else PROCESSES
    for count in counts:
        yield f"{count} processes", lambda n=count: _played(setup, n, setup.seconds / len(counts))  # type: ignore[misc]


def _played(setup: Setup, processes: int, seconds: float) -> Iterator[Figure]:
    few: Values = {"games": 16, "visits": 8} if setup.quick else {}
    run = setup.run(machine={"workers": processes}, selfplay=few)
    server = EvaluatorServer(run.get_game(), batch_of(run), device=setup.device)
    played = leaves_per_second(server, run, setup.net(), processes, seconds)
    peer = "the net alone, full batches"
    how = (
        f"{played.rows:.0f} positions in a batch of {server.batch}; "
        f"{counted(run.selfplay.games, 'game')} each; {counted(cores(), 'core')}"
    )
    yield Measurement(f"{processes} processes", played.leaves, "positions/s", peer, played.limit, how)


_SECTIONS: dict[str, Callable[..., Iterator[tuple[str, Part]]]] = {
    "environment": _environment,
    "parity": _parity,
    "leaves": _leaves,
    "kernels": _kernels,
    "search": _search,
    "selfplay": _selfplay,
    "learner": learner_parts,
    "train": run_parts,
}
