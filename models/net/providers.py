"""What runs a net while training, playing against itself and labelling: onnxruntime, or torch.

The engine knows onnxruntime alone, and torch as an entry point. Nothing here imports torch before it is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ...engine.errors import NetError
from ...engine.games.base import Game
from ...engine.nets import weights as engine_weights
from ...engine.nets.evaluator import Evaluator
from ...engine.nets.onnx.evaluator import OnnxEvaluator
from ...engine.nets.onnx.session import nvidia_driver, uses_gpu

Provider = Literal["auto", "cpu", "cuda", "tensorrt", "openvino", "dml", "torch"]
TORCH = "torch"
PROVIDER_HELP = (
    "what runs the nets: onnxruntime, as the engine's option Provider says, or torch; auto = torch where it has a CUDA "
    "GPU and onnxruntime has none"
)


def run_evaluator(
    path: Path, game: Game, *, provider: str = "auto", batch_size: int, precision: str = "auto"
) -> Evaluator:
    """The evaluator of a net that az-engine train exported. BLOCKS while it loads. Errors: NetError."""
    if provider == TORCH or (provider == "auto" and _only_torch_has_a_gpu()):
        made = torch_evaluator(path, game, batch_size, precision, strict=provider == TORCH)
        if made is not None:
            return made
    return OnnxEvaluator(path, game, provider=provider, batch_size=batch_size)


def load_evaluator(
    weights: str,
    game: Game,
    *,
    provider: str = "auto",
    batch_size: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Evaluator:
    """The evaluator that a ``WeightsFile`` setting names, as the engine's ``load_evaluator``; it also knows torch.

    BLOCKS. Errors: NetError.
    """
    if provider == TORCH or (provider == "auto" and _only_torch_has_a_gpu()):
        path = engine_weights.net_path(weights, game, tell, "cuda")
        made = None if path is None else torch_evaluator(path, game, batch_size, "auto", strict=provider == TORCH)
        if made is not None:
            return made
        provider = "cpu"
    return engine_weights.load_evaluator(weights, game, provider=provider, batch_size=batch_size, tell=tell)


def torch_evaluator(path: Path, game: Game, batch_size: int, precision: str, *, strict: bool) -> Evaluator | None:
    """A net run by torch. Errors: NetError where torch is missing or cannot run it; None instead unless ``strict``."""
    try:
        from .evaluator import TorchEvaluator

        return TorchEvaluator(path, game, batch_size=batch_size, precision=precision)  # type: ignore[arg-type]
    except ImportError as error:
        if strict:
            raise NetError(
                f"provider torch needs what trains nets ({error.name} is missing); run: pip install 'az-engine[train]'"
            ) from error
    except NetError:
        if strict:
            raise
    return None


def play_by_torch(path: Path, game: Game, *, batch_size: int) -> Evaluator:
    """What the engine's option Provider names torch; an entry point of the package. BLOCKS. Errors: NetError."""
    made = torch_evaluator(path, game, batch_size, "auto", strict=True)
    assert made is not None
    return made


def _only_torch_has_a_gpu() -> bool:
    if not nvidia_driver() or uses_gpu("auto"):
        return False
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()
