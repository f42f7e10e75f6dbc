"""The smallest family of networks: a bias for each action, and a linear value of the planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from az_engine.engine.errors import DataError
from az_engine.engine.games.base import Game
from az_engine.engine.games.encoder import Encoder
from az_engine.engine.nets.file.netfile import read_constants
from az_engine.engine.settings import setting
from az_engine.models.families.base import Family, NetFile
from az_engine.models.families.config import NetConfig

if TYPE_CHECKING:
    from .network import LinearNetwork


@dataclass(frozen=True)
class LinearConfig(NetConfig):
    """Beside what every network has: the scale of the first weights."""

    kind: Literal["linear_net"] = setting("linear_net", "a bias for each action and a linear value", flag=True)
    first_weights: float = setting(0.0, "standard deviation of the value's first weights", low=0, flag=True)


class LinearNet(Family):
    """Networks whose files onnxruntime runs as they are: the playing side needs nothing."""

    config = LinearConfig

    def network(self, config: NetConfig, encoder: Encoder) -> LinearNetwork:
        from .network import LinearNetwork

        assert isinstance(config, LinearConfig)
        return LinearNetwork(config, encoder.plane_scale)

    def read(self, file: NetFile, game: Game) -> LinearNetwork:
        game, stored = game.using(file.info.encoder), read_constants(file.content)
        config = LinearConfig(file.info.planes, file.info.actions, history=file.info.history).seeing(game.encoder)
        network = self.network(config, game.encoder)
        try:
            network.take({name: stored[name] for name in network.state_dict()})
        except KeyError as error:
            raise DataError(f"{file.path} has no {error.args[0]} in float32; begin with the fp32 file") from error
        return network


FAMILY = LinearNet()
