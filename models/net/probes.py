"""Trying a net out, without torch: positions of games that it plays with itself, its outputs, its operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import NetError
from ...engine.games.base import Game
from ...engine.games.outcome import RUNNING
from ...engine.nets.file.netfile import OPERATORS
from ...engine.nets.netinfo import NetInfo
from ...engine.nets.opinions import legal_actions, softmax
from ...engine.nets.positions import encode

if TYPE_CHECKING:
    import onnx

_GAMES, _PLIES = 16, 160  # games side by side, and their greatest length


@dataclass(frozen=True, slots=True)
class Probes:
    """N positions with their legal actions."""

    planes: NDArray[np.uint8]  # [N, C, H, W]
    legal: NDArray[np.int32]  # [N, M] actions, padded with -1


def games_of_net(game: Game, running: Any, info: NetInfo, count: int, seed: int) -> Probes:
    """``count`` positions of games in which a net, an onnxruntime session, draws both sides' moves by its policy."""
    rng = np.random.default_rng(seed)
    planes, legal = np.empty((count, *game.planes), np.uint8), np.full((count, game.max_moves), -1, np.int32)
    lines = [game.initial() for _ in range(_GAMES)]
    for first in range(0, count, _GAMES):
        lines = [line if game.outcome(line) == RUNNING and len(line) <= _PLIES else game.initial() for line in lines]
        lines = lines[: count - first]
        batch = encode(game, lines, info.history)
        policy = running.run(["policy"], {"planes": batch})[0]
        planes[first : first + len(lines)] = batch
        for row, line in enumerate(lines):
            moves, actions = legal_actions(game, line)
            legal[first + row, : len(actions)] = actions
            lines[row] = game.play(line, int(rng.choice(moves, p=softmax(policy[row, actions]))))
    return Probes(planes, legal)


def check(model: onnx.ModelProto) -> None:
    """That the model is valid ONNX and holds only the operators that the engine lets in. Errors: NetError."""
    import onnx  # only what trains, imports or exports nets installs it

    onnx.checker.check_model(model)
    foreign = {node.op_type for node in model.graph.node if node.domain or node.op_type not in OPERATORS}
    if foreign:
        raise NetError(f"the exported graph has operators that the engine refuses: {', '.join(sorted(foreign))}")


def run(running: Any, planes: NDArray[np.uint8]) -> list[NDArray[np.float32]]:
    """All outputs of a session, policy logits [B, A] and value [B, 3 or 1] first, for planes u8 [B, C, H, W]."""
    parts = [running.run(None, {"planes": planes[i : i + 64]}) for i in range(0, len(planes), 64)]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]
