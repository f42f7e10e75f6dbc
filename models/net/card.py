"""A trained net made ready for playing: the fp32 and int8 files, how well they agree, and the card that says it all."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import counted
from ...engine.games.base import Game
from ...engine.nets.onnx.session import raw_session
from ...engine.os.files import write_atomically
from ..data.dataset import Dataset, Positions, spread
from ..train.learner import LICENCE, Learner, Measured
from . import quantise
from .probes import run

CALIBRATION_POSITIONS = 1024
CALIBRATION_POINTS = CALIBRATION_POSITIONS * 81  # fewer positions of great boards: the histograms are made in memory
PARITY_POSITIONS = 256
COMPARED_POSITIONS = 4096


@dataclass(frozen=True, slots=True)
class Judgement:
    """The int8 file beside the fp32 file on boards of one size."""

    board: str  # e.g. "9x9"
    positions: int  # held out, compared
    agreement: quantise.Agreement
    speed_fp32: float  # evaluations a second, one thread, 8 positions a call
    speed_int8: float


@dataclass(frozen=True, slots=True)
class Release:
    """What an export measured."""

    parity: float  # between torch and the exported network, see ``Network.parity``
    judgements: tuple[Judgement, ...]  # one for each size of board
    bytes_fp32: int
    bytes_int8: int
    sha256_int8: str


def release(
    learner: Learner, game: Game, train: Dataset, heldout: Dataset, stem: Path, info: dict[str, Any]
) -> Release:
    """Export the averaged weights to ``<stem>_fp32.onnx`` and ``<stem>_int8.onnx``, both written atomically.

    There is no fp32 file of a network whose file holds whole numbers; its weights in torch stand for it. The int8
    file is calibrated on training positions and compared on held-out ones. Errors: NetError when a file would not say
    what the network says; it is not written then.
    """
    network, calibration = learner.averaged, [_calibration(part) for part in train.parts]
    model = network.to_onnx(learner.net_info(game, **info))
    parity = max(network.parity(model, planes[:PARITY_POSITIONS]) for planes in calibration)
    exact: Callable[[NDArray[np.uint8]], list[NDArray[np.float32]]]
    if network.quantisation == "int8":
        int8, exact, size = model, network.arrays, 0
    else:
        content = model.SerializeToString()
        write_atomically(stem.with_name(stem.name + "_fp32.onnx"), content)
        int8 = quantise.quantise(model, calibration, keep=network.keep_fp32)
        exact, size = partial(run, raw_session(content)), len(content)
    content = int8.SerializeToString()
    rounded = partial(run, raw_session(content))
    judgements = []
    for part in heldout.parts:
        compared = part.batch(spread(len(part), COMPARED_POSITIONS))
        assert compared.legal is not None
        agreement = quantise.agreement_of(exact(compared.planes), rounded(compared.planes), compared.legal, compared)
        few = compared.planes[:8]
        speeds = [len(few) * quantise.rate(partial(judge, few)) for judge in (exact, rounded)]
        judgements.append(Judgement(part.board, len(compared), agreement, *speeds))
    write_atomically(stem.with_name(stem.name + "_int8.onnx"), content)
    return Release(parity, tuple(judgements), size, len(content), hashlib.sha256(content).hexdigest())


def _calibration(part: Positions) -> NDArray[np.uint8]:
    _, height, width = part.game.planes
    count = min(CALIBRATION_POSITIONS, CALIBRATION_POINTS // (height * width))
    return part.batch(spread(len(part), count)).planes


def card(
    learner: Learner,
    game: Game,
    train: Dataset,
    measured: list[Measured],
    released: Release,
    *,
    name: str,
    commands: list[str],
    targets: dict[str, Any],
    about_data: str,
) -> str:
    """The net's card in Markdown; what it played is added by hand from match reports.

    commands: of the runs that it comes from, each begun with the weights of the one before.
    """
    config, net = learner.config, learner.net_config
    positions = learner.step * config.batch
    settings, aims = (", ".join(f"{k} {v}" for k, v in x.items()) for x in (asdict(config), targets))
    return f"""# {name}

A net for {game.name}: {net.architecture}, {learner.network.parameter_count():,} parameters, \
{net.heads}. Licence: {LICENCE}.

## What it learned from
{train.description}; {counted(positions, "position")} drawn in {counted(learner.step, "step")} of {config.batch} \
({positions / len(train):.2f} epochs), {learner.seconds / 3600:.2f} hours on {_machine(learner)}. {about_data}

```
{recipe(commands)}
```
Settings: {settings}. Targets: {aims}. The averaged weights are the ones exported.

{"".join(_judgement(m, many=len(measured) > 1) for m in measured)}## The files
| | fp32 | int8 |
|---|---|---|
| size | {_size(released.bytes_fp32)} | {released.bytes_int8 / 1e6:.2f} MB |
{"".join(_comparison(j, many=len(released.judgements) > 1) for j in released.judgements)}
{_parity(released)} {" ".join(map(_agreement, released.judgements))}
SHA-256 of the int8 file: `{released.sha256_int8}`

## How strong it is
Not measured yet.
"""


def _parity(released: Release) -> str:
    if not released.bytes_fp32:
        return (
            f"There is no fp32 file: its figures are the weights' in torch, from which the outputs of the file's whole "
            f"numbers differ by {released.parity:.1e} in the mean."
        )
    return f"torch and fp32 differ by at most {released.parity:.1e}."


def recipe(commands: list[str]) -> str:
    """The commands, a line each; RUN and EARLIER are numbered where there are several."""
    if len(commands) == 1:
        return commands[0]
    numbered = (re.sub(r"\bEARLIER\b", f"RUN{i - 1}", c) for i, c in enumerate(commands, 1))
    return "\n".join(re.sub(r"\bRUN\b", f"RUN{i}", c) for i, c in enumerate(numbered, 1))


def _size(count: int) -> str:
    return f"{count / 1e6:.2f} MB" if count else "none"


def _judgement(measured: Measured, *, many: bool) -> str:
    """A section of the card; ``many``: there are several sizes of board."""
    rows = [
        ("most probable legal move is the teacher's first choice", f"{measured.top1:.1%}"),
        ("policy cross-entropy", f"{measured.policy:.3f} nats"),
        ("mean squared error of the game's result / 4", f"{measured.result_error:.4f}"),
        ("mean squared error of the value target / 4", f"{measured.teacher_error:.4f}"),
    ]
    if measured.ownership is not None:
        rows.append(("mean squared error of the points' owners / 4", f"{measured.ownership:.4f}"))
    if measured.score is not None:
        rows.append(("mean error of the lead", f"{measured.score:.2f} points"))
    boards = f" on {measured.board} boards" if many else ""
    heading = f"## Judgement on {measured.positions:,} held-out positions{boards} (games never trained on)"
    table = "".join(f"| {what} | {value} |\n" for what, value in rows)
    return f"{heading}\n| what | value |\n|---|---|\n{table}\n"


def _comparison(judgement: Judgement, *, many: bool) -> str:
    boards = f"{judgement.board}, " if many else ""
    fp32, int8 = judgement.agreement.cross_entropy
    return (
        f"| {boards}evaluations a second, one thread, 8 at a time | {judgement.speed_fp32:,.0f} "
        f"| {judgement.speed_int8:,.0f} |\n"
        f"| {boards}policy cross-entropy, held out | {fp32:.3f} | {int8:.3f} |\n"
    )


def _agreement(judgement: Judgement) -> str:
    """How far the int8 file judges as the fp32 file does, in words."""
    agreement = judgement.agreement
    return (
        f"int8 against fp32 on {judgement.positions:,} held-out {judgement.board} positions:\n"
        f"same best move {agreement.top1:.1%}, KL {agreement.kl:.4f} nats, mean difference of the expected outcome "
        f"{agreement.value:.4f}."
    )


def _machine(learner: Learner) -> str:
    import torch

    if learner.device.type != "cpu":
        return f"one {torch.cuda.get_device_name(learner.device)}"
    threads = learner.network.threads
    return f"{threads} thread{'s' if threads > 1 else ''} of a {platform.machine()} CPU in {learner.config.precision}"
