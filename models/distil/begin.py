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

_BOARD, _STONES, _LAST, _KOMI = 0, (1, 2), 9, 27  # planes of the encoder "rules", see engine.games.go.encoders.katago
_HALF_POINTS, _OFFSET = 14.0, 128.0  # komi that nets learn on 9x9, 7 points; what the plane adds to half points
_OLDEST = 2  # positions that the planes of komi and rules can stand for


def seeing_rules(saved: Checkpoint, student: Game) -> Checkpoint:
    """``saved`` for a network that looks at what nets of ``student`` (of the encoder "rules") look at.

    Errors: DataError where it is of a net that sees stones alone, and those of more than two positions.
    """
    config, encoder = config_of(saved.state["net"]), student.encoder
    used = encoder.used_planes(encoder.history)
    if not isinstance(config, TowerConfig) or config.used_planes == used:
        return saved
    stones = get_game("go").encoder
    alike = config.planes[0] == encoder.planes[0]
    if not alike and (config.history > _OLDEST or config.planes[0] != stones.planes[0]):
        raise DataError("the net to begin from must see komi and rules, or the stones of at most two positions")
    unit = float(encoder.plane_scale[_KOMI])
    tensors = dict(saved.tensors)
    for name, filters in saved.tensors.items():
        if name.startswith("averaged.") and name.endswith("tower.0.conv.weight"):
            shown = _placed(filters, config.used_planes, encoder.planes[0])
            ours = shown if alike else _of_stones(shown, stones.planes[0] - 1, unit)
            tensors[name] = ours[:, used].clone()
    return Checkpoint(saved.step, tensors, saved.state)


def _placed(filters: Tensor, used: tuple[int, ...], planes: int) -> Tensor:
    """Filters f4[F, planes, 3, 3] of those f4[F, len(used), 3, 3] of the planes ``used``; zero for the others."""
    result = torch.zeros(filters.shape[0], planes, *filters.shape[2:])
    result[:, used] = filters
    return result


def _of_stones(theirs: Tensor, colour: int, unit: float) -> Tensor:
    """Filters f4[F, P, 3, 3] of the planes of komi and rules, of those of stones f4[F, P, 3, 3].

    colour: the plane that is 1 with black to move; unit: what a half point of komi counts in its plane.
    """
    ours = torch.zeros_like(theirs)
    for side, plane in enumerate(_STONES):
        ours[:, plane] = theirs[:, side] + theirs[:, side + 2]
    ours[:, _LAST] = -theirs[:, 3]  # the opponent's stones of a ply ago
    ours[:, _BOARD] = theirs[:, colour] * (_HALF_POINTS + _OFFSET) / (2 * _HALF_POINTS)
    ours[:, _KOMI] = -theirs[:, colour] / (2 * _HALF_POINTS * unit)  # 1 at komi -7, of black, 0 at 7, of white
    return ours
