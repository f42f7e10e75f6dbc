"""A net in an ONNX file, run by onnxruntime.

On a CPU every search worker has its own single-threaded session: two are faster than one session with two threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...clock import Stopwatch
from ...errors import NetError
from ...games.base import Game
from ..evaluator import Evaluator, Extra, Floats, Interrupted, Output, Planes
from ..file.fit import EXTRA, check_net, check_outputs
from ..file.netfile import EMBEDDED, read_outline
from ..netinfo import NetInfo
from ..positions import random_planes
from .binding import Binding
from .deadline import WATCHDOG, Evaluation
from .session import GPU_PROVIDERS, PROVIDERS, first_line, load_onnxruntime, raw_session
from .trial import extremes_of, try_net

_DEADLINE = 20.0  # s that every evaluation is given on a CPU ...
_GPU_DEADLINE = 600.0  # ... and on a GPU, where TensorRT compiles the net for every new size of a batch
_PATIENCE = 200  # times the measured time are given to nets that need longer: a busy machine is no fault of the net
_BATCH_SECONDS = 0.012  # longest evaluation on a CPU: it delays the answer to stop
_TRIED = 36  # positions that a net is tried on before it is used
_MEASURING = 1.0  # s for the measurement of one size of a batch


class OnnxEvaluator(Evaluator):
    """A net in an ONNX file, run by onnxruntime.

    The file is checked (see ``netfile``), its metadata and shapes are compared with the game, and it is run once before
    it is used. Every evaluation has a deadline; a net that misses it is given up.
    """

    def __init__(
        self,
        path: str | Path,
        game: Game,
        *,
        provider: str = "auto",
        batch_size: int = 0,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Blocks while the net loads; ``batch_size`` 0 measures the best one; ``tell`` gets what takes long.

        Errors: NetError.
        """
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
        self._doubts = "doubts" in given
        if self.path.parent != EMBEDDED:
            from ...kernels.cache import cache_directory  # here: the trial's own process needs no numba

            try_net(
                self._model,
                "-".join((self.sha256, *map(str, game.planes))),
                [*self._outputs, *self.extra],
                lambda: self.for_file(random_planes(game, _TRIED, 0, self.history)),
                partial(check_outputs, self.info, game, self.extra),
                cache_directory(),
                tell,
            )
        self._lock = threading.Lock()
        self._sessions: dict[int, Any] = {0: raw_session(self._model, 1, provider)}
        running = list(self._sessions[0].get_providers())
        self.on_gpu = running[0] in GPU_PROVIDERS
        self.note = ""
        if provider not in ("auto", "cpu") and running[0] not in PROVIDERS[provider]:
            self.note = f"provider {provider} did not start (its libraries are missing?); the net runs on {running[0]}"
        elif self.info.boards and not self.info.has_learned(game.planes[2], game.planes[1]):
            learned, (rows, columns) = ", ".join(f"{n}x{n}" for n in self.info.boards), game.planes[1:]
            self.note = f"this net has learned {learned} and plays {columns}x{rows} by analogy"
        self.fault: NetError | None = None
        self._deadline, self._row_deadline = _GPU_DEADLINE if self.on_gpu else _DEADLINE, 0.0  # s: at least, a position
        self._new_options = load_onnxruntime().RunOptions
        self._idle: list[Evaluation] = []  # for the next calls
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

    def bind(self, planes: Planes, slot: int = 0) -> Callable[[int], Output]:
        if self.on_gpu or list(self._sessions[0].get_providers()) != PROVIDERS["cpu"]:
            return super().bind(planes, slot)
        assert self.info is not None
        widths = self._game.num_actions, 3 if self.info.value_head == "wdl" else 1
        outputs = dict(zip(self._outputs, widths, strict=True))
        binding = Binding(self._session(slot), planes.reshape(-1, *self._game.planes), outputs)
        evaluation = self._new_evaluation()

        def ask(count: int) -> Output:
            nonlocal evaluation
            if self.fault is not None:
                raise self.fault
            WATCHDOG.begin(evaluation, max(self._deadline, self._row_deadline * count))
            try:
                return binding.run(count, evaluation.options)
            except Exception as error:  # see raw_session
                raise self._explained(error, evaluation) from error
            finally:
                WATCHDOG.end(evaluation)
                if evaluation.ended:
                    evaluation = self._new_evaluation()

        return ask

    def estimate(self, planes: Planes) -> Extra:
        """What the net says of planes u1[B, C * H * W] beside policy and value, None where it does not say it.

        Ownership f4[B, H, W], from +1, surely the mover's, to -1; score f4[B], the mover's lead on the board in points,
        komi left out. Blocks. Errors: NetError.
        """
        return self._extra(self._run(self.extra, planes, 0) if self.extra else [])

    def evaluate_all(self, planes: Planes, slot: int = 0) -> tuple[*Output, *Extra]:
        policy, value, *more = self._run([*self._outputs, *self.extra], planes, slot)
        return policy, value, *self._extra(more)

    def doubts(self, planes: Planes, slot: int = 0) -> tuple[Floats | None]:
        return (self._run(["doubts"], planes, slot)[0] if self._doubts else None,)

    def interrupt(self) -> None:
        """End the evaluations that are under way, from any thread. Returns at once."""
        WATCHDOG.interrupt(self._give_up)

    def for_file(self, planes: Planes) -> Planes:
        """What the file's graph is given of the planes."""
        return planes

    def _run(self, outputs: Sequence[str], planes: Planes, slot: int) -> list[NDArray[np.float32]]:
        if self.fault is not None:
            raise self.fault
        session = self._session(slot)
        try:
            evaluation = self._idle.pop()
        except IndexError:
            evaluation = self._new_evaluation()
        WATCHDOG.begin(evaluation, max(self._deadline, self._row_deadline * len(planes)))
        try:
            got: list[NDArray[np.float32]] = session.run(
                outputs, {"planes": self.for_file(planes.reshape(-1, *self._game.planes))}, evaluation.options
            )
        except Exception as error:  # see raw_session
            raise self._explained(error, evaluation) from error
        finally:
            WATCHDOG.end(evaluation)
            if not evaluation.ended:
                self._idle.append(evaluation)
        return got

    def _new_evaluation(self) -> Evaluation:
        return Evaluation(self._new_options(), self._give_up)

    def _explained(self, error: Exception, evaluation: Evaluation) -> NetError:
        """What onnxruntime's error in an evaluation means."""
        if self.fault is not None:
            return self.fault
        if evaluation.ended:
            return Interrupted("the evaluation was interrupted")
        return NetError(f"onnxruntime failed while running the net: {first_line(error)}")

    def _give_up(self, seconds: float) -> None:
        self.fault = NetError(f"the net {self.path.name!r} gave no answer within {seconds:.0f} s and is given up")

    def _extra(self, got: list[NDArray[np.float32]]) -> Extra:
        outputs = dict(zip(self.extra, got, strict=True))
        score = outputs.get("score")
        return outputs.get("ownership"), None if score is None else score[:, 0]

    def _dry_run(self) -> None:
        """Run the start position and look at what comes out; its time decides about the deadline."""
        planes, watch = np.repeat(self._game.start_planes(), 2, axis=0), Stopwatch()
        got = self._run([*self._outputs, *self.extra], planes, 0)
        self._row_deadline = _PATIENCE * watch.seconds / len(planes)
        assert self.info is not None
        check_outputs(self.info, self._game, self.extra, len(planes), extremes_of(got))

    def _measure_batch(self) -> int:
        """The batch that suits the machine: on a CPU the largest that stays under 12 ms, on a GPU the one that pays."""
        if self._row_deadline > _PATIENCE * _MEASURING:  # a second a position
            return 1
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
        times: list[float] = []
        while len(times) < 6 and sum(times) < _MEASURING:
            watch = Stopwatch()
            self.evaluate(planes)
            times.append(watch.seconds)
        return min(times)
