"""Initial weights of a run: from a run's folder, a checkpoint file, or an exported net.

The network read from a net gives the same outputs as the file; its family then makes it fit to learn, if need be on
positions of games that the net plays against itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import DataError
from ...engine.games.base import Game
from ...engine.nets.file.fit import check_net
from ...engine.nets.file.netfile import read_outline
from ...engine.nets.onnx.session import raw_session
from ...engine.nets.weights import dense_net, embedded_net, other_nets
from ..families import config_of, family_of_file
from ..families.base import NetFile
from ..families.config import NetConfig
from ..net.probes import games_of_net
from .checkpoint import Checkpoint, of_run

EMBEDDED = "default"  # the net inside the package


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
    file = _read(path, game)

    def positions(count: int) -> NDArray[np.uint8]:
        return games_of_net(game.using(file.info.encoder), raw_session(file.content), file.info, count, 0).planes

    network = family_of_file(file).read(file, game)
    network.warm_up(positions)
    tensors = {f"averaged.{name}": tensor for name, tensor in network.state_dict().items()}
    return Checkpoint(file.info.step, tensors, {"net": network.config.to_json()})


def network_at(path: Path, game: Game) -> NetConfig:
    """The network of what :func:`origin` reads. Errors: as there."""
    if not is_net(path):
        return config_of(of_run(path).state["net"])
    file = _read(path, game)
    return family_of_file(file).read(file, game).config


def _read(path: Path, game: Game) -> NetFile:
    """An exported net. Errors: NetError, DataError."""
    if str(path) != EMBEDDED:
        outline, content = read_outline(path)
        return NetFile(path, content, check_net(outline, game))
    usual = [path for path in (embedded_net(game.name), dense_net(game.name)) if path is not None]
    if not usual:
        raise DataError(f"there is no net for {game.name} inside this package; begin with a run or a file")
    files = [_read(path, game) for path in dict.fromkeys([*usual, *other_nets(game.name).values()])]
    fitting = (file for file in files if file.info.encoder == game.encoder.name)
    return next(fitting, None) or _read(usual[-1], game)
