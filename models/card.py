"""A trained net made ready for playing: the fp32 and int8 files, how well they agree, and the card that says it all."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.files import write_atomically
from ..engine.games.base import Game
from ..engine.netinfo import NetInfo
from . import export, quantise
from .dataset import Dataset
from .learner import Learner, Measured

CALIBRATION_POSITIONS = 1024
COMPARED_POSITIONS = 4096


@dataclass(frozen=True, slots=True)
class Release:
    """What an export measured."""

    parity: float  # greatest absolute difference between torch and the fp32 file
    agreement: quantise.Agreement  # of the int8 file with the fp32 file on held-out positions
    speed_fp32: float  # evaluations a second, one thread, 8 positions a call
    speed_int8: float
    bytes_fp32: int
    bytes_int8: int
    sha256_int8: str


def release(
    learner: Learner, game: Game, train: Dataset, heldout: Dataset, stem: Path, info: dict[str, Any]
) -> Release:
    """Export the averaged weights to ``<stem>_fp32.onnx`` and ``<stem>_int8.onnx``, both written atomically.

    The int8 file is calibrated on training positions and compared on held-out ones. Errors: NetError when a file would
    not say what the network says; it is not written then.
    """
    net = learner.net_config
    described = NetInfo(
        game=game.name,
        planes=game.planes,
        actions=game.num_actions,
        planes_version=game.planes_version,
        moves_version=game.moves_version,
        value_head=net.value_head,
        architecture=net.architecture,
        history=net.history,
        step=learner.step,
        **info,
    )
    fp32 = export.to_onnx(learner.averaged, described)
    calibration = train.batch(_spread(len(train), CALIBRATION_POSITIONS)).planes
    parity = export.parity(learner.averaged, fp32, calibration[:256])
    write_atomically(stem.with_name(stem.name + "_fp32.onnx"), fp32.SerializeToString())
    int8 = quantise.quantise(fp32, calibration)
    compared = heldout.batch(_spread(len(heldout), COMPARED_POSITIONS))
    agreement = quantise.compare(fp32, int8, compared)
    speeds = [quantise.speed(model, compared.planes) for model in (fp32, int8)]
    files = [model.SerializeToString() for model in (fp32, int8)]
    write_atomically(stem.with_name(stem.name + "_int8.onnx"), files[1])
    digest = hashlib.sha256(files[1]).hexdigest()
    return Release(parity, agreement, speeds[0], speeds[1], len(files[0]), len(files[1]), digest)


def _spread(length: int, count: int) -> Any:
    return np.linspace(0, length - 1, min(length, count)).astype(np.int64)


def card(
    learner: Learner,
    game: Game,
    train: Dataset,
    measured: Measured,
    released: Release,
    *,
    name: str,
    command: str,
    targets: dict[str, Any],
    about_data: str,
    licence: str,
) -> str:
    """The net's card in Markdown; what it played is added by hand from match reports."""
    config, net, agreement = learner.config, learner.net_config, released.agreement
    positions = learner.step * config.batch
    settings, aims = (", ".join(f"{k} {v}" for k, v in x.items()) for x in (asdict(config), targets))
    return f"""# {name}

A net for {game.name}: {net.architecture}, {learner.network.parameter_count():,} parameters, \
policy head {net.policy_head}, value head {net.value_head}, positions of history {net.history}. Licence: {licence}.

## What it learned from
{train.description}; {positions:,} positions drawn in {learner.step:,} steps of {config.batch} \
({positions / len(train):.2f} epochs), {learner.seconds / 3600:.2f} hours on {_machine(learner)}. {about_data}

```
{command}
```
Settings: {settings}. Targets: {aims}. The averaged weights are the ones exported.

## Judgement on {measured.positions:,} held-out positions (games never trained on)
| what | value |
|---|---|
| most probable legal move is the teacher's first choice | {measured.top1:.1%} |
| policy cross-entropy | {measured.policy:.3f} nats |
| mean squared error of the game's result / 4 | {measured.result_error:.4f} |
| mean squared error of the value target / 4 | {measured.teacher_error:.4f} |

## The files
| | fp32 | int8 |
|---|---|---|
| size | {released.bytes_fp32 / 1e6:.2f} MB | {released.bytes_int8 / 1e6:.2f} MB |
| evaluations a second, one thread, 8 at a time | {released.speed_fp32:,.0f} | {released.speed_int8:,.0f} |
| policy cross-entropy, held out | {agreement.cross_entropy[0]:.3f} | {agreement.cross_entropy[1]:.3f} |

torch and fp32 differ by at most {released.parity:.1e}. int8 against fp32 on {COMPARED_POSITIONS:,} held-out positions:
same best move {agreement.top1:.1%}, KL {agreement.kl:.4f} nats, mean difference of the expected outcome \
{agreement.value:.4f}.
SHA-256 of the int8 file: `{released.sha256_int8}`

## How strong it is
Not measured yet.
"""


def _machine(learner: Learner) -> str:
    import torch

    if learner.device.type != "cpu":
        return f"one {torch.cuda.get_device_name(learner.device)}"
    threads = torch.get_num_threads()
    return f"{threads} thread{'s' if threads > 1 else ''} of a {platform.machine()} CPU in {learner.config.precision}"
