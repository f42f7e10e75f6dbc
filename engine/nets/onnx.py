"""A net in an ONNX file, run by onnxruntime.

On a CPU every search worker has its own single-threaded session: two of them beat one session with two threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clock import Stopwatch
from ..errors import NetError
from ..games.base import Game
from .evaluator import Output, Planes
from .fit import EXTRA, check_net
from .netfile import EMBEDDED, read_outline
from .netinfo import NetInfo
from .session import GPU_PROVIDERS, PROVIDERS, first_line, load_onnxruntime, raw_session
from .trial import try_net

Extra = tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]  # ownership f4[B, H, W], score f4[B]

_DRY_RUN_SECONDS = 20.0
_BATCH_SECONDS = 0.012  # longest evaluation on a CPU: it delays the answer to stop


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
        self.on_gpu = running[0] in GPU_PROVIDERS
        self.note = ""
        if provider not in ("auto", "cpu") and running[0] not in PROVIDERS[provider]:
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
            raise NetError(f"onnxruntime failed while running the net: {first_line(error)}") from error
        return got

    def _extra(self, got: list[NDArray[np.float32]]) -> Extra:
        said = dict(zip(self.extra, got, strict=True))
        score = said.get("score")
        return said.get("ownership"), None if score is None else score[:, 0]

    def _dry_run(self) -> None:
        """Run the start position under a deadline and look at what comes out."""
        planes = np.repeat(self._game.start_planes(), 2, axis=0)
        options = load_onnxruntime().RunOptions()
        timer = threading.Timer(_DRY_RUN_SECONDS, lambda: setattr(options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            got = self._sessions[0].run([*self._outputs, *self.extra], {"planes": planes}, options)
        except Exception as error:  # see raw_session
            raise NetError(f"the net {self.path.name!r} does not run: {first_line(error)}") from error
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
