"""What ``az-engine bench gpu`` measures; it runs each section in a process of its own.

A section is a list of parts. A part that fails is reported with the end of its traceback, and the next one goes on.
"""

from __future__ import annotations

import faulthandler
import json
import os
import platform
import random
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ....bench.speed.measure import Measurement
from ....bench.speed.search import random_line, simulations
from ....engine.errors import OptionError
from ....engine.games import get_game
from ....engine.games.base import Game
from ....engine.kernels.cache import cores
from ....engine.nets.evaluator import Evaluator, UniformEvaluator
from ....engine.nets.file.fit import check_net
from ....engine.nets.file.netfile import EMBEDDED, read_outline
from ....engine.nets.onnx.evaluator import OnnxEvaluator
from ....engine.nets.onnx.session import PROVIDERS, load_onnxruntime
from ....engine.nets.opinions import expected_points, legal_actions, softmax
from ....engine.nets.positions import encode, random_lines
from ....engine.nets.weights import dense_net
from ....engine.os.process import module_command
from ....engine.search.selfplay import SelfPlay, SelfPlayConfig
from ...data.dataset import Batch
from ...families import family_of, family_of_file
from ...families.base import NetFile
from ...families.losses import TorchBatch
from ...fields import Values, merged
from ...net.evaluator import Precision, TorchEvaluator, read_network, torch_device
from ...train.learner import Learner
from ..config import RunConfig
from ..presets import preset
from .server import EvaluatorServer, batch_of
from .speed import leaves_per_second

NETS = {  # the package's towers, and the games that they are compared in
    "chess-conv": ("chess",),
    "shogi-conv": ("shogi",),
    "go": ("go9", "go13", "go19"),
}
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")
BATCHES = (64, 256, 512, 1024, 2048, 4096)
SEARCHES = ((64, 1), (256, 1), (256, 4), (512, 4))  # leaves in a batch, threads
PROCESSES = (4, 8, 14)  # that play
MINUTES_NOT_DAYS: Values = {  # games that end within seconds, and are learned from at once
    "selfplay": {"games": 64, "visits": 24, "gumbel": 8},
    "window": {"start": 500, "games": 20_000},
    "loop": {"first_positions": 5000, "checkpoint_steps": 200, "first_checkpoint": 25},
    "ladder": {"visits": 24, "plain_visits": 240, "pairs": 8},
}
_LAST = 15  # lines of a traceback or a log
_TIMED = 3  # passes that say how long one takes

Figure = Measurement | tuple[str, str]  # or a fact: what and text


@dataclass(frozen=True)
class Setup:
    """Where and how long a section measures."""

    device: torch.device
    seconds: float  # of the whole section
    quick: bool
    folder: Path  # for files

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def wait(self) -> None:
        """BLOCKS until the device has done its work."""
        if self.on_gpu:
            torch.cuda.synchronize()

    def run(self, **over: Any) -> RunConfig:
        """A run of 9x9 Go by the preset for GPUs, by a small one where that would take too long."""
        values = merged({"game": "go9", **preset("az,small" if self.quick else "az,gpu", get_game("go9"))}, over)
        values["machine"] = {"workers": 2, "evaluators": 1, "provider": "torch", **over.get("machine", {})}
        values["learner"].setdefault("precision", "bf16" if self.on_gpu else "fp32")
        return RunConfig.from_values({**values, "net": {**values["net"], **({"blocks": 2} if self.quick else {})}})

    def learner(self, precision: str) -> tuple[Game, Learner]:
        run = self.run(learner={"precision": precision})
        game = run.get_game()
        return game, Learner(game, run.net_config(game), run.learner_config(), device=self.device.type)

    def net(self) -> Path:
        """The file of a new net of that run."""
        game, learner = self.learner("fp32")
        path = self.folder / "new.onnx"
        path.write_bytes(learner.averaged.to_onnx(learner.net_info(game)).SerializeToString())
        return path

    def in_fp32(self, net: str, game: Game) -> Path:
        """The file of a net of the package, which is quantised to int8, in float32."""
        path = EMBEDDED / f"{net}.onnx"
        outline, content = read_outline(path)
        file = NetFile(path, content, check_net(outline, game))
        model = family_of_file(file).read(file, game).to_onnx(replace(file.info, quantisation="fp32"))
        path = self.folder / f"{net}.onnx"
        path.write_bytes(model.SerializeToString())
        return path


Part = Callable[[], Iterator[Figure]]


def run(section: str, device: str, seconds: float, limit: float, *, quick: bool) -> None:
    """Print the figures of a section, one line of JSON each. BLOCKS. Errors: OptionError without the GPU asked for."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(1.0, limit - 5))  # where it hangs
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
            lines = traceback.format_exc().strip().splitlines()[-_LAST:]
            print(json.dumps({"what": title, "error": lines}), flush=True)


# ---- environment


def _environment(setup: Setup) -> Iterator[tuple[str, Part]]:
    def facts() -> Iterator[Figure]:
        yield "Python, cores", f"{platform.python_version()} on {platform.platform()}, {cores()} cores"
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
                there = host.to(setup.device)
                speed = _rate(lambda h=host, t=there: t.copy_(h, non_blocking=True), 0.5, setup)  # type: ignore[misc]
                yield Measurement(f"copy to the GPU, {'' if kind else 'not '}pinned", speed * 64 / 1024, "GiB/s")

    yield from (("versions", facts), ("GPU", gpu), ("copies", bandwidth))


# ---- parity


def _parity(setup: Setup) -> Iterator[tuple[str, Part]]:
    for net, games in NETS.items():
        for name in games:
            yield f"{net} on {name}", lambda n=net, g=name: _compared(setup, n, get_game(g))  # type: ignore[misc]


def _compared(setup: Setup, net: str, game: Game) -> Iterator[Figure]:
    path, count = setup.in_fp32(net, game), 32 if setup.quick else 512
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
        ("chess-conv", setup.in_fp32("chess-conv", get_game("chess")), "chess"),
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
    there = torch.from_numpy(planes).to(setup.device)
    flags = torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=precision == "bf16")
    with torch.inference_mode(), flags:
        return _rate(lambda: network(there), seconds, setup) * len(planes)


def _rate(call: Callable[[], object], seconds: float, setup: Setup) -> float:
    """Calls a second, one wait for the device at the end."""
    for _ in range(_TIMED):
        call()
    count, elapsed = _TIMED, 0.0
    while True:
        setup.wait()
        begun = time.perf_counter()
        for _ in range(count):
            call()
        setup.wait()
        elapsed = time.perf_counter() - begun
        if elapsed >= seconds / 2:
            return count / elapsed
        count = max(count + 1, int(count * min(10.0, 0.9 * seconds / max(elapsed, 1e-6))))


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
    net = TorchEvaluator(setup.in_fp32(dense.stem, game), game, batch_size=batch, device=setup.device)
    line = random_line(game, random.Random(0), 12)
    simulations(game, line, net, threads, 0.2)
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
    how = f"{played.rows:.0f} positions in a batch of {server.batch}; {run.selfplay.games} games each; {cores()} cores"
    yield Measurement(f"{processes} processes", played.leaves, "positions/s", peer, played.limit, how)


# ---- learner


def _learner(setup: Setup) -> Iterator[tuple[str, Part]]:
    size = 32 if setup.quick else 1024
    share = setup.seconds / (3 * len(PRECISIONS))
    for precision in ("bf16", "fp32") if setup.on_gpu else ("fp32",):
        yield f"{precision}, learner", lambda p=precision: _learned(setup, p, size, share)  # type: ignore[misc]
        yield f"{precision}, time of a step", lambda p=precision: _times(setup, p, size, share / 7)  # type: ignore[misc]
        if setup.on_gpu:
            yield f"{precision}, fused AdamW", lambda p=precision: _plain(setup, p, size, share, fused=True)  # type: ignore[misc]


def _learned(setup: Setup, precision: str, size: int, seconds: float) -> Iterator[Figure]:
    (plain,) = _plain(setup, precision, size, seconds, fused=False)
    assert isinstance(plain, Measurement)
    game, learner = setup.learner(precision)
    batch = random_batch(game, size)
    if setup.on_gpu:
        torch.cuda.reset_peak_memory_stats()
    speed = _rate(lambda: learner.train_step(batch), seconds, setup) * size
    how = f"{learner.net_config.architecture}, batch {size}"
    yield Measurement(
        f"{precision}, learner", speed, "samples/s", "a plain loop of torch, data on the device", plain.value, how
    )
    if setup.on_gpu:
        yield Measurement(f"{precision}, peak memory", torch.cuda.max_memory_allocated() / 2**20, "MiB")


def _plain(setup: Setup, precision: str, size: int, seconds: float, *, fused: bool) -> Iterator[Figure]:
    """The loop that anyone would write first: no averaged weights, no limit of the gradient, no look at the losses."""
    game, learner = setup.learner(precision)
    network = family_of(learner.net_config.kind).network(learner.net_config, game.encoder)
    network = network.to(setup.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=fused)
    batch = TorchBatch.of(random_batch(game, size), setup.device)

    def step() -> None:
        with learner.autocast():
            losses = network.losses(batch)
        optimiser.zero_grad(set_to_none=True)
        sum(losses.values(), torch.zeros((), device=setup.device)).backward()
        optimiser.step()

    yield Measurement(
        f"{precision}, plain loop{', fused AdamW' if fused else ''}", _rate(step, seconds, setup) * size, "samples/s"
    )


def _times(setup: Setup, precision: str, size: int, seconds: float) -> Iterator[Figure]:
    """Where the time of a step goes: its pieces, each repeated by itself."""
    game, learner = setup.learner(precision)
    batch, network = random_batch(game, size), learner.network
    tensors = TorchBatch.of(batch, setup.device)
    learner.train_step(batch)

    def both_ways() -> None:
        with learner.autocast():
            losses = network.losses(tensors)
        sum(losses.values(), torch.zeros((), device=setup.device)).backward()  # type: ignore[no-untyped-call]

    pieces: dict[str, Callable[[], object]] = {
        "the whole step": lambda: learner.train_step(batch),
        "the whole step, data on the device, no look at the losses": lambda: learner.step_on(tensors),
        "the batch to the device": lambda: TorchBatch.of(batch, setup.device),
        "forward and backward": both_ways,
        "limit of the gradient": lambda: torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0),
        "optimiser": learner.optimiser.step,
        "averages": learner.average,
    }
    for name, piece in pieces.items():
        yield Measurement(f"{precision}, {name}", 1000 / _rate(piece, seconds, setup), "ms")


def random_batch(game: Game, size: int) -> Batch:
    """What a learner gets of a game with territory, made of random numbers."""
    rng = np.random.default_rng(0)
    legal = np.argsort(rng.random((size, game.num_actions)), axis=1)[:, : game.max_moves].astype(np.int32)
    targets = rng.random((size, min(64, legal.shape[1]))).astype(np.float32)
    z = rng.choice([-1, 1], size).astype(np.float32)
    return Batch(
        rng.integers(0, 2, (size, *game.planes), np.uint8),
        np.ascontiguousarray(legal[:, : targets.shape[1]]),
        targets / targets.sum(axis=1, keepdims=True),
        np.ascontiguousarray(legal),
        np.stack([z > 0, z == 0, z < 0], axis=1).astype(np.float32),
        z,
        rng.choice([-1, 1], (size, *game.planes[1:])).astype(np.float32),
        (10 * rng.standard_normal(size)).astype(np.float32),
    )


# ---- a run


def _train(setup: Setup) -> Iterator[tuple[str, Part]]:
    yield "az-engine train", lambda: _trained(setup)


def _trained(setup: Setup) -> Iterator[Figure]:
    seconds = max(setup.seconds, 20.0)  # else it only starts
    few: Values = {"selfplay": {"games": 8, "visits": 8, "max_moves": 30}, "loop": {"first_positions": 100}}
    few = merged(few, {"window": {"start": 0}, "ladder": {"share": 0.0}, "machine": {"evaluators": 1}})
    chosen = merged(MINUTES_NOT_DAYS, few if setup.quick else {})
    words = [f"{part}.{name}={value}" for part, values in chosen.items() for name, value in values.items()]
    small = ["--size", "5", "--preset", "az,small", "--filters", "16", "--workers", "1"]
    out, log = setup.folder / "run", setup.folder / "log"
    command = ["train", "--game", "go", "--device", setup.device.type, "--provider", "torch", "--out", str(out)]
    command += ["--minutes", f"{seconds / 60:.2f}"]
    command += small if setup.quick else ["--size", "9", "--preset", "az,gpu"]
    command += [word for text in words for word in ("--set", text)]
    with log.open("wb") as file:
        environment = {**os.environ, "COLUMNS": "160"}
        done = subprocess.run(
            module_command("az_engine", *command), stdout=file, stderr=file, env=environment, check=False
        )
    rows = [json.loads(line) for line in _lines(out / "log.jsonl")]
    last = rows[-1] if rows else {}
    yield Measurement("steps", last.get("step", 0), "steps", note=f"in {seconds:.0f} s, its start included")
    yield Measurement("learned from", last.get("positions", 0) / seconds, "positions/s")
    played: dict[str, Any] = next((row["selfplay"] for row in reversed(rows) if "selfplay" in row), {})
    if played:
        how = f"{played['games']} games of {played['length']:.0f} moves"
        yield Measurement("played", played["positions"] / seconds, "positions/s", note=how)
    learned = [row["trained_per_s"] for row in rows if "trained_per_s" in row]
    if learned:
        yield Measurement("while it learns", learned[-1], "samples/s")
    for each in (log, *sorted((out / "workers").glob("*.log"))[:2]):
        for line in [line for line in _lines(each) if line.strip()][-_LAST:]:
            yield each.name, line.rstrip()
    if done.returncode:
        raise RuntimeError(f"az-engine {' '.join(command)} ended with status {done.returncode}")


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


_SECTIONS: dict[str, Callable[..., Iterator[tuple[str, Part]]]] = {
    "environment": _environment,
    "parity": _parity,
    "leaves": _leaves,
    "kernels": _kernels,
    "search": _search,
    "selfplay": _selfplay,
    "learner": _learner,
    "train": _train,
}
