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
from ...engine.os.files import write_atomically
from ..storage import NewerFormat, check_format

FORMAT = 1  # version of the files; those without one are of version 1
KEPT = 3  # newest checkpoints on disk


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A step's tensors by name, and the rest of the state as JSON values."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, then remove all but the newest KEPT up to it. Returns the JSON file's path.

    Those of later steps stay: they are damaged, and the run goes on from one before them.
    """
    stem = folder / f"step-{checkpoint.step:08d}"
    content = safetensors.torch.save({name: tensor.contiguous() for name, tensor in checkpoint.tensors.items()})
    write_atomically(stem.with_suffix(".safetensors"), content)
    digest = hashlib.sha256(content).hexdigest()
    body = {"format": FORMAT, "step": checkpoint.step, "sha256": digest, "state": checkpoint.state}
    text = json.dumps({"checksum": _checksum(body), **body}, indent=1)
    write_atomically(stem.with_suffix(".json"), text.encode())
    for old in [each for each in _stems(folder) if each.name <= stem.name][KEPT:]:
        old.with_suffix(".json").unlink(missing_ok=True)
        old.with_suffix(".safetensors").unlink(missing_ok=True)
    return stem.with_suffix(".json")


def load_newest(folder: Path, on_problem: Callable[[str], None]) -> Checkpoint | None:
    """The newest undamaged checkpoint, None in a folder without any; calls ``on_problem`` for each damaged one.

    Errors: DataError when all are damaged, NewerFormat.
    """
    problems: list[str] = []
    for stem in _stems(folder):
        try:
            loaded = load(stem.with_suffix(".json"))
        except NewerFormat:
            raise
        except DataError as error:
            problems.append(str(error))
        else:
            for problem in problems:
                on_problem(f"{problem}; trying the one before it")
            return loaded
    if problems:
        raise DataError(
            f"no checkpoint in {folder} can be read ({'; '.join(problems)}): "
            "put a copy of one back, or begin a new run in another folder"
        )
    return None


def of_run(path: Path) -> Checkpoint:
    """The newest undamaged checkpoint of a run's folder, or that of a checkpoint file. Errors: DataError."""
    if path.suffix in (".json", ".safetensors"):
        return load(path.with_suffix(".json"))
    saved = load_newest(path / "checkpoints", lambda problem: None)
    if saved is None:
        raise DataError(
            f"{path} holds no checkpoints/step-*.json; give the folder of a training run, or one of its checkpoints"
        )
    return saved


def load(path: Path) -> Checkpoint:
    """The checkpoint of a JSON file. Errors: DataError when a file is missing or fails its checksum, NewerFormat."""
    try:
        body = json.loads(path.read_text())
        check_format(f"the checkpoint {path}", body.get("format", 1), FORMAT)
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
    return sorted((p.with_suffix("") for p in folder.glob("step-????????.json")), reverse=True)


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
