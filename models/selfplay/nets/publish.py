"""From the learner's weights to a net that plays: export it, and refuse it when a check fails.

A net is published only when its weights are finite, the exported file agrees with the network, its losses on positions
of the run (the canaries) are not far above a uniform net's, and the engine loads it like any other net.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import torch

from ....engine.errors import DataError, NetError
from ....engine.games.base import Game
from ....engine.nets.netinfo import NetInfo
from ....engine.nets.onnx.evaluator import OnnxEvaluator
from ....engine.nets.onnx.session import raw_session
from ....engine.nets.positions import random_planes
from ....engine.os.files import write_atomically
from ...data.dataset import Batch, Positions, spread
from ...families.losses import TorchBatch, policy_loss, value_loss
from ...families.network import Network
from ...net import quantise
from ...net.probes import games_of_net
from ...train.learner import Learner

CANARIES = 256  # positions
CALIBRATION = 512  # positions that int8 is calibrated on
WORSE = 1.0  # greatest excess over a uniform net's loss, nats or squared error
INT8_KL = 0.05  # greatest KL divergence of the int8 policy from the fp32 one, nats


def ignorance(batch: Batch, value_width: int) -> tuple[float, float]:
    """(policy, value) loss of a net that gives every legal move and every outcome the same probability."""
    assert batch.legal is not None
    policy = float(np.log((batch.legal >= 0).sum(axis=1)).mean())
    z = batch.wdl[:, 0] - batch.wdl[:, 2]
    return policy, math.log(3) if value_width == 3 else float((z * z).mean())


@torch.no_grad()
def judge(learner: Learner, batch: Batch) -> None:
    """Compare the averaged network with a uniform one. Errors: NetError when it is far worse."""
    tensors = TorchBatch.of(batch, learner.device)
    outputs = learner.averaged.outputs(tensors.planes)
    output = outputs[learner.net_config.value_head]
    policy, value = float(policy_loss(outputs["policy"], tensors)), float(value_loss(output, tensors.wdl))
    policy_bound, value_bound = (x + WORSE for x in ignorance(batch, output.shape[1]))
    if not (policy <= policy_bound and value <= value_bound):
        raise NetError(
            f"the net of step {learner.step} is worse than knowing nothing: policy loss {policy:.3g} "
            f"(at most {policy_bound:.3g}), value loss {value:.3g} (at most {value_bound:.3g}); lower learner.rate"
        )


def publish(
    learner: Learner,
    game: Game,
    canaries: Positions | None,
    path: Path,
    *,
    boards: tuple[int, ...],
    trained_on: str,
    int8: bool,
    say: Callable[[str], None],
) -> Path:
    """Check and write the net of the averaged weights to ``path``. Returns ``path``.

    ``canaries``: positions of the run; None before there are any. ``boards``: their lines, where it plays on several
    or could. ``say`` reports why int8 failed. Errors: NetError or
    DataError when a check fails; nothing is written then.
    """
    network = learner.averaged
    bad = next((n for n, t in network.state_dict().items() if not bool(torch.isfinite(t).all())), None)
    if bad is not None:
        raise DataError(f"the net of step {learner.step} is not finite ({bad}); lower learner.rate")
    net = learner.net_config
    info = learner.net_info(
        game,
        name=f"{game.name} {net.architecture} step {learner.step}",
        boards=boards if net.any_size else (),
        trained_on=trained_on,
    )
    planes = random_planes(game, 64, learner.config.seed)
    if canaries is not None and len(canaries):
        batch = canaries.batch(spread(len(canaries), CANARIES))
        judge(learner, batch)
        planes = np.concatenate([planes, batch.planes])
    model = network.to_onnx(info)
    network.parity(model, planes)
    if int8 and network.quantisation != "int8":
        try:
            model = smaller(network, model, canaries, game, info)
        except NetError as error:
            say(f"step {learner.step}: playing in fp32, {error}")
    draft = path.with_name(f".{path.name}")
    write_atomically(draft, model.SerializeToString())
    try:
        OnnxEvaluator(draft, game, provider="cpu", batch_size=8)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def smaller(
    network: Network, model: onnx.ModelProto, positions: Positions | None, game: Game, info: NetInfo
) -> onnx.ModelProto:
    """The int8 net of a network's ``model``.

    It is calibrated on the run's positions, or at its beginning on games of the net against itself.

    Errors: NetError when it cannot be made or differs from fp32 by more than INT8_KL.
    """
    if positions is None or len(positions) < CALIBRATION:
        ours = games_of_net(game, raw_session(model.SerializeToString()), info, CALIBRATION + CANARIES, 0)
        calibration, planes, legal = ours.planes[CANARIES:], ours.planes[:CANARIES], ours.legal[:CANARIES]
    else:
        calibration = positions.batch(spread(len(positions), CALIBRATION)).planes
        canaries = positions.batch(spread(len(positions), CANARIES))
        assert canaries.legal is not None
        planes, legal = canaries.planes, canaries.legal
    int8 = quantise.quantise(model, [calibration], keep=network.keep_fp32)
    agreement = quantise.agreement(model, int8, planes, legal)
    if not agreement.kl <= INT8_KL:
        raise NetError(f"int8 is {agreement.kl:.3f} nats away from fp32")
    return int8
