"""Weights of a Go net that sees stones alone, for a network of the same shape that sees komi and rules.

Its outputs begin near those of the net: the stones of a ply ago are those of now without the last move, and the colour
to move follows from komi, as far as the net has learned one. Only captures of the last move are not seen so.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...engine.errors import DataError
from ...engine.games import get_game
from ...engine.games.base import Game
from ..families import config_of
from ..families.tower.config import TowerConfig
from ..train.checkpoint import Checkpoint

_BOARD, _STONES, _LAST, _KOMI = 0, (1, 2), 9, 27  # planes of the encoder "rules"
_HALF_POINTS, _OFFSET = 14.0, 128.0  # komi that the nets have learned, what is added to it
_OLDEST = 2  # positions that the planes of komi and rules can stand for


def seeing_rules(saved: Checkpoint, student: Game) -> Checkpoint:
    """``saved``, or what a network for ``student`` (of the encoder "rules") makes of it where it sees stones alone.

    Errors: DataError where it looks back farther than two positions.
    """
    config = config_of(saved.state["net"])
    if not isinstance(config, TowerConfig) or config.planes[0] == student.planes[0]:
        return saved
    stones = get_game("go").encoder
    if config.history > _OLDEST or config.planes[0] != stones.planes[0]:
        raise DataError("the net to begin from must see komi and rules, or the stones of at most two positions")
    colour = stones.planes[0] - 1
    unit = float(student.encoder.plane_scale[_KOMI])
    tensors = dict(saved.tensors)
    for name, tensor in saved.tensors.items():
        if name.startswith("averaged.") and name.endswith("tower.0.conv.weight"):
            tensors[name] = _first_filters(tensor, config.used_planes, student.planes[0], colour, unit)
    return Checkpoint(saved.step, tensors, saved.state)


def _first_filters(theirs: Tensor, used: tuple[int, ...], planes: int, colour: int, unit: float) -> Tensor:
    """Filters f4[F, planes, 3, 3] of those of the planes ``used`` f4[F, len(used), 3, 3].

    colour: the plane that is 1 with black to move; unit: what a half point of komi counts in its plane.
    """
    ours = torch.zeros(theirs.shape[0], planes, *theirs.shape[2:])
    for i, plane in enumerate(used):
        filters = theirs[:, i]
        if plane == colour:  # 1 at komi -7, of black, 0 at 7, of white
            ours[:, _BOARD] += filters * (_HALF_POINTS + _OFFSET) / (2 * _HALF_POINTS)
            ours[:, _KOMI] -= filters / (2 * _HALF_POINTS * unit)
            continue
        position, side = divmod(plane, 2)
        ours[:, _STONES[side]] += filters
        if position and side:
            ours[:, _LAST] -= filters
    return ours
