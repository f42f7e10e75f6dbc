"""Initial weights of a run: from a run's folder, a checkpoint file, or an exported net.

Reading a net reverses :mod:`export` and :mod:`quantise`: an exported net has its batch normalisation folded into the
convolutions, an int8 net also has rounded weights; the network read gives the same outputs as the file. Batch
normalisation is unfolded with the statistics of games that the net plays against itself, so that the first training
steps see the network's true activations. A sparse net's integers are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...engine.errors import DataError
from ...engine.games.base import Game
from ...engine.games.encoder import SPARSE_ENCODER
from ...engine.nets.families.sparse.integers import HIDDEN, SparseNet, read_net
from ...engine.nets.file.fit import check_net
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.netinfo import NetInfo
from ...engine.nets.onnx.session import raw_session
from ...engine.nets.weights import dense_net, embedded_net
from ..families.sparse.export import weights
from ..families.sparse.network import SparseNetwork
from ..families.tower.network import ConvBlock, Network
from ..families.tower.stored import Stored, config_of, network_of
from ..net.probes import own_games
from .checkpoint import Checkpoint, of_run
from .config import NetConfig

EMBEDDED = "default"  # the net inside the package
_POSITIONS = 2048  # that the statistics are taken from
_BATCH = 64  # positions judged at a time


def is_net(path: Path) -> bool:
    """Whether the path names an exported net, not a run or a checkpoint."""
    return path.suffix == ".onnx" or str(path) == EMBEDDED


def origin(path: Path, game: Game) -> Checkpoint:
    """The weights (``averaged.*``) and the network (state ``net``) that a path names.

    path: a run's folder, a checkpoint's file, a net that ``az-engine train`` exported, or "default", the one inside the
    package. Errors: DataError; NetError when a file is no net for ``game``.
    """
    if not is_net(path):
        return of_run(path)
    content, stored, info = _read(path, game)
    if info.encoder == SPARSE_ENCODER:
        return _sparse_origin(content, info, game)
    network = network_of(stored, info, game)
    own = own_games(game.using(info.encoder), raw_session(content), info, _POSITIONS, 0)
    unfold(network, own.planes)
    tensors = {f"averaged.{name}": tensor for name, tensor in network.state_dict().items()}
    return Checkpoint(info.step, tensors, {"net": network.config.to_json()})


def network_at(path: Path, game: Game) -> NetConfig:
    """The network of what :func:`origin` reads. Errors: as there."""
    if is_net(path):
        content, stored, info = _read(path, game)
        if info.encoder == SPARSE_ENCODER:
            return sparse_config(_sparse_net(content, info, game), info, game)
        return config_of(stored, info)
    return NetConfig.from_json(of_run(path).state["net"])


def _read(path: Path, game: Game) -> tuple[bytes, Stored, NetInfo]:
    """An exported net's file, its constants and its metadata. Errors: NetError, DataError."""
    if str(path) == EMBEDDED:
        inside = embedded_net(game.name)
        if inside is None:
            raise DataError(f"there is no net for {game.name} inside this package; begin with a run or a file")
        if game.encoder.name != SPARSE_ENCODER:
            inside = dense_net(game.name) or inside
        path = inside
    outline, content = read_outline(path)
    info = check_net(outline, game)
    return content, Stored(path, content), info


def _sparse_net(content: bytes, info: NetInfo, game: Game) -> SparseNet:
    return read_net(content, game.using(info.encoder).encoder.features, info.actions)


def sparse_config(net: SparseNet, info: NetInfo, game: Game) -> NetConfig:
    """The network of an exported sparse net."""
    width = len(net.policy_bias)
    config = NetConfig(
        info.planes,
        info.actions,
        kind="sparse",
        filters=width,
        value_filters=len(net.value_bias) // width,
        value_buckets=len(net.hidden_bias) // HIDDEN,
        value_head="wdl",
    )
    return config.seeing(game.using(info.encoder).encoder)


def _sparse_origin(content: bytes, info: NetInfo, game: Game) -> Checkpoint:
    net, encoder = _sparse_net(content, info, game), game.using(info.encoder).encoder
    config = sparse_config(net, info, game)
    tensors = weights(net, SparseNetwork(config, encoder.features, encoder.alike))
    return Checkpoint(info.step, {f"averaged.{name}": t for name, t in tensors.items()}, {"net": config.to_json()})


@torch.no_grad()
def unfold(network: Network, planes: NDArray[np.uint8]) -> None:
    """Give every normalisation the statistics of planes u8 [N, C, H, W], and every filter the norm of a fresh one.

    The outputs stay the same: normalisation divides the filter's norm out again. Only the optimiser, whose step size is
    absolute, sees the difference.
    """
    sums: dict[ConvBlock, Tensor] = {}
    blocks = [module for module in network.modules() if isinstance(module, ConvBlock)]

    def adding(block: ConvBlock) -> Callable[[Any, Any, Tensor], None]:
        def add(module: Any, inputs: Any, output: Tensor) -> None:
            x = output.double()
            here = torch.stack(
                [torch.full_like(x[0, :, 0, 0], x[:, 0].numel()), x.sum((0, 2, 3)), (x * x).sum((0, 2, 3))]
            )
            sums[block] = sums[block] + here if block in sums else here

        return add

    hooks = [block.conv.register_forward_hook(adding(block)) for block in blocks]
    network.eval()
    for i in range(0, len(planes), _BATCH):
        network(torch.from_numpy(planes[i : i + _BATCH]))
    for hook in hooks:
        hook.remove()
    network.train()
    for block in blocks:
        points, first, second = sums[block]
        mean, variance = first / points, (second / points - (first / points) ** 2).clamp(min=0)
        filters, norm = block.conv.weight, block.norm
        size = filters.double().pow(2).mean((1, 2, 3)).sqrt()
        fresh = (2 / filters[0].numel()) ** 0.5  # of kaiming_normal_
        larger = torch.where(size > fresh * 1e-6, fresh / size, torch.ones_like(size))
        filters.mul_(larger.float()[:, None, None, None])
        norm.bias.add_(mean.float())
        norm.weight.copy_(((variance * larger**2 + norm.eps).sqrt() / larger).float())
        assert norm.running_mean is not None
        assert norm.running_var is not None
        norm.running_mean.copy_((mean * larger).float())
        norm.running_var.copy_((variance * larger**2).float())
