"""The papers' networks: a tower of convolutions with a policy head and a value head, for boards as planes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....engine.games import get_game
from ....engine.games.base import Game
from ....engine.games.encoder import Encoder
from ....engine.nets.netinfo import NetInfo
from ...fields import Values
from ..base import Family, NetFile, Shorthand
from ..config import NetConfig
from .config import TowerConfig, fitting_head

if TYPE_CHECKING:
    from .network import TowerNetwork


class Tower(Family):
    config = TowerConfig

    @property
    def shorthands(self) -> Mapping[str, Shorthand]:
        meaning = "the papers' network of that many blocks (256 filters, tanh value); other network options are ignored"
        papers = {blocks: {"blocks": blocks - 1, "filters": 256, "value_head": "value"} for blocks in (20, 40)}
        return {"paper": Shorthand(meaning, papers)}

    def defaults(self, game: Game) -> Values:
        return {"policy_head": fitting_head(game)}

    def network(self, config: NetConfig, encoder: Encoder) -> TowerNetwork:
        from .network import TowerNetwork

        assert isinstance(config, TowerConfig)
        return TowerNetwork(config, encoder.plane_scale)

    def owns(self, info: NetInfo) -> bool:
        if info.architecture:
            return super().owns(info)
        return self.sees(get_game(info.game).using(info.encoder).encoder)  # a file that does not name its kind

    def read(self, file: NetFile, game: Game) -> TowerNetwork:
        from .stored import Stored, network_of

        return network_of(Stored(file.path, file.content), file.info, game.using(file.info.encoder))


FAMILY = Tower()
