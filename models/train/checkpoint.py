"""Checkpoints of a training run: tensors as safetensors, everything else as JSON, never pickle.

A checkpoint is two files, ``step-00001000.safetensors`` and ``step-00001000.json``. Both are written atomically, the
JSON last: it holds the tensors' SHA-256 and its own, so that a damaged checkpoint is recognised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from ...engine.errors import DataError
from ...engine.files import write_atomically

KEPT = 3  # newest checkpoints on disk


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A step's tensors by name, and the rest of the state as JSON values."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, then remove all but the newest KEPT. Returns the JSON file's path."""
    stem = folder / f"step-{checkpoint.step:08d}"
    content = safetensors.torch.save({name: tensor.contiguous() for name, tensor in checkpoint.tensors.items()})
    write_atomically(stem.with_suffix(".safetensors"), content)
    body = {"step": checkpoint.step, "sha256": hashlib.sha256(content).hexdigest(), "state": checkpoint.state}
    text = json.dumps({"checksum": _checksum(body), **body}, indent=1)
    write_atomically(stem.with_suffix(".json"), text.encode())
    for old in _stems(folder)[KEPT:]:
        old.with_suffix(".json").unlink(missing_ok=True)
        old.with_suffix(".safetensors").unlink(missing_ok=True)
    return stem.with_suffix(".json")


def load_newest(folder: Path, on_problem: Callable[[str], None]) -> Checkpoint | None:
    """The newest undamaged checkpoint, None without one; calls ``on_problem`` for each damaged one."""
    for stem in _stems(folder):
        try:
            return load(stem.with_suffix(".json"))
        except DataError as error:
            on_problem(f"{error}; trying the one before it")
    return None


def of_run(path: Path) -> Checkpoint:
    """The newest undamaged checkpoint of a run's folder, or that of a checkpoint file. Errors: DataError."""
    if path.suffix in (".json", ".safetensors"):
        return load(path.with_suffix(".json"))
    problems: list[str] = []
    saved = load_newest(path / "checkpoints", problems.append)
    if saved is None:
        reason = problems[0] if problems else f"{path} holds no checkpoints/step-*.json"
        raise DataError(f"{reason}; give the folder of a training run, or one of its checkpoints")
    return saved


def load(path: Path) -> Checkpoint:
    """The checkpoint of a JSON file. Errors: DataError when a file is missing or fails its checksum."""
    try:
        body = json.loads(path.read_text())
        expected = body.pop("checksum")
        if expected != _checksum(body):
            raise ValueError("its checksum is wrong")
        content = path.with_suffix(".safetensors").read_bytes()
        if hashlib.sha256(content).hexdigest() != body["sha256"]:
            raise ValueError("its tensors' checksum is wrong")
        return Checkpoint(int(body["step"]), safetensors.torch.load(content), body["state"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise DataError(f"the checkpoint {path.name} is damaged ({error})") from error


def _stems(folder: Path) -> list[Path]:
    """Checkpoints by their JSON files, newest first."""
    return sorted((p.with_suffix("") for p in folder.glob("step-????????.json")), reverse=True)


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
