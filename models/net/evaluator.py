"""A net of az-engine train, run by torch: for self-play and labelling where training runs anyway.

Its family reads its file back into the network, so that a GPU needs torch alone, no onnxruntime for GPUs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ...engine.errors import DataError, NetError
from ...engine.games.base import Game
from ...engine.nets.evaluator import Evaluator, Extra, Output, Planes
from ...engine.nets.file.fit import check_net
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.netinfo import NetInfo
from ..families import family_of_file
from ..families.base import NetFile
from ..families.network import Network
from .batches import STEPS, Batches, Outputs

Precision = Literal["auto", "bf16", "fp32"]
_BATCH = 64  # unless set, on a CPU ...
_GPU_BATCH = 512  # ... and on a GPU


def torch_device() -> torch.device:
    """Where torch runs nets: a GPU if it has one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def read_network(path: Path, game: Game) -> tuple[NetInfo, Network]:
    """The metadata and the network of an exported net's file, whose int8 weights become float32.

    Errors: NetError when torch cannot run it.
    """
    outline, content = read_outline(path)
    file = NetFile(path, content, check_net(outline, game))
    try:
        family = family_of_file(file)
        if not family.in_torch:
            raise NetError(f"{path} is a {family.kinds[0]} net, which torch does not play with; choose provider cpu")
        return file.info, family.read(file, game)
    except DataError as error:
        raise NetError(
            f"{path} is no net of az-engine train, and torch runs no others; choose provider cpu or cuda ({error})"
        ) from error


class TorchEvaluator(Evaluator):
    """A net in an ONNX file that az-engine train exported, run by torch on a GPU or a CPU."""

    def __init__(
        self,
        path: str | Path,
        game: Game,
        *,
        batch_size: int = 0,
        precision: Precision = "auto",
        device: torch.device | None = None,
        width: int = 0,
        steps: int = STEPS,
    ) -> None:
        """BLOCKS while the net loads. ``batch_size``: greatest batch, larger ones are divided; 0 = 64, on a GPU 512.

        precision: auto = bf16 on a GPU, fp32 on a CPU; device: None = :func:`torch_device`; width, steps: of
        ``Batches``. Errors: NetError.
        """
        self.path = Path(path)
        device = device or torch_device()
        self.info: NetInfo | None
        self.info, network = read_network(self.path, game)
        self.history, self.encoder = self.info.history, self.info.encoder
        self.game = game.using(self.encoder)
        self.extra = tuple(network.config.outputs[2:])
        self.on_gpu = device.type == "cuda"
        self.batch_size = batch_size or (_GPU_BATCH if self.on_gpu else _BATCH)
        self.precision = ("bf16" if self.on_gpu else "fp32") if precision == "auto" else precision
        dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        try:
            with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=self.precision == "bf16"):
                folded, planes = network.to_play(dtype, device), self.game.planes
                self.batches = Batches(folded, planes, self.batch_size, width=width, steps=steps)
        except RuntimeError as error:
            raise NetError(
                f"torch cannot run {self.path.name} on {device} ({_first_line(error)}); give smaller batches, or "
                "choose provider cpu"
            ) from error
        self._lock = threading.Lock()
        where = torch.cuda.get_device_name(device) if self.on_gpu else "CPU"
        weights = "" if self.info.quantisation == "fp32" else f" of {self.info.quantisation} weights"
        summary = replace(self.info, quantisation="").summary()
        self.description = f"{summary}; torch {self.precision}{weights} on {where}, batch {self.batch_size}"

    def evaluate(self, planes: Planes, slot: int = 0) -> Output:
        policy, value, *_ = self._all(planes)
        return policy, value

    def evaluate_all(self, planes: Planes, slot: int = 0) -> tuple[*Output, *Extra]:
        policy, value, *more = self._all(planes)
        outputs = dict(zip(self.extra, more, strict=True))
        score = outputs.get("score")
        return policy, value, outputs.get("ownership"), None if score is None else score[:, 0]

    def _all(self, planes: Planes) -> Outputs:
        """All outputs, as arrays of their own."""
        shaped = planes.reshape(-1, *self.game.planes)
        parts: list[Outputs] = []
        with self._lock:
            for begin in range(0, len(shaped), self.batch_size):
                rows = shaped[begin : begin + self.batch_size]
                self.batches.slots[0].planes[: len(rows)] = rows
                parts.append([y.copy() for y in self.launch(len(rows), 0)()])
        return parts[0] if len(parts) == 1 else [np.concatenate(part) for part in zip(*parts, strict=True)]

    def launch(self, rows: int, slot: int) -> Callable[[], Outputs]:
        """Begin what is filled in in a slot of ``batches``; see :meth:`Batches.run`. Errors: NetError, also later."""

        def waited() -> Outputs:
            with _failing():
                return outputs()

        with _failing():
            outputs = self.batches.run(rows, slot)
        return waited


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    """Let a failure of torch be a NetError."""
    try:
        yield
    except RuntimeError as error:
        raise NetError(f"torch failed while running the net: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
