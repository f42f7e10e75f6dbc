"""The network of an exported net, read back from its ONNX file: its configuration and its weights.

The inverse of :mod:`graph` and ``net.quantise``: an exported net has its batch normalisation folded into the
convolutions, an int8 net also has rounded weights.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor

from ....engine.errors import DataError
from ....engine.games import get_game
from ....engine.games.base import Game
from ....engine.nets.netinfo import NetInfo
from .config import TowerConfig
from .layers import ConvBlock
from .network import TowerNetwork


def network_of(stored: Stored, info: NetInfo, game: Game) -> TowerNetwork:
    """The network of an exported net, with the outputs of its file.

    Errors: DataError for a network that az-engine train does not make.
    """
    network = TowerNetwork(config_of(stored, info), game.encoder.plane_scale)
    network.load_state_dict(weights_of(stored, network))
    return network


class Stored:
    """The constants of an exported net by name, int8 ones dequantised to float32."""

    def __init__(self, path: Path, content: bytes) -> None:
        """content: of the file ``path``."""
        self._path, model = path, onnx.load_model_from_string(content)
        self._constants = {t.name: t for t in model.graph.initializer}
        self._scaled = {n.input[0]: n for n in model.graph.node if n.op_type == "DequantizeLinear"}

    def __contains__(self, name: str) -> bool:
        return name in self._constants or f"{name}_quantized" in self._constants

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """Errors: DataError when there is none of that name."""
        try:
            if name in self._constants:
                return np.asarray(numpy_helper.to_array(self._constants[name]), np.float32)
            node = self._scaled[f"{name}_quantized"]
            whole, scale, zero = (numpy_helper.to_array(self._constants[x]) for x in node.input)
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            shape = [-1 if i == axis and scale.ndim else 1 for i in range(whole.ndim)]
            return np.asarray((whole.astype(np.float32) - zero.reshape(shape)) * scale.reshape(shape), np.float32)
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(
                f"{self._path} has no {name} as nets of az-engine train have; begin with one of them, or with a run"
            ) from error


def config_of(stored: Stored, info: NetInfo) -> TowerConfig:
    """The network of an exported net. Errors: DataError for a network that az-engine train does not make."""
    tower = "res" if "tower.1.first.weight" in stored else "conv"
    block = "tower.{}.first.weight" if tower == "res" else "tower.{}.weight"
    heads = {"policy.pool.bias.weight": "pooled", "policy.weight": "flat", "policy.planes.weight": "conv"}
    head = next((head for name, head in heads.items() if name in stored), "conv")
    filters, channels = stored["tower.0.weight"].shape[:2]
    hidden = len(stored["policy.block.weight"])
    squeeze = "tower.1.squeeze.down.weight"
    names: dict[str, Any] = {
        "kind": f"{'sep' if 'value_tower.0.weight' in stored else 'dual'}-{tower}",
        "policy_head": head,
        "value_head": info.value_head,
    }
    config = TowerConfig(
        info.planes,
        info.actions,
        blocks=next(i for i in count(1) if block.format(i) not in stored) - (tower == "res"),
        filters=filters,
        squeeze=len(stored[squeeze]) if squeeze in stored else 0,
        policy_filters=0 if hidden == {"conv": filters, "flat": 2, "pooled": 32}[head] else hidden,
        value_filters=len(stored["value.block.weight"]),
        value_hidden=len(stored["value.hidden.weight"]),
        history=info.history,
        ownership="value.ownership.weight" in stored,
        score="value.score.weight" in stored,
        **names,
    )
    seeing_all = channels == info.planes[0]
    return config if seeing_all else config.seeing(get_game(info.game).using(info.encoder).encoder)


def weights_of(stored: Stored, network: TowerNetwork) -> dict[str, Tensor]:
    """The state of ``network`` with the exported net's outputs; every normalisation is the identity plus a bias."""
    head = network.config.policy_head
    renamed = {
        "policy.out": "policy" if head == "flat" else "policy.planes",
        "policy.bias": "policy.pool.bias",
        "policy.pass_hidden": "policy.pool.hidden",
        "policy.pass_out": "policy.pool.pass",
        "value.out": "value.out" if network.value.tanh else network.config.value_head,
    }
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    for name, module in network.named_modules():
        if isinstance(module, ConvBlock):
            mine = {"conv.weight": "weight", "norm.bias": "bias"}
            state[f"{name}.norm.weight"].fill_(1.0)
            state[f"{name}.norm.running_mean"].fill_(0.0)
            state[f"{name}.norm.running_var"].fill_(1.0 - module.norm.eps)
        elif isinstance(module, torch.nn.Linear | torch.nn.Conv2d) and not name.endswith(".conv"):
            mine = {"weight": "weight", "bias": "bias"}
        else:
            continue
        for key, theirs in mine.items():
            tensor = state[f"{name}.{key}"]
            values = torch.from_numpy(np.array(stored[f"{renamed.get(name, name)}.{theirs}"]))
            if values.numel() != tensor.numel():
                raise DataError(
                    f"the net's {name} has the shape {list(values.shape)}, not {list(tensor.shape)}; begin with another"
                )
            tensor.copy_(values.reshape(tensor.shape))  # squeeze-excitation's layers are 1x1 convolutions in the file
    return state
