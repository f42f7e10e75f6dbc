"""What a family of networks is: the settings of its networks, and how they are made and read. Nothing here needs torch.

A :class:`Family` and its :class:`NetConfig` are read by ``--help`` and by workers, which have no torch; its
:class:`~az_engine.models.families.network.Network` is imported when one is made.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ...engine.errors import DataError
from ...engine.games.base import Game
from ...engine.games.encoder import GAME_ENCODER, Encoder
from ...engine.nets.netinfo import NetInfo
from ...engine.settings import choices_of
from ..fields import Values, built
from .config import NetConfig

if TYPE_CHECKING:
    from .network import Network


class NetFile(NamedTuple):
    """An exported net that fits the game."""

    path: Path
    content: bytes
    info: NetInfo


class Shorthand(NamedTuple):
    """A flag that stands for the values of several settings."""

    meaning: str  # for --help
    values: Mapping[int, Values]  # by what follows the flag


class Family(ABC):
    """One family of networks: a folder with a ``FAMILY`` in its ``__init__.py``, see ``CONTRIBUTING.md``."""

    config: ClassVar[type[NetConfig]]  # its settings, which become flags and keys of ``--set``
    encoder: ClassVar[str] = GAME_ENCODER  # the planes that it sees unless set otherwise, see ``Game.using``
    on_gpu: ClassVar[bool] = True  # whether it learns on a GPU, too
    in_torch: ClassVar[bool] = True  # whether torch plays with its exported nets
    follows: ClassVar[bool] = False  # whether it learns the value of positions after labelled moves, too

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its networks; a kind belongs to one family."""
        return choices_of(typing.get_type_hints(self.config)["kind"])

    @property
    def shorthands(self) -> Mapping[str, Shorthand]:
        """Further flags, by their names without "--"."""
        return {}

    @property
    def plays_itself(self) -> bool:
        """Whether its networks learn from games against themselves, which show a game's own planes."""
        return self.encoder == GAME_ENCODER

    def sees(self, encoder: Encoder) -> bool:
        """Whether its networks take these planes: its own, or any that are planes of the board where it has none."""
        return encoder.name == self.encoder or (self.encoder == GAME_ENCODER and not encoder.features)

    def defaults(self, game: Game) -> Values:
        """Settings whose default depends on the game."""
        return {}

    def configured(self, game: Game, values: Mapping[str, Any]) -> NetConfig:
        """The network of these settings for a game as the network sees it. Errors: OptionError."""
        shape = {"planes": game.planes, "actions": game.num_actions}
        return built(self.config, {**self.defaults(game), **values, **shape}, "net.").seeing(game.encoder)

    @abstractmethod
    def network(self, config: NetConfig, encoder: Encoder) -> Network:
        """A network with its first weights, drawn from torch's generator; encoder: of the game as it is seen."""

    def owns(self, info: NetInfo) -> bool:
        """Whether an exported net is of this family, by its metadata."""
        if self.encoder != GAME_ENCODER:
            return info.encoder == self.encoder
        return info.architecture.partition(" ")[0] in self.kinds

    def read(self, file: NetFile, game: Game) -> Network:
        """The network of an exported net, with the outputs of its file. Errors: DataError, NetError."""
        raise DataError(
            f"{file.path} is a net of the kind {self.kinds[0]}, which are not read back; begin with a run's folder"
        )
