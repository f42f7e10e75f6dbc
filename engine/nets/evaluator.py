"""Evaluators: from planes to policy logits and a value, for a batch of positions.

An evaluator answers from the view of the side to move. Calls block and release the GIL; each search worker uses its own
``slot``, so that on a CPU every worker has its own single-threaded onnxruntime session (two of them beat one session
with two threads). This is the only file that imports onnxruntime.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..clock import Stopwatch
from ..errors import NetError, OptionError
from ..games.base import OWN_ENCODER, Game
from .conversion import native_net
from .netfile import Outline, read_outline
from .netinfo import NetInfo
from .trial import try_net

Planes = NDArray[np.uint8]
Output = tuple[NDArray[np.float32], NDArray[np.float32]]
Extra = tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]  # ownership f4[B, H, W], score f4[B]

EXTRA = ("ownership", "score")  # what a net may say beside policy and value

EMBEDDED = Path(__file__).parents[2] / "models" / "nets"
_DRY_RUN_SECONDS = 20.0
_BATCH_SECONDS = 0.012  # longest evaluation on a CPU: it delays the answer to stop
_FLOAT, _UINT8 = 1, 2  # ONNX element types
_PROVIDERS = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": ["CUDAExecutionProvider"],
    "tensorrt": ["TensorrtExecutionProvider", "CUDAExecutionProvider"],
    "openvino": ["OpenVINOExecutionProvider"],
    "dml": ["DmlExecutionProvider"],
}
_GPU = ("CUDAExecutionProvider", "TensorrtExecutionProvider", "DmlExecutionProvider")


class Evaluator(Protocol):
    """What the search needs of a net."""

    info: NetInfo | None  # None for an evaluator without a net
    batch_size: int  # leaves a call that suit it best
    history: int  # positions that its planes show
    encoder: str  # whose planes it takes and whose actions it gives, see Game.using
    description: str  # one line: the net and what runs it

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        """planes u1[B, C * H * W] -> (logits f4[B, A], values f4[B, 3] WDL logits or f4[B, 1] in [-1, 1]).

        Errors: NetError when the net cannot be run.
        """


class UniformEvaluator:
    """No net: every move is as likely, every position even. For tests, benches and plain MCTS."""

    def __init__(self, game: Game, batch_size: int = 64) -> None:
        self.info: NetInfo | None = None
        self.batch_size = batch_size
        self.history = 1
        self.encoder = game.encoder
        self.description = "uniform (no net)"
        self._logits = np.zeros((1024, game.num_actions), np.float32)
        self._values = np.zeros((1024, 1), np.float32)

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        return self._logits[: len(planes)], self._values[: len(planes)]


class FunctionEvaluator:
    """A pure function of the planes instead of a net, for tests."""

    def __init__(self, function: Callable[[Planes], Output], batch_size: int = 8, history: int = 8) -> None:
        self.info: NetInfo | None = None
        self.batch_size = batch_size
        self.history = history
        self.encoder = OWN_ENCODER
        self.description = "function"
        self._function = function

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        return self._function(planes)


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise NetError("onnxruntime is not installed; run: pip install 'az-engine[cpu]' (or az-engine[gpu])") from error
    if not hasattr(onnxruntime, "InferenceSession"):
        raise NetError(
            "onnxruntime is broken, as when onnxruntime and onnxruntime-gpu are both installed; "
            "uninstall both, then: pip install 'az-engine[cpu]' (or az-engine[gpu])"
        )
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime


def available_providers() -> list[str]:
    """onnxruntime's execution providers on this machine, best first. Errors: NetError without onnxruntime."""
    return list(_onnxruntime().get_available_providers())


@functools.cache
def _cuda_starts() -> bool:
    """Whether CUDA can be tried: NVIDIA's driver is there. Then the libraries that pip installed are loaded, too."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    with contextlib.redirect_stdout(sys.stderr):  # where it says which it does not find
        _onnxruntime().preload_dlls()
    return True


def raw_session(model: bytes | str, threads: int = 1, provider: str = "cpu") -> Any:
    """A plain onnxruntime session with our settings; benches measure against it."""
    ort = _onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    available = ort.get_available_providers()
    cuda = _PROVIDERS["cuda"][0] in available and _cuda_starts()
    if provider == "auto":
        provider = "cuda" if cuda else "cpu"
    wanted = [p for p in _PROVIDERS[provider] if p in available]
    if not wanted:
        raise NetError(
            f"provider {provider} is not in this onnxruntime (it has {', '.join(available)}); "
            "install az-engine[gpu] or choose Provider cpu"
        )
    try:
        return ort.InferenceSession(model, options, providers=[*dict.fromkeys([*wanted, "CPUExecutionProvider"])])
    except Exception as error:  # onnxruntime raises its own classes for whatever it dislikes in a file
        raise NetError(f"onnxruntime cannot load the net: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


class OnnxEvaluator:
    """A net in an ONNX file, run by onnxruntime.

    The file is checked (see ``netfile``), its metadata and shapes are compared with the game, and it is run once under
    a deadline before it is used.
    """

    def __init__(self, path: str | Path, game: Game, *, provider: str = "auto", batch_size: int = 0) -> None:
        """Blocks while the net loads; ``batch_size`` 0 measures the best one. Errors: NetError."""
        self.path = Path(path)
        outline, self._model = read_outline(self.path)
        self.info: NetInfo | None = check_net(outline, game)
        assert self.info is not None
        self.history = self.info.history
        self.encoder = self.info.encoder
        self.sha256 = outline.sha256
        self._provider = provider
        self._game = game = game.using(self.encoder)
        self._outputs = ["policy", self.info.value_head]
        given = {output.name for output in outline.outputs}
        self.extra = tuple(name for name in EXTRA if name in given)  # what it says beside policy and value
        if self.path.parent != EMBEDDED:
            from ..kernels.jit import cache_directory  # here: the trial's own process needs no numba

            try_net(self._model, self.sha256, game.planes, cache_directory())
        self._lock = threading.Lock()
        self._sessions: dict[int, Any] = {0: raw_session(self._model, 1, provider)}
        running = list(self._sessions[0].get_providers())
        self.on_gpu = running[0] in _GPU
        self.note = ""
        if provider not in ("auto", "cpu") and running[0] not in _PROVIDERS[provider]:
            self.note = f"provider {provider} did not start (its libraries are missing?); the net runs on {running[0]}"
        self._dry_run()
        self.batch_size = batch_size or self._measure_batch()
        self.description = (
            f"{self.info.summary()}; {running[0].removesuffix('ExecutionProvider')}, batch {self.batch_size}"
        )

    def _session(self, slot: int) -> Any:
        if self.on_gpu:
            slot = 0
        session = self._sessions.get(slot)
        if session is None:
            with self._lock:
                session = self._sessions.setdefault(slot, raw_session(self._model, 1, self._provider))
        return session

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        policy, value = self._run(self._outputs, planes, slot)
        return policy, value

    def estimate(self, planes: Planes) -> Extra:
        """What the net says of planes u1[B, C * H * W] beside policy and value, None where it does not say it.

        Ownership f4[B, H, W], from +1, surely the mover's, to -1; score f4[B], the mover's lead on the board in points,
        komi left out. Blocks. Errors: NetError.
        """
        return self._extra(self._run(self.extra, planes, 0) if self.extra else [])

    def evaluate_all(self, planes: Planes) -> tuple[NDArray[np.float32], NDArray[np.float32], *Extra]:
        """Both ``evaluate`` and ``estimate`` for the time of one of them. Blocks. Errors: NetError."""
        policy, value, *more = self._run([*self._outputs, *self.extra], planes, 0)
        return policy, value, *self._extra(more)

    def _run(self, outputs: Sequence[str], planes: Planes, slot: int) -> list[NDArray[np.float32]]:
        session = self._session(slot)
        try:
            got: list[NDArray[np.float32]] = session.run(outputs, {"planes": planes.reshape(-1, *self._game.planes)})
        except Exception as error:  # see raw_session
            raise NetError(f"onnxruntime failed while running the net: {_first_line(error)}") from error
        return got

    def _extra(self, got: list[NDArray[np.float32]]) -> Extra:
        said = dict(zip(self.extra, got, strict=True))
        score = said.get("score")
        return said.get("ownership"), None if score is None else score[:, 0]

    def _dry_run(self) -> None:
        """Run the start position under a deadline and look at what comes out."""
        planes = np.repeat(self._game.start_planes(), 2, axis=0)
        options = _onnxruntime().RunOptions()
        timer = threading.Timer(_DRY_RUN_SECONDS, lambda: setattr(options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            got = self._sessions[0].run([*self._outputs, *self.extra], {"planes": planes}, options)
        except Exception as error:  # see raw_session
            raise NetError(f"the net {self.path.name!r} does not run: {_first_line(error)}") from error
        finally:
            timer.cancel()
        assert self.info is not None
        values = 3 if self.info.value_head == "wdl" else 1
        shapes = {"ownership": (2, *self._game.planes[1:]), "score": (2, 1)}
        wanted = [(2, self._game.num_actions), (2, values), *(shapes[name] for name in self.extra)]
        if [y.shape for y in got] != wanted:
            raise NetError(f"the net {self.path.name!r} gives shapes {[y.shape for y in got]} instead of {wanted}")
        if not all(np.isfinite(y).all() for y in got):
            raise NetError(f"the net {self.path.name!r} gives NaN or infinity; its weights are damaged")

    def _measure_batch(self) -> int:
        """The batch that suits the machine: on a CPU the largest that stays under 12 ms, on a GPU the one that pays."""
        if not self.on_gpu:
            seconds = self._seconds(8) / 8
            return int(next((size for size in (16, 8, 4, 2) if size * seconds <= _BATCH_SECONDS), 1))
        size = 16
        while size < 512 and self._seconds(2 * size) < 1.9 * self._seconds(size):
            size *= 2
        return size

    def _seconds(self, size: int) -> float:
        """Shortest time of a few evaluations of ``size`` positions."""
        planes = np.repeat(self._game.start_planes(), size, axis=0)
        times = []
        for _ in range(6):
            watch = Stopwatch()
            self.evaluate(planes)
            times.append(watch.seconds)
        return min(times)


def read_info(outline: Outline, game: Game) -> NetInfo:
    """The metadata of a net for the game. Errors: NetError."""
    info = NetInfo.from_metadata(outline.metadata)
    if info.game != game.name:
        raise NetError(f"this net plays {info.game[:20]}, not {game.name}; give a net for {game.name}")
    return info


def check_net(outline: Outline, game: Game) -> NetInfo:
    """The metadata of a net that fits the game. Errors: NetError naming what does not fit."""
    info = read_info(outline, game)
    try:
        game = game.using(info.encoder)
    except OptionError as error:
        raise NetError(f"{error}; update az-engine to use this net") from error
    size = game.planes[1]
    if size not in info.sizes and info.planes[0] == game.planes[0]:
        boards = ", ".join(f"{n}x{n}" for n in info.sizes[:20])
        raise NetError(f"this net plays on {boards}, not on {size}x{size}; choose another board or another net")
    if info.planes[0] != game.planes[0] or (
        not info.boards and (info.planes, info.actions) != (game.planes, game.num_actions)
    ):
        raise NetError(
            f"this net takes {info.planes} planes and gives {info.actions} actions; "
            f"{game.name} has {game.planes} and {game.num_actions}"
        )
    if (info.planes_version, info.moves_version) != (game.planes_version, game.moves_version):
        raise NetError("this net was made for another version of the input planes or actions; train or export it again")
    if info.value_head not in ("wdl", "value"):
        raise NetError(f"this net's value head is {info.value_head[:20]!r}; it must be 'wdl' or 'value'")
    if not 1 <= info.history <= game.history:
        raise NetError(f"this net wants {info.history} positions of history; {game.name} has 1 to {game.history}")
    planes = next((t for t in outline.inputs if t.name == "planes"), None)
    if planes is None or planes.element != _UINT8 or not _takes(planes.shape, game.planes, free=bool(info.boards)):
        raise NetError(f"the net's input must be 'planes', uint8 [batch, {', '.join(map(str, game.planes))}]")
    for name, width in (("policy", game.num_actions), (info.value_head, 3 if info.value_head == "wdl" else 1)):
        output = next((t for t in outline.outputs if t.name == name), None)
        if output is None or output.element != _FLOAT or (output.shape and output.shape[-1] not in (-1, width)):
            raise NetError(f"the net's output {name!r} must be float32 [batch, {width}]")
    if any(t.element != _FLOAT for t in outline.outputs if t.name in EXTRA):
        raise NetError("the net's outputs 'ownership' and 'score' must be float32")
    return info


def _takes(shape: tuple[int, ...], planes: tuple[int, int, int], *, free: bool) -> bool:
    """Whether an input of that shape takes those planes; -1 is a free dimension, which a board's may be if ``free``."""
    wanted = [(planes[0],), *((n, -1) if free else (n,) for n in planes[1:])]
    return len(shape) == 4 and all(n in allowed for n, allowed in zip(shape[1:], wanted, strict=True))


def embedded_net(game: str) -> Path | None:
    """The path of the net inside the package for a game, if there is one."""
    path = EMBEDDED / f"{game}.onnx"
    return path if path.is_file() else None


def net_path(weights: str, game: Game) -> Path | None:
    """The file that a ``WeightsFile`` setting names: "" the embedded net, "uniform" none, else a path.

    The path may be the folder of a self-play run, which stands for the net that plays there. A net of another program
    is converted first, see :func:`foreign.native_net`; that blocks.

    Errors: NetError, also when there is no embedded net.
    """
    if weights == "uniform":
        return None
    if weights:
        path = Path(weights)
        with contextlib.suppress(RuntimeError):  # "~" of an unknown user
            path = path.expanduser()
        return net_of_run(path) if path.is_dir() else native_net(path)
    embedded = embedded_net(game.name)
    if embedded is None:
        raise NetError(f"there is no net for {game.name} inside this package; set WeightsFile to a net or to 'uniform'")
    return embedded


def net_of_run(folder: Path) -> Path:
    """The net that plays in a folder of ``az-engine train``. Errors: NetError when there is none."""
    try:
        name = str(json.loads((folder / "nets" / "current.json").read_text())["net"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NetError(f"{str(folder)!r} is no folder of a self-play run; give one, or an ONNX file") from error
    return folder / "nets" / Path(name).name


def load_evaluator(weights: str, game: Game, *, provider: str = "auto", batch_size: int = 0) -> Evaluator:
    """The evaluator that a ``WeightsFile`` setting names, see :func:`net_path`. Blocks. Errors: NetError."""
    path = net_path(weights, game)
    if path is None:
        return UniformEvaluator(game, batch_size or 64)
    return OnnxEvaluator(path, game, provider=provider, batch_size=batch_size)
