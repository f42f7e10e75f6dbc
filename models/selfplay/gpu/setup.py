"""What all sections of ``az-engine bench gpu`` share: the device, nets of the package and of a run, a stopwatch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ....bench.speed.measure import Measurement
from ....engine.games import get_game
from ....engine.games.base import Game
from ....engine.nets.file.fit import check_net
from ....engine.nets.file.netfile import EMBEDDED, read_outline
from ...families import family_of_file
from ...families.base import NetFile
from ...fields import merged
from ...net.evaluator import Precision
from ...train.learner import Learner
from ..config import RunConfig
from ..presets import preset

PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")
LAST = 15  # lines of a traceback or a log
TIMED = 3  # passes that say how long one takes

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
        """A run of 9x9 Go by the device's default preset, of a small net where that would take too long."""
        ours = preset("az,gpu" if self.on_gpu and not self.quick else "az,small", get_game("go9"))
        values = merged({"game": "go9", **ours}, over)
        values["machine"] = {"workers": 2, "evaluators": 1, "provider": "torch", **over.get("machine", {})}
        if self.on_gpu:
            values["learner"].setdefault("precision", "bf16")
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


def rate(call: Callable[[], object], seconds: float, setup: Setup) -> float:
    """Calls a second, one wait for the device at the end; on a CPU a second of its time, whatever else runs there."""
    clock = time.perf_counter if setup.on_gpu else time.process_time
    for _ in range(TIMED):
        call()
    count, elapsed = TIMED, 0.0
    while True:
        setup.wait()
        begun = clock()
        for _ in range(count):
            call()
        setup.wait()
        elapsed = clock() - begun
        if elapsed >= seconds / 2:
            return count / elapsed
        count = max(count + 1, int(count * min(10.0, 0.9 * seconds / max(elapsed, 1e-6))))
