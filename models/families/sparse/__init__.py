"""Sparse networks: shallow, their inputs a list of features, for search on a CPU; files of whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....engine.games.base import Game
from ....engine.games.encoder import SPARSE_ENCODER, Encoder
from ..base import Family, NetFile
from ..config import NetConfig
from .config import SparseConfig

if TYPE_CHECKING:
    from .network import SparseNetwork


class Sparse(Family):
    config = SparseConfig
    encoder = SPARSE_ENCODER
    on_gpu = in_torch = False
    follows = True

    def network(self, config: NetConfig, encoder: Encoder) -> SparseNetwork:
        from .network import SparseNetwork

        assert isinstance(config, SparseConfig)
        return SparseNetwork(config, encoder)

    def read(self, file: NetFile, game: Game) -> SparseNetwork:
        """See :meth:`Family.read`. The integers are taken as they are."""
        from ....engine.nets.families.sparse.integers import HIDDEN, read_net

        info, game = file.info, game.using(file.info.encoder)
        net = read_net(file.content, game.encoder)
        width = len(net.policy_bias)
        config = SparseConfig(
            info.planes,
            info.actions,
            filters=width,
            value_filters=len(net.value_bias) // width,
            value_buckets=len(net.hidden_bias) // HIDDEN,
        )
        network = self.network(config.seeing(game.encoder), game.encoder)
        network.take_integers(net)
        return network


FAMILY = Sparse()
